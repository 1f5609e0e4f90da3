// link/tcp.h - channels over TCP, and the listener a server accepts them from.
//
// Contract   tcp_connect looks the name up and races its IPv6 and IPv4 addresses, one more every 250 ms
//            (RFC 8305, without its sorting rules); the first that answers wins. Sockets are non-blocking, without
//            Nagle's delay, with keepalive (a peer that vanished is noticed after about two minutes).
//            An orderly end of a plain TCP stream says nothing about why it ended: a killed peer process looks
//            like one that said goodbye. TLS above it tells them apart.
// Errors     network (no such name, nobody answers, connection lost) · timeout, cancelled · io and usage when
//            listening (address in use, no such address). accept: limit when descriptors ran out.
// Threads    A channel has one owner. accept may be called from several threads.
// Memory     None beyond the kernel's socket buffers.
// Source     RFC 8305 (Happy Eyeballs)
#pragma once

#include <vector>

#include "base/host_port.h"
#include "base/unique_fd.h"
#include "link/channel.h"

namespace peel::link {

Result<std::unique_ptr<Channel>> tcp_connect(const std::string& host, std::uint16_t port,
                                             std::optional<Instant> deadline, const Cancel* cancel);

class TcpListener {
public:
  // An empty host: every address, both families. Port 0: the kernel picks one, see bound().
  static Result<TcpListener> listen(const std::string& host, std::uint16_t port);

  // The addresses in use, with real port numbers; never empty.
  const std::vector<HostPort>& bound() const { return bound_; }
  std::uint16_t port() const { return bound_.front().port; }

  // timeout and cancelled leave the listener usable, as does a failed accept.
  Result<std::unique_ptr<Channel>> accept(std::optional<Instant> deadline, const Cancel* cancel);

private:
  TcpListener() = default;
  std::vector<UniqueFd> sockets_;
  std::vector<HostPort> bound_;
};

}  // namespace peel::link
