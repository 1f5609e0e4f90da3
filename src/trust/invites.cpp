#include "trust/invites.h"

#include <openssl/crypto.h>

#include <algorithm>

#include "base/hex.h"
#include "base/host_port.h"
#include "base/random.h"
#include "base/wire.h"
#include "codec/blake3.h"
#include "trust/trust_store.h"

namespace peel::trust {
namespace {

constexpr std::string_view tag = "peel-invite-";
constexpr std::uint8_t token_version = 1;
constexpr std::size_t checksum_bytes = 4, max_token_text = 8192;
constexpr std::size_t max_addresses = 8, max_grants = 8, max_text = 255;
// Used and expired invites are kept this long, so that the log can say what became of one.
constexpr std::int64_t keep_spent_ns = 30LL * 24 * 3600 * 1'000'000'000;
// The one answer a stranger gets, whatever the reason.
constexpr const char* not_valid = "this invite is used up, expired or unknown here: ask for a new one";

Digest hash_of(const InviteSecret& secret) {
  return Digest{codec::blake3_derive_key("peel 2026 invite secret", secret)};
}

std::array<std::byte, checksum_bytes> checksum_of(Bytes content) {
  const codec::Key full = codec::blake3_derive_key("peel 2026 invite checksum", content);
  std::array<std::byte, checksum_bytes> out;
  std::copy_n(full.begin(), out.size(), out.begin());
  return out;
}

void put_text(WireWriter& out, std::string_view text) {
  out.integer(static_cast<std::uint8_t>(text.size())).bytes(as_bytes(text));
}

Result<std::string> take_text(WireReader& in) {
  PEEL_TRY(const auto length, in.integer<std::uint8_t>(), "");
  PEEL_TRY(const auto bytes, in.bytes(length), "");
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Status check_limits(const std::vector<std::string>& addresses, const std::vector<Grant>& grants) {
  if (addresses.size() > max_addresses) return fail(ErrorKind::usage, "an invite holds at most 8 addresses");
  if (grants.size() > max_grants) return fail(ErrorKind::usage, "an invite holds at most 8 grants");
  for (const std::string& address : addresses) {
    PEEL_TRY(const auto parsed, parse_host_port(address), "");
    if (to_string(parsed).size() > max_text) return fail(ErrorKind::usage, "an address is too long");
  }
  for (const Grant& grant : grants) {
    if (!is_safe_prefix(grant.prefix) || grant.prefix.size() > max_text)
      return fail(ErrorKind::usage,
                  "'" + escape_for_terminal(grant.prefix) + "' is no prefix of onion names or too long");
  }
  return {};
}

// Everything after the version and before the checksum.
Result<Invite> take_invite(WireReader in) {
  Invite invite;
  PEEL_TRY(invite.server, in.digest(), "");
  PEEL_TRY(invite.secret, in.array<sizeof(InviteSecret)>(), "");
  PEEL_TRY(invite.expires_ns, in.signed64(), "");
  PEEL_TRY(const auto addresses, in.integer<std::uint8_t>(), "");
  for (unsigned i = 0; i < addresses; ++i) {
    PEEL_TRY(auto address, take_text(in), "");
    invite.addresses.push_back(std::move(address));
  }
  PEEL_TRY(const auto grants, in.integer<std::uint8_t>(), "");
  for (unsigned i = 0; i < grants; ++i) {
    PEEL_TRY(const auto level, in.integer<std::uint8_t>(), "");
    if (level < static_cast<unsigned>(Level::read) || level > static_cast<unsigned>(Level::admin))
      return fail(ErrorKind::usage, "an unknown level");
    PEEL_TRY(auto prefix, take_text(in), "");
    invite.grants.push_back({static_cast<Level>(level), std::move(prefix)});
  }
  if (!in.empty()) return fail(ErrorKind::usage, "bytes too many");
  PEEL_CHECK(check_limits(invite.addresses, invite.grants), "");
  return invite;
}

std::string wished_name(std::string_view wish, const PublicKey& key) {
  if (is_safe_name(wish)) return std::string(wish);
  return "peer-" + fingerprint(key).substr(6, 8);
}

// Looks at every invite, whichever fits: how long it takes says nothing about which.
StoredInvite* find_invite(TrustFile& file, const Digest& hash) {
  StoredInvite* found = nullptr;
  for (StoredInvite& invite : file.invites) {
    if (::CRYPTO_memcmp(invite.secret_hash.bytes.data(), hash.bytes.data(), hash.bytes.size()) == 0) found = &invite;
  }
  return found;
}

// Why this invite does not open the door; empty when it does.
std::string objection(const StoredInvite* invite, const Peer* joiner, std::int64_t now_ns) {
  if (invite == nullptr) return "no such invite was made here";
  const std::string which = "invite " + short_hex(invite->secret_hash, 8);
  if (invite->used_by) return which + " was used already by " + fingerprint(*invite->used_by);
  if (now_ns >= invite->expires_ns)
    return which + " expired " + std::to_string((now_ns - invite->expires_ns) / 1'000'000'000) + " s ago";
  if (joiner != nullptr && joiner->revoked)
    return which + ": the joining key was revoked here as '" + joiner->name + "'";
  return {};
}

Peer& let_in(TrustFile& file, const StoredInvite& invite, const PublicKey& key, std::string_view wish,
             std::int64_t now_ns) {
  Peer* peer = find_by_key(file, key);
  if (peer == nullptr) {
    Peer fresh;
    fresh.name = free_name(file, wished_name(wish, key));
    fresh.key = key;
    fresh.added_ns = now_ns;
    peer = &file.peers.emplace_back(std::move(fresh));
  }
  join_grants(peer->grants, invite.grants);
  return *peer;
}

}  // namespace

std::string format_invite(const Invite& invite) {
  WireWriter out;
  out.integer(token_version).digest(invite.server).bytes(invite.secret).signed64(invite.expires_ns);
  out.integer(static_cast<std::uint8_t>(invite.addresses.size()));
  for (const std::string& address : invite.addresses) put_text(out, address);
  out.integer(static_cast<std::uint8_t>(invite.grants.size()));
  for (const Grant& grant : invite.grants) {
    out.integer(static_cast<std::uint8_t>(grant.level));
    put_text(out, grant.prefix);
  }
  out.bytes(checksum_of(out.view()));
  return std::string(tag) + to_base32(out.view());
}

Result<Invite> parse_invite(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  const auto malformed = [](const std::string& why) {
    return fail(ErrorKind::usage, "this is no whole invite: " + why);
  };
  if (text.substr(0, tag.size()) != tag) return malformed("it begins with 'peel-invite-'; 'peel invite' prints one");
  if (text.size() > max_token_text) return malformed("it is too long");
  const auto content = from_base32(text.substr(tag.size()));
  if (!content) return malformed(content.error().message());
  if (content->size() <= checksum_bytes) return malformed("it is cut off");
  const Bytes signed_part = Bytes(*content).first(content->size() - checksum_bytes);
  const auto checksum = checksum_of(signed_part);
  if (!std::equal(checksum.begin(), checksum.end(), content->end() - checksum_bytes))
    return malformed("the checksum does not fit; copy all of it again");
  if (signed_part[0] != std::byte{token_version})
    return fail(ErrorKind::unsupported, "this invite was made by a newer version of peel");
  auto invite = take_invite(WireReader(signed_part.subspan(1)));
  if (!invite) return malformed(invite.error().message());
  return invite;
}

Result<Invite> InviteStore::create(const Request& request, std::int64_t now_ns) const {
  PEEL_CHECK(check_limits(request.addresses, request.grants), "invite");
  if (request.grants.empty()) return fail(ErrorKind::usage, "invite: it allows nothing");
  if (request.expires_ns <= now_ns) return fail(ErrorKind::usage, "invite: it expires in the past");
  Invite invite{request.server, {}, random_array<sizeof(InviteSecret)>(), request.expires_ns, request.grants};
  for (const std::string& address : request.addresses) {
    PEEL_TRY(const auto parsed, parse_host_port(address), "invite");
    invite.addresses.push_back(to_string(parsed));
  }
  StoredInvite stored;
  stored.secret_hash = hash_of(invite.secret);
  stored.created_ns = now_ns;
  stored.expires_ns = request.expires_ns;
  stored.grants = request.grants;
  const Status changed = change_trust_file(directory_, [&](TrustFile& file) -> Status {
    std::erase_if(file.invites, [&](const StoredInvite& old) { return old.expires_ns < now_ns - keep_spent_ns; });
    file.invites.push_back(stored);
    return {};
  });
  PEEL_CHECK(changed, "invite");
  return invite;
}

Result<Peer> InviteStore::redeem(const InviteSecret& secret, const PublicKey& joiner_key, std::string_view joiner_name,
                                 std::int64_t now_ns, std::string* local_reason) const {
  const Digest hash = hash_of(secret);
  std::optional<Peer> joined;
  std::string reason;
  const Status changed = change_trust_file(directory_, [&](TrustFile& file) -> Status {
    StoredInvite* invite = find_invite(file, hash);
    reason = objection(invite, find_by_key(file, joiner_key), now_ns);
    if (!reason.empty()) return fail(ErrorKind::refused, not_valid);
    joined = let_in(file, *invite, joiner_key, joiner_name, now_ns);
    invite->used_by = joiner_key;
    reason = "invite " + short_hex(invite->secret_hash, 8) + " let '" + joined->name + "' in";
    return {};
  });
  if (!changed && changed.error().kind() != ErrorKind::refused) reason = changed.error().message();
  if (local_reason != nullptr) *local_reason = reason;
  if (!changed) return changed.error();
  return std::move(*joined);
}

Result<std::vector<StoredInvite>> InviteStore::list() const {
  PEEL_TRY(auto file, load_trust_file(directory_), "");
  return std::move(file.invites);
}

}  // namespace peel::trust
