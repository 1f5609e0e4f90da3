// Bytes of a tree: whole pages leaf by leaf, chunks that lie side by side with one read, digests in one batch. What is
// no whole page, and a leaf in which something is wrong, goes chunk by chunk: that is slower and names the damage.
#include <algorithm>

#include "base/copy.h"
#include "codec/page_codec.h"
#include "onion/tree.h"

namespace peel::onion {
namespace {

constexpr std::size_t run_size_max = 256u << 10;  // of records read at once
constexpr std::size_t record_size_max = record_size(chunk_header_size + codec::chunk_size_max);

thread_local Buffer run_buffer;  // only grows

class PageReader {
 public:
  PageReader(const Store& store, const Tree& tree, const Node& leaf, ChunkMemory& memory) : store_(store), tree_(tree), leaf_(leaf), memory_(memory) {}

  // Pages from `first` on; false when anything is not as the leaf says.
  Result<bool> read(unsigned first, MutableBytes out) {
    out_ = out;
    begin_ = first << tree_.page_log2;
    const std::uint32_t end = begin_ + static_cast<std::uint32_t>(out.size());
    auto slice = std::partition_point(leaf_.slices.begin(), leaf_.slices.end(), [&](const Slice& s) { return s.end() <= begin_; });
    std::uint32_t filled = begin_;
    while (slice != leaf_.slices.end() && slice->start < end) {
      const auto run_end = end_of_run(slice, end);
      PEEL_TRY(const Bytes run, read_run(slice, run_end), "");
      const std::uint64_t run_at = slice->chunk;
      for (; slice != run_end; ++slice) {
        if (slice->start > filled) zero(filled, slice->start);
        const std::uint64_t skip = slice->chunk - run_at;
        if (skip > run.size() || !place(*slice, run.subspan(static_cast<std::size_t>(skip)), end)) return false;
        filled = std::min(end, slice->end());
      }
    }
    if (filled < end) zero(filled, end);
    std::array<Digest, fanout> digests;
    const auto pages = static_cast<unsigned>(out.size() >> tree_.page_log2);
    codec::page_digests(out, tree_.page_height(), std::span(digests).first(pages));
    return std::equal(digests.begin(), digests.begin() + pages, leaf_.digest.begin() + fanout + first);
  }

 private:
  using Iterator = std::vector<Slice>::const_iterator;

  // The slices from `slice` on whose chunks follow each other in the file.
  Iterator end_of_run(Iterator slice, std::uint32_t end) const {
    std::size_t size = slice->record_size;
    auto next = slice + 1;
    for (; next != leaf_.slices.end() && next->start < end && next->chunk == slice->chunk + slice->record_size; ++slice, ++next) {
      size += next->record_size;
      if (size > run_size_max) break;
    }
    return next;
  }

  Result<Bytes> read_run(Iterator first, Iterator last) {
    if (first->chunk == memory_.offset && last - first == 1) return Bytes();  // decoded already
    std::size_t size = 0;
    for (auto s = first; s != last; ++s) size += s->record_size;
    size = std::min(size, record_size_max);  // a record's size is only a hint
    if (run_buffer.size() < size) run_buffer.resize(size);
    PEEL_TRY(const auto got, store_.file().read_at(first->chunk, MutableBytes(run_buffer).first(size)), store_.path());
    return Bytes(run_buffer).first(got);
  }

  // Puts what `slice` names where it belongs, as far as it lies in the range.
  bool place(const Slice& slice, Bytes record, std::uint32_t end) {
    const std::uint32_t from = std::max(begin_, slice.start), to = std::min(end, slice.end());
    const MutableBytes target = out_.subspan(from - begin_, to - from);
    if (memory_.offset != slice.chunk) {
      const auto chunk = store_.view_chunk(slice.chunk, record);
      if (!chunk) return false;
      const std::size_t length = chunk->header.name.length;
      const auto codec = static_cast<codec::Codec>(chunk->header.codec);
      if (slice.chunk_offset == 0 && length == target.size()) return codec::decode(codec, chunk->header.width, chunk->stored, target).ok();
      memory_.offset = 0;
      memory_.plain.resize(length);
      if (!codec::decode(codec, chunk->header.width, chunk->stored, memory_.plain)) return false;
      memory_.offset = slice.chunk;
      memory_.proven = false;
    }
    const std::uint64_t skip = std::uint64_t{slice.chunk_offset} + (from - slice.start);
    if (skip + target.size() > memory_.plain.size()) return false;
    copy_bytes(Bytes(memory_.plain).subspan(static_cast<std::size_t>(skip), target.size()), target.data());
    return true;
  }

  void zero(std::uint32_t from, std::uint32_t to) { std::fill_n(out_.begin() + (from - begin_), to - from, std::byte{0}); }

  const Store& store_;
  const Tree& tree_;
  const Node& leaf_;
  ChunkMemory& memory_;
  MutableBytes out_;
  std::uint32_t begin_ = 0;  // of out_ in the leaf
};

Status read_by_chunks(const Store& store, LeafCursor& cursor, std::uint64_t offset, MutableBytes out, ChunkMemory& memory) {
  return visit_slices(cursor, offset, out.size(), [&](std::uint64_t at, std::uint64_t length, const Slice* slice) -> Status {
    const MutableBytes target = out.subspan(static_cast<std::size_t>(at - offset), static_cast<std::size_t>(length));
    if (!slice) {
      std::fill(target.begin(), target.end(), std::byte{0});
      return {};
    }
    if (memory.offset != slice->chunk || !memory.proven) {
      memory.offset = 0;
      PEEL_CHECK(store.read_chunk(slice->chunk, slice->record_size, memory.plain), "");
      memory.offset = slice->chunk;
      memory.proven = true;
    }
    if (std::uint64_t{slice->chunk_offset} + slice->length > memory.plain.size())
      return fail(ErrorKind::corrupt, store.path() + ": slice beyond its chunk at offset " + std::to_string(slice->chunk));
    std::copy_n(memory.plain.begin() + slice->chunk_offset, slice->length, target.begin());
    return {};
  });
}

}  // namespace

Status read_tree(const Store& store, LeafCursor& cursor, std::uint64_t offset, MutableBytes out, ChunkMemory& memory) {
  const Tree& tree = cursor.tree();
  const std::uint64_t page_size = tree.page_size(), leaf_size = tree.leaf_size();
  for (std::uint64_t at = offset; !out.empty();) {
    const auto room = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), leaf_size - at % leaf_size));
    const auto take = [&](std::size_t size) {
      at += size;
      out = out.subspan(size);
    };
    if (at % page_size != 0 || room < page_size) {
      const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(room, page_size - at % page_size));
      PEEL_CHECK(read_by_chunks(store, cursor, at, out.first(part), memory), "");
      take(part);
      continue;
    }
    const MutableBytes pages = out.first(room & ~static_cast<std::size_t>(page_size - 1));
    PEEL_TRY(const auto leaf, cursor.leaf(at / leaf_size), "");
    if (!leaf) {
      std::fill(pages.begin(), pages.end(), std::byte{0});
    } else {
      const auto first = static_cast<unsigned>(at % leaf_size >> tree.page_log2);
      PEEL_TRY(const bool right, PageReader(store, tree, *leaf, memory).read(first, pages), "");
      if (!right) {
        memory.offset = 0;
        PEEL_CHECK(read_by_chunks(store, cursor, at, pages, memory), "");
        return fail(ErrorKind::corrupt, store.path() + ": a page at byte " + std::to_string(at) + " does not match its digest");
      }
    }
    take(pages.size());
  }
  return {};
}

}  // namespace peel::onion
