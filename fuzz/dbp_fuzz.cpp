// Property: every CPU level decodes the same bytes from the same stored ones, or refuses alike; and stores the same
// bytes for the same plain ones.
//
// Input: width and order (two bits each), size of the plain bytes (u16), then the bytes.
#include <cstdlib>

#include "base/wire.h"
#include "codec/dbp.h"

using namespace peel;
using namespace peel::codec;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

Buffer stored(std::uint8_t width, unsigned order, Bytes plain, CpuLevel level) {
  Buffer out(dbp_bound(width, plain.size()));
  out.resize(dbp_encode(width, order, plain, out, level));
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  WireReader r(std::as_bytes(std::span(data, size)));
  const auto choice = r.integer<std::uint8_t>();
  const auto plain_size = r.integer<std::uint16_t>();
  if (!choice || !plain_size) return 0;
  const auto width = static_cast<std::uint8_t>(1u << (*choice & 3));
  const unsigned order = (*choice >> 2) % 3;

  Buffer first(*plain_size);
  const bool first_ok = dbp_decode(width, r.rest(), first, CpuLevel::plain).ok();
  for (const CpuLevel level : usable_cpu_levels()) {
    Buffer plain(*plain_size);
    require(dbp_decode(width, r.rest(), plain, level).ok() == first_ok);
    if (first_ok) require(plain == first);
  }
  const Buffer expected = stored(width, order, r.rest(), CpuLevel::plain);
  for (const CpuLevel level : usable_cpu_levels()) {
    require(stored(width, order, r.rest(), level) == expected);
    Buffer back(r.rest().size());
    require(dbp_decode(width, expected, back, level).ok());
    require(std::equal(back.begin(), back.end(), r.rest().begin()));
  }
  return 0;
}
