#include "hub/hub_service.h"

#include "base/hex.h"
#include "codec/blake3.h"
#include "sync/local_service.h"
#include "sync/unpublished.h"
#include "sync/url.h"

namespace peel::hub {
namespace {

constexpr unsigned depth_max = 32;

std::string file_of(const std::string& name) { return name + ".onion"; }

// What a peer is told of a failure that concerns our disk: never a path outside its names.
Error for_peer(Error error, const std::string& name) {
  const std::string shown = escape_for_terminal(name);
  if (error.kind() == ErrorKind::not_found)
    return fail(ErrorKind::not_found, "there is no onion '" + shown + "' on this server");
  return error;
}

}  // namespace

HubService::HubService(HubState& hub, std::optional<trust::PublicKey> peer_key, std::string address)
    : hub_(hub),
      key_(std::move(peer_key)),
      address_(std::move(address)),
      peer_(key_ ? "fingerprint " + trust::fingerprint(*key_) : std::string("plain")) {}

HubService::~HubService() {
  if (!counted_) return;
  const std::lock_guard guard(hub_.peers_mutex);
  if (--hub_.live_by_peer[*key_] == 0) hub_.live_by_peer.erase(*key_);
}

Result<trust::Peer> HubService::recognise(const proto::Hello& hello) {
  auto peer = hub_.peers->admit(*key_);
  if (peer || hello.statements.empty() || hub_.peers->by_key(*key_)) return peer;
  // An unknown key may be the successor of one we trust.
  std::vector<trust::Succession> statements;
  for (const Buffer& bytes : hello.statements)
    if (auto statement = trust::decode_succession(bytes)) statements.push_back(std::move(statement).value());
  if (!hub_.peers->accept_succession(*key_, statements)) return peer;
  return hub_.peers->admit(*key_);
}

Status HubService::admit(const proto::Hello& hello) {
  if (!key_) {
    admitted_ = hub_.options.insecure;
    return admitted_ ? Status() : fail(ErrorKind::refused, "this server speaks to known keys only");
  }
  auto peer = recognise(hello);
  if (!peer) {
    return fail(ErrorKind::refused,
                "this server does not trust your key; ask its operator for an invite (peel join), or for: "
                "peel trust " +
                    trust::fingerprint(*key_) + " --name NAME --allow ...");
  }
  {
    const std::lock_guard guard(hub_.peers_mutex);
    std::uint32_t& live = hub_.live_by_peer[*key_];
    if (live >= hub_.options.connections_per_peer_max)
      return fail(ErrorKind::refused, "too many connections with your key at once");
    ++live;
    counted_ = true;
  }
  peer_ = escape_for_terminal(peer->name);
  admitted_ = true;
  return {};
}

Status HubService::authorize(trust::Level level, const std::string& name) {
  PEEL_CHECK(sync::check_onion_name(name), "");
  if (!admitted_) return fail(ErrorKind::refused, "not admitted");
  if (key_) {
    Status allowed = hub_.peers->authorize(*key_, level, name);
    if (allowed || allowed.error().kind() != ErrorKind::refused || !hub_.peers->admit(*key_)) return allowed;
    return fail(ErrorKind::refused, allowed.error().message() + "; " + peer_ +
                                        " is this server's name for your machine: ask its operator for peel trust " +
                                        trust::fingerprint(*key_) + " --name " + peer_ + " --allow " +
                                        trust::to_string(level));
  }
  if (level == trust::Level::read || hub_.options.insecure_write) return {};
  return fail(ErrorKind::refused, "this server lets unencrypted connections read only");
}

Status HubService::check() {
  if (hub_.stop.requested()) return fail(ErrorKind::network, "the server is going down; try again later");
  if (!key_ || !admitted_) return {};
  auto peer = hub_.peers->admit(*key_);
  return peer ? Status() : Status(fail(ErrorKind::refused, "your key is not trusted here any more"));
}

Result<Onion> HubService::open(const std::string& name, Access access) {
  OpenOptions options;
  options.access = access;
  options.file_system = hub_.files.get();
  auto onion = Onion::open(file_of(name), options);
  if (!onion) return for_peer(std::move(onion.error()), name);
  return onion;
}

Result<Onion> HubService::open_unpublished(const std::string& name, const std::array<std::byte, 32>& lineage) {
  if (!hub_.options.create)
    return fail(ErrorKind::refused, "there is no onion '" + escape_for_terminal(name) +
                                        "' on this server, and it makes no new ones (peel serve --create)");
  PEEL_CHECK(hub_.files->make_folders_of(file_of(name)), "");
  return sync::open_or_create_unpublished(*hub_.files, file_of(name), staging_key(), lineage);
}

Status HubService::publish(const std::string& name) {
  return sync::publish_onion(*hub_.files, file_of(name), staging_key());
}

void HubService::forget_unpublished(const std::string& name) {
  (void)hub_.files->remove(sync::unpublished_path(file_of(name), staging_key())).ok();
}

Status HubService::list_one(const std::string& name, const std::function<Status(const proto::LsEntry&)>& sink) {
  if (!authorize(trust::Level::read, name)) return {};
  auto onion = open(name, Access::read);
  if (!onion) {
    // One damaged onion must not hide the others.
    if (onion.error().kind() != ErrorKind::not_found) note("error", name, onion.error().message());
    return {};
  }
  return sink(sync::describe(*onion, name));
}

Status HubService::list_folder(const std::string& folder, unsigned depth,
                               const std::function<Status(const proto::LsEntry&)>& sink) {
  auto entries = hub_.files->list(folder);
  if (!entries) return entries.error().kind() == ErrorKind::not_found ? Status() : Status(std::move(entries.error()));
  for (const auto& entry : *entries) {
    if (entry.name.front() == '.' || entry.name.front() == '-') continue;
    const std::string path = folder.empty() ? entry.name : folder + "/" + entry.name;
    if (entry.folder) {
      if (depth < depth_max) PEEL_CHECK(list_folder(path, depth + 1, sink), "");
    } else if (path.ends_with(".onion")) {
      PEEL_CHECK(list_one(path.substr(0, path.size() - 6), sink), "");
    }
  }
  return {};
}

Status HubService::list(const std::string& prefix, const std::function<Status(const proto::LsEntry&)>& sink) {
  if (!admitted_) return fail(ErrorKind::refused, "not admitted");
  if (prefix.empty()) return list_folder("", 1, sink);
  PEEL_CHECK(sync::check_onion_name(prefix), "");
  PEEL_CHECK(list_one(prefix, sink), "");
  return list_folder(prefix, 1, sink);
}

Result<proto::Joined> HubService::join(const proto::Join& request) {
  if (!key_) {
    note("join", "", "refused: not encrypted");
    return fail(ErrorKind::refused, "an invite needs an encrypted connection");
  }
  std::string local_reason;
  auto peer = trust::InviteStore(*hub_.config).redeem(request.secret, *key_, request.name, now_ns(), &local_reason);
  if (!peer) {
    note("join", "", "refused: " + local_reason);
    return std::move(peer.error());
  }
  peer_ = escape_for_terminal(peer->name);
  proto::Joined joined{peer->name, {}};
  for (const auto& grant : peer->grants)
    joined.grants.push_back({static_cast<std::uint8_t>(grant.level), grant.prefix});
  return joined;
}

bool HubService::take_memory(std::uint64_t bytes) {
  if (hub_.layer_memory.fetch_add(bytes) + bytes <= hub_.options.layer_memory_max) return true;
  hub_.layer_memory -= bytes;
  return false;
}

std::string HubService::staging_key() const {
  return key_ ? "key-" + short_hex(codec::blake3(key_->bytes), 16) : std::string("plain");
}

void HubService::note(const std::string& operation, const std::string& onion, const std::string& text) {
  ++hub_.operations;
  hub_.log({now_ns(), peer_, address_, operation, escape_for_terminal(onion), text});
}

}  // namespace peel::hub
