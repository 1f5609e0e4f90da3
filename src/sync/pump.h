// sync/pump.h - drives one sans-IO session over one channel: the only loop that waits.
//
// Contract   next() moves bytes until the session has an event, and returns it. A failure of either comes back
//            as an Error, with the peer's own words escaped and named as its. `tick` is called about every
//            tick_every while the loop lives; its error aborts the session with that reason.
// Errors     network, timeout, cancelled; what the peer aborted with; what `tick` said; corrupt, limit,
//            unsupported from the session.
// Threads    One owner. run_busy() runs its function on another thread and waits for it.
// Memory     64 KiB.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/cancel.h"
#include "link/channel.h"
#include "proto/session.h"

namespace peel::sync {

class Pump {
public:
  struct Options {
    const Cancel* cancel = nullptr;
    std::chrono::milliseconds tick_every{1000};
    std::chrono::milliseconds idle_timeout{120'000};  // for flush(); the session has its own
    std::function<Status()> tick;                     // may be empty
    std::string peer;                                 // how messages call the other end; empty: by its address
  };
  Pump(proto::HistorySession& session, link::Channel& channel, Options options);

  Result<proto::Event> next();
  // Writes until less than `most` bytes wait.
  Status flush(std::size_t most = 0);
  // Runs `work` elsewhere and tells the peer now and then that we are alive. Not interrupted by cancel or tick.
  Status run_busy(const std::function<Status()>& work);
  // Aborts the session for `error`, tells the peer, and returns the error.
  Error abort(Error error);
  // Last words in order: flushes, closes. After an abort it gives the peer a moment to read why.
  void goodbye();

private:
  Result<bool> write_once();
  Result<bool> read_once();
  Status wait_for_bytes();
  Status tick();
  Error failed_with(proto::Failed& failed);
  Error channel_failed(Error error);

  proto::HistorySession& session_;
  link::Channel& channel_;
  Options options_;
  Buffer buffer_;
  link::Instant next_tick_, left_;  // left_: when next() last returned
  bool peer_aborted_ = false;
};

}  // namespace peel::sync
