// tests/codec/cuts.h - what the tests of the chunkers share.
#pragma once

#include <vector>

#include "codec/blake3.h"

namespace peel::test {

inline codec::Key key_of(std::string_view text) { return codec::blake3(as_bytes(text)).bytes; }

// Where each chunk ends.
template <class AnyChunker>
std::vector<std::size_t> cuts_of(const AnyChunker& chunker, Bytes data) {
  std::vector<std::size_t> cuts;
  for (std::size_t at = 0; at < data.size();) cuts.push_back(at += chunker.next_cut(data.subspan(at), true));
  return cuts;
}

}  // namespace peel::test
