#include "trust/trust_file.h"

#include <algorithm>

#include "base/hex.h"
#include "base/host_port.h"
#include "trust/text_lines.h"

namespace peel::trust {
namespace {

constexpr std::string_view first_line_key = "peel-trust";
constexpr std::size_t max_peers = 100'000, max_invites = 10'000, max_list = 256, max_prefix = 4096;

// --- Writing ----------------------------------------------------------------------------------------------

void put(std::string& out, std::string_view key, std::string_view value) {
  out.append(key).append(" ").append(value).append("\n");
}

void put_grants(std::string& out, const std::vector<Grant>& grants) {
  for (const Grant& grant : grants)
    put(out, "allow",
        std::string(to_string(grant.level)) + (grant.prefix.empty() ? " all" : " under " + escaped(grant.prefix)));
}

void put_extra(std::string& out, const std::vector<std::string>& extra) {
  for (const std::string& line : extra) out.append(line).append("\n");
}

// --- Reading ----------------------------------------------------------------------------------------------

Result<Grant> parse_grant(std::string_view value) {
  const auto gap = value.find(' ');
  const auto level = parse_level(value.substr(0, gap));
  if (!level) return fail(ErrorKind::corrupt, level.error().message());
  const std::string_view scope = gap == std::string_view::npos ? std::string_view() : value.substr(gap + 1);
  if (scope == "all") return Grant{*level, ""};
  constexpr std::string_view under = "under ";
  if (scope.substr(0, under.size()) != under)
    return fail(ErrorKind::corrupt, "expected 'allow LEVEL all' or 'allow LEVEL under PREFIX'");
  PEEL_TRY(auto prefix, unescaped(scope.substr(under.size())), "");
  if (prefix.empty() || !is_safe_prefix(prefix)) return fail(ErrorKind::corrupt, "the prefix is not a plain path");
  return Grant{*level, std::move(prefix)};
}

Result<PublicKey> parse_key(std::string_view value) {
  auto key = parse_fingerprint(value);
  if (!key) return fail(ErrorKind::corrupt, key.error().message());
  return key;
}

class Decoder {
public:
  explicit Decoder(std::string_view text) : lines_(text) {}

  Result<TrustFile> run() {
    PEEL_CHECK(lines_.expect_first(first_line_key, "trust file of peel"), "");
    while (lines_.next()) {
      if (ended_) return lines_.error("text after 'end'");
      if (Status taken = take(); !taken) return lines_.error(taken.error().message());
    }
    if (!ended_) return lines_.error("the file ends too early: 'end' is missing");
    PEEL_CHECK(check_unique(), "");
    return std::move(file_);
  }

private:
  enum class Section : std::uint8_t { preamble, peer, invite };

  static Error wrong(std::string why) { return fail(ErrorKind::corrupt, std::move(why)); }

  Status take() {
    const std::string_view key = lines_.key();
    if (key == "peer" || key == "invite" || key == "end") {
      PEEL_CHECK(finish_section(), "");
      if (key == "end") {
        ended_ = true;
        return lines_.value().empty() ? Status{} : wrong("'end' stands alone");
      }
      return key == "peer" ? begin_peer() : begin_invite();
    }
    switch (section_) {
      case Section::preamble:
        return keep(file_.extra);
      case Section::peer:
        return take_peer(file_.peers.back());
      case Section::invite:
        return take_invite(file_.invites.back());
    }
    return {};
  }

  Status begin_peer() {
    if (file_.peers.size() == max_peers) return wrong("too many peers");
    if (!is_safe_name(lines_.value())) return wrong("a peer's name has 1 to 64 of A-Z a-z 0-9 . _ -");
    section_ = Section::peer;
    has_key_ = has_state_ = has_added_ = false;
    file_.peers.emplace_back().name = lines_.value();
    return {};
  }

  Status begin_invite() {
    if (file_.invites.size() == max_invites) return wrong("too many invites");
    const auto hash = digest_from_hex(lines_.value());
    if (!hash) return wrong(hash.error().message());
    section_ = Section::invite;
    has_created_ = has_expires_ = false;
    file_.invites.emplace_back().secret_hash = *hash;
    return {};
  }

  // What decides over access must be present, or a damaged line could widen it.
  Status finish_section() const {
    if (section_ == Section::peer && !(has_key_ && has_state_ && has_added_))
      return wrong("peer " + file_.peers.back().name + " above lacks its key, state or added line");
    if (section_ == Section::invite && !(has_created_ && has_expires_))
      return wrong("the invite above lacks its created or expires line");
    return {};
  }

  Status keep(std::vector<std::string>& extra) const {
    const std::string_view key = lines_.key();
    // A line that decides in some section and stands in a wrong one is damage, not a novelty.
    if (key == "key" || key == "state" || key == "allow" || key == "expires" || key == "used-by" || key == "created" ||
        key == "added")
      return wrong("'" + std::string(key) + "' does not belong here");
    extra.emplace_back(lines_.line());
    return {};
  }

  Status once(bool& seen) const {
    if (seen) return wrong("'" + std::string(lines_.key()) + "' appears twice");
    seen = true;
    return {};
  }

  Status take_grant(std::vector<Grant>& grants) const {
    if (grants.size() == max_list) return wrong("too many grants");
    PEEL_TRY(auto grant, parse_grant(lines_.value()), "");
    grants.push_back(std::move(grant));
    return {};
  }

