// trust/invites.h - one line that lets one peer in, once, until it expires.
//
// Contract   The token holds the server's key, its addresses, a random secret, the expiry and the grants. The
//            server keeps a hash of the secret only. redeem() adds the peer and marks the invite used in one
//            atomic write under the lock: of any number of processes exactly one wins. Tokens carry a checksum
//            against typing errors.
//            A joiner should pin `server` before it sends the secret: when the answer is lost, it is a trusted
//            peer already.
// Errors     parse_invite: usage (typing error, not an invite), unsupported (newer). redeem: expired, used, unknown
//            and revoked are one and the same `refused` with one text; `local_reason` has the truth for the server's
//            own log.
// Threads    Any; processes take turns by the directory's lock.
// Source     src/trust/README.md
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "trust/config_directory.h"
#include "trust/trust_file.h"

namespace peel::trust {

using InviteSecret = std::array<std::byte, 16>;

struct Invite {
  PublicKey server;
  std::vector<std::string> addresses;  // HOST:PORT, at most 8; may be empty
  InviteSecret secret{};
  std::int64_t expires_ns = 0;
  std::vector<Grant> grants;  // at most 8, prefixes of at most 255 bytes
  bool operator==(const Invite&) const = default;
};

std::string format_invite(const Invite& invite);
Result<Invite> parse_invite(std::string_view text);

class InviteStore {
public:
  explicit InviteStore(ConfigDirectory directory) : directory_(std::move(directory)) {}

  struct Request {
    PublicKey server;  // this machine's key
    std::vector<std::string> addresses;
    std::vector<Grant> grants;
    std::int64_t expires_ns = 0;
  };
  // Remembers a fresh invite. usage when it expires in the past or breaks a limit above.
  Result<Invite> create(const Request& request, std::int64_t now_ns) const;

  // `joiner_key` is proven by the link; `joiner_name` is the peer's wish: an unsafe or taken name is replaced by a free
  // one. The peer as stored is returned. `local_reason` may be null.
  Result<Peer> redeem(const InviteSecret& secret, const PublicKey& joiner_key, std::string_view joiner_name,
                      std::int64_t now_ns, std::string* local_reason) const;

  Result<std::vector<StoredInvite>> list() const;

private:
  ConfigDirectory directory_;
};

}  // namespace peel::trust
