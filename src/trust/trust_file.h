// trust/trust_file.h - the text of the trust store: peers and invites in one file, so that redeeming an invite is
// one atomic write.
//
// Contract   encode(decode(text)) loses nothing: keys of newer versions and comments stay with their section. The last
//            line is `end`, so a cut file is noticed. What decides over access (key, state, level) must be there and
//            well formed.
// Errors     corrupt (naming the line), unsupported (a newer version), limit.
// Threads    Free functions and value types.
// Memory     At most 16 MiB of text, 100,000 peers, 10,000 invites.
// Source     src/trust/README.md
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trust/fingerprint.h"

namespace peel::trust {

// Each includes the ones before it. append: fast-forward pushes to what exists, no deletes. write: also creating
// onions and branches, deleting branches, trees. admin: also invites and trust.
enum class Level : std::uint8_t { read = 1, append = 2, write = 3, admin = 4 };

const char* to_string(Level level);
Result<Level> parse_level(std::string_view text);  // usage

struct Grant {
  Level level = Level::read;
  std::string prefix;  // of onion names, by whole path components; empty: everything
  bool operator==(const Grant&) const = default;
};

struct Peer {
  std::string name;  // [A-Za-z0-9._-], 1 to 64, no '-' or '.' in front
  PublicKey key;
  std::vector<Grant> grants;           // what the peer may do here; empty: it is only known
  std::vector<std::string> addresses;  // HOST:PORT it was reached at
  std::int64_t added_ns = 0;
  bool revoked = false;
  std::vector<std::string> extra;  // lines this version does not know, kept
  bool operator==(const Peer&) const = default;
};

struct StoredInvite {
  Digest secret_hash;
  std::int64_t created_ns = 0, expires_ns = 0;
  std::vector<Grant> grants;
  std::optional<PublicKey> used_by;
  std::vector<std::string> extra;
  bool operator==(const StoredInvite&) const = default;
};

struct TrustFile {
  std::vector<std::string> extra;  // before the first section
  std::vector<Peer> peers;
  std::vector<StoredInvite> invites;
  bool operator==(const TrustFile&) const = default;
};

std::string encode(const TrustFile& file);
Result<TrustFile> decode_trust_file(std::string_view text);

bool is_safe_name(std::string_view name);
// Components joined by single '/', none of them "." or "..", at most 4096 bytes; empty is allowed for a prefix.
bool is_safe_prefix(std::string_view prefix);
// True when `prefix` is empty, equal to `name` or a leading run of its components.
bool prefix_matches(std::string_view prefix, std::string_view name);

inline constexpr std::size_t max_trust_file_bytes = 16u << 20;

}  // namespace peel::trust
