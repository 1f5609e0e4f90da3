#include "sync/pump.h"

#include <future>
#include <system_error>

#include "base/hex.h"

namespace peel::sync {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t read_size = 64u << 10;
constexpr std::size_t write_early = 64u << 10;  // output that does not wait for the events to run out
constexpr auto alive_every = std::chrono::seconds(10);
constexpr auto excused_from = std::chrono::seconds(1);  // own work longer than this is not the peer's silence
constexpr auto goodbye_time = std::chrono::seconds(1);

}  // namespace

Pump::Pump(proto::HistorySession& session, link::Channel& channel, Options options)
    : session_(session),
      channel_(channel),
      options_(std::move(options)),
      buffer_(read_size),
      next_tick_(Clock::now() + options_.tick_every),
      left_(Clock::now()) {}

Result<bool> Pump::write_once() {
  if (session_.output().empty()) return false;
  PEEL_TRY(const auto n, channel_.write_some(session_.output()), "");
  session_.consume_output(n, Clock::now());
  return n > 0;
}

Result<bool> Pump::read_once() {
  if (!session_.wants_input()) return false;
  PEEL_TRY(const auto got, channel_.read_some(buffer_), "");
  if (got.bytes > 0) session_.feed(Bytes(buffer_).first(got.bytes), Clock::now());
  if (got.closed) session_.on_closed(Clock::now());
  return got.bytes > 0 || got.closed;
}

Status Pump::tick() {
  const auto now = Clock::now();
  if (now < next_tick_) return {};
  next_tick_ = now + options_.tick_every;
  return options_.tick ? options_.tick() : Status();
}

Status Pump::wait_for_bytes() {
  const auto now = Clock::now();
  const auto deadline = session_.next_deadline();
  if (deadline && now >= *deadline) {
    session_.on_deadline(now);
    return {};
  }
  const auto until = deadline ? std::min(*deadline, next_tick_) : next_tick_;
  const link::Channel::Interest interest{session_.wants_input(), !session_.output().empty()};
  auto waited = channel_.wait(interest, until, options_.cancel);
  if (!waited && (waited.error().kind() == ErrorKind::timeout || waited.error().kind() == ErrorKind::cancelled))
    return {};
  return waited;
}

// What happened over there, as seen from here: the peer's full disk is not ours.
ErrorKind kind_from_peer(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::io:
    case ErrorKind::usage:
    case ErrorKind::partial:
    case ErrorKind::truncated:
    case ErrorKind::exists:
    case ErrorKind::cancelled:
      return ErrorKind::network;
    default:
      return kind;
  }
}

Error Pump::failed_with(proto::Failed& failed) {
  const std::string& who = options_.peer.empty() ? channel_.properties().peer_name : options_.peer;
  if (!failed.by_peer) return std::move(failed.error).in(who);
  peer_aborted_ = true;
  return Error(kind_from_peer(failed.error.kind()),
               (who.empty() ? "the other end" : who) + " says: " + escape_for_terminal(failed.error.message()));
}

// The line is dead, but the peer may have said why before it went.
Error Pump::channel_failed(Error error) {
  while (true) {
    while (auto event = session_.poll())
      if (auto* failed = std::get_if<proto::Failed>(&*event)) return failed_with(*failed);
    auto more = read_once();
    if (!more || !*more) break;
  }
  session_.abort(error);
  return error;
}

Result<proto::Event> Pump::next() {
  if (const auto away = Clock::now() - left_; away > excused_from) session_.excuse(away);
  while (true) {
    if (options_.cancel && options_.cancel->requested()) return abort(fail(ErrorKind::cancelled, "interrupted"));
    if (auto ticked = tick(); !ticked) return abort(std::move(ticked.error()));
    if (auto event = session_.poll()) {
      if (auto* failed = std::get_if<proto::Failed>(&*event)) return failed_with(*failed);
      if (session_.output().size() >= write_early) {
        auto wrote = write_once();
        if (!wrote) return channel_failed(std::move(wrote.error()));
      }
      left_ = Clock::now();
      return std::move(*event);
    }
    if (session_.over()) return fail(ErrorKind::network, "the session is over");
    auto wrote = write_once();
    if (!wrote) return channel_failed(std::move(wrote.error()));
    auto got = read_once();
    if (!got) return channel_failed(std::move(got.error()));
    if (*wrote || *got) continue;
    if (auto waited = wait_for_bytes(); !waited) return channel_failed(std::move(waited.error()));
  }
}

Status Pump::flush(std::size_t most) {
  auto deadline = Clock::now() + options_.idle_timeout;
  while (session_.output().size() > most) {
    if (options_.cancel && options_.cancel->requested()) return abort(fail(ErrorKind::cancelled, "interrupted"));
    if (auto ticked = tick(); !ticked) return abort(std::move(ticked.error()));
    auto wrote = write_once();
    if (!wrote) return channel_failed(std::move(wrote.error()));
    // The peer may be blocked on writing to us, so its bytes are taken too.
    auto got = read_once();
    if (!got) return channel_failed(std::move(got.error()));
    if (*wrote) deadline = Clock::now() + options_.idle_timeout;
    if (*wrote || *got) continue;
    if (Clock::now() >= deadline) return abort(fail(ErrorKind::timeout, "the other end takes no bytes"));
    if (auto waited = wait_for_bytes(); !waited) return channel_failed(std::move(waited.error()));
  }
  return {};
}

Status Pump::run_busy(const std::function<Status()>& work) {
  std::future<Status> result;
  try {
    result = std::async(std::launch::async, work);
  } catch (const std::system_error&) {  // no thread to be had: the peer waits in silence
    return work();
  }
  while (result.wait_for(alive_every) != std::future_status::ready) {
    session_.keep_alive();
    (void)write_once();  // a dead line shows afterwards; the work is worth finishing
  }
  return result.get();
}

Error Pump::abort(Error error) {
  if (!session_.over()) session_.abort(error);
  return error;
}

void Pump::goodbye() {
  const bool aborted = session_.over();
  const auto deadline = Clock::now() + goodbye_time;
  while (!session_.output().empty() && Clock::now() < deadline) {
    const auto wrote = write_once();
    if (!wrote) break;
    if (!*wrote && !channel_.wait({false, true}, deadline, nullptr)) break;
  }
  // Closing with unread bytes makes TCP throw away what the peer has not read yet: the reason of the abort.
  while (aborted && !peer_aborted_ && Clock::now() < deadline) {
    const auto got = channel_.read_some(buffer_);
    if (!got || got.value().closed) break;
    if (got.value().bytes == 0 && !channel_.wait({true, false}, deadline, nullptr)) break;
  }
  channel_.close();
}

}  // namespace peel::sync
