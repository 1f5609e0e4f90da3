// Property: no stored bytes make decode write outside its output or crash; what encode stores, decode
// gives back; whatever is decoded can be stored and decoded again.
//
// Input: codec, width, effort, size of the plain bytes (u16), then the bytes.
#include <cstdlib>

#include "base/wire.h"
#include "codec/page_codec.h"

using namespace peel;
using namespace peel::codec;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void round_trip(Bytes plain, EncodeHint hint) {
  Buffer stored, back(plain.size());
  const Encoded e = encode(plain, hint, stored);
  require(e.size == stored.size() && e.size <= plain.size());
  require(decode(e.codec, e.width, stored, back).ok());
  require(std::equal(plain.begin(), plain.end(), back.begin()));
}

void round_trip_as(Codec codec, std::uint8_t width, Effort effort, Bytes plain) {
  Buffer stored, back(plain.size());
  const auto e = encode_as(codec, width, effort, plain, stored);
  if (!e) return require(e.error().kind() == ErrorKind::unsupported && stored.empty());
  require(decode(e->codec, e->width, stored, back).ok());
  require(std::equal(plain.begin(), plain.end(), back.begin()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  WireReader r(std::as_bytes(std::span(data, size)));
  const auto codec = r.integer<std::uint8_t>(), width = r.integer<std::uint8_t>(), effort = r.integer<std::uint8_t>();
  const auto plain_size = r.integer<std::uint16_t>();
  if (!codec || !width || !effort || !plain_size) return 0;
  const auto strength = static_cast<Effort>(*effort % 3);

  Buffer plain(*plain_size);
  if (decode(static_cast<Codec>(*codec), *width, r.rest(), plain).ok()) {
    round_trip(plain, {*width, strength});
    round_trip_as(static_cast<Codec>(*codec), *width, strength, plain);
  }
  round_trip(r.rest(), {*width, strength});
  round_trip_as(static_cast<Codec>(*codec), *width, strength, r.rest());
  return 0;
}
