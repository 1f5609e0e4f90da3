// cli/trust_commands.cpp - id, invite, join, trust, untrust, peers.
#include <chrono>
#include <iostream>

#include <unistd.h>

#include "base/hex.h"
#include "base/host_port.h"
#include "cli/context.h"
#include "cli/handlers.h"
#include "cli/human.h"
#include "cli/named_file.h"
#include "sync/client.h"
#include "trust/identity.h"
#include "trust/invites.h"
#include "trust/peers.h"

namespace peel::cli {
namespace {

constexpr std::int64_t invite_lifetime_ns = 3600ll * 1'000'000'000;
constexpr std::size_t invite_line_size_max = 8192;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// --allow and --path as a grant.
Result<std::optional<trust::Grant>> grant_of(const Context& context) {
  const auto level = context.arguments.value("allow");
  const auto prefix = context.arguments.value("path");
  if (!level) {
    if (prefix) return fail(ErrorKind::usage, "--path says where --allow holds; give both");
    return std::optional<trust::Grant>();
  }
  trust::Grant grant;
  PEEL_TRY(grant.level, trust::parse_level(*level), "--allow");
  grant.prefix = prefix.value_or("");
  while (grant.prefix.ends_with('/')) grant.prefix.pop_back();
  if (!trust::is_safe_prefix(grant.prefix))
    return fail(ErrorKind::usage, "--path: " + shown(grant.prefix) + " is no plain path below the server's directory");
  return std::optional(std::move(grant));
}

Result<std::vector<std::string>> addresses_of(const Context& context) {
  std::vector<std::string> out;
  for (const std::string& text : context.arguments.values("address")) {
    PEEL_TRY(const HostPort address, parse_host_port(text, sync::default_port), "--address");
    out.push_back(to_string(address));
  }
  return out;
}

std::string grant_text(const trust::Grant& grant) {
  return std::string(trust::to_string(grant.level)) + (grant.prefix.empty() ? "" : " below " + shown(grant.prefix));
}

}  // namespace

Result<int> run_id(Context& context) {
  PEEL_TRY(const auto directory, trust::ConfigDirectory::open(), "");
  Result<trust::Identity> identity = context.arguments.has("rotate") ? trust::rotate_identity(directory, now_ns())
                                                                     : trust::load_or_create_identity(directory);
  if (!identity) return std::move(identity.error());
  const std::string print = trust::fingerprint(identity->public_key);
  if (context.json) {
    JsonWriter json;
    json.begin_object().string("fingerprint", print).string("config", directory.path()).end_object();
    context.document(std::move(json));
  } else {
    context.out.line(print);
  }
  return 0;
}

Result<int> run_invite(Context& context) {
  PEEL_TRY(const auto grant, grant_of(context), "");
  PEEL_TRY(auto addresses, addresses_of(context), "");
  PEEL_TRY(const auto lifetime_ns, context.arguments.duration_ns("expires"), "");
  if (addresses.empty()) {
    char host[256] = {};
    if (::gethostname(host, sizeof host - 1) != 0) return Error::from_errno(errno, "gethostname");
    addresses.push_back(to_string(HostPort{host, sync::default_port}));
    context.messages.note("the invite says that the server is reached at " + shown(addresses[0]) +
                          "; give --address HOST:PORT if that is wrong");
  }
  PEEL_TRY(const auto directory, trust::ConfigDirectory::open(), "");
  PEEL_TRY(const trust::Identity identity, trust::load_or_create_identity(directory), "");
  const std::int64_t now = now_ns();
  trust::InviteStore::Request request{.server = identity.public_key,
                                      .addresses = std::move(addresses),
                                      .grants = {grant.value_or(trust::Grant{})},
                                      .expires_ns = now + lifetime_ns.value_or(invite_lifetime_ns)};
  PEEL_TRY(const trust::Invite invite, trust::InviteStore(directory).create(request, now), "");
  context.messages.detail("allows " + grant_text(invite.grants[0]) + ", once, until " +
                          local_time_text(invite.expires_ns));
  if (context.json) {
    JsonWriter json;
    json.begin_object()
        .string("invite", trust::format_invite(invite))
        .string("expires", utc_time_text(invite.expires_ns))
        .end_object();
    context.document(std::move(json));
  } else {
    context.out.line(trust::format_invite(invite));
  }
  return 0;
}

namespace {

Result<std::string> line_from_standard_input() {
  std::string line;
  char c = 0;
  while (line.size() < invite_line_size_max) {
    const ssize_t n = ::read(STDIN_FILENO, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error::from_errno(errno, "standard input");
    if (n == 0 || c == '\n') return line;
    line += c;
  }
  return fail(ErrorKind::usage, "standard input: the line is too long for an invite");
}

}  // namespace

Result<int> run_join(Context& context) {
  std::string invite = context.arguments.operand_or(0, "");
  if (invite == "-") {
    PEEL_TRY(invite, line_from_standard_input(), "");
  }
  sync::ConnectOptions options;
  options.cancel = &context.cancel;
  PEEL_TRY(const sync::JoinResult joined, sync::join(invite, context.arguments.value("name").value_or(""), options),
           "");
  std::string grants;
  for (const std::string& grant : joined.grants) grants += (grants.empty() ? "" : ", ") + printable(grant);
  context.report("joined " + shown(joined.peer) + " at " + shown(joined.address) + ", key " +
                 trust::fingerprint(joined.server_key));
  context.report("your rights there: " + (grants.empty() ? "none yet" : grants));
  context.report("next: peel ls " + shown(joined.peer) + ":");
  return 0;
}

Result<int> run_trust(Context& context) {
  const auto name = context.arguments.value("name");
  if (!name) return fail(ErrorKind::usage, "say what to call the peer: --name NAME (see: peel trust --help)");
  trust::Peer peer;
  peer.name = *name;
  PEEL_TRY(peer.key, trust::parse_fingerprint(context.arguments.operand_or(0, "")), "");
  PEEL_TRY(const auto grant, grant_of(context), "");
  if (grant) peer.grants.push_back(*grant);
  PEEL_TRY(peer.addresses, addresses_of(context), "");
  peer.added_ns = now_ns();
  PEEL_TRY(const auto directory, trust::ConfigDirectory::open(), "");
  PEEL_CHECK(trust::PeerStore(directory).trust(peer), "");
  context.report("trusted " + shown(peer.name) + ": " +
                 (grant ? "may " + grant_text(*grant) : "known, may do nothing here"));
  return 0;
}

Result<int> run_untrust(Context& context) {
  const std::string name = context.arguments.operand_or(0, "");
  PEEL_TRY(const auto directory, trust::ConfigDirectory::open(), "");
  trust::PeerStore store(directory);
  if (context.arguments.has("forget")) {
    PEEL_CHECK(store.forget(name), "");
    context.report("forgot " + shown(name));
  } else {
    PEEL_CHECK(store.untrust(name), "");
    context.report("no longer trusted: " + shown(name));
  }
  return 0;
}

Result<int> run_peers(Context& context) {
  PEEL_TRY(const auto directory, trust::ConfigDirectory::open(), "");
  PEEL_TRY(const auto peers, trust::PeerStore(directory).list(), "");
  JsonWriter json;
  json.begin_object().key("peers").begin_array();
  for (const trust::Peer& peer : peers) {
    json.begin_object()
        .string("name", peer.name)
        .string("fingerprint", trust::fingerprint(peer.key))
        .boolean("revoked", peer.revoked)
        .key("grants")
        .begin_array();
    std::string rights;
    for (const trust::Grant& grant : peer.grants) {
      json.begin_object().string("allow", trust::to_string(grant.level)).string("path", grant.prefix).end_object();
      rights += (rights.empty() ? "" : ", ") + grant_text(grant);
    }
    json.end_array().key("addresses").begin_array();
    std::string addresses;
    for (const std::string& address : peer.addresses) {
      json.string(address);
      addresses += "  " + shown(address);
    }
    json.end_array().string("added", utc_time_text(peer.added_ns)).end_object();
    if (!context.json)
      context.out.line(shown(peer.name) + "  " + trust::fingerprint(peer.key) + "  " +
                       (peer.revoked     ? "REVOKED"
                        : rights.empty() ? "known"
                                         : rights) +
                       addresses);
  }
  json.end_array().end_object();
  if (context.json)
    context.document(std::move(json));
  else if (peers.empty())
    context.report("nobody yet; see: peel help pairing");
  return 0;
}

}  // namespace peel::cli
