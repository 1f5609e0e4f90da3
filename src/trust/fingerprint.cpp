#include "trust/fingerprint.h"

#include <algorithm>

#include "base/hex.h"
#include "codec/blake3.h"

namespace peel::trust {
namespace {

constexpr std::string_view alphabet = "abcdefghijkmnpqrstuvwxyz23456789";
constexpr std::string_view tag = "peel1-";
constexpr std::size_t checksum_bytes = 3;  // 32 + 3 bytes fill 56 digits exactly
constexpr std::size_t digits = 56;

std::array<std::byte, checksum_bytes> checksum_of(const PublicKey& key) {
  const codec::Key full = codec::blake3_derive_key("peel 2026 fingerprint checksum", key.bytes);
  return {full[0], full[1], full[2]};
}

int value_of(char c) {
  if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const auto at = alphabet.find(c);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

bool same_letter(char lower, char any) {
  return lower == any || (any >= 'A' && any <= 'Z' && any - 'A' + 'a' == lower);
}

}  // namespace

std::string to_base32(Bytes bytes) {
  std::string out;
  out.reserve((bytes.size() * 8 + 4) / 5);
  std::uint32_t window = 0;
  int bits = 0;
  for (const std::byte b : bytes) {
    window = window << 8 | std::to_integer<std::uint32_t>(b);
    for (bits += 8; bits >= 5;) {
      bits -= 5;
      out += alphabet[window >> bits & 31];
    }
  }
  if (bits > 0) out += alphabet[window << (5 - bits) & 31];
  return out;
}

Result<Buffer> from_base32(std::string_view text) {
  Buffer out;
  out.reserve(text.size() * 5 / 8);
  std::uint32_t window = 0;
  int bits = 0;
  for (const char c : text) {
    const int value = value_of(c);
    if (value < 0)
      return fail(ErrorKind::usage, "'" + escape_for_terminal(std::string_view(&c, 1)) + "' does not occur in it");
    window = window << 5 | static_cast<std::uint32_t>(value);
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      out.push_back(static_cast<std::byte>(window >> bits));
    }
  }
  if (bits >= 5 || (window & ((1u << bits) - 1)) != 0)
    return fail(ErrorKind::usage, "its length or last letter is wrong");
  return out;
}

std::string fingerprint(const PublicKey& key) {
  Buffer content(key.bytes.begin(), key.bytes.end());
  const auto checksum = checksum_of(key);
  content.insert(content.end(), checksum.begin(), checksum.end());
  return std::string(tag) + to_base32(content);
}

Result<PublicKey> parse_fingerprint(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  const auto malformed = [&](const std::string& why) {
    return fail(ErrorKind::usage, "'" + escape_for_terminal(text.substr(0, 80)) + "' is no fingerprint: " + why);
  };
  if (text.size() < tag.size() || !std::equal(tag.begin(), tag.end(), text.begin(), same_letter))
    return malformed("it begins with 'peel1-'; 'peel id' prints one");
  const std::string_view body = text.substr(tag.size());
  if (body.size() != digits)
    return malformed("after 'peel1-' come " + std::to_string(digits) + " letters and digits, not " +
                     std::to_string(body.size()));
  auto content = from_base32(body);
  if (!content) return malformed(content.error().message());
  PublicKey key;
  std::copy_n(content->begin(), key.bytes.size(), key.bytes.begin());
  const auto checksum = checksum_of(key);
  if (!std::equal(checksum.begin(), checksum.end(), content->begin() + static_cast<std::ptrdiff_t>(key.bytes.size())))
    return malformed("the checksum does not fit; look for a typing error");
  return key;
}

}  // namespace peel::trust
