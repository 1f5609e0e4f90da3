// trust/identity.h - this machine's Ed25519 key, and signed statements that a newer key replaces it.
//
// Contract   The key is made on first use and lives, with the statements, in the file `identity` (0600): a rotation is
//            one atomic write. A statement is proof only for someone who trusts the predecessor; whoever presents it
//            must still prove to hold the successor (TLS does).
// Errors     corrupt: a damaged identity file or statement (never replaced by itself: a new key would lock the user
//            out) · refused: a signature does not verify · io.
// Threads    Free functions and value types; processes take turns by the directory's lock.
// Memory     At most 64 statements are kept or read.
// Source     RFC 8032 (Ed25519), through OpenSSL
#pragma once

#include <array>
#include <span>
#include <vector>

#include "trust/config_directory.h"
#include "trust/fingerprint.h"

namespace peel::trust {

using Signature = std::array<std::byte, 64>;

struct Identity {
  std::array<std::byte, 32> private_seed{};
  PublicKey public_key;
};

Result<Identity> load_or_create_identity(const ConfigDirectory& directory);
Identity identity_from_seed(const std::array<std::byte, 32>& seed);

Signature sign(const Identity& identity, Bytes message);
Status verify(const PublicKey& key, Bytes message, const Signature& signature);  // refused

// "predecessor hands over to successor at time", signed by the predecessor. 137 bytes encoded.
struct Succession {
  PublicKey predecessor, successor;
  std::int64_t time_ns = 0;
  Signature signature{};
  bool operator==(const Succession&) const = default;
};

Succession make_succession(const Identity& predecessor, const PublicKey& successor, std::int64_t now_ns);
Buffer encode(const Succession& statement);
// Exactly one statement; truncated or corrupt by form, refused by signature.
Result<Succession> decode_succession(Bytes encoded);

// A new key, signed for by the present one. Returns the new identity.
Result<Identity> rotate_identity(const ConfigDirectory& directory, std::int64_t now_ns);
// Every statement of this machine's rotations, oldest first: what a session presents to its peers.
Result<std::vector<Succession>> load_successions(const ConfigDirectory& directory);

inline constexpr std::size_t max_successions = 64;

}  // namespace peel::trust
