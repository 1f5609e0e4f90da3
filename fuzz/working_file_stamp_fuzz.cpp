// Property: whatever decodes as a stamp encodes to something that decodes to the same.
#include <cstdlib>

#include "workspace/file_source.h"
#include "workspace/stamp.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace peel::workspace;
  const auto stamp = decode_stamp({reinterpret_cast<const char*>(data), size});
  if (!stamp) return 0;
  const auto again = decode_stamp(encode_stamp(*stamp));
  if (!again || !same_moment(again->times, stamp->times) || again->looked_ns != stamp->looked_ns ||
      again->quiet != stamp->quiet || again->revision != stamp->revision || again->content != stamp->content)
    std::abort();
  return 0;
}
