#include "trust/peers.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <map>
#include <mutex>

#include "base/hex.h"
#include "base/host_port.h"
#include "trust/heads_file.h"
#include "trust/trust_store.h"

namespace peel::trust {
namespace {

// Tells one written file from another: every write makes a new inode, and the times settle a reused number.
struct Stamp {
  bool present = false;
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  std::int64_t modified_ns = 0, changed_ns = 0;
  bool operator==(const Stamp&) const = default;
};

std::int64_t nanoseconds(const timespec& t) { return t.tv_sec * 1'000'000'000 + t.tv_nsec; }

// A file system's clock ticks every few milliseconds. A file that changed this recently could change again and look
// the same, so what was read from it is not kept.
constexpr std::int64_t too_young_ns = 100'000'000;

bool is_young(const Stamp& stamp) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return stamp.present && nanoseconds(now) - stamp.changed_ns < too_young_ns;
}

Result<Stamp> stamp_of(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) {
    if (errno == ENOENT) return Stamp{};
    return Error::from_errno(errno, "stat " + path);
  }
  return Stamp{true, st.st_dev, st.st_ino, st.st_size, nanoseconds(st.st_mtim), nanoseconds(st.st_ctim)};
}

Result<std::string> canonical_address(const std::string& text) {
  PEEL_TRY(const auto address, parse_host_port(text), "");
  return to_string(address);
}

Status join_address(std::vector<std::string>& held, const std::string& text) {
  PEEL_TRY(auto address, canonical_address(text), "");
  if (std::find(held.begin(), held.end(), address) == held.end()) held.push_back(std::move(address));
  return {};
}

Status check_name(const std::string& name) {
  if (is_safe_name(name)) return {};
  return fail(ErrorKind::usage, "'" + escape_for_terminal(name) +
                                    "' cannot be a peer's name: it has 1 to 64 of "
                                    "A-Z a-z 0-9 . _ - and begins with none of . -");
}

Status check_grants(const std::vector<Grant>& grants) {
  for (const Grant& grant : grants) {
    if (!is_safe_prefix(grant.prefix))
      return fail(ErrorKind::usage, "'" + escape_for_terminal(grant.prefix) +
                                        "' is no prefix of onion names: no part "
                                        "may be empty, '.' or '..'");
  }
  return {};
}

Error unknown_name(const std::string& name) {
  return fail(ErrorKind::not_found, "no peer is called '" + escape_for_terminal(name) + "'; see 'peel peers'");
}

bool knows_address(const Peer& peer, const std::string& address) {
  return std::find(peer.addresses.begin(), peer.addresses.end(), address) != peer.addresses.end();
}

// The changes of trust(), on the newest file.
Status put_peer(TrustFile& file, const Peer& peer) {
  Peer* same_key = find_by_key(file, peer.key);
  if (same_key != nullptr && same_key->name != peer.name && !same_key->revoked)
    return fail(ErrorKind::exists, "this key is trusted as '" + same_key->name +
                                       "' already: use that name, or run "
                                       "'peel untrust " +
                                       same_key->name + "' first");
  Peer* same_name = find_by_name(file, peer.name);
  if (same_name != nullptr && same_name->key != peer.key) {
    if (!same_name->revoked)
      return fail(ErrorKind::exists, "'" + peer.name +
                                         "' is another key already: choose another name, or run 'peel "
                                         "untrust " +
                                         peer.name + "' first");
    same_name->name = free_name(file, "revoked-" + peer.name);
  }
  if (same_key == nullptr) {
    file.peers.push_back(peer);
    file.peers.back().addresses.clear();
    same_key = &file.peers.back();
  }
  same_key->name = peer.name;
  same_key->grants = peer.grants;
  same_key->revoked = false;
  for (const std::string& address : peer.addresses) PEEL_CHECK(join_address(same_key->addresses, address), "");
  return {};
}

// The keys the statements lead through, newest first, beginning with `met`. Signatures are verified on the way.
Result<std::vector<PublicKey>> walk_back(const PublicKey& met, std::span<const Succession> statements) {
  if (statements.size() > max_successions) return fail(ErrorKind::limit, "too many key successions");
  std::vector<PublicKey> chain{met};
  for (std::size_t i = statements.size(); i-- > 0;) {
    if (statements[i].successor != chain.back()) continue;
    // Decoding verifies; these may have been made by hand.
    PEEL_CHECK(decode_succession(encode(statements[i])), "");
    chain.push_back(statements[i].predecessor);
  }
  return chain;
}

}  // namespace

