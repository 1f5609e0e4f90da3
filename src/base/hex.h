// base/hex.h - hexadecimal for ids and digests, and escaping of outside bytes for a terminal.
#pragma once

#include <string>
#include <string_view>

#include "peel/error.h"
#include "peel/types.h"

namespace peel {

std::string to_hex(Bytes bytes);
inline std::string to_hex(const Digest& d) { return to_hex(Bytes(d.bytes)); }
// The first `digits` hexadecimal digits: what people read.
inline std::string short_hex(const Digest& d, std::size_t digits = 12) { return to_hex(d).substr(0, digits); }

// usage when a character is no hexadecimal digit or the length is odd.
Result<Buffer> from_hex(std::string_view text);
Result<Digest> digest_from_hex(std::string_view text);

// Printable form of bytes that came from outside: control characters, invalid UTF-8 and backslashes
// become \xNN, so that no name can steer a terminal or forge a line.
std::string escape_for_terminal(std::string_view text);

}  // namespace peel
