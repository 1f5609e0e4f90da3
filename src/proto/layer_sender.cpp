#include "proto/layer_sender.h"

#include "proto/frame.h"

namespace peel::proto {

void LayerSender::give(Layer layer) {
  assert(!layer_ && !ended_);
  layer_ = std::move(layer);
  head_sent_ = false;
  next_piece_ = 0;
}

// A frame is at most frame_size_max, and the receiver owes back at most credit_step before it answers, so a
// sender that waits for frame_size_max of credit always gets it.
bool LayerSender::pump(Buffer& out, std::size_t from, std::size_t room) {
  while (layer_ && out.size() - from < room && credit_ >= frame_size_max) {
    const std::size_t before = out.size();
    append(out);
    credit_ -= out.size() - before;
  }
  if (!ended() || end_sent_) return false;
  append_frame(out, static_cast<std::uint8_t>(MessageType::layers_end), [](WireWriter&) {});
  end_sent_ = true;
  return true;
}

void LayerSender::append(Buffer& out) {
  const std::vector<Piece>& pieces = layer_->pieces;
  if (!head_sent_) {
    const LayerHead head{layer_->info, layer_->whole, pieces.size()};
    append_frame(out, static_cast<std::uint8_t>(LayerHead::type), [&](WireWriter& w) { head.encode(w); });
    head_sent_ = true;
  } else {
    Pieces part;
    part.base = next_piece_ == 0 ? 0 : pieces[next_piece_ - 1].offset + pieces[next_piece_ - 1].length;
    const std::size_t n = std::min(pieces.size() - next_piece_, split_size / Pieces::entry_size_max);
    const auto first = pieces.begin() + static_cast<std::ptrdiff_t>(next_piece_);
    part.pieces.assign(first, first + static_cast<std::ptrdiff_t>(n));
    append_frame(out, static_cast<std::uint8_t>(Pieces::type), [&](WireWriter& w) { part.encode(w); });
    next_piece_ += n;
  }
  if (next_piece_ == pieces.size()) layer_.reset();
}

Status LayerSender::add_credit(std::uint64_t bytes) {
  if (bytes > layer_window - credit_) return fail(ErrorKind::corrupt, "more credit than was used");
  credit_ += bytes;
  return {};
}

}  // namespace peel::proto
