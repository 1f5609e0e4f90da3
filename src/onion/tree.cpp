#include "onion/tree.h"

#include <algorithm>
#include <bit>

namespace peel::onion {

Result<int> LeafCursor::descend(std::uint64_t index) {
  const unsigned levels = tree_.levels();
  // Beyond the tree, or an empty one: absent as a whole.
  if (tree_.root == 0 || index >> (4 * (levels - 1)) != 0) return static_cast<int>(levels);
  for (int level = static_cast<int>(levels) - 1; level >= 0; --level) {
    const auto l = static_cast<unsigned>(level);
    const std::uint64_t wanted = index >> (4 * l);
    if (!path_[l] || path_index_[l] != wanted) {
      std::uint64_t ref = tree_.root;
      if (l + 1 < levels) {
        const auto& parent = path_[l + 1];
        const auto slot = static_cast<unsigned>(wanted & (fanout - 1));
        if (!parent->has(slot)) return level + 1;
        ref = parent->child[slot];
      }
      PEEL_TRY(auto node, store_.node(ref), "");
      if (node->level != l || node->page_log2 != tree_.page_log2)
        return fail(ErrorKind::corrupt, store_.path() + ": node at offset " + std::to_string(ref) + " does not fit its place");
      path_[l] = std::move(node);
      path_index_[l] = wanted;
    }
  }
  return -1;
}

Result<NodePointer> LeafCursor::leaf(std::uint64_t index) {
  PEEL_TRY(const int absent, descend(index), "");
  return absent < 0 ? path_[0] : NodePointer();
}

Result<std::uint64_t> LeafCursor::next_leaf(std::uint64_t index) {
  const std::uint64_t leaves = (tree_.pages() + fanout - 1) / fanout;
  while (index < leaves) {
    PEEL_TRY(const int absent, descend(index), "");
    if (absent < 0) return index;
    // The absent child at level `absent` spans 16^(absent-1) leaves.
    const unsigned shift = 4 * static_cast<unsigned>(absent - 1);
    if (shift >= 60) break;
    index = ((index >> shift) + 1) << shift;
  }
  return leaves;
}

Result<Digest> LeafCursor::page_digest(std::uint64_t page) {
  PEEL_TRY(const auto node, leaf(page / fanout), "");
  if (!node) return codec::zero_subtree(tree_.page_height());
  return node->child_digest(static_cast<unsigned>(page % fanout));
}

Result<Digest> DigestCursor::digest(unsigned height, std::uint64_t index) {
  const unsigned page_height = tree_.page_height();
  assert(height >= page_height);
  const unsigned top = codec::content_height(tree_.size);
  if (height > top) {
    if (index != 0) return codec::zero_subtree(height);
    PEEL_TRY(Digest d, digest(top, 0), "");
    for (unsigned h = top; h < height; ++h) d = codec::parent_digest(d, codec::zero_subtree(h));
    return d;
  }
  // Lies beyond the tree, or the tree is empty.
  if (tree_.root == 0 || (height < 64 && index >= std::uint64_t{1} << (top - height))) return codec::zero_subtree(height);
  if (height == page_height) return leaves_.page_digest(index);
  // The node that holds it: level l spans heights (page_height + 4l, page_height + 4l + 4].
  const unsigned l = (height - page_height - 1) / 4;
  const unsigned depth = page_height + 4 * l + 4 - height;  // 0 = the node's own digest
  const std::uint64_t node_index = index >> depth;
  if (!path_[l] || path_index_[l] != node_index) {
    std::uint64_t ref = tree_.root;
    for (unsigned level = tree_.levels() - 1; level > l; --level) {
      const std::uint64_t wanted = node_index >> (4 * (level - l));
      if (!path_[level] || path_index_[level] != wanted) {
        PEEL_TRY(path_[level], store_.node(ref), "");
        path_index_[level] = wanted;
      }
      const auto slot = static_cast<unsigned>(node_index >> (4 * (level - l - 1)) & (fanout - 1));
      if (!path_[level]->has(slot)) return codec::zero_subtree(height);
      ref = path_[level]->child[slot];
    }
    PEEL_TRY(path_[l], store_.node(ref), "");
    path_index_[l] = node_index;
  }
  return path_[l]->digest[(1u << depth) + (index & ((1u << depth) - 1))];
}

Status visit_slices(LeafCursor& cursor, std::uint64_t offset, std::uint64_t length, const SliceVisitor& visit) {
  const std::uint64_t leaf_size = cursor.tree().leaf_size(), end = offset + length;
  std::uint64_t at = offset;
  while (at < end) {
    const std::uint64_t leaf_index = at / leaf_size;
    PEEL_TRY(const auto next, cursor.next_leaf(leaf_index), "");
    if (next != leaf_index) {
      // Absent leaves; `next` past the last leaf means zeros to the end.
      const std::uint64_t until = next * leaf_size > at ? std::min(end, next * leaf_size) : end;
      PEEL_CHECK(visit(at, until - at, nullptr), "");
      at = until;
      continue;
    }
    PEEL_TRY(const auto node, cursor.leaf(leaf_index), "");
    const std::uint64_t base = leaf_index * leaf_size;
    const auto leaf_end = static_cast<std::uint32_t>(std::min(end - base, leaf_size));
    auto pos = static_cast<std::uint32_t>(at - base);
    auto slice = std::partition_point(node->slices.begin(), node->slices.end(), [&](const Slice& s) { return s.end() <= pos; });
    while (pos < leaf_end) {
      if (slice == node->slices.end() || slice->start >= leaf_end) {
        PEEL_CHECK(visit(base + pos, leaf_end - pos, nullptr), "");
        break;
      }
      if (slice->start > pos) {
        PEEL_CHECK(visit(base + pos, slice->start - pos, nullptr), "");
        pos = slice->start;
      }
      Slice cut = *slice;
      cut.chunk_offset += pos - cut.start;
      cut.length = std::min(cut.end(), leaf_end) - pos;
      cut.start = pos;
      PEEL_CHECK(visit(base + pos, cut.length, &cut), "");
      pos += cut.length;
      ++slice;
    }
    at = base + leaf_end;
  }
  return {};
}

namespace {

struct Comparison {
  DigestCursor a, b;
  unsigned height_min;
  std::uint64_t size;
  std::vector<Range> ranges;

