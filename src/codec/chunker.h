// codec/chunker.h - content-defined cutting: borders that move with the bytes.
//
// Contract   next_cut(window, at_end) returns the length of the first chunk of `window`. The window
//            must hold size_max bytes unless `at_end` says the stream ends with it. The answer depends
//            only on the window's bytes and the parameters: any caller, machine or buffer size cuts at
//            the same places.
// Errors     None.
// Threads    const after construction: any thread.
// Source     FastCDC (Xia et al., USENIX ATC 2016): gear hash, normalised around size_average, the
//            first size_min bytes of a chunk skipped. The gear table is keyed per lineage, so chunk
//            sizes do not fingerprint well-known contents.
#pragma once

#include "codec/blake3.h"
#include "peel/types.h"

namespace peel::codec {

struct ChunkerSizes {
  std::uint32_t size_min, size_average, size_max;  // bytes; average a power of two
  // average/4, average, 4*average
  static ChunkerSizes around(std::uint32_t average) { return {average / 4, average, average * 4}; }
};

class Chunker {
 public:
  Chunker(ChunkerSizes sizes, const Key& key);
  std::size_t next_cut(Bytes window, bool at_end) const;
  const ChunkerSizes& sizes() const { return sizes_; }

 private:
  ChunkerSizes sizes_;
  std::uint64_t mask_strict_, mask_loose_;
  std::array<std::uint64_t, 256> gear_;
};

}  // namespace peel::codec
