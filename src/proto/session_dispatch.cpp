// What each frame means in each phase. A frame that does not fit its phase ends the session.
#include "proto/session_send.h"

namespace peel::proto {

bool HistorySession::check(const Status& status) {
  if (status) return true;
  fail_with(status.error().kind(), status.error().message());
  return false;
}

bool HistorySession::parse_one() {
  // Somebody who speaks another protocol is not waited for until its "frame" is whole.
  if (const auto type = reader_.next_type(); !hello_seen_ && type &&
                                             *type != static_cast<std::uint8_t>(MessageType::hello) &&
                                             *type != static_cast<std::uint8_t>(MessageType::abort)) {
    fail_with(ErrorKind::corrupt, "the other end does not speak peel, or not unencrypted");
    return true;
  }
  auto frame = reader_.next();
  if (!frame) {
    fail_with(frame.error().kind(), frame.error().message());
    return true;
  }
  if (!*frame) return false;
  fed_since_frame_ = 0;
  heard_ = std::max(heard_, fed_);
  if ((*frame)->type != static_cast<std::uint8_t>(MessageType::alive)) heard_real_ = std::max(heard_real_, fed_);
  dispatch(**frame);
  return true;
}

void HistorySession::dispatch(const Frame& frame) {
  const auto type = static_cast<MessageType>(frame.type);
  if (type == MessageType::abort) {
    Abort message;
    if (!take(frame.body, message)) return;
    phase_ = Phase::failed;
    events_.push_back(Failed{fail(message.kind, message.text), true});
    return;
  }
  if (!hello_seen_) {
    return on_hello(frame.body);
  }
  if (type == MessageType::alive) {
    Alive message;
    take(frame.body, message);
    return;
  }
  bool known = false;
  switch (phase_) {
    case Phase::idle:
      known = options_.role == Role::server && dispatch_request(frame);
      break;
    case Phase::sending:
      known = dispatch_sending(frame);
      break;
    case Phase::receiving:
      known = dispatch_receiving(frame);
      break;
    case Phase::repair_asking:
    case Phase::repair_serving:
      known = dispatch_repair(frame);
      break;
    case Phase::skipping:
      known = type == MessageType::layer || type == MessageType::pieces || type == MessageType::layers_end ||
              type == MessageType::chunk || type == MessageType::done;
      if (type == MessageType::done) end_operation();
      break;
    default:
      known = dispatch_answer(frame);
  }
  if (!known) fail_with(ErrorKind::corrupt, "message " + std::to_string(frame.type) + " out of place");
}

void HistorySession::on_hello(Bytes body) {
  Hello hello;
  if (!take(body, hello)) return;
  hello_seen_ = true;
  if (options_.role == Role::server)
    send(Hello{version_min, version_max, options_.software, options_.capabilities, options_.statements});
  if (hello.lowest > hello.highest || std::min(hello.highest, version_max) < std::max(hello.lowest, version_min))
    return fail_with(ErrorKind::unsupported, "no common protocol version: one end speaks " +
                                                 std::to_string(hello.lowest) + " to " + std::to_string(hello.highest) +
                                                 ", the other " + std::to_string(version_min) + " to " +
                                                 std::to_string(version_max));
  events_.push_back(PeerHello{std::move(hello)});
}

// At the server, between operations.
bool HistorySession::dispatch_request(const Frame& frame) {
  const auto type = static_cast<MessageType>(frame.type);
  if (join_only_ && type != MessageType::join) return fail_with(ErrorKind::refused, *join_only_), true;
  request_seen_ = true;
  if (type == MessageType::haves) return on_description(frame);
  auto haves = std::move(collected_.haves), shallow = std::move(collected_.shallow);
  switch (type) {
    case MessageType::ls: {
      Ls m;
      if (!take(frame.body, m)) return true;
      begin(Operation::ls, Phase::ls_answering);
      events_.push_back(LsAsked{std::move(m.prefix)});
      return true;
    }
    case MessageType::join: {
      Join m;
      if (!take(frame.body, m)) return true;
      begin(Operation::join, Phase::join_answering);
      events_.push_back(JoinAsked{std::move(m)});
      return true;
    }
    case MessageType::fetch: {
      Fetch m;
      if (!take(frame.body, m)) return true;
      begin(Operation::fetch, Phase::state_answering);
      events_.push_back(FetchAsked{std::move(m), std::move(haves), std::move(shallow)});
      return true;
    }
    case MessageType::push: {
      Push m;
      if (!take(frame.body, m)) return true;
      begin(Operation::push, Phase::state_answering);
      events_.push_back(PushAsked{std::move(m)});
      return true;
    }
    case MessageType::repair: {
      Repair m;
      if (!take(frame.body, m)) return true;
      begin(Operation::repair, Phase::state_answering);
      events_.push_back(RepairAsked{std::move(m.name)});
      return true;
    }
    default:
      return false;
  }
}

// HAVES and REFS, collected until the message they belong to.
bool HistorySession::on_description(const Frame& frame) {
  const auto type = static_cast<MessageType>(frame.type);
  if (type == MessageType::haves) {
    Haves m;
    if (!take(frame.body, m)) return true;
    const bool shallow = m.kind == Haves::Kind::shallow;
    auto& ids = shallow ? collected_.shallow : collected_.haves;
    if (m.ids.empty() || ids.size() + m.ids.size() > (shallow ? shallow_max : haves_max)) {
      fail_with(ErrorKind::limit, "too many revisions named");
      return true;
    }
    ids.insert(ids.end(), m.ids.begin(), m.ids.end());
    return true;
  }
  if (type != MessageType::refs) return false;
  Refs m;
  if (!take(frame.body, m)) return true;
  collected_bytes_ += frame.body.size();
  if (m.refs.empty() || collected_.refs.size() + m.refs.size() > refs_max || collected_bytes_ > refs_bytes_max) {
    fail_with(ErrorKind::limit, "too many refs");
    return true;
  }
  std::move(m.refs.begin(), m.refs.end(), std::back_inserter(collected_.refs));
  return true;
}

// Answers at the client, and the updates at the server.
bool HistorySession::dispatch_answer(const Frame& frame) {
  const auto type = static_cast<MessageType>(frame.type);
  switch (phase_) {
    case Phase::ls_asked: {
      if (type == MessageType::done) return end_operation(), true;
      LsEntry m;
      if (type != MessageType::ls_entry) return false;
      if (take(frame.body, m)) events_.push_back(Listed{std::move(m)});
      return true;
    }
    case Phase::join_asked: {
      Joined m;
      if (type != MessageType::joined) return false;
      if (!take(frame.body, m)) return true;
      events_.push_back(JoinAnswered{std::move(m)});
      end_operation();
      return true;
    }
    case Phase::state_asked:
      if (type == MessageType::onion_state) return on_state(frame.body), true;
      return on_description(frame);
    case Phase::updates_asked:
      if (type == MessageType::updates) return on_updates(frame.body), true;
      return false;
    default:
      return false;
  }
}

void HistorySession::on_state(Bytes body) {
  if (!take(body, collected_.onion)) return;
  if (!collected_.onion.exists && operation_ != Operation::push)
    return fail_with(ErrorKind::corrupt, "the answer is an onion that does not exist");
  if (operation_ == Operation::fetch) {
    receiver_.emplace(options_.limits);
    phase_ = Phase::receiving;
  } else {
    phase_ = operation_ == Operation::push ? Phase::choosing_updates : Phase::repair_asking;
  }
  events_.push_back(StateArrived{std::exchange(collected_, PeerState{})});
}

void HistorySession::on_updates(Bytes body) {
  Updates m;
  if (!take(body, m)) return;
  collected_bytes_ += body.size();
  if ((m.updates.empty() && !m.last) || updates_.size() + m.updates.size() > refs_max ||
      collected_bytes_ > refs_bytes_max)
    return fail_with(ErrorKind::limit, "too many updates");
  std::move(m.updates.begin(), m.updates.end(), std::back_inserter(updates_));
  if (!m.last) return;
  receiver_.emplace(options_.limits);
  phase_ = Phase::receiving;
  events_.push_back(UpdatesArrived{m.atomic, std::exchange(updates_, {})});
}

void HistorySession::on_results(Bytes body) {
  Results m;
  if (!take(body, m)) return;
  if ((m.results.empty() && !m.last) || results_.size() + m.results.size() > refs_max)
    return fail_with(ErrorKind::limit, "too many results");
  std::move(m.results.begin(), m.results.end(), std::back_inserter(results_));
  if (!m.last) return;
  events_.push_back(ResultsArrived{std::exchange(results_, {})});
  send(Done{});
  end_operation();
}

bool HistorySession::dispatch_sending(const Frame& frame) {
  switch (static_cast<MessageType>(frame.type)) {
    case MessageType::want:
      return on_want(frame.body), true;
    case MessageType::credit: {
      Credit m;
      if (take(frame.body, m)) check(sender_->add_credit(m.bytes));
      return true;
    }
    case MessageType::results:
      if (options_.role != Role::client) return false;
      return on_results(frame.body), true;
    case MessageType::done:
      // Only after the last layer: nobody can have what was not sent.
      if (options_.role != Role::server || !sender_->ended() || !wants_.empty()) return false;
      return end_operation(), true;
    default:
      return false;
  }
}

void HistorySession::on_want(Bytes body) {
  Want m;
  if (!take(body, m)) return;
  if (wants_.size() + m.names.size() > wants_outstanding_max)
    return fail_with(ErrorKind::limit, "too many chunks asked for at once");
  wants_.insert(wants_.end(), m.names.begin(), m.names.end());
}

bool HistorySession::dispatch_receiving(const Frame& frame) {
  const std::size_t frame_size = frame.body.size() + 5;
  switch (static_cast<MessageType>(frame.type)) {
    case MessageType::layer: {
      LayerHead m;
      if (take(frame.body, m)) check(receiver_->on_head(std::move(m), frame_size));
      return true;
    }
    case MessageType::pieces: {
      Pieces m;
      if (take(frame.body, m)) check(receiver_->on_pieces(std::move(m), frame_size));
      return true;
    }
    case MessageType::layers_end: {
      LayersEnd m;
      if (take(frame.body, m)) check(receiver_->on_end());
      return true;
    }
    case MessageType::chunk:
      // What was to be asked for is asked for before an answer is judged, wherever the bytes were cut.
      send_wants_and_credit(true);
      return on_chunk(frame.body), true;
    default:
      return false;
  }
}

void HistorySession::on_chunk(Bytes body) {
  Chunk m;
  if (!take(body, m) || !check(receiver_->on_chunk(m.chunk.name))) return;
  events_.push_back(ChunkArrived{std::move(m.chunk)});
}

bool HistorySession::dispatch_repair(const Frame& frame) {
  const auto type = static_cast<MessageType>(frame.type);
  if (options_.role == Role::server) {
    if (type == MessageType::want) return on_want(frame.body), true;
    if (type == MessageType::done && wants_.empty()) return end_operation(), true;
    return false;
  }
  ChunkName name;
  Chunk chunk;
  Absent absent;
  if (type == MessageType::chunk) {
    if (!take(frame.body, chunk)) return true;
    name = chunk.chunk.name;
  } else if (type == MessageType::absent) {
    if (!take(frame.body, absent)) return true;
    name = absent.name;
  } else {
    return false;
  }
  if (repair_asked_.empty() || repair_asked_.front() != name) return false;
  repair_asked_.pop_front();
  if (type == MessageType::chunk) {
    events_.push_back(ChunkArrived{std::move(chunk.chunk)});
  } else {
    events_.push_back(ChunkAbsent{name});
  }
  return true;
}

}  // namespace peel::proto
