// Property: no answer of a helper, however hostile, crashes the decoders; and what they accept is what the
// encoder would send: it encodes to bytes that decode to the same report.
#include <cstdlib>

#include "hdf5/answer.h"
#include "hdf5/protocol.h"

using namespace peel;
using namespace peel::hdf5;

namespace {

constexpr std::size_t items_max = 10'000;

// Through bytes once more: a NaN differs from itself, its encoding does not.
template <class Decode>
void check(Bytes in, Decode decode) {
  const auto first = decode(in);
  if (!first) return;
  const Buffer once = encode_answer(*first);
  const auto second = decode(Bytes(once));
  if (!second || encode_answer(*second) != once) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes in(reinterpret_cast<const std::byte*>(data), size);
  check(in, [](Bytes b) { return decode_health(b); });
  check(in, [](Bytes b) { return decode_listing(b, items_max); });
  check(in, [](Bytes b) { return decode_file_diff(b, items_max); });
  if (const auto header = decode_frame_header(in)) {
    if (encode(*header) != Buffer(in.begin(), in.begin() + frame_header_size)) std::abort();
  }
  if (const auto request = decode_request(in)) {
    if (encode(*request) != Buffer(in.begin(), in.end())) std::abort();
  }
  return 0;
}