  void add(std::uint64_t begin, std::uint64_t end) {
    end = std::min(end, size);
    if (begin >= end) return;
    if (!ranges.empty() && ranges.back().offset + ranges.back().length == begin)
      ranges.back().length = end - ranges.back().offset;
    else
      ranges.push_back({begin, end - begin});
  }

  Status compare(unsigned height, std::uint64_t index) {
    PEEL_TRY(const auto da, a.digest(height, index), "");
    PEEL_TRY(const auto db, b.digest(height, index), "");
    if (da == db) return {};
    if (height == height_min) {
      add(index << (height + 12), (index + 1) << (height + 12));
      return {};
    }
    PEEL_CHECK(compare(height - 1, 2 * index), "");
    return compare(height - 1, 2 * index + 1);
  }
};

}  // namespace

Result<std::vector<Range>> diff_trees(const Store& store, const Tree& a, const Tree& b) {
  const unsigned top = std::max(codec::content_height(a.size), codec::content_height(b.size));
  Comparison c{DigestCursor(store, a), DigestCursor(store, b), std::max(a.page_height(), b.page_height()), std::max(a.size, b.size), {}};
  if (a.root != b.root || a.page_log2 != b.page_log2) PEEL_CHECK(c.compare(top, 0), "");
  // Bytes past the shorter end differ even where they are zeros.
  const std::uint64_t shorter = std::min(a.size, b.size), longer = std::max(a.size, b.size);
  if (shorter == longer) return std::move(c.ranges);
  std::vector<Range> ranges;
  for (const Range& r : c.ranges)
    if (r.offset < shorter) ranges.push_back({r.offset, std::min(r.length, shorter - r.offset)});
  if (!ranges.empty() && ranges.back().offset + ranges.back().length == shorter)
    ranges.back().length += longer - shorter;
  else
    ranges.push_back({shorter, longer - shorter});
  return ranges;
}

}  // namespace peel::onion
