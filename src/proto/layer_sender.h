// proto/layer_sender.h - cuts layers into frames and keeps within the receiver's layer window.
//
// Contract   While wants_layer(), give() the next one, parents before children, or end(). pump() appends what
//            credit and room allow. One layer is held at a time.
// Errors     add_credit: corrupt when more is returned than was sent.
// Threads    One owner.
// Memory     The layer given last.
#pragma once

#include "proto/history_messages.h"

namespace peel::proto {

class LayerSender {
public:
  bool wants_layer() const { return !ended_ && !layer_ && credit_ >= frame_size_max; }
  bool ended() const { return ended_ && !layer_; }
  void give(Layer layer);
  void end() { ended_ = true; }
  // Appends frames while `out` holds less than `room` bytes beyond `from`. True when LAYERS_END was just written.
  bool pump(Buffer& out, std::size_t from, std::size_t room);
  Status add_credit(std::uint64_t bytes);
  std::uint64_t credit() const { return credit_; }

private:
  void append(Buffer& out);

  std::optional<Layer> layer_;
  bool head_sent_ = false, ended_ = false, end_sent_ = false;
  std::size_t next_piece_ = 0;
  std::uint64_t credit_ = layer_window;
};

}  // namespace peel::proto
