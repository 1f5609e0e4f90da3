// base/host_port.h - "HOST:PORT" as people write it: a name, an IPv4 address or an [IPv6] address.
//
// Errors     usage, naming the text and the wanted form. No name is looked up here.
// Threads    Free functions and a value type.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "peel/error.h"

namespace peel {

inline constexpr std::uint16_t default_port = 7731;

struct HostPort {
  std::string host;  // without brackets; empty: every local address (only for listening)
  std::uint16_t port = 0;
  bool operator==(const HostPort&) const = default;
};

// "host:1", "10.0.0.1:1", "[::1]:1"; a bare "host", "10.0.0.1" or "::1" when `port_if_absent` is given.
// A host begins with no '-' (it may end up in an argument list) and holds letters, digits, ". - _ : %".
Result<HostPort> parse_host_port(std::string_view text, std::optional<std::uint16_t> port_if_absent = {});
std::string to_string(const HostPort& address);

}  // namespace peel
