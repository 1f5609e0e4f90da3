// proto/layer_receiver.h - puts layers together, finds out which chunks to ask for, and says when a layer is
// complete.
//
// Flow       on_head/on_pieces/on_end as frames come. next_to_check() names chunks whose presence decides;
//            checked() takes the answer and queues what is missing; take_wants() is what to ask the sender
//            for. on_chunk() for each arrival: the sender answers in the order it was asked. take_ready() gives
//            the oldest layer once all its chunks have come.
// Errors     corrupt: pieces without a layer, out of order, too many; a chunk not asked for. limit: a bound of
//            Limits, or a sender that overran its window.
// Threads    One owner.
// Memory     The layer window (layer_window on the wire, about three times that in memory), the pieces of the
//            oldest layer (pieces_per_layer_max), and 100 bytes per chunk asked for and not here
//            (wants_outstanding_max).
#pragma once

#include <deque>
#include <set>

#include "proto/history_messages.h"

namespace peel::proto {

class LayerReceiver {
public:
  // What one transfer may bring: the importer keeps layers in memory until they become visible.
  struct Limits {
    std::uint64_t layers = 1ull << 20;
    std::uint64_t pieces = 1ull << 25;       // 72 bytes each in memory
    std::uint64_t layer_bytes = 1ull << 30;  // on the wire
  };
  explicit LayerReceiver(Limits limits) : limits_(limits) {}

  // `frame_size`: of the whole frame, header included: what the window counts.
  Status on_head(LayerHead head, std::size_t frame_size);
  Status on_pieces(Pieces pieces, std::size_t frame_size);
  Status on_end();
  Status on_chunk(const ChunkName& name);

  // Empty: nothing to check now. Until checked() it gives nothing more.
  std::vector<ChunkName> next_to_check();
  void checked(const std::vector<bool>& missing);
  // At most wants_per_frame_max names to ask for now.
  std::vector<ChunkName> take_wants();
  std::size_t wants_waiting() const { return want_out_.size(); }
  std::optional<Layer> take_ready();
  // Credit to return; 0 while it is less than `step`.
  std::uint64_t take_credit(std::uint64_t step);
  // Everything announced has come and was taken.
  bool finished() const { return ended_ && pending_.empty(); }
  std::size_t wants_outstanding() const { return asked_.size(); }

private:
  struct Pending {
    Layer layer;
    std::uint64_t piece_count = 0;
    std::uint64_t owed = 0;         // credit to return when this layer becomes the oldest
    std::size_t next_check = 0;     // pieces before it are checked
    std::uint64_t asked_until = 0;  // complete once so many chunks have come
    bool whole_here() const { return layer.pieces.size() == piece_count; }
    bool all_checked() const { return whole_here() && next_check == piece_count; }
  };
  Status count_frame(std::size_t frame_size);
  void front_changed();

  Limits limits_;
  std::deque<Pending> pending_;
  bool ended_ = false;
  std::uint64_t layers_ = 0, pieces_ = 0, layer_bytes_ = 0;
  std::uint64_t window_used_ = 0;  // bytes of the layers behind the oldest
  std::uint64_t credit_due_ = 0;

  std::size_t checking_ = 0;         // index into pending_ of the layer being checked
  std::vector<ChunkName> batch_;     // under check
  std::vector<ChunkName> want_out_;  // missing, not yet told to the sender
  std::deque<ChunkName> asked_;      // missing, in order; not yet here
  std::set<ChunkName> asked_set_;    // ordered: names are the peer's choice, so no unkeyed hash
  std::uint64_t asked_total_ = 0, came_total_ = 0;
};

}  // namespace peel::proto
