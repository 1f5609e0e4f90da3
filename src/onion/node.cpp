#include "onion/node.h"

#include <algorithm>
#include <bit>

namespace peel::onion {
namespace {

constexpr std::size_t node_header_size = 8;
constexpr std::size_t slice_size = 24;

// An empty node is needed for every new path; computing one takes no hashing, only table look-ups.
void fill_empty_digests(Node& n) {
  for (unsigned i = 1; i < 2 * fanout; ++i) {
    const unsigned depth = static_cast<unsigned>(std::bit_width(i)) - 1;
    n.digest[i] = codec::zero_subtree(n.height() - depth);
  }
}

}  // namespace

Node Node::empty(unsigned level, unsigned page_log2) {
  Node n;
  n.level = static_cast<std::uint8_t>(level);
  n.page_log2 = static_cast<std::uint8_t>(page_log2);
  fill_empty_digests(n);
  return n;
}

void Node::set_child(unsigned i, std::uint64_t ref, const Digest& d) {
  mask = static_cast<std::uint16_t>(mask | 1u << i);
  child[i] = ref;
  digest[fanout + i] = d;
}

void Node::clear_child(unsigned i) {
  mask = static_cast<std::uint16_t>(mask & ~(1u << i));
  child[i] = 0;
  digest[fanout + i] = codec::zero_subtree(child_height());
}

void Node::update_digests(std::uint16_t changed, unsigned top) {
  std::uint32_t dirty = changed;  // bit j: node (width + j) of the current row changed
  for (unsigned width = fanout; width > 1; width /= 2) {
    std::uint32_t parents = 0;
    for (unsigned j = 0; j < width / 2; ++j)
      if (dirty >> (2 * j) & 3u) parents |= 1u << j;
    dirty = parents;
    if (width / 2 < top) return;
    if (std::has_single_bit(parents)) {
      const unsigned i = width / 2 + static_cast<unsigned>(std::countr_zero(parents));
      digest[i] = codec::parent_digest(digest[2 * i], digest[2 * i + 1]);
    } else if (parents != 0) {
      // Several: one batch over the whole row costs less than picking them out.
      codec::parent_digests(std::span(digest).subspan(width, width), std::span(digest).subspan(width / 2, width / 2));
    }
  }
}

void Node::replace_slices(std::uint32_t start, std::uint32_t end, std::span<const Slice> replacement) {
  const auto first = std::partition_point(slices.begin(), slices.end(), [&](const Slice& s) { return s.end() <= start; });
  auto last = first;
  while (last != slices.end() && last->start < end) ++last;
  // What sticks out on either side stays.
  std::array<Slice, 2> edge;
  std::size_t left = 0, right = 0;
  if (first != last && first->start < start) {
    edge[0] = *first;
    edge[0].length = start - first->start;
    left = 1;
  }
  if (first != last && (last - 1)->end() > end) {
    edge[1] = *(last - 1);
    const auto cut = end - edge[1].start;
    edge[1].start = end;
    edge[1].length -= cut;
    edge[1].chunk_offset += cut;
    right = 1;
  }
  const auto removed = static_cast<std::size_t>(last - first);
  if (removed == replacement.size() + left + right) {  // the usual edit of a page: no shifting
    auto out = first;
    if (left) *out++ = edge[0];
    out = std::copy(replacement.begin(), replacement.end(), out);
    if (right) *out = edge[1];
  } else {
    const auto at = first - slices.begin();
    slices.erase(first, last);
    auto out = slices.begin() + at;
    if (right) out = slices.insert(out, edge[1]);
    out = slices.insert(out, replacement.begin(), replacement.end());
    if (left) slices.insert(out, edge[0]);
  }
  // Neighbours that continue one chunk become one slice again.
  std::size_t kept = 0;
  for (std::size_t i = 1; i < slices.size(); ++i) {
    Slice& before = slices[kept];
    const Slice& s = slices[i];
    if (before.chunk == s.chunk && before.end() == s.start && before.chunk_offset + before.length == s.chunk_offset)
      before.length += s.length;
    else if (++kept != i)
      slices[kept] = s;
  }
  if (!slices.empty()) slices.resize(kept + 1);
}

void encode(const Node& n, Buffer& out) {
  const auto present = static_cast<std::size_t>(std::popcount(n.mask));
  const std::size_t refs_size = n.level == 0 ? n.slices.size() * slice_size : present * 8;
  assert(n.slices.size() <= slices_per_leaf_max);
  const std::size_t at = out.size();
  out.resize(at + node_header_size + present * 32 + refs_size);
  std::byte* p = out.data() + at;
  p[0] = static_cast<std::byte>(n.level);
  p[1] = static_cast<std::byte>(n.page_log2);
  WireWriter::store(p + 2, n.mask);
  WireWriter::store(p + 4, static_cast<std::uint16_t>(n.level == 0 ? n.slices.size() : 0));
  WireWriter::store(p + 6, std::uint16_t{0});
  p += node_header_size;
  for (unsigned i = 0; i < fanout; ++i)
    if (n.has(i)) p = std::copy(n.child_digest(i).bytes.begin(), n.child_digest(i).bytes.end(), p);
  if (n.level > 0) {
    for (unsigned i = 0; i < fanout; ++i)
      if (n.has(i)) { WireWriter::store(p, n.child[i]); p += 8; }
    return;
  }
  for (const Slice& s : n.slices) {
    WireWriter::store(p, s.chunk);
    WireWriter::store(p + 8, s.record_size);
    WireWriter::store(p + 12, s.start);
    WireWriter::store(p + 16, s.length);
    WireWriter::store(p + 20, s.chunk_offset);
    p += slice_size;
  }
}

Result<Node> decode_node(Bytes payload) {
  if (payload.size() < node_header_size) return fail(ErrorKind::truncated, "node");
  const std::byte* p = payload.data();
  const auto level = std::to_integer<unsigned>(p[0]), page_log2 = std::to_integer<unsigned>(p[1]);
  if (level >= tree_levels_max || page_log2 < page_log2_min || page_log2 > page_log2_max) return fail(ErrorKind::corrupt, "node shape");
  const auto mask = WireReader::load<std::uint16_t>(p + 2);
  const std::size_t slices = WireReader::load<std::uint16_t>(p + 4);
  const auto present = static_cast<std::size_t>(std::popcount(mask));
  const std::size_t refs_size = level == 0 ? slices * slice_size : present * 8;
  if (level > 0 && slices != 0) return fail(ErrorKind::corrupt, "inner node with slices");
  if (payload.size() != node_header_size + present * 32 + refs_size) return fail(ErrorKind::corrupt, "node length");
  Node n = Node::empty(level, page_log2);
  n.mask = mask;
  p += node_header_size;
  for (unsigned i = 0; i < fanout; ++i)
    if (n.has(i)) { std::copy_n(p, 32, n.digest[fanout + i].bytes.begin()); p += 32; }
  if (level > 0) {
    for (unsigned i = 0; i < fanout; ++i)
      if (n.has(i)) { n.child[i] = WireReader::load<std::uint64_t>(p); p += 8; }
  } else {
    n.slices.resize(slices);
    std::uint64_t end = 0;
    for (Slice& s : n.slices) {
      s = {WireReader::load<std::uint64_t>(p), WireReader::load<std::uint32_t>(p + 8), WireReader::load<std::uint32_t>(p + 12),
           WireReader::load<std::uint32_t>(p + 16), WireReader::load<std::uint32_t>(p + 20)};
      p += slice_size;
      if (s.start < end || s.length == 0) return fail(ErrorKind::corrupt, "slices out of order");
      end = std::uint64_t{s.start} + s.length;
      if (end > fanout << page_log2) return fail(ErrorKind::corrupt, "slice beyond its leaf");
    }
  }
  if (mask != 0) n.update_digests(0xffff);
  return n;
}

}  // namespace peel::onion
