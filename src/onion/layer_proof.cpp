#include "onion/layer_proof.h"

#include <algorithm>

#include "codec/grid_digest.h"

namespace peel::onion {
namespace {

constexpr std::uint64_t content_bytes_free = 64u << 20, content_per_chunk_byte_max = 4;

// Roots of equal subtrees, one after the other, and the root over all of them.
class SubtreeStack {
public:
  explicit SubtreeStack(unsigned height) : height_(height) {}

  void add(Digest digest, unsigned level = 0) {
    std::uint64_t n = count_ >> level;
    count_ += std::uint64_t{1} << level;
    for (; n & 1; n >>= 1, ++level) digest = codec::parent_digest(stack_[level], digest);
    stack_[level] = digest;
  }
  void add_zeros(std::uint64_t subtrees) {
    while (subtrees > 0) {
      unsigned level = 0;
      while (level + height_ < codec::grid_height_max && (count_ >> level & 1) == 0 && subtrees >> level >= 2) ++level;
      add(codec::zero_subtree(height_ + level), level);
      subtrees -= std::uint64_t{1} << level;
    }
  }
  Digest root(unsigned height) {
    const std::uint64_t all = std::uint64_t{1} << (height - height_);
    if (count_ < all) add_zeros(all - count_);
    return stack_[height - height_];
  }

private:
  unsigned height_;
  std::uint64_t count_ = 0;
  std::array<Digest, codec::grid_height_max + 1> stack_{};  // stack_[h] valid where bit h of count_ is set
};

bool needs_no_parent(const RevisionLayer& layer) {
  if (layer.whole) return true;
  std::uint64_t at = 0;
  for (const Piece& p : layer.pieces) {
    if (p.offset != at) return false;
    at += p.length;
  }
  return at == layer.info.size;
}

// The bytes of one page, of pieces from `next` on.
Status read_page(const RevisionLayer& layer, std::size_t next, std::uint64_t begin, const PlainChunk& read,
                 std::pair<ChunkName, Buffer>& memory, MutableBytes out) {
  std::fill(out.begin(), out.end(), std::byte{0});
  const std::uint64_t end = begin + out.size();
  for (std::size_t i = next; i < layer.pieces.size() && layer.pieces[i].offset < end; ++i) {
    const Piece& p = layer.pieces[i];
    const std::uint64_t from = std::max(begin, p.offset), to = std::min(end, p.offset + p.length);
    if (from >= to || p.is_hole()) continue;
    if (memory.first != p.chunk) {
      memory.first = {};
      PEEL_TRY(memory.second, read(p.chunk), "");
      memory.first = p.chunk;
    }
    const std::uint64_t at = p.chunk_offset + (from - p.offset);
    if (at + (to - from) > memory.second.size()) return fail(ErrorKind::corrupt, "a piece reaches beyond its chunk");
    std::copy_n(memory.second.begin() + static_cast<std::ptrdiff_t>(at), to - from,
                out.begin() + static_cast<std::ptrdiff_t>(from - begin));
  }
  return {};
}

}  // namespace

bool wants_proof(const RevisionLayer& layer) {
  if (layer.info.size <= content_bytes_free || !needs_no_parent(layer)) return false;
  const LayerBytes bytes = bytes_of(layer);
  return bytes.content > content_bytes_free + bytes.chunks * content_per_chunk_byte_max;
}

Status prove_content(const RevisionLayer& layer, unsigned page_log2, const PlainChunk& read, PageMemo& memo,
                     const Cancel* cancel) {
  const std::uint64_t size = layer.info.size, page_size = std::uint64_t{1} << page_log2;
  const unsigned height = page_log2 - page_log2_min;
  const std::uint64_t pages = (size + page_size - 1) / page_size;
  SubtreeStack subtrees(height);
  std::pair<ChunkName, Buffer> memory;
  Buffer bytes(page_size);
  std::size_t next = 0;  // the first piece that reaches the page or beyond
  for (std::uint64_t page = 0; page < pages;) {
    const std::uint64_t begin = page * page_size, end = std::min(begin + page_size, size);
    while (next < layer.pieces.size() && layer.pieces[next].offset + layer.pieces[next].length <= begin) ++next;
    const bool zeros_ahead =
        next == layer.pieces.size() || layer.pieces[next].is_hole() || layer.pieces[next].offset >= end;
    if (zeros_ahead) {
      std::uint64_t until = size;
      if (next < layer.pieces.size())
        until = layer.pieces[next].is_hole() ? layer.pieces[next].offset + layer.pieces[next].length
                                             : layer.pieces[next].offset;
      const std::uint64_t last = until >= size ? pages : until / page_size;
      if (last > page) {
        subtrees.add_zeros(last - page);
        page = last;
        continue;
      }
    }
    if (cancel && page % 1024 == 0) PEEL_CHECK(cancel->check(), "");
    const std::string key = PageMemo::key(layer, next, begin, end, page_log2, true);
    auto digest = key.empty() ? std::nullopt : memo.find(key);
    if (!digest) {
      if (cancel) PEEL_CHECK(cancel->check(), "");
      PEEL_CHECK(read_page(layer, next, begin, read, memory, MutableBytes(bytes).first(end - begin)), "");
      digest = codec::subtree_digest(Bytes(bytes).first(end - begin), height);
      if (!key.empty()) memo.put(key, *digest);
    }
    subtrees.add(*digest);
    ++page;
  }
  if (codec::content_digest(size, subtrees.root(codec::content_height(size))) != layer.info.content)
    return fail(ErrorKind::corrupt, "a received layer does not give the content it claims");
  return {};
}

}  // namespace peel::onion
