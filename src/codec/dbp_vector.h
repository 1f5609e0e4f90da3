// codec/dbp_vector.h - the vector kernel of dbp, for whatever the including file is compiled for. Private to dbp.
//
// Method     A row of 256 bits is the unit throughout: differences come from overlapping loads, every lane collects
//            its bits down the rows with shifts known at compile time, and sums across a row undo the differences.
//            64-bit elements have 65 widths of 64 rows each: for them the shifts are variables.
// Source     docs/FORMAT.md, Chunks, dbp; checked against dbp_plain.cpp by the tests
#pragma once

#include <utility>

#include "codec/dbp_block.h"
#include "codec/dbp_lanes.h"

namespace peel::codec {
namespace {

template <class T>
inline constexpr unsigned bits_of = 8 * sizeof(T);
template <class T>
inline constexpr std::size_t rows_of = dbp_block_size * sizeof(T) / dbp_row_size;  // equals bits_of

template <class T>
struct Block {
  Row rows[rows_of<T>];
};
struct Lengths {
  Row rows[8];
};

template <class T>
PEEL_INLINE Row zigzag(Row d) {
  return _mm256_xor_si256(Lane<T>::add(d, d), Lane<T>::negative(d));
}
template <class T>
PEEL_INLINE Row unzigzag(Row z) {
  const Row sign = Lane<T>::subtract(_mm256_setzero_si256(), _mm256_and_si256(z, Lane<T>::all(1)));
  return _mm256_xor_si256(Lane<T>::right(z, 1), sign);
}

// --- encoding ----------------------------------------------------------------------------------------------------

template <class T, unsigned Order>
PEEL_INLINE Row residual(const std::byte* p) {
  const Row value = load_row(p);
  if constexpr (Order == 0) return value;
  const Row step = Lane<T>::subtract(value, load_row(p - sizeof(T)));
  if constexpr (Order == 1) return zigzag<T>(step);
  return zigzag<T>(Lane<T>::subtract(step, Lane<T>::subtract(load_row(p - sizeof(T)), load_row(p - 2 * sizeof(T)))));
}

template <class T, unsigned Order>
PEEL_INLINE void residuals(const std::byte* values, Block<T>& out) {
  for (std::size_t r = 0; r < rows_of<T>; ++r) out.rows[r] = residual<T, Order>(values + r * dbp_row_size);
}

struct Width {
  unsigned bits;
  unsigned exceptions;
  std::size_t stored;
};

PEEL_INLINE unsigned count_above(const Lengths& lengths, unsigned bits) {
  const Row limit = _mm256_set1_epi8(static_cast<char>(bits));
  Row count = _mm256_setzero_si256();  // minus one for each
  for (const Row row : lengths.rows) count = _mm256_add_epi8(count, _mm256_cmpgt_epi8(row, limit));
  const Row quarters = _mm256_sad_epu8(_mm256_sub_epi8(_mm256_setzero_si256(), count), _mm256_setzero_si256());
  const __m128i halves = _mm_add_epi64(_mm256_castsi256_si128(quarters), _mm256_extracti128_si256(quarters, 1));
  return static_cast<unsigned>(_mm_cvtsi128_si32(halves) + _mm_extract_epi32(halves, 2));
}

PEEL_INLINE unsigned greatest(const Lengths& lengths) {
  Row top = lengths.rows[0];
  for (std::size_t i = 1; i < 8; ++i) top = _mm256_max_epu8(top, lengths.rows[i]);
  __m128i m = _mm_max_epu8(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1));
  m = _mm_max_epu8(m, _mm_srli_epi16(m, 8));  // the low byte of each pair counts from here on
  // The least of 255 - length, in 16-bit lanes.
  const __m128i least = _mm_minpos_epu16(_mm_and_si128(_mm_xor_si128(m, _mm_set1_epi8(-1)), _mm_set1_epi16(0xff)));
  return 255u - static_cast<unsigned>(_mm_extract_epi16(least, 0));
}

template <class T>
PEEL_INLINE Width choose(const Lengths& lengths) {
  const unsigned top = greatest(lengths);
  Width best{top, 0, 2 + dbp_row_size * top};
  for (unsigned bits = top; bits-- > 0;) {
    const unsigned exceptions = count_above(lengths, bits);
    const std::size_t aside = exceptions * (1 + dbp_high_size(sizeof(T), bits));
    if (exceptions > 255 || 2 + aside >= best.stored) break;  // fewer bits only make it more
    const std::size_t stored = 2 + dbp_row_size * bits + aside;
    if (stored < best.stored) best = {bits, exceptions, stored};
  }
  return best;
}

template <class T, unsigned W, std::size_t... R>
PEEL_INLINE void pack_rows(const Row* values, std::byte* out, std::index_sequence<R...>) {
  constexpr unsigned b = bits_of<T>;
  Row word = _mm256_setzero_si256();
  const Row mask = Lane<T>::all(static_cast<T>(W == b ? ~T{0} : (T{1} << (W % b)) - 1));
  const auto step = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    constexpr unsigned bit = I * W, shift = bit % b, next = shift + W;
    Row v = values[I];
    if constexpr (W != b) v = _mm256_and_si256(v, mask);
    word = shift == 0 ? v : _mm256_or_si256(word, Lane<T>::left(v, shift));
    if constexpr (next >= b) store_row(out + bit / b * dbp_row_size, word);
    if constexpr (next > b) word = Lane<T>::right(v, b - shift);
  };
  (step(std::integral_constant<std::size_t, R>{}), ...);
}

