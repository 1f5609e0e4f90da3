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

// Differences have either sign: what is stored is moved up by half of what `bits` bits can hold.
template <class T>
PEEL_INLINE T bias(unsigned order, unsigned bits) {
  return order == 0 || bits == 0 ? T{0} : static_cast<T>(T{1} << (bits - 1));
}

// Groups of rows that are transposed together: row i of group g is row `stride` * i + g in order, and row
// `size` * g + i where lanes run down.
template <class T>
struct Groups {
  static constexpr std::size_t size = sizeof(T) == 1 ? 8 : 32 / sizeof(T), count = rows_of<T> / size;
  static constexpr std::size_t stride = count;

  static PEEL_INLINE void down(Row (&m)[size]) {
    if constexpr (sizeof(T) == 1) transpose_bytes_down(m);
    else transpose<T>(m);
  }
  static PEEL_INLINE void up(Row (&m)[size]) {
    if constexpr (sizeof(T) == 1) transpose_bytes_up(m);
    else transpose<T>(m);
  }
};

// --- encoding ----------------------------------------------------------------------------------------------------

template <class T, unsigned Order>
PEEL_INLINE Row residual(const std::byte* p) {
  const Row value = load_row(p);
  if constexpr (Order == 0) return value;
  const Row before = load_row(p - sizeof(T)), step = Lane<T>::subtract(value, before);
  if constexpr (Order == 1) return step;
  return Lane<T>::subtract(step, Lane<T>::subtract(before, load_row(p - 2 * sizeof(T))));
}

template <class T, unsigned Order>
PEEL_INLINE void residuals(DbpLayout layout, const std::byte* values, const std::byte* first_row, Block<T>& out) {
  using G = Groups<T>;
  if (layout == DbpLayout::across) {
    out.rows[0] = residual<T, Order>(first_row);
    for (std::size_t r = 1; r < rows_of<T>; ++r) out.rows[r] = residual<T, Order>(values + r * dbp_row_size);
    return;
  }
  for (std::size_t g = 0; g < G::count; ++g) {
    Row m[G::size];
    m[0] = residual<T, Order>(g == 0 ? first_row : values + g * dbp_row_size);
    PEEL_UNROLL for (std::size_t i = 1; i < G::size; ++i) m[i] = residual<T, Order>(values + (G::stride * i + g) * dbp_row_size);
    G::down(m);
    PEEL_UNROLL for (std::size_t i = 0; i < G::size; ++i) out.rows[G::size * g + i] = m[i];
  }
}

// What bit_width of it says how many bits a stored element needs: 0, -1, 1, -2 ... are 0, 1, 2, 3 ...
template <class T, unsigned Order>
PEEL_INLINE Row magnitude(Row d) {
  if constexpr (Order == 0) return d;
  return _mm256_xor_si256(Lane<T>::add(d, d), Lane<T>::negative(d));
}

template <class T, unsigned Order>
PEEL_INLINE Lengths lengths_of(const Block<T>& block) {
  constexpr std::size_t step = rows_of<T> / 8;  // rows whose lengths make one row of bytes
  Lengths lengths;
  for (std::size_t q = 0; q < 8; ++q) {
    Row m[step];
    PEEL_UNROLL for (std::size_t i = 0; i < step; ++i) m[i] = magnitude<T, Order>(block.rows[step * q + i]);
    lengths.rows[q] = Lane<T>::bit_lengths(m);
  }
  return lengths;
}

struct Width {
  unsigned bits;
  unsigned exceptions;
  std::size_t stored;
};

PEEL_INLINE unsigned count_above(const Lengths& lengths, unsigned bits) {
  const Row limit = _mm256_set1_epi8(static_cast<char>(bits));
  Row count = _mm256_setzero_si256();  // minus one for each
  PEEL_UNROLL for (std::size_t i = 0; i < 8; ++i) count = _mm256_add_epi8(count, _mm256_cmpgt_epi8(lengths.rows[i], limit));
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
  unsigned bits = top, exceptions = 0;
  while (bits > 0) {
    // A few outliers, and nothing for a while below them: the widths in between cannot be the best.
    constexpr unsigned leap = 4, few = 31;
    unsigned next = bits - 1;
    if (exceptions <= few && bits > leap && count_above(lengths, bits - leap) == exceptions) next = bits - leap;
    bits = next;
    exceptions = count_above(lengths, bits);
    const std::size_t aside = exceptions * (1 + dbp_high_size(sizeof(T), bits));
    if (exceptions > 255 || 2 + aside >= best.stored) break;  // fewer bits only make it more
    const std::size_t stored = 2 + dbp_row_size * bits + aside;
    if (stored < best.stored) best = {bits, exceptions, stored};
  }
  return best;
}

