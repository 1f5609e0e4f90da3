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

// Small numbers of either sign become small numbers: 0, -1, 1, -2 ... are 0, 1, 2, 3 ...
template <class T>
T zigzag(T difference) {
  const T sign = static_cast<T>(difference >> (bits_of<T> - 1));
  return static_cast<T>(static_cast<T>(difference << 1) ^ static_cast<T>(T{0} - sign));
}
template <class T>
T unzigzag(T code) {
  return static_cast<T>(static_cast<T>(code >> 1) ^ static_cast<T>(T{0} - static_cast<T>(code & 1)));
}

template <class T>
Values<T> differences(unsigned order, const std::byte* values) {
  Values<T> out;
  T before = load<T>(values, -1), slope = static_cast<T>(before - load<T>(values, -2));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const T value = load<T>(values, static_cast<std::ptrdiff_t>(i));
    const T step = static_cast<T>(value - before);
    out[i] = order == 0 ? value : zigzag<T>(order == 1 ? step : static_cast<T>(step - slope));
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
Width choose(const Values<T>& values) {
  std::array<unsigned, bits_of<T> + 1> count{};
  for (const T v : values) ++count[std::bit_width(v)];
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

// Element i of a row is in lane i; a lane is a string of bits that runs down the rows, lowest bit first.
template <class T>
struct Lanes {
  static constexpr std::size_t count = dbp_row_size / sizeof(T);

  static std::byte* word(std::byte* rows, std::size_t row, std::size_t lane) { return rows + row * dbp_row_size + lane * sizeof(T); }

  static void pack(const Values<T>& values, unsigned bits, std::byte* rows) {
    for (std::size_t i = 0; i < dbp_row_size * bits; ++i) rows[i] = std::byte{0};
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T value = static_cast<T>(values[i] & low_mask<T>(bits));
      const std::size_t bit = i / count * bits, row = bit / bits_of<T>;
      const unsigned shift = static_cast<unsigned>(bit % bits_of<T>);
      put(word(rows, row, i % count), static_cast<T>(value << shift));
      if (shift + bits > bits_of<T>) put(word(rows, row + 1, i % count), static_cast<T>(value >> (bits_of<T> - shift)));
    }
  }
  static void unpack(const std::byte* rows, unsigned bits, Values<T>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t bit = i / count * bits, row = bit / bits_of<T>;
      const unsigned shift = static_cast<unsigned>(bit % bits_of<T>);
      T value = 0;
      if (bits > 0) value = static_cast<T>(get(rows, row, i % count) >> shift);
      if (shift + bits > bits_of<T>) value = static_cast<T>(value | static_cast<T>(get(rows, row + 1, i % count) << (bits_of<T> - shift)));
      values[i] = static_cast<T>(value & low_mask<T>(bits));
    }
  }

 private:
  static T get(const std::byte* rows, std::size_t row, std::size_t lane) {
    return WireReader::load<T>(rows + row * dbp_row_size + lane * sizeof(T));
  }
  static void put(std::byte* p, T more) { WireWriter::store(p, static_cast<T>(WireReader::load<T>(p) | more)); }
};

template <class T>
std::size_t encode(unsigned order, const std::byte* values, std::byte* out) {
  const Values<T> residuals = differences<T>(order, values);
  const Width width = choose(residuals);
  const std::size_t high_size = dbp_high_size(sizeof(T), width.bits);
  out[0] = static_cast<std::byte>(width.bits);
  out[1] = static_cast<std::byte>(width.exceptions);
  std::byte* position = out + 2;
  std::byte* high = position + width.exceptions;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    if (static_cast<unsigned>(std::bit_width(residuals[i])) <= width.bits) continue;
    *position++ = static_cast<std::byte>(i);
    const T part = static_cast<T>(residuals[i] >> width.bits);
    for (std::size_t j = 0; j < high_size; ++j) *high++ = static_cast<std::byte>(part >> (8 * j));
  }
  Lanes<T>::pack(residuals, width.bits, high);
  return width.stored;
}

template <class T>
std::array<std::size_t, 3> costs(const std::byte* values) {
  return {choose(differences<T>(0, values)).stored, choose(differences<T>(1, values)).stored,
          choose(differences<T>(2, values)).stored};
}

template <class T>
void decode(unsigned order, const DbpBlock& block, const std::byte* before, std::byte* values) {
  Values<T> residuals;
  Lanes<T>::unpack(block.rows, block.bits, residuals);
  const std::size_t high_size = dbp_high_size(sizeof(T), block.bits);
  for (unsigned k = 0; k < block.exceptions; ++k) {
    T high = 0;
    for (std::size_t j = 0; j < high_size; ++j)
      high = static_cast<T>(high | static_cast<T>(std::to_integer<T>(block.high_parts[k * high_size + j]) << (8 * j)));
    T& value = residuals[std::to_integer<std::size_t>(block.positions[k])];
    value = static_cast<T>(value | static_cast<T>(high << block.bits));
  }
  T last = load<T>(before, 1), slope = static_cast<T>(last - load<T>(before, 0));
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    if (order == 0) {
      last = residuals[i];
    } else {
      const T difference = unzigzag(residuals[i]);
      slope = order == 1 ? difference : static_cast<T>(slope + difference);
      last = static_cast<T>(last + slope);
    }
    WireWriter::store(values + i * sizeof(T), last);
  }
}

template <class T>
constexpr DbpKernel kernel{&encode<T>, &costs<T>, &decode<T>};

}  // namespace

const DbpKernels dbp_plain{kernel<std::uint8_t>, kernel<std::uint16_t>, kernel<std::uint32_t>, kernel<std::uint64_t>};

}  // namespace peel::codec
