#include "onion/importer.h"

#include <algorithm>

#include "codec/page_codec.h"
#include "onion/impl.h"
#include "onion/staging.h"

namespace peel {

using namespace onion;

namespace {

constexpr std::size_t pages_per_batch = 64;
// Work a layer may cause: bytes decoded for bytes touched. A page of an honest layer meets a few chunks of 8 pages at most.
constexpr std::uint64_t decoded_per_touched_max = 64, decoded_bytes_free = 256u << 20;
constexpr std::uint64_t received_generation_max = counter_max / 2;  // leaves room for all children to come

bool valid_key(const std::string& key) {
  return !key.empty() && key.size() <= 128 && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_';
  });
}

// Builds one received revision on its first parent's tree: pieces become slices, every touched page is read back
// through its chunks and hashed, so the tree's digest is computed here and not believed.
class LayerApplier {
 public:
  using Locate = std::function<Result<Onion::Impl::Place>(const ChunkName&)>;
  LayerApplier(Onion::Impl& m, GroupWriter& writer, const Tree& parent, const RevisionLayer& layer, const Locate& locate)
      : m_(m), writer_(writer), parent_(parent), layer_(layer), locate_(locate), size_(layer.info.size),
        page_size_(parent.page_size()), editor_(*m.store, writer, parent, size_), cursor_(*m.store, parent) {}

  Result<TreeEditor::Finished> run() {
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

 private:
  std::uint64_t end_page() const { return (size_ + page_size_ - 1) / page_size_; }

  struct PendingPage {
    std::uint64_t page;
    std::vector<Slice> slices;
  };

  // Slices of one page: the pieces where they reach, the parent's where they do not.
  Status add_page(std::uint64_t page, std::size_t next) {
    const std::uint64_t begin = page * page_size_, end = std::min(begin + page_size_, size_);
    PendingPage pending{page, {}};
    std::uint64_t at = begin;
    const auto keep_parent = [&](std::uint64_t until) -> Status {
      const std::uint64_t stop = std::min(until, parent_.size);
      if (at < stop)
        PEEL_CHECK(visit_slices(cursor_, at, stop - at, [&](std::uint64_t pos, std::uint64_t, const Slice* s) -> Status {
          if (!s) return {};
          Slice kept = *s;
          kept.start = static_cast<std::uint32_t>(pos - begin);
          pending.slices.push_back(kept);
          return {};
        }), "");
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
                                  static_cast<std::uint32_t>(to - from), static_cast<std::uint32_t>(p.chunk_offset + (from - p.offset))});
      }
      at = to;
    }
    PEEL_CHECK(keep_parent(end), "");
    pending_.push_back(std::move(pending));
    return pending_.size() >= pages_per_batch ? flush() : Status();
  }

  Status flush() {
    if (pending_.empty()) return {};
    PEEL_CHECK(writer_.flush(), "");  // the chunks are about to be read back
    touched_bytes_ += pending_.size() * page_size_;
    batch_.assign(pending_.size() * page_size_, std::byte{0});
    for (std::size_t i = 0; i < pending_.size(); ++i)
      for (const Slice& s : pending_[i].slices) PEEL_CHECK(read_slice(s, MutableBytes(batch_).subspan(i * page_size_ + s.start, s.length)), "");
    std::vector<Digest> digests(pending_.size());
    codec::page_digests(batch_, parent_.page_height(), digests);
    for (std::size_t i = 0; i < pending_.size(); ++i) PEEL_CHECK(editor_.set_page(pending_[i].page, digests[i], pending_[i].slices), "");
    pending_.clear();
    return {};
  }

  Status read_slice(const Slice& s, MutableBytes out) {
    if (memory_.offset != s.chunk) {
      memory_.offset = 0;
      PEEL_CHECK(m_.store->read_chunk(s.chunk, s.record_size, memory_.plain), "");
      memory_.offset = s.chunk;
      decoded_bytes_ += memory_.plain.size();
    }
    // A few bytes of many large chunks each would keep the lock for long; no honest layer comes near.
    if (decoded_bytes_ > decoded_bytes_free + touched_bytes_ * decoded_per_touched_max)
      return fail(ErrorKind::limit, "a received layer takes far more work than its size explains");
    if (std::uint64_t{s.chunk_offset} + s.length > memory_.plain.size()) return fail(ErrorKind::corrupt, "a piece reaches beyond its chunk");
    std::copy_n(memory_.plain.begin() + s.chunk_offset, s.length, out.begin());
    return {};
  }

  Onion::Impl& m_;
  GroupWriter& writer_;
  const Tree parent_;
  const RevisionLayer& layer_;
  const Locate& locate_;
  const std::uint64_t size_, page_size_;
  TreeEditor editor_;
  LeafCursor cursor_;
  ChunkMemory memory_;
  std::uint64_t touched_bytes_ = 0, decoded_bytes_ = 0;
  std::vector<PendingPage> pending_;
  Buffer batch_;
};

}  // namespace

