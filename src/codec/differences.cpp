#include "codec/differences.h"

#include <cassert>

#include "base/wire.h"

namespace peel::codec {
namespace {

template <class T>
std::size_t subtract(Bytes in, MutableBytes out) {
  const std::size_t n = in.size() / sizeof(T);
  T before = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const T value = WireReader::load<T>(in.data() + i * sizeof(T)), d = static_cast<T>(value - before);
    const T negative = static_cast<T>(T{0} - static_cast<T>(d >> (8 * sizeof(T) - 1)));
    WireWriter::store(out.data() + i * sizeof(T), static_cast<T>(static_cast<T>(d << 1) ^ negative));
    before = value;
  }
  return n * sizeof(T);
}

template <class T>
void add_up(MutableBytes bytes) {
  T value = 0;
  for (std::byte* p = bytes.data(); p + sizeof(T) <= bytes.data() + bytes.size(); p += sizeof(T)) {
    const T code = WireReader::load<T>(p);
    value = static_cast<T>(value + static_cast<T>(static_cast<T>(code >> 1) ^ static_cast<T>(T{0} - static_cast<T>(code & 1))));
    WireWriter::store(p, value);
  }
}

}  // namespace

void differences_of(Bytes in, std::uint8_t width, MutableBytes out) {
  assert(in.size() == out.size());
  std::size_t done = 0;
  switch (width) {
    case 1: done = subtract<std::uint8_t>(in, out); break;
    case 2: done = subtract<std::uint16_t>(in, out); break;
    case 4: done = subtract<std::uint32_t>(in, out); break;
    case 8: done = subtract<std::uint64_t>(in, out); break;
    default: assert(false);
  }
  if (done < in.size()) std::memcpy(out.data() + done, in.data() + done, in.size() - done);
}

void add_up_differences(std::uint8_t width, MutableBytes bytes) {
  switch (width) {
    case 1: return add_up<std::uint8_t>(bytes);
    case 2: return add_up<std::uint16_t>(bytes);
    case 4: return add_up<std::uint32_t>(bytes);
    case 8: return add_up<std::uint64_t>(bytes);
    default: assert(false);
  }
}

}  // namespace peel::codec
