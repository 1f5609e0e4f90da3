// sync/transfer.h - the two ends of moving layers and chunks: an onion that is read, an importer that is fed.
// They answer what a session asks in a transfer; everything else is the caller's.
//
// Errors     As Onion and Importer. The caller aborts the session with them.
// Threads    One owner.
// Memory     Sender: 8 bytes per revision to send. Receiver: 100 bytes per revision received.
#pragma once

#include "onion/importer.h"
#include "proto/session.h"
#include "sync/client.h"
#include "sync/graph.h"

namespace peel::sync {

class LayerSource {
public:
  // `revisions`: what to send, parents first (difference()).
  LayerSource(const Onion& onion, std::vector<std::uint64_t> revisions, TransferStats& stats)
      : onion_(&onion), revisions_(std::move(revisions)), stats_(&stats) {}
  Status answer(const proto::NeedLayer& event, proto::HistorySession& session);
  Status answer(const proto::NeedChunk& event, proto::HistorySession& session);

private:
  Error unreadable(Error error) const;

  const Onion* onion_;
  std::vector<std::uint64_t> revisions_;
  std::size_t next_ = 0;
  TransferStats* stats_;
};

class LayerSink {
public:
  LayerSink(const Onion& onion, Importer& importer, TransferStats& stats)
      : onion_(&onion), importer_(&importer), graph_(onion), stats_(&stats) {}
  Status answer(const proto::CheckChunks& event, proto::HistorySession& session);
  Status answer(proto::ChunkArrived& event);
  Status answer(proto::LayerArrived& event);
  const ReceivedGraph& graph() const { return graph_; }

private:
  const Onion* onion_;
  Importer* importer_;
  ReceivedGraph graph_;
  TransferStats* stats_;
  std::uint64_t unsynced_ = 0;
};

// "1 revision, 3 chunks"
std::string amount_text(const TransferStats& stats);

// Reads one chunk of an onion by name; not_found when it is not there.
Result<StoredChunk> chunk_of(const Onion& onion, const ChunkName& name);
// Branches and tags: what an onion shows to peers. A tag whose note is longer than this stays at home.
inline constexpr std::size_t shared_value_size_max = 60'000;
std::vector<proto::SharedRef> shared_refs(const Onion& onion, bool tags);
// Ref names that come from a peer: no control characters, no empty or "." leading components.
Status check_shared_ref_name(const std::string& name);

}  // namespace peel::sync
