#include "proto/layer_receiver.h"

namespace peel::proto {

Status LayerReceiver::count_frame(std::size_t frame_size) {
  if (ended_) return fail(ErrorKind::corrupt, "a layer after the end of layers");
  layer_bytes_ += frame_size;
  if (layer_bytes_ > limits_.layer_bytes)
    return fail(ErrorKind::limit, "too many bytes of layers in one transfer: push fewer revisions at a time");
  if (pending_.size() == 1) {  // the oldest layer: room for it is given whatever its size
    credit_due_ += frame_size;
    return {};
  }
  pending_.back().owed += frame_size;
  window_used_ += frame_size;
  if (window_used_ > layer_window) return fail(ErrorKind::limit, "the sender overran the layer window");
  return {};
}

Status LayerReceiver::on_head(LayerHead head, std::size_t frame_size) {
  if (!pending_.empty() && !pending_.back().whole_here()) return fail(ErrorKind::corrupt, "a layer within a layer");
  if (++layers_ > limits_.layers)
    return fail(ErrorKind::limit, "too many revisions in one transfer: push fewer at a time");
  Pending next;
  next.layer.info = std::move(head.info);
  next.layer.whole = head.whole;
  next.piece_count = head.piece_count;
  next.asked_until = asked_total_;
  pending_.push_back(std::move(next));
  return count_frame(frame_size);
}

Status LayerReceiver::on_pieces(Pieces pieces, std::size_t frame_size) {
  if (pending_.empty() || pending_.back().whole_here()) return fail(ErrorKind::corrupt, "pieces without a layer");
  Pending& layer = pending_.back();
  std::vector<Piece>& have = layer.layer.pieces;
  if (pieces.pieces.empty() || pieces.pieces.size() > layer.piece_count - have.size())
    return fail(ErrorKind::corrupt, "wrong number of pieces");
  if (!have.empty() && pieces.pieces.front().offset < have.back().offset + have.back().length)
    return fail(ErrorKind::corrupt, "pieces out of order");
  if (pieces.pieces.back().offset + pieces.pieces.back().length > layer.layer.info.size)
    return fail(ErrorKind::corrupt, "pieces beyond the end of the file");
  pieces_ += pieces.pieces.size();
  if (pieces_ > limits_.pieces)
    return fail(ErrorKind::limit, "too many pieces in one transfer: push fewer revisions at a time");
  have.insert(have.end(), pieces.pieces.begin(), pieces.pieces.end());
  return count_frame(frame_size);
}

Status LayerReceiver::on_end() {
  if (ended_) return fail(ErrorKind::corrupt, "a second end of layers");
  if (!pending_.empty() && !pending_.back().whole_here()) return fail(ErrorKind::corrupt, "a layer cut short");
  ended_ = true;
  return {};
}

Status LayerReceiver::on_chunk(const ChunkName& name) {
  // Asked for and told: what still waits in want_out_ is the tail of asked_.
  if (asked_.size() <= want_out_.size() || asked_.front() != name)
    return fail(ErrorKind::corrupt, "a chunk that was not asked for, or out of order");
  asked_set_.erase(name);
  asked_.pop_front();
  ++came_total_;
  return {};
}

std::vector<ChunkName> LayerReceiver::next_to_check() {
  if (!batch_.empty()) return {};
  std::set<ChunkName> seen;
  while (checking_ < pending_.size()) {
    Pending& layer = pending_[checking_];
    const std::size_t capacity = std::min(check_batch_max, wants_outstanding_max - asked_.size());
    while (layer.next_check < layer.layer.pieces.size() && batch_.size() < capacity) {
      const Piece& piece = layer.layer.pieces[layer.next_check++];
      // What is on its way already is neither asked for nor looked up again; asked_until covers it.
      if (!piece.is_hole() && !asked_set_.contains(piece.chunk) && seen.insert(piece.chunk).second)
        batch_.push_back(piece.chunk);
    }
    layer.asked_until = asked_total_;
    if (!batch_.empty() || !layer.all_checked()) break;
    ++checking_;
  }
  return batch_;
}

void LayerReceiver::checked(const std::vector<bool>& missing) {
  assert(missing.size() == batch_.size() && checking_ < pending_.size());
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    if (!missing[i]) continue;
    want_out_.push_back(batch_[i]);
    asked_.push_back(batch_[i]);
    asked_set_.insert(batch_[i]);
    ++asked_total_;
  }
  batch_.clear();
  pending_[checking_].asked_until = asked_total_;
}

std::vector<ChunkName> LayerReceiver::take_wants() {
  if (want_out_.size() <= wants_per_frame_max) return std::exchange(want_out_, {});
  const auto cut = want_out_.begin() + static_cast<std::ptrdiff_t>(wants_per_frame_max);
  std::vector<ChunkName> out(want_out_.begin(), cut);
  want_out_.erase(want_out_.begin(), cut);
  return out;
}

std::optional<Layer> LayerReceiver::take_ready() {
  if (pending_.empty() || !batch_.empty()) return std::nullopt;
  Pending& front = pending_.front();
  if (!front.all_checked() || came_total_ < front.asked_until) return std::nullopt;
  std::optional<Layer> out(std::move(front.layer));
  pending_.pop_front();
  if (checking_ > 0) --checking_;
  front_changed();
  return out;
}

void LayerReceiver::front_changed() {
  if (pending_.empty()) return;
  window_used_ -= pending_.front().owed;
  credit_due_ += std::exchange(pending_.front().owed, 0);
}

std::uint64_t LayerReceiver::take_credit(std::uint64_t step) {
  if (credit_due_ == 0 || credit_due_ < step) return 0;
  return std::exchange(credit_due_, 0);
}

}  // namespace peel::proto