template <class T, unsigned W, std::size_t... R>
PEEL_INLINE void unpack_rows(const std::byte* in, Row* values, std::index_sequence<R...>) {
  constexpr unsigned b = bits_of<T>;
  const Row mask = Lane<T>::all(static_cast<T>(W == b ? ~T{0} : (T{1} << (W % b)) - 1));
  const auto step = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    constexpr unsigned bit = I * W, shift = bit % b, next = shift + W;
    const std::byte* p = in + bit / b * dbp_row_size;
    Row v = load_row(p);
    if constexpr (shift != 0) v = Lane<T>::right(v, shift);
    if constexpr (next > b) v = _mm256_or_si256(v, Lane<T>::left(load_row(p + dbp_row_size), b - shift));
    if constexpr (next != b) v = _mm256_and_si256(v, mask);
    values[I] = v;
  };
  (step(std::integral_constant<std::size_t, R>{}), ...);
}

template <class T, unsigned W>
void pack(const Row* values, std::byte* out) {
  if constexpr (W > 0) pack_rows<T, W>(values, out, std::make_index_sequence<rows_of<T>>{});
}

template <class T, unsigned W>
void unpack(const std::byte* in, Row* values) {
  if constexpr (W > 0) unpack_rows<T, W>(in, values, std::make_index_sequence<rows_of<T>>{});
  else for (std::size_t r = 0; r < rows_of<T>; ++r) values[r] = _mm256_setzero_si256();
}

template <class T>
struct Packers {
  using Pack = void (*)(const Row*, std::byte*);
  using Unpack = void (*)(const std::byte*, Row*);
  Pack pack_at[bits_of<T> + 1];
  Unpack unpack_at[bits_of<T> + 1];

  template <unsigned... W>
  static constexpr Packers make(std::integer_sequence<unsigned, W...>) {
    return {{&pack<T, W>...}, {&unpack<T, W>...}};
  }
};
template <class T>
constexpr Packers<T> packers = Packers<T>::make(std::make_integer_sequence<unsigned, bits_of<T> + 1>{});

void pack_64(const Row* values, unsigned bits, std::byte* out) {
  using L = Lane<std::uint64_t>;
  if (bits == 0) return;
  const Row mask = L::all(bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1);
  Row word = _mm256_setzero_si256();
  unsigned shift = 0;
  for (std::size_t r = 0; r < 64; ++r) {
    const Row v = _mm256_and_si256(values[r], mask);
    word = _mm256_or_si256(word, L::left(v, shift));
    shift += bits;
    if (shift < 64) continue;
    store_row(out, word);
    out += dbp_row_size;
    shift -= 64;
    word = L::right(v, bits - shift);  // a shift by 64 gives zeros
  }
}

void unpack_64(const std::byte* in, unsigned bits, Row* values) {
  using L = Lane<std::uint64_t>;
  const Row mask = L::all(bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1);
  const std::byte* end = in + bits * dbp_row_size;
  Row word = _mm256_setzero_si256();
  if (bits > 0) word = load_row(in);
  unsigned shift = 0;
  for (std::size_t r = 0; r < 64; ++r) {
    Row v = L::right(word, shift);
    shift += bits;
    if (shift >= 64) {
      in += dbp_row_size;
      shift -= 64;
      if (in != end) word = load_row(in);
      v = _mm256_or_si256(v, L::left(word, bits - shift));
    }
    values[r] = _mm256_and_si256(v, mask);
  }
}

template <class T>
PEEL_INLINE T value_at(const Block<T>& block, std::size_t i) {
  T value;
  std::memcpy(&value, reinterpret_cast<const std::byte*>(block.rows) + i * sizeof(T), sizeof value);
  return value;
}