struct PeerStore::State {
  explicit State(ConfigDirectory d) : directory(std::move(d)) {}

  struct Loaded {
    Stamp stamp;
    bool young = false;
    TrustFile file;
    std::map<PublicKey, std::size_t> by_key;
  };

  // The newest content. Shared, so that readers need the mutex only for the pointer.
  Result<std::shared_ptr<const Loaded>> current() {
    const std::lock_guard guard(mutex);
    // The stamp is taken first: a file replaced in between is read again next time.
    PEEL_TRY(const auto stamp, stamp_of(directory.path_of(trust_file_name)), "trust store");
    if (loaded && loaded->stamp == stamp && !loaded->young) return std::shared_ptr<const Loaded>(loaded);
    PEEL_TRY(auto file, load_trust_file(directory), "");
    auto fresh = std::make_shared<Loaded>(Loaded{stamp, is_young(stamp), std::move(file), {}});
    for (std::size_t i = 0; i < fresh->file.peers.size(); ++i) fresh->by_key.emplace(fresh->file.peers[i].key, i);
    loaded = fresh;
    return std::shared_ptr<const Loaded>(loaded);
  }

  Result<Peer> find(const PublicKey& key) {
    PEEL_TRY(const auto now, current(), "");
    const auto found = now->by_key.find(key);
    if (found == now->by_key.end()) return fail(ErrorKind::not_found, "no peer has the key " + fingerprint(key));
    return now->file.peers[found->second];
  }

  ConfigDirectory directory;
  std::mutex mutex;
  std::shared_ptr<const Loaded> loaded;
};

PeerStore::PeerStore(ConfigDirectory directory) : state_(std::make_unique<State>(std::move(directory))) {}
PeerStore::~PeerStore() = default;
PeerStore::PeerStore(PeerStore&&) noexcept = default;
PeerStore& PeerStore::operator=(PeerStore&&) noexcept = default;

Status PeerStore::trust(Peer peer) {
  PEEL_CHECK(check_name(peer.name), "trust");
  PEEL_CHECK(check_grants(peer.grants), "trust");
  PEEL_CHECK(change_trust_file(state_->directory, [&](TrustFile& file) { return put_peer(file, peer); }), "trust");
  return {};
}

Status PeerStore::untrust(const std::string& name) {
  return change_trust_file(state_->directory, [&](TrustFile& file) -> Status {
    Peer* peer = find_by_name(file, name);
    if (peer == nullptr) return unknown_name(name);
    peer->revoked = true;
    return {};
  });
}

Status PeerStore::forget(const std::string& name) {
  return change_trust_file(state_->directory, [&](TrustFile& file) -> Status {
    if (std::erase_if(file.peers, [&](const Peer& p) { return p.name == name; }) == 0) return unknown_name(name);
    return {};
  });
}

Status PeerStore::add_address(const std::string& name, const std::string& host_port) {
  PEEL_TRY(const auto present, by_name(name), "");
  PEEL_TRY(const auto address, canonical_address(host_port), "");
  if (knows_address(present, address)) return {};  // the usual case of every connection writes nothing
  return change_trust_file(state_->directory, [&](TrustFile& file) -> Status {
    Peer* peer = find_by_name(file, name);
    if (peer == nullptr) return unknown_name(name);
    return join_address(peer->addresses, address);
  });
}

Result<std::vector<Peer>> PeerStore::list() const {
  PEEL_TRY(const auto now, state_->current(), "");
  std::vector<Peer> peers = now->file.peers;
  std::sort(peers.begin(), peers.end(), [](const Peer& a, const Peer& b) { return a.name < b.name; });
  return peers;
}