Result<RevisionLayer> make_layer(const Onion& onion, std::uint64_t number, bool whole) {
  RevisionLayer layer;
  PEEL_TRY(layer.info, onion.revision(number), "");
  PEEL_TRY(const auto reader, onion.open_revision(number), "");
  layer.whole = whole || !layer.info.first_parent;
  if (layer.whole) {
    PEEL_TRY(layer.pieces, reader.pieces(0, reader.size()), "");
    return layer;
  }
  PEEL_TRY(const auto ranges, onion.diff(*layer.info.first_parent, number), "");
  for (const Range& r : ranges) {
    PEEL_TRY(auto pieces, reader.pieces(r.offset, r.length), "");
    layer.pieces.insert(layer.pieces.end(), pieces.begin(), pieces.end());
  }
  return layer;
}

struct Importer::Impl {
  Onion* onion = nullptr;
  Staging staging;
  std::vector<RevisionLayer> layers;
  std::unordered_map<RevisionId, std::size_t, DigestHash> coming;
  bool finished = false;

  // Appends the staged chunk the first time a layer of this group asks for it.
  Result<Onion::Impl::Place> locate(Onion::Impl& m, GroupWriter& writer, const ChunkName& name) {
    if (const auto place = m.find_place(name, &writer)) return *place;
    PEEL_TRY(const auto chunk, staging.get(name), "");
    return m.append_stored(writer, name, chunk.codec, chunk.width, chunk.stored);
  }
  Result<CommitRecord> append_revision(Onion::Impl& m, GroupWriter& writer, const RevisionLayer& layer, Onion::Impl::Outcome& outcome,
                                       const std::map<RevisionId, std::size_t>& in_group);
};

Importer::Importer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Importer::Importer(Importer&&) noexcept = default;
Importer::~Importer() = default;

Result<Importer> Importer::begin(Onion& onion, Options options) {
  if (!valid_key(options.staging_key)) return fail(ErrorKind::usage, "a staging key has letters, digits, - and _");
  auto impl = std::make_unique<Impl>();
  impl->onion = &onion;
  PEEL_TRY(impl->staging, Staging::open(*onion.impl().file_system, onion.path() + ".staging-" + options.staging_key, options.staging_quota), "");
  return Importer(std::move(impl));
}

bool Importer::has_chunk(const ChunkName& name) const {
  return impl_->staging.has(name) || impl_->onion->find_chunk(name).has_value();
}

Status Importer::add_chunk(const StoredChunk& chunk) {
  if (chunk.name.length == 0 || chunk.name.length > codec::chunk_size_max || chunk.stored.size() > codec::chunk_size_max)
    return fail(ErrorKind::corrupt, "a chunk of impossible size");
  if (impl_->staging.has(chunk.name)) return {};
  Buffer plain(chunk.name.length);
  PEEL_CHECK(codec::decode(static_cast<codec::Codec>(chunk.codec), chunk.width, chunk.stored, plain), "received chunk");
  if (codec::chunk_digest(plain) != chunk.name.digest) return fail(ErrorKind::corrupt, "a received chunk does not match its digest");
  return impl_->staging.add(chunk);
}

Status Importer::sync_staged() { return impl_->staging.sync(); }

Status Importer::add_revision(RevisionLayer layer) {
  const RevisionInfo& info = layer.info;
  if (info.parents.size() > 64) return fail(ErrorKind::corrupt, "a revision with too many parents");
  if (info.size > file_size_max) return fail(ErrorKind::corrupt, "a revision of impossible size");
  if (revision_id(info.parents, info.size, info.content, info.meta) != info.id)
    return fail(ErrorKind::corrupt, "a received revision id does not match what it names");
  if (impl_->coming.count(info.id) || impl_->onion->find(info.id)) return {};
  const bool parent_known = !info.parents.empty() && (impl_->coming.count(info.parents[0]) || impl_->onion->find(info.parents[0]));
  if (!layer.whole && !parent_known) return fail(ErrorKind::corrupt, "a received layer builds on a revision that is not here");
  std::uint64_t at = 0;
  for (const Piece& p : layer.pieces) {
    if (p.offset < at || p.length == 0 || p.offset > info.size || p.length > info.size - p.offset)
      return fail(ErrorKind::corrupt, "pieces of a received layer are out of order");
    if (!p.is_hole() && std::uint64_t{p.chunk_offset} + p.length > p.chunk.length)
      return fail(ErrorKind::corrupt, "a piece of a received layer reaches beyond its chunk");
    if (!p.is_hole() && !has_chunk(p.chunk)) return fail(ErrorKind::corrupt, "a received layer needs a chunk that never came");
    at = p.offset + p.length;
  }
  impl_->coming.emplace(info.id, impl_->layers.size());
  impl_->layers.push_back(std::move(layer));
  return {};
}

