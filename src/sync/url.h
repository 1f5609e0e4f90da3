// sync/url.h - where a history lives, as a person types it.
//
// Forms      peel://HOST[:PORT]/NAME     an onion on a server; HOST may be [IPv6]
//            PEER:NAME                   the same, the address taken from the peer's entry (`peel peers`)
//            file:///PATH, /PATH, ./PATH a local onion, or the working file beside one
// Errors     usage, naming the text and the forms that are known.
// Threads    Value type.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/host_port.h"
#include "peel/error.h"

namespace peel::sync {

inline constexpr std::uint16_t default_port = peel::default_port;

struct Url {
  enum class Kind : std::uint8_t { server, peer, file };
  Kind kind = Kind::file;
  std::string host;                   // server
  std::uint16_t port = default_port;  // server
  std::string peer;                   // peer: a name from the peers list
  std::string name;                   // server and peer: the onion's name, or a prefix for ls; no ".onion"
  std::string path;                   // file: absolute or relative path as given

  static Result<Url> parse(std::string_view text);
  // The canonical text: what is remembered for a remote.
  std::string text() const;
};

// Whether `name` may name an onion on a server: 1..32 components separated by '/', each 1..255 bytes (the last
// at most 180, so that its working files have room for their endings), no control characters, not beginning
// with '.' or '-'. The rule both ends apply.
Status check_onion_name(std::string_view name);

}  // namespace peel::sync
