// Property: however a stream is cut and whichever zeros are skipped instead of written, its content digest
// is that of the bytes; cuts of the chunker do not depend on the window.
//
// Input: steps of one control byte and a payload. Control: low 6 bits = payload length, bit 6 = the payload
// is repeated 100 times, bit 7 = zeros instead.
#include <cstdlib>

#include "codec/chunker.h"
#include "codec/grid_digest.h"

using namespace peel;
using namespace peel::codec;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void check_cuts(Bytes data) {
  const ChunkerSizes sizes = ChunkerSizes::around(64);
  const Chunker chunker(sizes, Key{});
  while (!data.empty()) {
    const std::size_t cut = chunker.next_cut(data, true);
    require(cut > 0 && cut <= data.size() && cut <= sizes.size_max);
    if (data.size() >= sizes.size_max) require(chunker.next_cut(data.first(sizes.size_max), false) == cut);
    data = data.subspan(cut);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes in = std::as_bytes(std::span(data, size));
  Buffer written;
  ContentHasher hasher;
  while (!in.empty() && written.size() < (1u << 20)) {
    const auto control = std::to_integer<unsigned>(in[0]);
    const Bytes payload = in.subspan(1, std::min<std::size_t>(control & 63, in.size() - 1));
    in = in.subspan(1 + payload.size());
    const std::size_t times = (control & 64) != 0 ? 100 : 1;
    if ((control & 128) != 0) {
      hasher.skip_zeros(payload.size() * times);
      written.resize(written.size() + payload.size() * times);
      continue;
    }
    Buffer piece;
    for (std::size_t i = 0; i < times; ++i) piece.insert(piece.end(), payload.begin(), payload.end());
    hasher.update(piece);
    written.insert(written.end(), piece.begin(), piece.end());
  }
  const std::uint64_t total = written.size();
  require(hasher.finish() == content_digest(total, subtree_digest(written, content_height(total))));
  check_cuts(written);
  return 0;
}