template <class T, unsigned W, std::size_t... R>
PEEL_INLINE void pack_rows(const Row* values, Row offset, std::byte* out, std::index_sequence<R...>) {
  constexpr unsigned b = bits_of<T>;
  Row word = _mm256_setzero_si256();
  const Row mask = Lane<T>::all(static_cast<T>(W == b ? ~T{0} : (T{1} << (W % b)) - 1));
  const auto step = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    constexpr unsigned bit = I * W, shift = bit % b, next = shift + W;
    Row v = Lane<T>::add(values[I], offset);
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
void pack(const Row* values, Row offset, std::byte* out) {
  if constexpr (W > 0) pack_rows<T, W>(values, offset, out, std::make_index_sequence<rows_of<T>>{});
}

template <class T, unsigned W>
void unpack(const std::byte* in, Row* values) {
  if constexpr (W > 0) unpack_rows<T, W>(in, values, std::make_index_sequence<rows_of<T>>{});
  else for (std::size_t r = 0; r < rows_of<T>; ++r) values[r] = _mm256_setzero_si256();
}

template <class T>
struct Packers {
  using Pack = void (*)(const Row*, Row, std::byte*);
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

void pack_64(const Row* values, Row offset, unsigned bits, std::byte* out) {
  using L = Lane<std::uint64_t>;
  if (bits == 0) return;
  const Row mask = L::all(bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1);
  Row word = _mm256_setzero_si256();
  unsigned shift = 0;
  for (std::size_t r = 0; r < 64; ++r) {
    const Row v = _mm256_and_si256(L::add(values[r], offset), mask);
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

// Positions and high parts; returns the end of the latter.
template <class T>
PEEL_INLINE std::byte* write_exceptions(const Block<T>& block, const Lengths& lengths, unsigned bits, T offset, std::byte* position,
                                        std::byte* high) {
  const Row limit = _mm256_set1_epi8(static_cast<char>(bits));
  const std::size_t high_size = dbp_high_size(sizeof(T), bits);
  PEEL_UNROLL for (unsigned q = 0; q < 4; ++q) {
    const auto first = static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpgt_epi8(lengths.rows[2 * q], limit)));
    const auto second = static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpgt_epi8(lengths.rows[2 * q + 1], limit)));
    for (std::uint64_t above = first | std::uint64_t{second} << 32; above != 0; above &= above - 1) {
      const unsigned p = 64 * q + static_cast<unsigned>(__builtin_ctzll(above));
      *position++ = static_cast<std::byte>(p);
      const T part = static_cast<T>(static_cast<T>(value_at(block, p) + offset) >> bits);
      std::memcpy(high, &part, sizeof part);  // the next one, or the rows, cover what is too much
      high += high_size;
    }
  }
  return high;
}

template <class T>
PEEL_INLINE std::size_t write_block(unsigned order, const Block<T>& block, const Lengths& lengths, std::byte* out) {
  const Width width = choose<T>(lengths);
  const T offset = bias<T>(order, width.bits);
  out[0] = static_cast<std::byte>(width.bits);
  out[1] = static_cast<std::byte>(width.exceptions);
  std::byte* high = out + 2 + width.exceptions;
  if (width.exceptions > 0) high = write_exceptions(block, lengths, width.bits, offset, out + 2, high);
  if constexpr (sizeof(T) == 8) pack_64(block.rows, Lane<T>::all(offset), width.bits, high);
  else packers<T>.pack_at[width.bits](block.rows, Lane<T>::all(offset), high);
  return width.stored;
}

template <class T, unsigned Order>
std::size_t encode_order(DbpLayout layout, const std::byte* values, const std::byte* first_row, std::byte* out) {
  Block<T> block;
  residuals<T, Order>(layout, values, first_row, block);
  return write_block(Order, block, lengths_of<T, Order>(block), out);
}

template <class T>
std::size_t encode(unsigned order, DbpLayout layout, const std::byte* values, const std::byte* first_row, std::byte* out) {
  switch (order) {
    case 0: return encode_order<T, 0>(layout, values, first_row, out);
    case 1: return encode_order<T, 1>(layout, values, first_row, out);
    default: return encode_order<T, 2>(layout, values, first_row, out);
  }
}

