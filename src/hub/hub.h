// hub/hub.h - the server: one folder full of onions, many clients.
//
// Contract   start() binds; run() serves until `cancel` is set, then refuses newcomers, lets transactions that
//            are already being written finish, and returns. Names from clients never leave the root folder:
//            every component is opened without following symlinks. A client whose key is not trusted gets
//            nothing beyond the handshake except the redemption of a valid invite. Trust is looked at for each
//            operation and at least once a second, so `untrust` cuts live sessions.
//            Killing the process at any instant leaves every onion whole.
// Errors     start: io (address in use, root unreadable), not_found, usage.
// Threads    One thread per connection, at most `connections_max`. run() blocks its caller; address() and
//            stats() may be called from any thread. The log callback is serialised by the hub.
// Memory     Per connection: one chunk, 12 MiB of layers under way, one layer (72 bytes a piece), and what
//            Importer states; received layers of all pushes together within layer_memory_max.
// Source     docs/PROTOCOL.md, docs/THREAT_MODEL.md
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "peel/error.h"
#include "peel/types.h"

namespace peel {
class Cancel;
}

namespace peel::hub {

// One line of the access log: who did what. All text is escaped already.
struct LogEntry {
  std::int64_t time_ns = 0;
  std::string peer;  // name of the peer, "fingerprint ..." when unknown, "plain" on insecure links
  std::string address;
  std::string operation;  // connect, refuse, ls, join, fetch, push, repair, error, stop
  std::string onion;      // where it has one
  std::string text;       // result, for people: "main 3f2a..->9c01.., 12 revisions, 3.1 MiB received"
};

struct HubOptions {
  std::string root;
  std::string listen = "0.0.0.0:7731";  // HOST:PORT, [IPv6]:PORT; port 0: any
  std::string config_folder;            // identity and peers; empty: the user's own
  bool create = false;                  // peers with `write` may make new onions
  bool insecure = false;                // plain TCP: everyone who can reach the port may read (and write, if...)
  bool insecure_write = false;          // ... this is set too
  std::uint32_t connections_max = 256;
  std::uint32_t connections_per_peer_max = 64;
  std::uint64_t staging_quota = 64ull << 30;    // bytes of unfinished pushes per key and onion
  std::uint64_t layer_memory_max = 2ull << 30;  // layers of unfinished pushes, all connections together
  std::chrono::milliseconds idle_timeout{120'000};
  std::chrono::milliseconds hello_timeout{15'000};  // handshake and first request
  std::function<void(const LogEntry&)> log;
};

struct HubStats {
  std::uint64_t connections_live = 0, connections_total = 0, connections_refused = 0;
  std::uint64_t operations = 0, bytes_received = 0, bytes_sent = 0;
};

class Hub {
public:
  // Binds the address; clients may connect from here on and wait for run().
  static Result<Hub> start(HubOptions options);
  Hub(Hub&&) noexcept;
  Hub& operator=(Hub&&) noexcept;
  ~Hub();

  Status run(const Cancel& cancel);  // once
  std::string address() const;       // HOST:PORT really bound
  Digest key() const;                // the server's public key; zero when insecure
  HubStats stats() const;

private:
  struct Impl;
  explicit Hub(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace peel::hub
