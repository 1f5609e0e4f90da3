// onion/node.h - one node of a revision's tree: sixteen children, their digests, and in a leaf the slices.
//
// The tree is positional: a leaf covers 16 pages, an inner node 16 nodes of the level below, whatever the
// content. Absent children read as zeros. Position and digest tree are one structure, so equal digests prune
// every walk (diff, sync, scan), and an edit of one page rewrites one node a level.
//
// NODE payload (normative: docs/FORMAT.md):
//   offset size field
//        0    1 level        0 = leaf
//        1    1 page_log2    12..16
//        2    2 mask         bit i: child i present (leaf: page i is not all zeros)
//        4    2 slices       number of slices (leaf), 0 (inner)
//        6    2 reserved     0
//        8  32n digests      of present children, in order
//           8n  children     inner: offset of each present child's NODE record
//          24s  slices       leaf: chunk offset u64, record size u32, start u32, length u32, chunk_offset u32
//
// Slices ascend without overlap; `start` counts from the leaf's first byte; gaps read as zeros.
// Threads    A published node (shared_ptr<const Node>) is immutable.
// Memory     About 1.3 KB each, plus slices.
#pragma once

#include <memory>

#include "codec/grid_digest.h"
#include "onion/format.h"

namespace peel::onion {

struct Slice {
  std::uint64_t chunk = 0;        // offset of the CHUNK record
  std::uint32_t record_size = 0;  // of that record, padding included
  std::uint32_t start = 0, length = 0, chunk_offset = 0;
  std::uint32_t end() const { return start + length; }
  bool operator==(const Slice&) const = default;
};

struct Node {
  std::uint8_t level = 0;
  std::uint8_t page_log2 = page_log2_min;
  std::uint16_t mask = 0;
  std::array<std::uint64_t, fanout> child{};  // inner
  std::vector<Slice> slices;                  // leaf
  // Binary tree over the children's digests, heap order: [1] is this node's digest, [16 + i] child i's.
  std::array<Digest, 2 * fanout> digest;

  // All children absent.
  static Node empty(unsigned level, unsigned page_log2);

  bool has(unsigned i) const { return mask >> i & 1; }
  const Digest& child_digest(unsigned i) const { return digest[fanout + i]; }
  const Digest& own_digest() const { return digest[1]; }
  // Binary height (4 KiB blocks = 0) of a child's digest, and of this node's.
  unsigned child_height() const { return page_log2 - page_log2_min + 4u * level; }
  unsigned height() const { return child_height() + 4; }
  std::uint64_t page_size() const { return std::uint64_t{1} << page_log2; }

  void set_child(unsigned i, std::uint64_t ref, const Digest& d);
  void clear_child(unsigned i);
  // Recomputes the inner digests above the children named by `changed`, up to tree index `top` (1 = all).
  void update_digests(std::uint16_t changed, unsigned top = 1);
  // Leaf: what [start, end) is made of becomes `replacement` (ascending, inside the range).
  void replace_slices(std::uint32_t start, std::uint32_t end, std::span<const Slice> replacement);
};

void encode(const Node& n, Buffer& out);
// The inner digests are computed, so a decoded node is complete.
Result<Node> decode_node(Bytes payload);

}  // namespace peel::onion
