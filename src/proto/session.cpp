// Calls, time and the order in which things happen. What each frame means is in session_dispatch.cpp.
#include "proto/session.h"

#include "proto/session_send.h"

namespace peel::proto {

HistorySession::HistorySession(SessionOptions options, Instant now)
    : options_(std::move(options)), started_(now), fed_(now), heard_(now), heard_real_(now) {
  if (options_.role == Role::client)
    send(Hello{version_min, version_max, options_.software, options_.capabilities, options_.statements});
}

// --- bytes and time --------------------------------------------------------------------------------

void HistorySession::feed(Bytes bytes, Instant now) {
  if (over()) return;
  bytes_received_ += bytes.size();
  fed_ = now;
  fed_since_frame_ += bytes.size();
  if (fed_since_frame_ >= 65536) {  // a long frame is progress too, a byte now and then is not
    heard_ = heard_real_ = now;
    fed_since_frame_ = 0;
  }
  reader_.feed(bytes);
}

bool HistorySession::wants_input() const {
  return !over() && (reader_.buffered() < frame_size_max || !reader_.frame_ready());
}

void HistorySession::on_closed(Instant now) {
  fed_ = now;
  peer_closed_ = true;
}

bool HistorySession::our_move() const {
  switch (phase_) {
    case Phase::idle:
      return options_.role == Role::client;
    case Phase::repair_asking:
      return repair_asked_.empty();
    case Phase::choosing_updates:
    case Phase::finishing_fetch:
    case Phase::ls_answering:
    case Phase::join_answering:
    case Phase::state_answering:
    case Phase::results_answering:
      return true;
    default:
      return false;
  }
}

std::optional<Instant> HistorySession::next_deadline() const {
  if (over()) return std::nullopt;
  if (options_.role == Role::server ? !request_seen_ : !hello_seen_ && !our_move())
    return started_ + options_.hello_timeout;
  if (our_move()) return std::nullopt;
  return std::min(heard_ + options_.idle_timeout, heard_real_ + options_.alive_timeout);
}

void HistorySession::on_deadline(Instant now) {
  const auto deadline = next_deadline();
  if (deadline && now >= *deadline) fail_with(ErrorKind::timeout, "the other end has been silent for too long");
}

void HistorySession::excuse(Duration busy) {
  started_ += busy;
  heard_ += busy;
  heard_real_ += busy;
}

void HistorySession::consume_output(std::size_t bytes, Instant now) {
  assert(bytes <= output().size());
  if (bytes == 0) return;
  bytes_sent_ += bytes;
  heard_ = heard_real_ = now;
  output_sent_ += bytes;
  if (output_sent_ == output_.size()) {
    output_.clear();
    output_sent_ = 0;
  } else if (output_sent_ >= (1u << 20)) {
    output_.erase(output_.begin(), output_.begin() + static_cast<std::ptrdiff_t>(output_sent_));
    output_sent_ = 0;
  }
}

// One thing at a time, and the next frame only when everything the frames before it caused is done: so it
// cannot matter how the bytes were cut.
std::optional<Event> HistorySession::poll() {
  while (true) {
    if (!events_.empty()) {
      std::optional<Event> event(std::move(events_.front()));
      events_.pop_front();
      return event;
    }
    if (over() || question_open_) return std::nullopt;
    if (auto need = next_sending()) return need;
    if (auto need = next_receiving()) return need;
    if (!events_.empty() || parse_one()) continue;
    if (over()) continue;
    send_wants_and_credit(true);
    if (!peer_closed_) return std::nullopt;
    const bool in_order = (phase_ == Phase::idle || phase_ == Phase::skipping) && reader_.buffered() == 0;
    if (!in_order) {
      fail_with(ErrorKind::network, "the connection ended in the middle of the work");
      continue;
    }
    phase_ = Phase::closed;
    events_.push_back(Closed{});
  }
}

std::optional<Event> HistorySession::ask(Event question) {
  question_open_ = true;
  return std::optional<Event>(std::move(question));
}

std::optional<Event> HistorySession::next_sending() {
  if (phase_ == Phase::repair_serving && room() && !wants_.empty()) {
    const ChunkName name = wants_.front();
    wants_.pop_front();
    return ask(NeedChunk{name});
  }
  if (phase_ != Phase::sending) return std::nullopt;
  // Layers first: they keep the receiver's list of wants filled, and their window bounds them.
  sender_->pump(output_, output_sent_, output_room);
  if (!room()) return std::nullopt;
  if (sender_->wants_layer()) return ask(NeedLayer{});
  if (wants_.empty()) return std::nullopt;
  const ChunkName name = wants_.front();
  wants_.pop_front();
  return ask(NeedChunk{name});
}

std::optional<Event> HistorySession::next_receiving() {
  if (phase_ != Phase::receiving) return std::nullopt;
  if (auto layer = receiver_->take_ready()) return Event(LayerArrived{std::move(*layer)});
  if (auto names = receiver_->next_to_check(); !names.empty()) return ask(CheckChunks{std::move(names)});
  send_wants_and_credit(false);
  if (!receiver_->finished()) return std::nullopt;
  receiver_.reset();
  phase_ = options_.role == Role::client ? Phase::finishing_fetch : Phase::results_answering;
  return Event(AllArrived{});
}

void HistorySession::send_wants_and_credit(bool all) {
  if (phase_ != Phase::receiving) return;
  constexpr std::size_t wants_step = 1024;
  while (receiver_->wants_waiting() >= (all ? 1 : wants_step)) send(Want{receiver_->take_wants()});
  if (const auto bytes = receiver_->take_credit(all ? 1 : credit_step); bytes > 0) send(Credit{bytes});
}

void HistorySession::fail_with(ErrorKind kind, const std::string& what) {
  if (over()) return;
  send(Abort{kind, what});
  phase_ = Phase::failed;
  events_.push_back(Failed{fail(kind, what), false});
}

// --- either end ------------------------------------------------------------------------------------

void HistorySession::abort(const Error& error) {
  if (over()) return;
  send(Abort{error.kind(), error.message()});
  phase_ = Phase::failed;
  events_.clear();
}

void HistorySession::keep_alive() {
  if (!over() && hello_seen_ && output().empty()) send(Alive{});
}

void HistorySession::begin(Operation operation, Phase phase) {
  assert(phase_ == Phase::idle);
  operation_ = operation;
  phase_ = phase;
  collected_ = PeerState{};
  collected_bytes_ = 0;
  updates_.clear();
  results_.clear();
}

void HistorySession::end_operation() {
  operation_ = Operation::none;
  phase_ = Phase::idle;
  sender_.reset();
  receiver_.reset();
  wants_.clear();
  repair_asked_.clear();
  collected_ = PeerState{};
  collected_bytes_ = 0;
  question_open_ = false;
  events_.push_back(OperationDone{});
}

void HistorySession::give_layer(Layer layer) {
  assert(question_open_);
  question_open_ = false;
  if (phase_ == Phase::sending) sender_->give(std::move(layer));
}

void HistorySession::end_layers() {
  assert(question_open_);
  question_open_ = false;
  if (phase_ == Phase::sending) sender_->end();
}

void HistorySession::give_chunk(const StoredChunk& chunk) {
  assert(question_open_ && chunk.stored.size() <= chunk_stored_max);
  question_open_ = false;
  append_frame(output_, static_cast<std::uint8_t>(MessageType::chunk), [&](WireWriter& w) {
    w.digest(chunk.name.digest).integer(chunk.name.length).integer(chunk.codec).integer(chunk.width);
    w.bytes(chunk.stored);
  });
}

void HistorySession::no_chunk(const ChunkName& name) {
  assert(question_open_ && phase_ == Phase::repair_serving);
  question_open_ = false;
  send(Absent{name});
}

void HistorySession::answer_check(const std::vector<bool>& missing) {
  assert(question_open_ && phase_ == Phase::receiving);
  question_open_ = false;
  receiver_->checked(missing);
}

// --- client ----------------------------------------------------------------------------------------

void HistorySession::list(const std::string& prefix) {
  begin(Operation::ls, Phase::ls_asked);
  send(Ls{prefix});
}

void HistorySession::join(const Join& request) {
  begin(Operation::join, Phase::join_asked);
  send(request);
}

void HistorySession::send_ids(Haves::Kind kind, const std::vector<RevisionId>& ids) {
  constexpr std::size_t step = split_size / 32;
  for (std::size_t at = 0; at < ids.size(); at += step) {
    const auto first = ids.begin() + static_cast<std::ptrdiff_t>(at);
    send(Haves{kind, {first, first + static_cast<std::ptrdiff_t>(std::min(step, ids.size() - at))}});
  }
}

void HistorySession::fetch(const Fetch& request, const std::vector<RevisionId>& haves,
                           const std::vector<RevisionId>& shallow) {
  assert(haves.size() <= haves_max && shallow.size() <= shallow_max);
  begin(Operation::fetch, Phase::state_asked);
  send_ids(Haves::Kind::have, haves);
  send_ids(Haves::Kind::shallow, shallow);
  send(request);
}

void HistorySession::finish_fetch() {
  assert(phase_ == Phase::finishing_fetch);
  send(Done{});
  end_operation();
}

void HistorySession::push(const Push& request) {
  begin(Operation::push, Phase::state_asked);
  send(request);
}

void HistorySession::send_updates(bool atomic, const std::vector<RefUpdate>& updates) {
  assert(phase_ == Phase::choosing_updates && updates.size() <= refs_max);
  Updates part{atomic, false, {}};
  std::size_t size = 0;
  for (const auto& update : updates) {
    const std::size_t more = 72 + update.name.size() + update.value.size();
    if (size + more > split_size && !part.updates.empty()) {
      send(part);
      part.updates.clear();
      size = 0;
    }
    part.updates.push_back(update);
    size += more;
  }
  part.last = true;
  send(part);
  sender_.emplace();
  phase_ = Phase::sending;
}

void HistorySession::repair(const std::string& name) {
  begin(Operation::repair, Phase::state_asked);
  send(Repair{name});
}

void HistorySession::ask_chunk(const ChunkName& name) {
  assert(phase_ == Phase::repair_asking && repair_asked_.size() < wants_outstanding_max);
  repair_asked_.push_back(name);
  send(Want{{name}});
}

void HistorySession::end_repair() {
  assert(phase_ == Phase::repair_asking && repair_asked_.empty());
  send(Done{});
  end_operation();
}

// --- server ----------------------------------------------------------------------------------------

void HistorySession::answer_ls(const LsEntry& entry) {
  assert(phase_ == Phase::ls_answering);
  send(entry);
}

void HistorySession::end_ls() {
  assert(phase_ == Phase::ls_answering);
  send(Done{});
  end_operation();
}

void HistorySession::answer_join(const Joined& joined) {
  assert(phase_ == Phase::join_answering);
  send(joined);
  end_operation();
}

void HistorySession::answer_state(const PeerState& state) {
  assert(phase_ == Phase::state_answering);
  send_ids(Haves::Kind::have, state.haves);
  send_ids(Haves::Kind::shallow, state.shallow);
  Refs part;
  std::size_t size = 0;
  for (const auto& ref : state.refs) {
    const std::size_t more = 37 + ref.name.size() + ref.value.size();
    if (size + more > split_size && !part.refs.empty()) {
      send(part);
      part.refs.clear();
      size = 0;
    }
    part.refs.push_back(ref);
    size += more;
  }
  if (!part.refs.empty()) send(part);
  send(state.onion);
  if (operation_ == Operation::fetch) {
    sender_.emplace();
    phase_ = Phase::sending;
  } else {
    phase_ = operation_ == Operation::push ? Phase::updates_asked : Phase::repair_serving;
  }
}

void HistorySession::answer_push(const std::vector<RefResult>& results) {
  assert(operation_ == Operation::push && (phase_ == Phase::receiving || phase_ == Phase::results_answering));
  receiver_.reset();
  question_open_ = false;
  Results part{false, {}};
  std::size_t size = 0;
  for (const auto& result : results) {
    const std::size_t more = 72 + result.name.size() + result.reason.size();
    if (size + more > split_size && !part.results.empty()) {
      send(part);
      part.results.clear();
      size = 0;
    }
    part.results.push_back(result);
    size += more;
  }
  part.last = true;
  send(part);
  phase_ = Phase::skipping;
}

}  // namespace peel::proto
