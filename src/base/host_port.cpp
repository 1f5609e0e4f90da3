#include "base/host_port.h"

#include <charconv>

#include "base/hex.h"

namespace peel {
namespace {

Error malformed(std::string_view text, const char* why) {
  return fail(ErrorKind::usage, "'" + escape_for_terminal(text) + "' is no HOST:PORT: " + why);
}

bool is_host(std::string_view host) {
  if (host.empty() || host.size() > 253 || host.front() == '-') return false;
  for (const char c : host) {
    const bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!alphanumeric && c != '.' && c != '-' && c != '_' && c != ':' && c != '%') return false;
  }
  return true;
}

}  // namespace

Result<HostPort> parse_host_port(std::string_view text, std::optional<std::uint16_t> port_if_absent) {
  std::string_view host = text, port;
  bool has_port = false;
  if (!text.empty() && text.front() == '[') {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return malformed(text, "']' is missing");
    host = text.substr(1, close - 1);
    const std::string_view after = text.substr(close + 1);
    if (!after.empty() && after.front() != ':') return malformed(text, "expected ':' after ']'");
    has_port = !after.empty();
    if (has_port) port = after.substr(1);
  } else if (const auto colon = text.rfind(':'); colon != std::string_view::npos) {
    const bool bare_ipv6 = text.find(':') != colon;
    if (bare_ipv6 && !port_if_absent) return malformed(text, "put an IPv6 address into [ ]");
    if (!bare_ipv6) {
      host = text.substr(0, colon);
      port = text.substr(colon + 1);
      has_port = true;
    }
  }
  if (!is_host(host)) return malformed(text, "the host is empty or holds other characters than letters, digits, . - _");
  if (!has_port) {
    if (!port_if_absent) return malformed(text, "the port is missing");
    return HostPort{std::string(host), *port_if_absent};
  }
  std::uint16_t number = 0;
  const auto [end, code] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (port.empty() || code != std::errc{} || end != port.data() + port.size())
    return malformed(text, "the port is a number from 0 to 65535");
  return HostPort{std::string(host), number};
}

std::string to_string(const HostPort& address) {
  const bool brackets = address.host.find(':') != std::string::npos;
  return (brackets ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

}  // namespace peel
