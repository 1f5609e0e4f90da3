// codec/dbp_vector.h - the vector kernel of dbp, for whatever the including file is compiled for. Private to dbp.
//
// Method     A row of 256 bits is the unit throughout: differences come from overlapping loads, rows are transposed so
//            that lanes run down the block, and sums of all lanes at once, down the rows, undo the differences.
// Source     docs/FORMAT.md, Chunks, dbp; checked against dbp_plain.cpp by the tests
#pragma once

#include "codec/dbp_block.h"
#include "codec/dbp_lanes.h"
#include "codec/dbp_pack.h"

namespace peel::codec {
namespace {

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
PEEL_INLINE Width width_of(unsigned bits, unsigned exceptions) {
  return {bits, exceptions, 2 + dbp_row_size * bits + exceptions * (1 + dbp_high_size(sizeof(T), bits))};
}

// The best width, looked for around one that is likely: a width is never better than its rows alone, and a lower one
// never better than the exceptions of those above it.
template <class T>
PEEL_INLINE Width choose_near(const Lengths& lengths, unsigned likely, unsigned exceptions) {
  Width best = width_of<T>(likely, exceptions);
  for (unsigned bits = likely + 1, above = exceptions; above > 0 && bits <= bits_of<T> && 2 + dbp_row_size * bits <= best.stored; ++bits) {
    above = count_above(lengths, bits);
    const Width w = width_of<T>(bits, above);
    if (w.stored <= best.stored) best = w;
  }
  for (unsigned bits = likely; bits-- > 0;) {
    const unsigned above = count_above(lengths, bits);
    if (above > 255 || 2 + above * (1 + dbp_high_size(sizeof(T), bits)) >= best.stored) break;
    const Width w = width_of<T>(bits, above);
    if (w.stored < best.stored) best = w;
  }
  return best;
}

template <class T>
PEEL_INLINE Width choose(const Lengths& lengths, unsigned likely) {
  constexpr unsigned near = 64;  // exceptions with which the likely width is a good place to begin
  if (likely <= bits_of<T>) {
    const unsigned exceptions = count_above(lengths, likely);
    if (exceptions <= near) return choose_near<T>(lengths, likely, exceptions);
  }
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
    if (exceptions > 255 || 2 + exceptions * (1 + dbp_high_size(sizeof(T), bits)) >= best.stored) break;  // fewer bits only make it more
    const Width w = width_of<T>(bits, exceptions);
    if (w.stored < best.stored) best = w;
  }
  return best;
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
PEEL_INLINE std::size_t write_block(unsigned order, const Block<T>& block, const Lengths& lengths, unsigned likely, std::byte* out) {
  const Width width = choose<T>(lengths, likely);
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
std::size_t encode_order(DbpLayout layout, const std::byte* values, const std::byte* first_row, unsigned likely, std::byte* out) {
  Block<T> block;
  residuals<T, Order>(layout, values, first_row, block);
  return write_block(Order, block, lengths_of<T, Order>(block), likely, out);
}

template <class T>
std::size_t encode(unsigned order, DbpLayout layout, const std::byte* values, const std::byte* first_row, unsigned likely, std::byte* out) {
  switch (order) {
    case 0: return encode_order<T, 0>(layout, values, first_row, likely, out);
    case 1: return encode_order<T, 1>(layout, values, first_row, likely, out);
    default: return encode_order<T, 2>(layout, values, first_row, likely, out);
  }
}

template <class T, unsigned Order>
std::size_t cost_of_order(const std::byte* values, const std::byte* first_row) {
  Block<T> block;
  residuals<T, Order>(DbpLayout::across, values, first_row, block);  // the layout does not change the cost
  return choose<T>(lengths_of<T, Order>(block), dbp_no_likely_bits).stored;
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