  Status take_peer(Peer& peer) {
    const std::string_view key = lines_.key(), value = lines_.value();
    if (key == "key") {
      PEEL_CHECK(once(has_key_), "");
      PEEL_TRY(peer.key, parse_key(value), "");
    } else if (key == "state") {
      PEEL_CHECK(once(has_state_), "");
      if (value != "trusted" && value != "revoked") return wrong("the state is 'trusted' or 'revoked'");
      peer.revoked = value == "revoked";
    } else if (key == "added") {
      PEEL_CHECK(once(has_added_), "");
      PEEL_TRY(peer.added_ns, parse_time(value), "");
    } else if (key == "allow") {
      return take_grant(peer.grants);
    } else if (key == "address") {
      if (peer.addresses.size() == max_list) return wrong("too many addresses");
      const auto address = parse_host_port(value);
      if (!address) return wrong(address.error().message());
      peer.addresses.push_back(to_string(*address));
    } else {
      return keep(peer.extra);
    }
    return {};
  }

  Status take_invite(StoredInvite& invite) {
    const std::string_view key = lines_.key(), value = lines_.value();
    if (key == "created") {
      PEEL_CHECK(once(has_created_), "");
      PEEL_TRY(invite.created_ns, parse_time(value), "");
    } else if (key == "expires") {
      PEEL_CHECK(once(has_expires_), "");
      PEEL_TRY(invite.expires_ns, parse_time(value), "");
    } else if (key == "used-by") {
      if (invite.used_by) return wrong("'used-by' appears twice");
      PEEL_TRY(invite.used_by, parse_key(value), "");
    } else if (key == "allow") {
      return take_grant(invite.grants);
    } else {
      return keep(invite.extra);
    }
    return {};
  }

  Status check_unique() const {
    std::vector<std::string_view> names;
    std::vector<PublicKey> keys;
    for (const Peer& peer : file_.peers) {
      names.push_back(peer.name);
      keys.push_back(peer.key);
    }
    std::sort(names.begin(), names.end());
    std::sort(keys.begin(), keys.end());
    if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
      return wrong("two peers are called " + std::string(*twice));
    if (const auto twice = std::adjacent_find(keys.begin(), keys.end()); twice != keys.end())
      return wrong("two peers have the key " + fingerprint(*twice));
    return {};
  }

  TextLines lines_;
  TrustFile file_;
  Section section_ = Section::preamble;
  bool ended_ = false;
  bool has_key_ = false, has_state_ = false, has_added_ = false, has_created_ = false, has_expires_ = false;
};

}  // namespace

const char* to_string(Level level) {
  switch (level) {
    case Level::read:
      return "read";
    case Level::append:
      return "append";
    case Level::write:
      return "write";
    case Level::admin:
      return "admin";
  }
  return "?";
}

Result<Level> parse_level(std::string_view text) {
  for (const Level level : {Level::read, Level::append, Level::write, Level::admin})
    if (text == to_string(level)) return level;
  return fail(ErrorKind::usage, "'" + escape_for_terminal(text) + "' is no level: read, append, write or admin");
}

std::string encode(const TrustFile& file) {
  std::string out;
  put(out, first_line_key, "1");
  put_extra(out, file.extra);
  for (const Peer& peer : file.peers) {
    out += "\n";
    put(out, "peer", peer.name);
    put(out, "key", fingerprint(peer.key));
    put(out, "state", peer.revoked ? "revoked" : "trusted");
    put(out, "added", std::to_string(peer.added_ns));
    put_grants(out, peer.grants);
    for (const std::string& address : peer.addresses) put(out, "address", address);
    put_extra(out, peer.extra);
  }
  for (const StoredInvite& invite : file.invites) {
    out += "\n";
    put(out, "invite", to_hex(invite.secret_hash));
    put(out, "created", std::to_string(invite.created_ns));
    put(out, "expires", std::to_string(invite.expires_ns));
    put_grants(out, invite.grants);
    if (invite.used_by) put(out, "used-by", fingerprint(*invite.used_by));
    put_extra(out, invite.extra);
  }
  return out + "\nend\n";
}

Result<TrustFile> decode_trust_file(std::string_view text) {
  if (text.size() > max_trust_file_bytes) return fail(ErrorKind::limit, "the trust file is too large");
  return Decoder(text).run();
}

bool is_safe_name(std::string_view name) {
  if (name.empty() || name.size() > 64 || name.front() == '-' || name.front() == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    const bool alphanumeric = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    return alphanumeric || c == '.' || c == '_' || c == '-';
  });
}

bool is_safe_prefix(std::string_view prefix) {
  if (prefix.empty()) return true;
  if (prefix.size() > max_prefix || prefix.find('\0') != std::string_view::npos) return false;
  while (true) {
    const auto slash = prefix.find('/');
    const std::string_view part = prefix.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    prefix.remove_prefix(slash + 1);
  }
}

bool prefix_matches(std::string_view prefix, std::string_view name) {
  if (prefix.empty()) return true;
  if (name.substr(0, prefix.size()) != prefix) return false;
  return name.size() == prefix.size() || name[prefix.size()] == '/';
}

}  // namespace peel::trust
