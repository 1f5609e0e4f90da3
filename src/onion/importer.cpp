#include "onion/importer.h"

#include <algorithm>
#include <unordered_set>

#include "codec/page_codec.h"
#include "onion/impl.h"
#include "onion/layer_applier.h"
#include "onion/layer_proof.h"
#include "onion/staging.h"

namespace peel {

using namespace onion;

namespace {

constexpr std::uint64_t received_generation_max = counter_max / 2;  // leaves room for all children to come

constexpr std::size_t places_max = 4096;

struct NameHash {
  std::size_t operator()(const ChunkName& n) const { return DigestHash()(n.digest); }
};

bool valid_key(const std::string& key) {
  return !key.empty() && key.size() <= 128 && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_';
  });
}

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
  const Cancel* cancel = nullptr;
  Staging staging;
  std::vector<RevisionLayer> layers;
  std::unordered_map<RevisionId, std::size_t, DigestHash> coming;
  bool finished = false;

  // Of the finish() that is going on: where chunks are, and what pages made of them are.
  std::unordered_map<ChunkName, Onion::Impl::Place, NameHash> places;
  PageMemo memo;
  std::size_t proven = 0;  // layers looked at before the lock

  // Appends the staged chunk the first time a layer of this group asks for it.
  Result<Onion::Impl::Place> locate(Onion::Impl& m, GroupWriter& writer, const ChunkName& name) {
    if (const auto it = places.find(name); it != places.end()) return it->second;
    auto place = m.find_place(name, &writer);
    if (!place) {
      PEEL_TRY(const auto chunk, staging.get(name), "");
      PEEL_TRY(place, m.append_stored(writer, name, chunk.codec, chunk.width, chunk.stored), "");
    }
    if (places.size() == places_max) places.clear();
    places.emplace(name, *place);
    return *place;
  }
  void forget() {
    layers.clear();
    coming.clear();
    places.clear();
    memo = {};
    proven = 0;
  }
  Result<Buffer> plain_chunk(const ChunkName& name) const;
  Status prove_layers();
  Result<CommitRecord> append_revision(Onion::Impl& m, GroupWriter& writer, const RevisionLayer& layer, Onion::Impl::Outcome& outcome,
                                       const std::map<RevisionId, std::size_t>& in_group, ImportPace& pace);
};

Result<Buffer> Importer::Impl::plain_chunk(const ChunkName& name) const {
  StoredChunk chunk;
  if (staging.has(name)) {
    PEEL_TRY(chunk, staging.get(name), "");
  } else {
    const auto locator = onion->find_chunk(name);
    if (!locator) return fail(ErrorKind::not_found, "a chunk that a received layer needs is gone");
    PEEL_TRY(chunk, onion->stored_chunk(*locator), "");
  }
  Buffer plain(name.length);
  PEEL_CHECK(codec::decode(static_cast<codec::Codec>(chunk.codec), chunk.width, chunk.stored, plain), "staged chunk");
  return plain;
}

Status Importer::Impl::prove_layers() {
  for (; proven < layers.size(); ++proven) {
    const RevisionLayer& layer = layers[proven];
    if (!wants_proof(layer)) continue;
    PEEL_CHECK(prove_content(layer, onion->impl().wanted_page_log2(layer.info.size, page_log2_min),
                             [&](const ChunkName& name) { return plain_chunk(name); }, memo, cancel), "");
  }
  return {};
}

Importer::Importer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Importer::Importer(Importer&&) noexcept = default;
Importer::~Importer() = default;

Result<Importer> Importer::begin(Onion& onion, Options options) {
  if (!valid_key(options.staging_key)) return fail(ErrorKind::usage, "a staging key has letters, digits, - and _");
  auto impl = std::make_unique<Impl>();
  impl->onion = &onion;
  PEEL_TRY(impl->staging, Staging::open(*onion.impl().file_system, name_beside(onion.path(), ".staging-" + options.staging_key), options.staging_quota,
                                        options.cancel), "");
  impl->cancel = options.cancel;
  return Importer(std::move(impl));
}

std::size_t Importer::staged_chunks() const { return impl_->staging.count(); }

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
  std::unordered_set<ChunkName, NameHash> seen;  // looking one up in the onion reads it
  for (const Piece& p : layer.pieces) {
    if (p.offset < at || p.length == 0 || p.offset > info.size || p.length > info.size - p.offset)
      return fail(ErrorKind::corrupt, "pieces of a received layer are out of order");
    if (!p.is_hole() && std::uint64_t{p.chunk_offset} + p.length > p.chunk.length)
      return fail(ErrorKind::corrupt, "a piece of a received layer reaches beyond its chunk");
    if (!p.is_hole() && seen.insert(p.chunk).second && !has_chunk(p.chunk)) return fail(ErrorKind::corrupt, "a received layer needs a chunk that never came");
    at = p.offset + p.length;
  }
  impl_->coming.emplace(info.id, impl_->layers.size());
  impl_->layers.push_back(std::move(layer));
  return {};
}

Result<CommitRecord> Importer::Impl::append_revision(Onion::Impl& m, GroupWriter& writer, const RevisionLayer& layer,
                                                     Onion::Impl::Outcome& outcome, const std::map<RevisionId, std::size_t>& in_group,
                                                     ImportPace& pace) {
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
  PEEL_TRY(const auto built, LayerApplier(m, writer, parent, layer, locate_chunk, memo, pace).run(), "");
  if (codec::content_digest(info.size, built.subtree) != info.content)
    return fail(ErrorKind::corrupt, "a received layer does not give the content it claims");
  record.root = built.tree.root;
  record.page_log2 = static_cast<std::uint8_t>(built.tree.page_log2);
  return record;
}

Status Importer::finish(std::span<const RefChange> changes) {
  Onion::Impl& m = impl_->onion->impl();
  PEEL_CHECK(impl_->prove_layers(), m.path);
  {
    PEEL_TRY(const auto lock, m.take_lock(impl_->cancel), "");
    impl_->places.clear();
    ImportPace pace(impl_->cancel);
    PEEL_CHECK(m.load_history(), "");
    auto writer = m.begin_group();
    Onion::Impl::Outcome outcome;
    std::map<RevisionId, std::size_t> in_group;
    std::map<RevisionId, std::uint64_t> offsets;
    const auto build = [&]() -> Status {
      for (const RevisionLayer& layer : impl_->layers) {
        if (m.table.index_of(layer.info.id)) continue;  // came by another way meanwhile
        PEEL_CHECK(pace.step(m, writer), "");
        const std::uint64_t before = writer.bytes();
        PEEL_TRY(auto record, impl_->append_revision(m, writer, layer, outcome, in_group, pace), "");
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
      return built.error().kind() == ErrorKind::io ? Status(std::move(built.error()).in(m.path)) : built;
    }
    if (outcome.commits.empty() && outcome.refs.empty()) {
      m.give_up(writer);
    } else {
      PEEL_CHECK(m.finish_group(writer, std::move(outcome)), "");
    }
  }
  impl_->forget();
  (void)impl_->staging.remove().ok();  // all is durable: a file that stays behind is only space
  return {};
}

Status Importer::discard() {
  impl_->forget();
  return impl_->staging.remove();
}

}  // namespace peel
