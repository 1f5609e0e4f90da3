#include "sync/transfer.h"

#include <algorithm>

#include "base/hex.h"

namespace peel::sync {
namespace {

// A crash of the machine costs at most so many bytes of a transfer, and a stop waits for the disk no longer than that.
constexpr std::uint64_t sync_every = 64u << 20;

}  // namespace

Result<StoredChunk> chunk_of(const Onion& onion, const ChunkName& name) {
  const auto locator = onion.find_chunk(name);
  if (!locator) return fail(ErrorKind::not_found, "no chunk " + short_hex(name.digest));
  PEEL_TRY(auto chunk, onion.stored_chunk(*locator), "");
  if (chunk.name != name) return fail(ErrorKind::corrupt, "chunk " + short_hex(name.digest) + " is another one");
  return chunk;
}

std::vector<proto::SharedRef> shared_refs(const Onion& onion, bool tags) {
  std::vector<proto::SharedRef> out;
  for (Ref& ref : onion.refs())
    if ((ref.kind == RefKind::branch || (tags && ref.kind == RefKind::tag)) &&
        ref.value.size() <= shared_value_size_max)
      out.push_back({ref.kind, std::move(ref.name), ref.target, std::move(ref.value)});
  return out;
}

Status check_shared_ref_name(const std::string& name) {
  const bool control =
      std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (name.empty() || name.size() > 900 || control || name.front() == '-' || name.front() == '.' ||
      name.front() == '/' || name.back() == '/' || name.find("//") != std::string::npos)
    return fail(ErrorKind::refused, "'" + escape_for_terminal(name) + "' is not a safe name for a branch or tag");
  return {};
}

// Something that this onion has offered cannot be read: it is not absent, it is broken.
Error LayerSource::unreadable(Error error) const {
  const ErrorKind kind = error.kind();
  if (kind != ErrorKind::not_found && kind != ErrorKind::corrupt && kind != ErrorKind::truncated)
    return std::move(error).in(escape_for_terminal(onion_->path()));
  const std::string path = escape_for_terminal(onion_->path());
  return fail(ErrorKind::corrupt, path + " is damaged (" + error.message() + "): run `peel verify " + path + "`");
}

Status LayerSource::answer(const proto::NeedLayer&, proto::HistorySession& session) {
  if (next_ == revisions_.size()) {
    session.end_layers();
    return {};
  }
  auto made = make_layer(*onion_, revisions_[next_]);
  if (!made) return unreadable(std::move(made.error()));
  RevisionLayer layer = std::move(made).value();
  ++next_;
  ++stats_->revisions;
  session.give_layer({std::move(layer.info), layer.whole, std::move(layer.pieces)});
  return {};
}

Status LayerSource::answer(const proto::NeedChunk& event, proto::HistorySession& session) {
  const auto chunk = chunk_of(*onion_, event.name);
  if (!chunk) return unreadable(Error(chunk.error()));
  ++stats_->chunks;
  session.give_chunk(*chunk);
  return {};
}

std::string amount_text(const TransferStats& stats) {
  return std::to_string(stats.revisions) + (stats.revisions == 1 ? " revision, " : " revisions, ") +
         std::to_string(stats.chunks) + (stats.chunks == 1 ? " chunk" : " chunks");
}

Status LayerSink::answer(const proto::CheckChunks& event, proto::HistorySession& session) {
  std::vector<bool> missing;
  missing.reserve(event.names.size());
  for (const ChunkName& name : event.names) {
    const bool here = importer_->has_chunk(name);
    if (here) ++stats_->chunks_reused;
    missing.push_back(!here);
  }
  session.answer_check(missing);
  return {};
}

Status LayerSink::answer(proto::ChunkArrived& event) {
  PEEL_CHECK(importer_->add_chunk(event.chunk), "");
  ++stats_->chunks;
  unsynced_ += event.chunk.stored.size();
  if (unsynced_ < sync_every) return {};
  unsynced_ = 0;
  return importer_->sync_staged();
}

Status LayerSink::answer(proto::LayerArrived& event) {
  const RevisionId id = event.layer.info.id;
  if (onion_->find(id)) return {};  // offered although it is here: the sender could not know
  const std::vector<RevisionId> parents = event.layer.info.parents;
  PEEL_CHECK(importer_->add_revision({std::move(event.layer.info), event.layer.whole, std::move(event.layer.pieces)}),
             "");
  graph_.add(id, parents);
  ++stats_->revisions;
  return {};
}

}  // namespace peel::sync
