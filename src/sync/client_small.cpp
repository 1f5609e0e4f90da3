// ls, join, repair: the short conversations.
#include <unistd.h>

#include "base/hex.h"
#include "codec/grid_digest.h"
#include "sync/client.h"
#include "sync/connection.h"
#include "trust/invites.h"

namespace peel::sync {

Result<std::vector<ListedOnion>> ls(const Url& url, const ConnectOptions& options) {
  constexpr std::size_t listed_max = 1'000'000;
  PEEL_TRY(const auto connection, Connection::open(url, options), "");
  connection->session().list(url.kind == Url::Kind::file ? std::string() : url.name);
  std::vector<ListedOnion> out;
  while (true) {
    PEEL_TRY(auto event, connection->next(), "");
    if (std::holds_alternative<proto::OperationDone>(event)) break;
    auto* listed = std::get_if<proto::Listed>(&event);
    if (!listed) continue;
    if (out.size() == listed_max)
      return connection->pump().abort(fail(ErrorKind::limit, "the server's list has no end"));
    ListedOnion onion{std::move(listed->entry.name), std::move(listed->entry.current_branch), {}};
    for (auto& head : listed->entry.heads) onion.branches.push_back({std::move(head.branch), head.id});
    out.push_back(std::move(onion));
  }
  connection->finish();
  return out;
}

namespace {

std::string words_for(const proto::Joined::Grant& grant) {
  const std::string level = trust::to_string(static_cast<trust::Level>(grant.level));
  return grant.prefix.empty() ? level + " everywhere" : level + " below " + escape_for_terminal(grant.prefix) + "/";
}

// What the server should call us: it replaces an unsafe or taken name itself.
std::string name_of_this_machine() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "peer";
  return std::string(name).substr(0, std::string(name).find('.')).substr(0, 64);
}

// A free name for the server: the wish, the address, with a number where that is taken by another key.
std::string name_for_server(const trust::PeerStore& peers, const trust::PublicKey& key, const std::string& wish,
                            const std::string& address) {
  if (const auto known = peers.by_key(key); known && wish.empty()) return known->name;
  std::string base = wish.empty() ? address.substr(0, address.rfind(':')) : wish;
  if (!trust::is_safe_name(base)) base = "server";
  for (int n = 1;; ++n) {
    const std::string name = n == 1 ? base : base + "-" + std::to_string(n);
    const auto taken = peers.by_name(name);
    if (!taken || taken->key == key || !wish.empty()) return name;
  }
}

}  // namespace

Result<JoinResult> join(const std::string& invite_text, const std::string& name, const ConnectOptions& options) {
  PEEL_TRY(const auto invite, trust::parse_invite(invite_text), "");
  if (invite.addresses.empty())
    return fail(ErrorKind::usage, "the invite names no address; make one with --address HOST:PORT");
  Error last = fail(ErrorKind::network, "no address");
  for (const std::string& address : invite.addresses) {
    auto connection = Connection::open_pinned(address, invite.server, options);
    if (!connection) {
      last = std::move(connection.error());
      if (last.kind() == ErrorKind::cancelled || last.kind() == ErrorKind::refused) return last;
      continue;
    }
    // The server is pinned before the secret leaves: when its answer is lost, we know each other already.
    trust::PeerStore peers(*(*connection)->config());
    trust::Peer server;
    server.name = name_for_server(peers, invite.server, name, address);
    server.key = invite.server;
    if (const auto known = peers.by_key(invite.server)) server.grants = known->grants;  // what it may do here stays
    server.addresses = {address};
    server.added_ns =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    PEEL_CHECK(peers.trust(server), "");
    (*connection)->session().join({invite.secret, name_of_this_machine()});
    JoinResult result{server.name, address, invite.server, {}};
    while (true) {
      PEEL_TRY(auto event, (*connection)->next(), "");
      if (std::holds_alternative<proto::OperationDone>(event)) break;
      if (auto* answer = std::get_if<proto::JoinAnswered>(&event))
        for (const auto& grant : answer->joined.grants) result.grants.push_back(words_for(grant));
    }
    (*connection)->finish();
    return result;
  }
  return last;
}

struct RepairSource::Impl {
  std::unique_ptr<Connection> connection;
};

RepairSource::RepairSource(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RepairSource::RepairSource(RepairSource&&) noexcept = default;
RepairSource& RepairSource::operator=(RepairSource&&) noexcept = default;

RepairSource::~RepairSource() {
  if (!impl_ || impl_->connection->session().over() || !impl_->connection->session().repair_idle()) return;
  impl_->connection->session().end_repair();
}

Result<RepairSource> RepairSource::open(const Url& url, const ConnectOptions& options) {
  auto impl = std::make_unique<Impl>();
  PEEL_TRY(impl->connection, Connection::open(url, options), "");
  impl->connection->session().repair(impl->connection->onion_name());
  while (true) {
    PEEL_TRY(auto event, impl->connection->next(), "");
    if (std::holds_alternative<proto::StateArrived>(event)) return RepairSource(std::move(impl));
  }
}

Result<StoredChunk> RepairSource::chunk(const ChunkName& name) {
  Connection& connection = *impl_->connection;
  if (connection.session().over()) return fail(ErrorKind::network, "the connection to the copy is lost");
  connection.session().ask_chunk(name);
  while (true) {
    PEEL_TRY(auto event, connection.next(), "");
    if (std::holds_alternative<proto::ChunkAbsent>(event))
      return fail(ErrorKind::not_found, "the copy does not have chunk " + short_hex(name.digest) + " either");
    auto* arrived = std::get_if<proto::ChunkArrived>(&event);
    if (!arrived) continue;
    return std::move(arrived->chunk);
  }
}

}  // namespace peel::sync
