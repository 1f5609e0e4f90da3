#include "codec/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace peel::codec {

std::uint32_t crc32c(std::uint32_t crc, Bytes data) {
  // ISA-L works on the raw register (no inversion at either end), counts in int and forgot a const.
  constexpr std::size_t step_max = 1u << 30;
  std::uint32_t state = ~crc;
  while (!data.empty()) {
    const Bytes step = data.first(std::min(data.size(), step_max));
    auto* start = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(step.data()));
    state = crc32_iscsi(start, static_cast<int>(step.size()), state);
    data = data.subspan(step.size());
  }
  return ~state;
}

std::uint32_t crc32c_reference(std::uint32_t crc, Bytes data) {
  constexpr std::uint32_t polynomial = 0x82f63b78;  // 0x1edc6f41, bit-reversed
  crc = ~crc;
  for (const std::byte b : data) {
    crc ^= std::to_integer<std::uint32_t>(b);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
  }
  return ~crc;
}

}  // namespace peel::codec