template <class T>
PEEL_INLINE std::size_t write_block(const Block<T>& block, std::byte* out) {
  Lengths lengths;
  Lane<T>::bit_lengths(block.rows, lengths.rows);
  const Width width = choose<T>(lengths);
  out[0] = static_cast<std::byte>(width.bits);
  out[1] = static_cast<std::byte>(width.exceptions);
  std::byte* high = out + 2 + width.exceptions;
  if (width.exceptions > 0) {
    std::byte* position = out + 2;
    const std::size_t high_size = dbp_high_size(sizeof(T), width.bits);
    const Row limit = _mm256_set1_epi8(static_cast<char>(width.bits));
    for (unsigned q = 0; q < 8; ++q)
      for (auto above = static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpgt_epi8(lengths.rows[q], limit))); above != 0; above &= above - 1) {
        const unsigned i = 32 * q + static_cast<unsigned>(__builtin_ctz(above));
        *position++ = static_cast<std::byte>(i);
        const T part = static_cast<T>(value_at(block, i) >> width.bits);
        std::memcpy(high, &part, sizeof part);  // the next one, or the rows, cover what is too much
        high += high_size;
      }
  }
  if constexpr (sizeof(T) == 8) pack_64(block.rows, width.bits, high);
  else packers<T>.pack_at[width.bits](block.rows, high);
  return width.stored;
}

template <class T>
std::size_t encode(unsigned order, const std::byte* values, std::byte* out) {
  Block<T> block;
  switch (order) {
    case 0: residuals<T, 0>(values, block); break;
    case 1: residuals<T, 1>(values, block); break;
    default: residuals<T, 2>(values, block); break;
  }
  return write_block(block, out);
}

template <class T, unsigned Order>
std::size_t cost(const std::byte* values) {
  Block<T> block;
  residuals<T, Order>(values, block);
  Lengths lengths;
  Lane<T>::bit_lengths(block.rows, lengths.rows);
  return choose<T>(lengths).stored;
}

template <class T>
std::array<std::size_t, 3> costs(const std::byte* values) {
  return {cost<T, 0>(values), cost<T, 1>(values), cost<T, 2>(values)};
}

// --- decoding ----------------------------------------------------------------------------------------------------

template <class T>
PEEL_INLINE void patch(const DbpBlock& stored, Block<T>& block) {
  const std::size_t high_size = dbp_high_size(sizeof(T), stored.bits);
  auto* values = reinterpret_cast<std::byte*>(block.rows);
  for (unsigned k = 0; k < stored.exceptions; ++k) {
    const std::byte* part = stored.high_parts + k * high_size;
    T high = 0;
    for (std::size_t j = 0; j < high_size; ++j) high = static_cast<T>(high | static_cast<T>(static_cast<T>(part[j]) << (8 * j)));
    std::byte* place = values + static_cast<std::size_t>(stored.positions[k]) * sizeof(T);
    T value;
    std::memcpy(&value, place, sizeof value);
    value = static_cast<T>(value | static_cast<T>(high << stored.bits));
    std::memcpy(place, &value, sizeof value);
  }
}

template <class T, unsigned Order>
PEEL_INLINE void add_up(const Block<T>& block, const std::byte* before, std::byte* values) {
  T past[2];
  std::memcpy(past, before, sizeof past);
  Row value = Lane<T>::all(past[1]), slope = Lane<T>::all(static_cast<T>(past[1] - past[0]));
  // The totals of a row do not wait for the row before: only one addition a row and order is a chain.
  for (std::size_t r = 0; r < rows_of<T>; ++r) {
    Row step = sums<T>(unzigzag<T>(block.rows[r]));
    if constexpr (Order == 2) {
      const Row total = last<T>(step);
      step = Lane<T>::add(step, slope);
      slope = Lane<T>::add(slope, total);
      step = sums<T>(step);
    }
    store_row(values + r * dbp_row_size, Lane<T>::add(step, value));
    value = Lane<T>::add(value, last<T>(step));
  }
}

template <class T>
void decode(unsigned order, const DbpBlock& stored, const std::byte* before, std::byte* values) {
  Block<T> block;
  if constexpr (sizeof(T) == 8) unpack_64(stored.rows, stored.bits, block.rows);
  else packers<T>.unpack_at[stored.bits](stored.rows, block.rows);
  patch(stored, block);
  switch (order) {
    case 0: std::memcpy(values, block.rows, sizeof block.rows); break;
    case 1: add_up<T, 1>(block, before, values); break;
    default: add_up<T, 2>(block, before, values); break;
  }
}

template <class T>
constexpr DbpKernel kernel{&encode<T>, &costs<T>, &decode<T>};
constexpr DbpKernels all_kernels{kernel<std::uint8_t>, kernel<std::uint16_t>, kernel<std::uint32_t>, kernel<std::uint64_t>};

}  // namespace
}  // namespace peel::codec
