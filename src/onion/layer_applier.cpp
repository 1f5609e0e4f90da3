#include "onion/layer_applier.h"

#include <algorithm>
#include <unordered_set>

#include "base/wire.h"
#include "codec/grid_digest.h"

namespace peel::onion {
namespace {

constexpr std::size_t pages_per_batch = 64;
constexpr std::size_t remembered_pieces_max = 8;
constexpr std::uint64_t sync_every = 64u << 20;
// Work a layer may cause: bytes decoded for bytes touched. A page of an honest layer meets a few chunks of 8 pages at
// most.
constexpr std::uint64_t decoded_per_touched_max = 64, decoded_bytes_free = 256u << 20;

bool repeats(const LayerBytes& bytes) { return bytes.content / 2 > bytes.chunks; }

}  // namespace

LayerBytes bytes_of(const RevisionLayer& layer) {
  std::unordered_set<Digest, DigestHash> chunks;
  LayerBytes out;
  for (const Piece& p : layer.pieces) {
    if (p.is_hole()) continue;
    out.content += p.length;
    if (chunks.insert(p.chunk.digest).second) out.chunks += p.chunk.length;
  }
  return out;
}

std::string PageMemo::key(const RevisionLayer& layer, std::size_t next, std::uint64_t begin, std::uint64_t end,
                          unsigned page_log2, bool holes_too) {
  WireWriter out;
  out.integer(static_cast<std::uint8_t>(page_log2));
  std::uint64_t at = begin;
  std::size_t used = 0;
  for (std::size_t i = next; i < layer.pieces.size() && layer.pieces[i].offset < end; ++i) {
    const Piece& p = layer.pieces[i];
    const std::uint64_t from = std::max(begin, p.offset), to = std::min(end, p.offset + p.length);
    if (from >= to) continue;
    if (from > at && !holes_too) return {};
    at = to;
    if (p.is_hole()) continue;
    if (++used > remembered_pieces_max) return {};
    out.digest(p.chunk.digest)
        .integer(static_cast<std::uint32_t>(from - begin))
        .integer(static_cast<std::uint32_t>(to - from));
    out.integer(static_cast<std::uint32_t>(p.chunk_offset + (from - p.offset)));
  }
  if (at < end && !holes_too) return {};
  const Bytes bytes = out.view();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::optional<Digest> PageMemo::find(const std::string& key) const {
  const auto it = digests_.find(key);
  return it == digests_.end() ? std::nullopt : std::optional(it->second);
}

void PageMemo::put(const std::string& key, const Digest& digest) {
  if (digests_.size() < entries_max) digests_.emplace(key, digest);
}

Status ImportPace::step(Onion::Impl& m, GroupWriter& writer) {
  if (cancel_) PEEL_CHECK(cancel_->check(), "");
  if (writer.bytes() < synced_bytes_ + sync_every) return {};
  PEEL_CHECK(writer.flush(), "");
  if (auto synced = m.store->file().sync_data(); !synced) {
    m.poisoned = true;  // the kernel reports such an error once
    return std::move(synced.error());
  }
  synced_bytes_ = writer.bytes();
  return {};
}

LayerApplier::LayerApplier(Onion::Impl& m, GroupWriter& writer, const Tree& parent, const RevisionLayer& layer,
                           const Locate& locate, PageMemo& memo, ImportPace& pace)
    : m_(m),
      writer_(writer),
      parent_(parent),
      layer_(layer),
      locate_(locate),
      memo_(memo),
      pace_(pace),
      size_(layer.info.size),
      page_size_(parent.page_size()),
      repeats_(repeats(bytes_of(layer))),
      editor_(*m.store, writer, parent, size_),
      cursor_(*m.store, parent) {}

Result<TreeEditor::Finished> LayerApplier::run() {
  const auto& pieces = layer_.pieces;
  std::uint64_t page = 0;  // everything before it is decided
  for (std::size_t i = 0; i < pieces.size();) {
    const Piece& p = pieces[i];
    const std::uint64_t end = p.offset + p.length, first = std::max(page, p.offset / page_size_);
    if (p.is_hole() && p.offset <= first * page_size_) {  // whole pages of zeros go in one step
      const std::uint64_t last = end == size_ ? end_page() : end / page_size_;
      if (last > first) {
        PEEL_CHECK(flush(), "");
        PEEL_CHECK(editor_.clear_pages(first, last), "");
        page = last;
        if (end <= page * page_size_) ++i;
        continue;
      }
    }
    PEEL_CHECK(add_page(first, i), "");
    page = first + 1;
    while (i < pieces.size() && pieces[i].offset + pieces[i].length <= page * page_size_) ++i;
  }
  // A shrink that ends inside a page changes that page even if no piece touches it.
  if (size_ < parent_.size && size_ % page_size_ != 0 && page <= size_ / page_size_)
    PEEL_CHECK(add_page(size_ / page_size_, pieces.size()), "");
  PEEL_CHECK(flush(), "");
  return editor_.finish();
}

// Slices of one page: the pieces where they reach, the parent's where they do not.
Status LayerApplier::add_page(std::uint64_t page, std::size_t next) {
  const std::uint64_t begin = page * page_size_, end = std::min(begin + page_size_, size_);
  PendingPage pending{page, {}, {}, {}};
  std::uint64_t at = begin;
  const auto keep_parent = [&](std::uint64_t until) -> Status {
    const std::uint64_t stop = std::min(until, parent_.size);
    if (at < stop)
      PEEL_CHECK(visit_slices(cursor_, at, stop - at,
                              [&](std::uint64_t pos, std::uint64_t, const Slice* s) -> Status {
                                if (!s) return {};
                                Slice kept = *s;
                                kept.start = static_cast<std::uint32_t>(pos - begin);
                                pending.slices.push_back(kept);
                                return {};
                              }),
                 "");
    at = until;
    return {};
  };
  for (std::size_t i = next; i < layer_.pieces.size() && layer_.pieces[i].offset < end; ++i) {
    const Piece& p = layer_.pieces[i];
    const std::uint64_t from = std::max(begin, p.offset), to = std::min(end, p.offset + p.length);
    if (from >= to) continue;
    PEEL_CHECK(keep_parent(from), "");
    if (!p.is_hole()) {
      PEEL_TRY(const auto place, locate_(p.chunk), "");
      pending.slices.push_back({place.offset, place.record_size, static_cast<std::uint32_t>(from - begin),
                                static_cast<std::uint32_t>(to - from),
                                static_cast<std::uint32_t>(p.chunk_offset + (from - p.offset))});
    }
    at = to;
  }
  PEEL_CHECK(keep_parent(end), "");
  if (repeats_) pending.key = PageMemo::key(layer_, next, begin, end, parent_.page_log2, begin >= parent_.size);
  if (!pending.key.empty()) pending.known = memo_.find(pending.key);
  pending_.push_back(std::move(pending));
  return pending_.size() >= pages_per_batch ? flush() : Status();
}

Status LayerApplier::flush() {
  if (pending_.empty()) return {};
  PEEL_CHECK(pace_.step(m_, writer_), "");
  PEEL_CHECK(hash_pending(), "");
  for (const PendingPage& page : pending_) PEEL_CHECK(editor_.set_page(page.page, *page.known, page.slices), "");
  pending_.clear();
  return {};
}

Status LayerApplier::hash_pending() {
  std::vector<PendingPage*> unknown;
  for (PendingPage& page : pending_)
    if (!page.known) unknown.push_back(&page);
  if (unknown.empty()) return {};
  PEEL_CHECK(writer_.flush(), "");  // the chunks are about to be read back
  touched_bytes_ += unknown.size() * page_size_;
  batch_.assign(unknown.size() * page_size_, std::byte{0});
  for (std::size_t i = 0; i < unknown.size(); ++i)
    for (const Slice& s : unknown[i]->slices)
      PEEL_CHECK(read_slice(s, MutableBytes(batch_).subspan(i * page_size_ + s.start, s.length)), "");
  std::vector<Digest> digests(unknown.size());
  codec::page_digests(batch_, parent_.page_height(), digests);
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    unknown[i]->known = digests[i];
    if (!unknown[i]->key.empty()) memo_.put(unknown[i]->key, digests[i]);
  }
  return {};
}

Status LayerApplier::read_slice(const Slice& s, MutableBytes out) {
  if (memory_.offset != s.chunk) {
    memory_.offset = 0;
    PEEL_CHECK(m_.store->read_chunk(s.chunk, s.record_size, memory_.plain), "");
    memory_.offset = s.chunk;
    decoded_bytes_ += memory_.plain.size();
  }
  // A few bytes of many large chunks each would keep the lock for long; no honest layer comes near.
  if (decoded_bytes_ > decoded_bytes_free + touched_bytes_ * decoded_per_touched_max)
    return fail(ErrorKind::limit, "a received layer takes far more work than its size explains");
  if (std::uint64_t{s.chunk_offset} + s.length > memory_.plain.size())
    return fail(ErrorKind::corrupt, "a piece reaches beyond its chunk");
  std::copy_n(memory_.plain.begin() + s.chunk_offset, s.length, out.begin());
  return {};
}

}  // namespace peel::onion
