#include "sync/url.h"

#include <algorithm>

#include "base/hex.h"
#include "trust/trust_file.h"

namespace peel::sync {
namespace {

Error bad(std::string_view text, const std::string& why) {
  return fail(ErrorKind::usage, "'" + escape_for_terminal(text) + "': " + why +
                                    "; a URL is peel://HOST[:PORT]/NAME, PEER:NAME or a path");
}

bool begins(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

// Slashes around it and the ending ".onion" are a matter of taste, not of meaning.
std::string tidy_name(std::string_view name) {
  while (!name.empty() && name.front() == '/') name.remove_prefix(1);
  while (!name.empty() && name.back() == '/') name.remove_suffix(1);
  constexpr std::string_view ending = ".onion";
  if (name.size() > ending.size() && name.substr(name.size() - ending.size()) == ending)
    name.remove_suffix(ending.size());
  return std::string(name);
}

}  // namespace

Status check_onion_name(std::string_view name) {
  const auto bad_name = [&](const char* why) {
    return fail(ErrorKind::refused, "'" + escape_for_terminal(name) + "' cannot name an onion on a server: " + why);
  };
  constexpr std::size_t components_max = 32, component_size_max = 255, last_size_max = 180;
  if (name.empty()) return bad_name("it is empty");
  std::size_t components = 0;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    if (++components > components_max) return bad_name("more than 32 folders deep");
    if (part.empty()) return bad_name("an empty component");
    if (part.front() == '.' || part.front() == '-') return bad_name("a component begins with '.' or '-'");
    if (part.size() > (end == name.size() ? last_size_max : component_size_max))
      return bad_name("a component is too long");
    if (std::any_of(part.begin(), part.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
      return bad_name("a control character");
    at = end + 1;
  }
  return {};
}

Result<Url> Url::parse(std::string_view text) {
  Url url;
  if (begins(text, "peel://")) {
    const std::string_view rest = text.substr(7);
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    auto address = parse_host_port(rest.substr(0, slash), default_port);
    if (!address || address->host.empty()) return bad(text, "no host");
    url.kind = Kind::server;
    url.host = std::move(address->host);
    url.port = address->port;
    url.name = tidy_name(rest.substr(slash));
  } else if (begins(text, "file://")) {
    url.path = std::string(text.substr(7));
    if (url.path.empty() || url.path.front() != '/') return bad(text, "file:// needs an absolute path");
  } else if (text.find("://") != std::string_view::npos || begins(text, "zmodem:")) {
    return bad(text, "no such scheme here");
  } else if (begins(text, "/") || begins(text, "./") || begins(text, "../")) {
    url.path = std::string(text);
  } else {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos || !trust::is_safe_name(text.substr(0, colon)))
      return bad(text, "no such form");
    url.kind = Kind::peer;
    url.peer = std::string(text.substr(0, colon));
    url.name = tidy_name(text.substr(colon + 1));
  }
  if (!url.name.empty()) PEEL_CHECK(check_onion_name(url.name), "");
  return url;
}

std::string Url::text() const {
  switch (kind) {
    case Kind::server: {
      const std::string address = port == default_port ? (host.find(':') == std::string::npos ? host : "[" + host + "]")
                                                       : to_string(HostPort{host, port});
      return "peel://" + address + "/" + name;
    }
    case Kind::peer:
      return peer + ":" + name;
    case Kind::file:
      return path.empty() || path.front() != '/' ? path : "file://" + path;
  }
  return {};
}

}  // namespace peel::sync