Result<Peer> PeerStore::by_name(const std::string& name) const {
  PEEL_TRY(const auto now, state_->current(), "");
  for (const Peer& peer : now->file.peers)
    if (peer.name == name) return peer;
  return unknown_name(name);
}

Result<Peer> PeerStore::by_key(const PublicKey& key) const { return state_->find(key); }

Result<std::vector<Peer>> PeerStore::by_address(const std::string& host_port) const {
  PEEL_TRY(const auto address, canonical_address(host_port), "");
  PEEL_TRY(const auto now, state_->current(), "");
  std::vector<Peer> found;
  for (const Peer& peer : now->file.peers)
    if (knows_address(peer, address)) found.push_back(peer);
  return found;
}

Result<Peer> PeerStore::admit(const PublicKey& key) const {
  auto peer = state_->find(key);
  if (!peer) {
    if (peer.error().kind() != ErrorKind::not_found) return std::move(peer.error());
    return fail(ErrorKind::refused, "the key " + fingerprint(key) + " is not trusted here; 'peel trust " +
                                        fingerprint(key) + " --name NAME' would");
  }
  if (peer->revoked)
    return fail(ErrorKind::refused,
                "'" + peer->name + "' was revoked here; 'peel trust' with its fingerprint undoes it");
  return peer;
}

Status PeerStore::authorize(const PublicKey& key, Level action, std::string_view onion_name) const {
  PEEL_TRY(const auto peer, admit(key), "");
  // A name with ".." could match one prefix and mean a place under another.
  if (!is_safe_prefix(onion_name))
    return fail(ErrorKind::refused, "'" + escape_for_terminal(onion_name) + "' is no safe onion name");
  for (const Grant& grant : peer.grants)
    if (grant.level >= action && prefix_matches(grant.prefix, onion_name)) return {};
  const std::string place = onion_name.empty() ? "the whole server" : "'" + escape_for_terminal(onion_name) + "'";
  return fail(ErrorKind::refused, "'" + peer.name + "' may not " + to_string(action) + " " + place);
}

bool PeerStore::allowed(const PublicKey& key, Level action, std::string_view onion_name) const {
  return authorize(key, action, onion_name).ok();
}

Result<Peer> PeerStore::expect(const PublicKey& key, const std::string& name_or_address) const {
  PEEL_TRY(auto peer, admit(key), "");
  if (peer.name == name_or_address) return peer;
  const auto refused = [&](const std::string& why) {
    return fail(ErrorKind::refused,
                "'" + escape_for_terminal(name_or_address) + "' answers with the key of '" + peer.name + "': " + why);
  };
  if (by_name(name_or_address)) return refused("that is another peer");
  const auto address = canonical_address(name_or_address);
  if (!address) return refused("no peer has that name, and it is no HOST:PORT");
  if (knows_address(peer, *address)) return peer;
  PEEL_TRY(const auto owners, by_address(*address), "");
  if (!owners.empty()) return refused("that address belongs to '" + owners.front().name + "'");
  return peer;
}

Result<Peer> PeerStore::accept_succession(const PublicKey& met, std::span<const Succession> statements) {
  if (state_->find(met)) return admit(met);  // met before; nothing to write
  PEEL_TRY(const auto chain, walk_back(met, statements), "key succession");
  std::optional<Peer> result;
  const Status changed = change_trust_file(state_->directory, [&](TrustFile& file) -> Status {
    for (const PublicKey& key : chain) {
      Peer* peer = find_by_key(file, key);
      if (peer == nullptr) continue;
      if (peer->revoked) return fail(ErrorKind::refused, "'" + peer->name + "' was revoked here");
      // First the memory, then the key: a crash between is mended when the peer comes again.
      if (key != met) PEEL_CHECK(move_heads(state_->directory, key, met), "");
      peer->key = met;
      result = *peer;
      return {};
    }
    return fail(ErrorKind::refused, "the key " + fingerprint(met) + " succeeds no key that is trusted here");
  });
  PEEL_CHECK(changed, "key succession");
  return std::move(*result);
}

}  // namespace peel::trust
