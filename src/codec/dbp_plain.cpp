// The reference of every other kernel, and what runs where there is none: one element after the other.
#include <array>
#include <bit>
#include <type_traits>

#include "base/wire.h"
#include "codec/dbp_block.h"

namespace peel::codec {
namespace {

template <class T>
inline constexpr unsigned bits_of = 8 * sizeof(T);

template <class T>
using Values = std::array<T, dbp_block_size>;

template <class T>
T load(const std::byte* p, std::ptrdiff_t index = 0) {
  return WireReader::load<T>(p + index * static_cast<std::ptrdiff_t>(sizeof(T)));
}

// Differences have either sign: what is stored is moved up by half of what `bits` bits can hold.
template <class T>
T bias(unsigned order, unsigned bits) {
  return order == 0 || bits == 0 ? T{0} : static_cast<T>(T{1} << (bits - 1));
}

// The bits that a stored element needs.
template <class T>
unsigned bits_needed(unsigned order, T value) {
  if (order == 0 || value == 0) return static_cast<unsigned>(std::bit_width(value));
  const bool negative = value >> (bits_of<T> - 1) != 0;
  return 1 + static_cast<unsigned>(std::bit_width(negative ? static_cast<T>(~value) : value));
}

template <class T>
Values<T> differences(unsigned order, const std::byte* values, const std::byte* first_row) {
  Values<T> out;
  T before = load<T>(first_row, -1), slope = static_cast<T>(before - load<T>(first_row, -2));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const T value = load<T>(values, static_cast<std::ptrdiff_t>(i));
    const T step = static_cast<T>(value - before);
    out[i] = order == 0 ? value : order == 1 ? step : static_cast<T>(step - slope);
    before = value;
    slope = step;
  }
  return out;
}

struct Width {
  unsigned bits;
  unsigned exceptions;
  std::size_t stored;
};

// The width that stores the block in the fewest bytes; of equal ones the greatest.
template <class T>
Width choose(unsigned order, const Values<T>& values) {
  std::array<unsigned, bits_of<T> + 1> count{};
  for (const T v : values) ++count[bits_needed(order, v)];
  unsigned top = bits_of<T>;
  while (top > 0 && count[top] == 0) --top;
  Width best{top, 0, 2 + dbp_row_size * top};
  unsigned exceptions = 0;
  for (unsigned bits = top; bits-- > 0;) {
    exceptions += count[bits + 1];
    if (exceptions > 255) break;
    const std::size_t stored = 2 + dbp_row_size * bits + exceptions * (1 + dbp_high_size(sizeof(T), bits));
    if (stored < best.stored) best = {bits, exceptions, stored};
  }
  return best;
}

template <class T>
T low_mask(unsigned bits) {
  return bits == bits_of<T> ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << bits) - 1);
}

// Place p of the packed order is row p / lanes, lane p % lanes; a lane is a string of bits that runs down the rows,
// lowest bit first.
template <class T>
struct Lanes {
  static constexpr std::size_t count = dbp_row_size / sizeof(T), rows = dbp_block_size / count;

  static std::size_t place(DbpLayout layout, std::size_t element) {
    return layout == DbpLayout::across ? element : element % rows * count + element / rows;
  }
  static void pack(const Values<T>& values, unsigned bits, std::byte* out) {
    for (std::size_t i = 0; i < dbp_row_size * bits; ++i) out[i] = std::byte{0};
    for (std::size_t p = 0; p < values.size(); ++p) {
      const T value = static_cast<T>(values[p] & low_mask<T>(bits));
      const std::size_t bit = p / count * bits;
      const unsigned shift = static_cast<unsigned>(bit % bits_of<T>);
      std::byte* word = out + bit / bits_of<T> * dbp_row_size + p % count * sizeof(T);
      if (bits > 0) put(word, static_cast<T>(value << shift));
      if (shift + bits > bits_of<T>) put(word + dbp_row_size, static_cast<T>(value >> (bits_of<T> - shift)));
    }
  }
  static void unpack(const std::byte* in, unsigned bits, Values<T>& values) {
    for (std::size_t p = 0; p < values.size(); ++p) {
      const std::size_t bit = p / count * bits;
      const unsigned shift = static_cast<unsigned>(bit % bits_of<T>);
      const std::byte* word = in + bit / bits_of<T> * dbp_row_size + p % count * sizeof(T);
      T value = 0;
      if (bits > 0) value = static_cast<T>(load<T>(word) >> shift);
      if (shift + bits > bits_of<T>) value = static_cast<T>(value | static_cast<T>(load<T>(word + dbp_row_size) << (bits_of<T> - shift)));
      values[p] = static_cast<T>(value & low_mask<T>(bits));
    }
  }