Result<CommitRecord> Importer::Impl::append_revision(Onion::Impl& m, GroupWriter& writer, const RevisionLayer& layer,
                                                     Onion::Impl::Outcome& outcome, const std::map<RevisionId, std::size_t>& in_group) {
  const RevisionInfo& info = layer.info;
  CommitRecord record;
  record.number = m.next_number + outcome.commits.size();
  record.size = info.size;
  record.content = info.content;
  record.id = info.id;
  record.meta = info.meta;
  record.previous_commit = outcome.commits.empty() ? m.last_commit : outcome.commits.back().first;
  Tree parent{0, 0, m.wanted_page_log2(info.size, page_log2_min)};
  for (std::size_t i = 0; i < info.parents.size(); ++i) {
    ParentLink link{info.parents[i], 0, 0};
    std::uint64_t generation = 0;
    Tree tree;
    if (const auto it = in_group.find(link.id); it != in_group.end()) {
      const auto& [offset, commit] = outcome.commits[it->second];
      link.commit = offset;
      link.number = commit.number;
      generation = commit.generation;
      tree = peel::tree_of(commit);
    } else if (const auto index = m.table.index_of(link.id)) {
      link.commit = m.table.extra(*index).commit;
      link.number = m.table.summaries()[*index].number;
      generation = m.table.summaries()[*index].generation;
      tree = Tree{m.table.extra(*index).root, m.table.summaries()[*index].size, m.table.extra(*index).page_log2};
    }
    record.generation = std::max(record.generation, generation);
    if (i == 0 && !layer.whole) parent = tree;
    record.parents.push_back(link);
  }
  ++record.generation;
  // Generations count from what the sender knows where a parent is not here; else nobody needs to be believed.
  const bool complete = std::all_of(record.parents.begin(), record.parents.end(), [](const ParentLink& p) { return p.commit != 0; });
  if (!complete) record.generation = std::max(record.generation, info.generation);
  if (record.generation > received_generation_max) return fail(ErrorKind::corrupt, "a revision of impossible generation");
  if (const unsigned wanted = m.wanted_page_log2(info.size, parent.page_log2); wanted > parent.page_log2) {
    PEEL_TRY(parent, regrid(*m.store, writer, parent, wanted), "");
  }
  PEEL_CHECK(writer.flush(), "");
  const LayerApplier::Locate locate_chunk = [&](const ChunkName& name) { return locate(m, writer, name); };
  PEEL_TRY(const auto built, LayerApplier(m, writer, parent, layer, locate_chunk).run(), "");
  if (codec::content_digest(info.size, built.subtree) != info.content)
    return fail(ErrorKind::corrupt, "a received layer does not give the content it claims");
  record.root = built.tree.root;
  record.page_log2 = static_cast<std::uint8_t>(built.tree.page_log2);
  return record;
}

Status Importer::finish(std::span<const RefChange> changes) {
  Onion::Impl& m = impl_->onion->impl();
  {
    PEEL_TRY(const auto lock, m.take_lock(), "");
    PEEL_CHECK(m.load_history(), "");
    auto writer = m.begin_group();
    Onion::Impl::Outcome outcome;
    std::map<RevisionId, std::size_t> in_group;
    std::map<RevisionId, std::uint64_t> offsets;
    const auto build = [&]() -> Status {
      for (const RevisionLayer& layer : impl_->layers) {
        if (m.table.index_of(layer.info.id)) continue;  // came by another way meanwhile
        const std::uint64_t before = writer.bytes();
        PEEL_TRY(auto record, impl_->append_revision(m, writer, layer, outcome, in_group), "");
        record.bytes_added = writer.bytes() - before;
        const auto at = writer.begin(RecordType::commit);
        encode(record, writer.payload());
        PEEL_CHECK(writer.end(), m.path);
        in_group[record.id] = outcome.commits.size();
        offsets[record.id] = at;
        outcome.commits.emplace_back(at, std::move(record));
      }
      for (const RefChange& change : changes) {
        PEEL_TRY(auto record, m.ref_record(change, offsets), "");
        PEEL_CHECK(m.append_ref(writer, std::move(record), outcome), "");
      }
      return {};
    };
    if (auto built = build(); !built) {
      m.give_up(writer);
      return built;
    }
    if (outcome.commits.empty() && outcome.refs.empty()) {
      m.give_up(writer);
    } else {
      PEEL_CHECK(m.finish_group(writer, std::move(outcome)), "");
    }
  }
  impl_->layers.clear();
  impl_->coming.clear();
  (void)impl_->staging.remove().ok();  // all is durable: a file that stays behind is only space
  return {};
}

Status Importer::discard() {
  impl_->layers.clear();
  impl_->coming.clear();
  return impl_->staging.remove();
}

}  // namespace peel
