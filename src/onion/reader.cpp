// Reading one revision: at any offset, or as a stream with read-ahead.
#include <algorithm>

#include "onion/impl.h"

namespace peel {

using namespace onion;

namespace {

// What a stream hands to its sink at once, and how many such pieces are in memory: 2 * pieces_ahead * piece_size.
constexpr std::uint64_t piece_size = 1u << 20;
constexpr std::size_t pieces_ahead = 8;

}  // namespace

struct Reader::Impl {
  std::shared_ptr<Store> store;
  Tree tree;
  Digest content;
  std::uint64_t number = 0;
  std::mutex mutex;      // guards what a read keeps for the next one
  LeafCursor cursor;
  ChunkMemory memory;
  Impl(std::shared_ptr<Store> s, const Tree& t) : store(std::move(s)), tree(t), cursor(*store, tree) {}

  Error explain(Error error, std::uint64_t offset, std::uint64_t length) const {
    if (error.kind() != ErrorKind::corrupt) return error;
    return std::move(error).in("revision @" + std::to_string(number) + ", bytes " + std::to_string(offset) + " to " +
                               std::to_string(offset + length));
  }
};

Reader::Reader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

std::uint64_t Reader::size() const { return impl_->tree.size; }
const Digest& Reader::content() const { return impl_->content; }

Result<Reader> Onion::open_revision(std::uint64_t number) const {
  PEEL_TRY(const auto i, impl_->index_of_number(number), "");
  const auto& extra = impl_->table.extra(i);
  auto reader = std::make_unique<Reader::Impl>(impl_->store, Tree{extra.root, impl_->table.summaries()[i].size, extra.page_log2});
  reader->content = extra.content;
  reader->number = number;
  return Reader(std::move(reader));
}

Result<std::size_t> Reader::read(std::uint64_t offset, MutableBytes out) const {
  Impl& m = *impl_;
  if (offset >= m.tree.size) return std::size_t{0};
  out = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), m.tree.size - offset)));
  Status status;
  if (std::unique_lock lock(m.mutex, std::try_to_lock); lock) {
    status = read_tree(*m.store, m.cursor, offset, out, m.memory);
  } else {  // another thread is at it: go alone
    LeafCursor cursor(*m.store, m.tree);
    ChunkMemory memory;
    status = read_tree(*m.store, cursor, offset, out, memory);
  }
  if (!status) return m.explain(std::move(status.error()), offset, out.size());
  return out.size();
}

Result<std::vector<Piece>> Reader::pieces(std::uint64_t offset, std::uint64_t length) const {
  Impl& m = *impl_;
  std::vector<Piece> out;
  if (offset >= m.tree.size) return out;
  length = std::min(length, m.tree.size - offset);
  LeafCursor cursor(*m.store, m.tree);
  PEEL_CHECK(visit_slices(cursor, offset, length, [&](std::uint64_t at, std::uint64_t n, const Slice* s) -> Status {
    Piece piece;
    piece.offset = at;
    piece.length = n;
    if (s) {
      piece.locator = s->chunk;
      piece.chunk_offset = s->chunk_offset;
      // A chunk cut by a leaf border comes twice in a row: one piece, one look at its header.
      if (!out.empty() && out.back().locator == s->chunk) {
        piece.chunk = out.back().chunk;
        if (out.back().chunk_offset + out.back().length == s->chunk_offset) {
          out.back().length += n;
          return {};
        }
      } else {
        PEEL_TRY(const auto place, m.store->probe_chunk(s->chunk), "");
        piece.chunk = place.header.name;
      }
    } else if (!out.empty() && out.back().is_hole()) {
      out.back().length += n;
      return {};
    }
    out.push_back(piece);
    return {};
  }), "");
  return out;
}

Status Reader::stream(std::uint64_t offset, std::uint64_t length, const Sink& sink) const {
  Impl& m = *impl_;
  if (offset >= m.tree.size) return {};
  const std::uint64_t end = offset + std::min(length, m.tree.size - offset);
  struct Item {
    std::uint64_t offset, length;
    bool hole;
    Buffer data;
    Status status;
  };
  Pool pool(Pool::default_threads());
  LeafCursor scout(*m.store, m.tree);
  const std::uint64_t leaf_size = m.tree.leaf_size(), stride = std::max(piece_size, leaf_size);
  std::uint64_t at = offset;
  // The next stretch: a hole as far as it goes, or data up to the next multiple of `stride`.
  const auto next_item = [&]() -> Result<Item> {
    PEEL_TRY(const auto leaf, scout.next_leaf(at / leaf_size), "");
    const bool hole = leaf != at / leaf_size;
    const std::uint64_t until = hole ? (leaf * leaf_size > at ? leaf * leaf_size : end) : (at / stride + 1) * stride;
    Item item{at, std::min(until, end) - at, hole, {}, {}};
    at += item.length;
    return item;
  };
  std::vector<Item> ready, loading;
  std::vector<Buffer> spare;
  while (at < end || !ready.empty()) {
    loading.clear();
    while (at < end && loading.size() < pieces_ahead) {
      PEEL_TRY(auto item, next_item(), "");
      if (!item.hole) {
        if (!spare.empty()) { item.data = std::move(spare.back()); spare.pop_back(); }
        item.data.resize(item.length);
      }
      loading.push_back(std::move(item));
    }
    Status delivered;
    // Index 0 hands the last batch to the sink while the others decode the next one.
    pool.for_each_index(loading.size() + 1, [&](std::size_t i) {
      if (i == 0) {
        for (auto& item : ready) {
          if (!item.status) delivered = m.explain(std::move(item.status.error()), item.offset, item.length);
          if (delivered) delivered = sink(item.offset, item.data, item.hole ? item.length : 0);
          if (!delivered) return;
        }
        return;
      }
      Item& item = loading[i - 1];
      if (item.hole) return;
      LeafCursor cursor(*m.store, m.tree);
      ChunkMemory memory;
      item.status = read_tree(*m.store, cursor, item.offset, item.data, memory);
    });
    PEEL_CHECK(std::move(delivered), "");
    for (auto& item : ready)
      if (!item.hole) spare.push_back(std::move(item.data));
    ready = std::move(loading);
    loading = {};
  }
  return {};
}

Status Reader::verify() const {
  codec::ContentHasher hasher;
  PEEL_CHECK(stream(0, size(), [&](std::uint64_t, Bytes data, std::uint64_t hole) -> Status {
    if (hole) hasher.skip_zeros(hole);
    else hasher.update(data);
    return {};
  }), "");
  if (hasher.finish() != content())
    return fail(ErrorKind::corrupt, impl_->store->path() + ": revision @" + std::to_string(impl_->number) + " does not match its content digest");
  return {};
}

Result<std::vector<Range>> Onion::diff(std::uint64_t a, std::uint64_t b) const {
  PEEL_TRY(const auto ta, impl_->tree_of(a), "");
  PEEL_TRY(const auto tb, impl_->tree_of(b), "");
  return diff_trees(*impl_->store, ta, tb);
}

Result<StoredChunk> Onion::stored_chunk(std::uint64_t locator) const {
  StoredChunk chunk;
  PEEL_TRY(const auto header, impl_->store->read_stored(locator, chunk.stored), "");
  chunk.name = header.name;
  chunk.codec = header.codec;
  chunk.width = header.width;
  return chunk;
}

std::optional<std::uint64_t> Onion::find_chunk(const ChunkName& name) const {
  std::lock_guard lock(impl_->history_mutex);
  const auto place = impl_->find_place(name, nullptr);
  return place ? std::optional(place->offset) : std::nullopt;
}

}  // namespace peel
