// proto/session_events.h - what a HistorySession tells its driver. Each event says which call answers it.
//
// Threads    Value types; events own what they carry.
#pragma once

#include <variant>

#include "proto/history_messages.h"

namespace peel::proto {

// What the other end is and has, as far as it told.
struct PeerState {
  OnionState onion;
  std::vector<SharedRef> refs;
  std::vector<RevisionId> haves, shallow;
};

// --- at either end -------------------------------------------------------------------------------
struct PeerHello {
  Hello hello;
};                    // no answer needed; comes first
struct NeedLayer {};  // give_layer() or end_layers()
struct NeedChunk {
  ChunkName name;
};  // give_chunk(), no_chunk() or abort()
struct CheckChunks {
  std::vector<ChunkName> names;
};  // answer_check(): which of them are missing here
struct ChunkArrived {
  StoredChunk chunk;
};  // not verified yet
struct LayerArrived {
  Layer layer;
};                        // all its chunks have arrived before; parents come first
struct AllArrived {};     // client: finish_fetch(); server: answer_push()
struct OperationDone {};  // idle again: the next operation may begin
// The session is over. by_peer: the text is the peer's, not escaped.
struct Failed {
  Error error;
  bool by_peer = false;
};
struct Closed {};  // the peer left in order, between operations

// --- at the client -------------------------------------------------------------------------------
struct Listed {
  LsEntry entry;
};
struct JoinAnswered {
  Joined joined;
};
struct StateArrived {
  PeerState state;
};  // fetch: layers follow. push: send_updates(). repair: ask_chunk()
struct ChunkAbsent {
  ChunkName name;
};  // repair
struct ResultsArrived {
  std::vector<RefResult> results;
};

// --- at the server -------------------------------------------------------------------------------
struct LsAsked {
  std::string prefix;
};  // answer_ls()..., end_ls()
struct JoinAsked {
  Join join;
};  // answer_join()
struct FetchAsked {
  Fetch fetch;
  std::vector<RevisionId> haves, shallow;
};  // answer_state(), then NeedLayer
struct PushAsked {
  Push push;
};  // answer_state()
struct UpdatesArrived {
  bool atomic = false;
  std::vector<RefUpdate> updates;
};  // nothing, or answer_push() early
struct RepairAsked {
  std::string name;
};  // answer_state()

using Event = std::variant<PeerHello, NeedLayer, NeedChunk, CheckChunks, ChunkArrived, LayerArrived, AllArrived,
                           OperationDone, Failed, Closed, Listed, JoinAnswered, StateArrived, ChunkAbsent,
                           ResultsArrived, LsAsked, JoinAsked, FetchAsked, PushAsked, UpdatesArrived, RepairAsked>;

}  // namespace peel::proto
