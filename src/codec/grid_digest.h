// codec/grid_digest.h - the content digest: a binary Merkle tree over a file's 4 KiB grid blocks.
//
// It depends on the bytes and the size alone: not on chunking, history or machine.
//
//   leaf      BLAKE3 keyed(leaf key) of one 4096-byte block; a short last block is padded with zeros
//   parent    BLAKE3 keyed(parent key) of left || right (64 bytes)
//   content   BLAKE3 keyed(root key) of size (u64 LE) || subtree root at height h,
//             h = max(4, smallest h with 4096 * 2^h >= size)
//   chunk     BLAKE3 keyed(chunk key) of length (u64 LE) || subtree root of the chunk's bytes at
//             height h = smallest h with 4096 * 2^h >= length. Names a stored chunk.
//
// The keys are BLAKE3 of "peel 1 leaf", "peel 1 parent", "peel 1 content", "peel 1 chunk". Missing
// blocks are zeros, so an all-zero subtree of height h is the constant zero_subtree(h) and holes
// cost nothing. Why h starts at 4: pages reach 64 KiB (height 4), and a page's digest must suffice
// to know the content digest.
//
// Errors     None.
// Threads    Any.
// Source     docs/FORMAT.md, Digests
#pragma once

#include <span>

#include "peel/types.h"

namespace peel::codec {

inline constexpr std::size_t grid_block_size = 4096;
inline constexpr unsigned grid_height_max = 52;
inline constexpr unsigned content_height_min = 4;

// Root of the subtree over 2^height zero blocks.
const Digest& zero_subtree(unsigned height);

// One digest per started 4 KiB block of `data`; out.size() == ceil(data.size() / 4096). Batched.
void leaf_digests(Bytes data, std::span<Digest> out);

// out[i] = parent(in[2i], in[2i+1]); in.size() == 2 * out.size(). Batched. out may alias in's front.
void parent_digests(std::span<const Digest> in, std::span<Digest> out);
Digest parent_digest(const Digest& left, const Digest& right);

// Root at `height` over data.size() <= 4096 << height bytes (the rest counts as zeros).
Digest subtree_digest(Bytes data, unsigned height);

// Subtree roots of consecutive pages of 4096 << height bytes; the last may be short. Batched.
void page_digests(Bytes data, unsigned height, std::span<Digest> out);

// Smallest h >= 0 with 4096 * 2^h >= size; content_height is never below content_height_min.
unsigned grid_height(std::uint64_t size);
unsigned content_height(std::uint64_t size);

// `root` is the subtree root at content_height(size).
Digest content_digest(std::uint64_t size, const Digest& root);
Digest chunk_digest(Bytes data);
// For a caller that already has the subtree root at grid_height(length).
Digest chunk_digest_of_root(std::uint64_t length, const Digest& root);

// True when every byte is zero.
bool all_zero(Bytes data);

// The content digest of a stream, in O(log size) memory.
class ContentHasher {
 public:
  void update(Bytes data);
  // `bytes` zeros, without hashing them where whole blocks allow.
  void skip_zeros(std::uint64_t bytes);
  Digest finish();  // ends the stream

 private:
  void add_blocks(Bytes data);  // the last may be short: only at the end
  void flush();

  std::uint64_t size_ = 0;
  std::uint64_t blocks_ = 0;
  Buffer partial_;  // bytes not hashed yet, at most 32 KiB
  std::array<Digest, grid_height_max + 1> stack_{};  // stack_[h] valid where bit h of blocks_ is set
};

}  // namespace peel::codec
