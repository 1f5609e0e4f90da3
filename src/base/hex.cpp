#include "base/hex.h"

namespace peel {
namespace {

constexpr char digits[] = "0123456789abcdef";

int value_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Length of a well-formed, printable UTF-8 sequence at the front of `s`, or 0.
std::size_t utf8_length(std::string_view s) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char lead = at(0);
  std::size_t n = 0;
  std::uint32_t code = 0;
  if (lead >= 0xc2 && lead <= 0xdf) { n = 2; code = lead & 0x1fu; }
  else if (lead >= 0xe0 && lead <= 0xef) { n = 3; code = lead & 0x0fu; }
  else if (lead >= 0xf0 && lead <= 0xf4) { n = 4; code = lead & 0x07u; }
  else return 0;
  if (s.size() < n) return 0;
  for (std::size_t i = 1; i < n; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (at(i) & 0x3fu);
  }
  const bool overlong = (n == 3 && code < 0x800) || (n == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  const bool control = code >= 0x80 && code < 0xa0;
  // Bidirectional overrides can make a line read as another one.
  const bool direction = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return overlong || surrogate || control || direction || code > 0x10ffff ? 0 : n;
}

}  // namespace

std::string to_hex(Bytes bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::byte b : bytes) {
    out += digits[std::to_integer<unsigned>(b) >> 4];
    out += digits[std::to_integer<unsigned>(b) & 15];
  }
  return out;
}

Result<Buffer> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return fail(ErrorKind::usage, "odd number of hexadecimal digits");
  Buffer out;
  out.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = value_of(text[i]), low = value_of(text[i + 1]);
    if (high < 0 || low < 0) return fail(ErrorKind::usage, "not a hexadecimal digit");
    out.push_back(static_cast<std::byte>(high << 4 | low));
  }
  return out;
}

Result<Digest> digest_from_hex(std::string_view text) {
  if (text.size() != 64) return fail(ErrorKind::usage, "a digest has 64 hexadecimal digits");
  PEEL_TRY(const auto raw, from_hex(text), "");
  Digest d;
  std::copy(raw.begin(), raw.end(), d.bytes.begin());
  return d;
}

std::string escape_for_terminal(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text[0]);
    std::size_t n = c >= 0x20 && c < 0x7f && c != '\\' ? 1 : c >= 0x80 ? utf8_length(text) : 0;
    if (n == 0) {
      out += "\\x";
      out += digits[c >> 4];
      out += digits[c & 15];
      n = 1;
    } else {
      out += text.substr(0, n);
    }
    text.remove_prefix(n);
  }
  return out;
}

}  // namespace peel
