// onion/tree.h - walking and reading the tree of one revision.
//
// Errors     corrupt (from the store), io.
// Threads    Cursors: one owner. Free functions: any thread.
// Memory     A cursor holds one node a level.
#pragma once

#include <functional>

#include "onion/store.h"

namespace peel::onion {

// A revision's content, as far as the tree is concerned.
struct Tree {
  std::uint64_t root = 0;  // 0: all zeros
  std::uint64_t size = 0;
  unsigned page_log2 = page_log2_min;

  unsigned levels() const { return tree_levels(size, page_log2); }
  std::uint64_t page_size() const { return std::uint64_t{1} << page_log2; }
  std::uint64_t pages() const { return (size + page_size() - 1) >> page_log2; }
  std::uint64_t leaf_size() const { return page_size() * fanout; }
  unsigned page_height() const { return page_log2 - page_log2_min; }
};

using NodePointer = std::shared_ptr<const Node>;

// Sequential or random access to leaves and page digests; neighbours cost nothing extra.
class LeafCursor {
 public:
  LeafCursor(const Store& store, const Tree& tree) : store_(store), tree_(tree) {}
  // The leaf over pages [16 * index, 16 * index + 16); null when it is absent (zeros).
  Result<NodePointer> leaf(std::uint64_t index);
  // Zero-subtree digest for pages that are absent or beyond the end.
  Result<Digest> page_digest(std::uint64_t page);
  // First leaf index >= `index` that may be present; leaves beyond the end when none.
  Result<std::uint64_t> next_leaf(std::uint64_t index);
  const Tree& tree() const { return tree_; }

 private:
  // Walks down towards leaf `index`; returns the level at which a child was absent, or -1 at the leaf.
  Result<int> descend(std::uint64_t index);

  const Store& store_;
  Tree tree_;
  static constexpr unsigned levels_max = 14;
  std::array<NodePointer, levels_max> path_;
  std::array<std::uint64_t, levels_max> path_index_{};
};

// Digests of any aligned subtree of a tree, for comparing two.
class DigestCursor {
 public:
  DigestCursor(const Store& store, const Tree& tree) : leaves_(store, tree), store_(store), tree_(tree) {}
  // Subtree of 2^height 4 KiB blocks, number `index`; height >= page height.
  Result<Digest> digest(unsigned height, std::uint64_t index);

 private:
  LeafCursor leaves_;
  const Store& store_;
  Tree tree_;
  // The last node visited on each level.
  std::array<NodePointer, 14> path_;
  std::array<std::uint64_t, 14> path_index_{};
};

// Remembers the last chunk decoded, so that reading a chunk in pieces decodes it once.
struct ChunkMemory {
  std::uint64_t offset = 0;
  bool proven = false;  // checked against the chunk's own name
  Buffer plain;
};

// Fills `out` with [offset, offset + out.size()), which must lie inside the tree. Verified.
Status read_tree(const Store& store, LeafCursor& cursor, std::uint64_t offset, MutableBytes out, ChunkMemory& memory);

// What [offset, offset + length) is made of, in order: a slice cut to the range, or null for zeros.
using SliceVisitor = std::function<Status(std::uint64_t offset, std::uint64_t length, const Slice* slice)>;
Status visit_slices(LeafCursor& cursor, std::uint64_t offset, std::uint64_t length, const SliceVisitor& visit);

// Ranges in which two trees differ, on borders of the larger page, merged, cut to the larger size.
Result<std::vector<Range>> diff_trees(const Store& store, const Tree& a, const Tree& b);

}  // namespace peel::onion