 private:
  static void put(std::byte* p, T more) { WireWriter::store(p, static_cast<T>(load<T>(p) | more)); }
};

template <class T>
std::size_t encode(unsigned order, DbpLayout layout, const std::byte* values, const std::byte* first_row, unsigned /*likely*/,
                   std::byte* out) {
  const Values<T> residuals = differences<T>(order, values, first_row);
  const Width width = choose(order, residuals);
  Values<T> packed;
  for (std::size_t i = 0; i < packed.size(); ++i)
    packed[Lanes<T>::place(layout, i)] = static_cast<T>(residuals[i] + bias<T>(order, width.bits));

  const std::size_t high_size = dbp_high_size(sizeof(T), width.bits);
  out[0] = static_cast<std::byte>(width.bits);
  out[1] = static_cast<std::byte>(width.exceptions);
  std::byte* position = out + 2;
  std::byte* high = position + width.exceptions;
  for (std::size_t p = 0; p < packed.size(); ++p) {
    if (packed[p] <= low_mask<T>(width.bits)) continue;
    *position++ = static_cast<std::byte>(p);
    const T part = static_cast<T>(packed[p] >> width.bits);
    for (std::size_t j = 0; j < high_size; ++j) *high++ = static_cast<std::byte>(part >> (8 * j));
  }
  Lanes<T>::pack(packed, width.bits, high);
  return width.stored;
}

template <class T>
std::size_t cost(unsigned order, const std::byte* values, const std::byte* first_row) {
  return choose(order, differences<T>(order, values, first_row)).stored;
}

template <class T>
void decode(unsigned order, DbpLayout layout, const DbpBlock& block, const std::byte* before, std::byte* values) {
  Values<T> packed;
  Lanes<T>::unpack(block.rows, block.bits, packed);
  const std::size_t high_size = dbp_high_size(sizeof(T), block.bits);
  for (unsigned k = 0; k < block.exceptions; ++k) {
    T high = 0;
    for (std::size_t j = 0; j < high_size; ++j)
      high = static_cast<T>(high | static_cast<T>(std::to_integer<T>(block.high_parts[k * high_size + j]) << (8 * j)));
    T& value = packed[std::to_integer<std::size_t>(block.positions[k])];
    value = static_cast<T>(value | static_cast<T>(high << block.bits));
  }
  T last = load<T>(before, 1), slope = static_cast<T>(last - load<T>(before, 0));
  for (std::size_t i = 0; i < packed.size(); ++i) {
    const T residual = static_cast<T>(packed[Lanes<T>::place(layout, i)] - bias<T>(order, block.bits));
    if (order == 2) slope = static_cast<T>(slope + residual);
    last = order == 0 ? residual : static_cast<T>(last + (order == 1 ? residual : slope));
    WireWriter::store(values + i * sizeof(T), last);
  }
}

template <class T>
constexpr DbpKernel kernel{&encode<T>, &cost<T>, &decode<T>};

}  // namespace

const DbpKernels dbp_plain{kernel<std::uint8_t>, kernel<std::uint16_t>, kernel<std::uint32_t>, kernel<std::uint64_t>};

}  // namespace peel::codec
