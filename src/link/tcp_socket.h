// link/tcp_socket.h - one connected TCP socket as a Channel, and the address arithmetic around it.
//
// Threads    As Channel.
#pragma once

#include <netdb.h>
#include <sys/socket.h>

#include "base/host_port.h"
#include "base/unique_fd.h"
#include "link/channel.h"

namespace peel::link {

// Takes a connected, non-blocking socket and sets its options.
std::unique_ptr<Channel> tcp_channel(UniqueFd connected, const HostPort& peer);

// The numeric form of an address.
HostPort host_port_of(const sockaddr* address, socklen_t length);

struct FreeAddrinfo {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using AddrinfoList = std::unique_ptr<addrinfo, FreeAddrinfo>;

// getaddrinfo that respects a deadline and a cancel flag. Looking a name up may take the resolver many seconds and
// cannot be stopped, so it runs in a thread of its own that is left behind when nobody waits any more.
Result<AddrinfoList> look_up(const std::string& host, std::uint16_t port, bool passive, std::optional<Instant> deadline,
                             const Cancel* cancel);

}  // namespace peel::link
