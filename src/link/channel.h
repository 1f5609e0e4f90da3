// link/channel.h - anything that carries bytes, in order, between two peers.
//
// Contract   read_some and write_some never block; wait() blocks until one of them may make progress, the
//            deadline passes or the cancel token is set. Bytes written are delivered in order or the channel
//            fails; nothing is said about record boundaries. One session drives one channel from one thread,
//            so full duplex needs no second thread: write what fits, read what came, wait.
// Errors     network: the path or the peer failed (sticky). timeout and cancelled come from wait() alone and
//            leave the channel usable. Reading after the peer closed cleanly gives `closed`.
// Threads    One owner. cancel may be set from anywhere.
// Memory     Implementations buffer at most 64 KiB each way beyond the kernel's buffers.
// Source     docs/PROTOCOL.md, Links
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "base/cancel.h"
#include "peel/error.h"
#include "peel/types.h"

namespace peel::link {

using Instant = std::chrono::steady_clock::time_point;

struct ReadOutcome {
  std::size_t bytes = 0;  // 0 and not closed: nothing there now
  bool closed = false;    // the peer ended its side in order; no more will come
};

class Channel {
 public:
  virtual ~Channel() = default;
  virtual Result<ReadOutcome> read_some(MutableBytes out) = 0;
  // How many bytes were taken; 0: no room now.
  virtual Result<std::size_t> write_some(Bytes data) = 0;
  struct Interest { bool read = true, write = false; };
  // Returns when reading (if asked) or writing (if asked) may progress.
  virtual Status wait(Interest interest, std::optional<Instant> deadline, const Cancel* cancel) = 0;
  // Says goodbye in order (flushes, TLS close_notify) as far as that works without blocking long.
  virtual void close() = 0;

  struct Properties {
    std::optional<Digest> peer_key;  // raw Ed25519 public key of the verified peer; absent on plain links
    std::string peer_name;           // address, for messages; not trusted
    bool encrypted = false;
    std::optional<Digest> binding;  // TLS exporter value: equal at both ends, unlike any other connection's
  };
  virtual const Properties& properties() const = 0;
};

}  // namespace peel::link
