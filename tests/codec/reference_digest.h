// tests/codec/reference_digest.h - the content digest as its definition reads, slow and short.
#pragma once

#include "codec/blake3.h"

namespace peel::test {

inline codec::Key reference_key(const char* name) { return codec::blake3(as_bytes(name)).bytes; }

inline Digest reference_parent(const Digest& left, const Digest& right) {
  Buffer both(left.bytes.begin(), left.bytes.end());
  both.insert(both.end(), right.bytes.begin(), right.bytes.end());
  return codec::blake3_keyed(reference_key("peel 1 parent"), both);
}

// Zero subtrees are computed once, or 2^height blocks would have to be hashed.
inline Digest reference_zeros(unsigned height) {
  static std::vector<Digest> known;
  while (known.size() <= height)
    known.push_back(known.empty() ? codec::blake3_keyed(reference_key("peel 1 leaf"), Buffer(4096))
                                  : reference_parent(known.back(), known.back()));
  return known[height];
}

inline Digest reference_subtree(Bytes data, unsigned height) {
  if (data.empty()) return reference_zeros(height);
  if (height == 0) {
    Buffer block(data.begin(), data.end());
    block.resize(4096);
    return codec::blake3_keyed(reference_key("peel 1 leaf"), block);
  }
  const std::size_t half = std::size_t{4096} << (height - 1);
  const Bytes left = data.first(std::min(half, data.size()));
  return reference_parent(reference_subtree(left, height - 1), reference_subtree(data.subspan(left.size()), height - 1));
}

inline Digest reference_sized(const char* domain, std::uint64_t size, const Digest& root) {
  Buffer input(8);
  for (std::size_t i = 0; i < 8; ++i) input[i] = static_cast<std::byte>(size >> (8 * i));
  input.insert(input.end(), root.bytes.begin(), root.bytes.end());
  return codec::blake3_keyed(reference_key(domain), input);
}

inline unsigned reference_height(std::uint64_t size, unsigned at_least) {
  unsigned h = at_least;
  while ((std::uint64_t{4096} << h) < size) ++h;
  return h;
}

inline Digest reference_content(Bytes data) {
  return reference_sized("peel 1 content", data.size(), reference_subtree(data, reference_height(data.size(), 4)));
}
inline Digest reference_chunk(Bytes data) {
  return reference_sized("peel 1 chunk", data.size(), reference_subtree(data, reference_height(data.size(), 0)));
}

}  // namespace peel::test