template <class T, unsigned Order>
std::size_t cost_of_order(const std::byte* values, const std::byte* first_row) {
  Block<T> block;
  residuals<T, Order>(DbpLayout::across, values, first_row, block);  // the layout does not change the cost
  return choose<T>(lengths_of<T, Order>(block)).stored;
}

template <class T>
std::size_t cost(unsigned order, const std::byte* values, const std::byte* first_row) {
  switch (order) {
    case 0: return cost_of_order<T, 0>(values, first_row);
    case 1: return cost_of_order<T, 1>(values, first_row);
    default: return cost_of_order<T, 2>(values, first_row);
  }
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

template <class T>
PEEL_INLINE Row sums_before(Row v) {
  return Lane<T>::subtract(sums<T>(v), v);
}

// Undoes the differences. Every lane first adds up as if zeros came before it; what really comes before a lane is
// then known from the totals of the lanes before.
template <class T, unsigned Order>
PEEL_INLINE void add_up(Block<T>& block, T offset, const std::byte* before, std::byte* values) {
  using L = Lane<T>;
  using G = Groups<T>;
  const Row moved = L::all(offset);
  Row value = _mm256_setzero_si256(), slope = _mm256_setzero_si256();
  for (std::size_t r = 0; r < rows_of<T>; ++r) {
    Row step = L::subtract(block.rows[r], moved);
    if constexpr (Order == 2) step = slope = L::add(slope, step);
    block.rows[r] = value = L::add(value, step);
  }
  T past[2];
  std::memcpy(past, before, sizeof past);
  Row start, rise = _mm256_setzero_si256();
  if constexpr (Order == 2) {
    rise = L::add(sums_before<T>(slope), L::all(static_cast<T>(past[1] - past[0])));
    value = L::add(value, L::left(rise, L::rows_log2));
  }
  start = L::add(sums_before<T>(value), L::all(past[1]));
  for (std::size_t g = 0; g < G::count; ++g) {
    Row m[G::size];
    PEEL_UNROLL for (std::size_t i = 0; i < G::size; ++i) {
      if constexpr (Order == 2) start = L::add(start, rise);
      m[i] = L::add(block.rows[G::size * g + i], start);
    }
    G::up(m);
    PEEL_UNROLL for (std::size_t i = 0; i < G::size; ++i) store_row(values + (G::stride * i + g) * dbp_row_size, m[i]);
  }
}

template <class T>
PEEL_INLINE void turn(Block<T>& from, DbpLayout to, std::byte* out) {
  using G = Groups<T>;
  for (std::size_t g = 0; g < G::count; ++g) {
    Row m[G::size];
    PEEL_UNROLL for (std::size_t i = 0; i < G::size; ++i)
      m[i] = from.rows[to == DbpLayout::across ? G::size * g + i : G::stride * i + g];
    if (to == DbpLayout::across) G::up(m);
    else G::down(m);
    PEEL_UNROLL for (std::size_t i = 0; i < G::size; ++i)
      store_row(out + (to == DbpLayout::across ? G::stride * i + g : G::size * g + i) * dbp_row_size, m[i]);
  }
}

template <class T>
void decode(unsigned order, DbpLayout layout, const DbpBlock& stored, const std::byte* before, std::byte* values) {
  Block<T> block;
  if constexpr (sizeof(T) == 8) unpack_64(stored.rows, stored.bits, block.rows);
  else packers<T>.unpack_at[stored.bits](stored.rows, block.rows);
  patch(stored, block);
  if (order == 0) {
    if (layout == DbpLayout::down) turn(block, DbpLayout::across, values);
    else std::memcpy(values, block.rows, sizeof block.rows);
    return;
  }
  if (layout == DbpLayout::across) {
    Block<T> turned;
    turn(block, DbpLayout::down, reinterpret_cast<std::byte*>(turned.rows));
    block = turned;
  }
  const T offset = bias<T>(order, stored.bits);
  if (order == 1) add_up<T, 1>(block, offset, before, values);
  else add_up<T, 2>(block, offset, before, values);
}

template <class T>
constexpr DbpKernel kernel{&encode<T>, &cost<T>, &decode<T>};
constexpr DbpKernels all_kernels{kernel<std::uint8_t>, kernel<std::uint16_t>, kernel<std::uint32_t>, kernel<std::uint64_t>};

}  // namespace
}  // namespace peel::codec
