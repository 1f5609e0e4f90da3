// proto/history_messages.h - the messages that carry history: refs, what the receiver has, layers, chunks.
//
// Contract, Errors, Threads   as proto/messages.h.
// Source     docs/PROTOCOL.md, Messages
#pragma once

#include <optional>

#include "proto/messages.h"

namespace peel::proto {

// Revisions the sender of this message has. The other end takes each with all its ancestors, except that it
// looks no further than a shallow one (a parent of it is missing here).
//   1 kind · 4 n · n * 32 id
struct Haves {
  static constexpr MessageType type = MessageType::haves;
  enum class Kind : std::uint8_t { have = 0, shallow = 1 };
  Kind kind = Kind::have;
  std::vector<RevisionId> ids;
  bool operator==(const Haves&) const = default;
  void encode(WireWriter& w) const;
  static Result<Haves> decode(Bytes body);
};

struct SharedRef {
  RefKind kind = RefKind::branch;  // branch or tag; nothing else ever travels
  std::string name;
  RevisionId target;
  std::string value;  // a tag's note
  bool operator==(const SharedRef&) const = default;
};

//   4 n · n * (1 kind · string name · 32 target · string value)
struct Refs {
  static constexpr MessageType type = MessageType::refs;
  std::vector<SharedRef> refs;
  bool operator==(const Refs&) const = default;
  void encode(WireWriter& w) const;
  static Result<Refs> decode(Bytes body);
};

// Ends the description of an onion; HAVES and REFS frames come before it.
//   1 flags (1: exists) · 32 lineage · string current_branch
struct OnionState {
  static constexpr MessageType type = MessageType::onion_state;
  bool exists = false;
  std::array<std::byte, 32> lineage{};
  std::string current_branch;
  bool operator==(const OnionState&) const = default;
  void encode(WireWriter& w) const;
  static Result<OnionState> decode(Bytes body);
};

// One wished-for change of a ref at the receiver of a push.
struct RefUpdate {
  RefKind kind = RefKind::branch;
  std::string name;
  RevisionId expected;               // what it must be now; zero: must not exist
  std::optional<RevisionId> target;  // absent: delete
  bool force = false;                // need not be a fast-forward
  std::string value;                 // a tag's note
  bool operator==(const RefUpdate&) const = default;
};

//   1 flags (1: atomic, 2: last) · 4 n · n * (1 kind · 1 flags (1: target, 2: force) · string name
//   · 32 expected · 32 target (zero without) · string value)
struct Updates {
  static constexpr MessageType type = MessageType::updates;
  bool atomic = false, last = true;
  std::vector<RefUpdate> updates;
  bool operator==(const Updates&) const = default;
  void encode(WireWriter& w) const;
  static Result<Updates> decode(Bytes body);
};

struct RefResult {
  enum class State : std::uint8_t { up_to_date = 0, moved = 1, deleted = 2, rejected = 3 };
  RefKind kind = RefKind::branch;
  State state = State::up_to_date;
  std::string name;
  RevisionId before, after;
  std::string reason;  // of a rejection: what is wrong and what to do
  bool operator==(const RefResult&) const = default;
};

// Sent when everything is durable and the refs have moved.
//   1 flags (1: last) · 4 n · n * (1 kind · 1 state · string name · 32 before · 32 after · string reason)
struct Results {
  static constexpr MessageType type = MessageType::results;
  bool last = true;
  std::vector<RefResult> results;
  bool operator==(const Results&) const = default;
  void encode(WireWriter& w) const;
  static Result<Results> decode(Bytes body);
};

// A revision and how its content differs from its first parent's. Session-level; travels as LAYER + PIECES.
struct Layer {
  RevisionInfo info;          // number, first_parent and bytes_added do not travel
  bool whole = false;         // pieces cover everything; else what they do not cover is the first parent's
  std::vector<Piece> pieces;  // ascending, not overlapping; locators do not travel
};

//   32 id · 2 n · n * 32 parent · 8 generation · 8 size · 32 content · string author · string host
//   · string note · 8 time_ns · 8 mtime_ns · 4 mode · 4 labels · 1 flags (1: whole) · 8 piece_count
struct LayerHead {
  static constexpr MessageType type = MessageType::layer;
  RevisionInfo info;
  bool whole = false;
  std::uint64_t piece_count = 0;
  void encode(WireWriter& w) const;
  static Result<LayerHead> decode(Bytes body);
};

// The next pieces of the layer that was begun last. Entry:
//   1 flags (1: hole, 2: a gap comes before, 4: slice) · [8 gap]
//   · hole:  8 length
//   · else:  32 digest · 4 chunk length · [slice: 4 chunk_offset · 4 length]   (no slice: the whole chunk)
//   8 offset of the first piece, counting no gap · 4 n · n * entry
struct Pieces {
  static constexpr MessageType type = MessageType::pieces;
  std::uint64_t base = 0;
  std::vector<Piece> pieces;  // the first begins at or after base
  void encode(WireWriter& w) const;
  static Result<Pieces> decode(Bytes body);
  static constexpr std::size_t entry_size_max = 1 + 8 + 32 + 4 + 8;
};

// No more layers in this transfer. No body.
struct LayersEnd {
  static constexpr MessageType type = MessageType::layers_end;
  bool operator==(const LayersEnd&) const = default;
  void encode(WireWriter&) const {}
  static Result<LayersEnd> decode(Bytes body);
};

// So many bytes of layer frames have been worked off.
//   8 bytes
struct Credit {
  static constexpr MessageType type = MessageType::credit;
  std::uint64_t bytes = 0;
  bool operator==(const Credit&) const = default;
  void encode(WireWriter& w) const;
  static Result<Credit> decode(Bytes body);
};

//   4 n · n * (32 digest · 4 length)
struct Want {
  static constexpr MessageType type = MessageType::want;
  std::vector<ChunkName> names;
  bool operator==(const Want&) const = default;
  void encode(WireWriter& w) const;
  static Result<Want> decode(Bytes body);
};

//   32 digest · 4 length · 1 codec · 1 width · stored bytes to the end of the frame
struct Chunk {
  static constexpr MessageType type = MessageType::chunk;
  StoredChunk chunk;
  void encode(WireWriter& w) const;
  static Result<Chunk> decode(Bytes body);
};

// In a repair: the asked chunk is not here (or damaged here too).
//   32 digest · 4 length
struct Absent {
  static constexpr MessageType type = MessageType::absent;
  ChunkName name;
  bool operator==(const Absent&) const = default;
  void encode(WireWriter& w) const;
  static Result<Absent> decode(Bytes body);
};

}  // namespace peel::proto
