// trust/peers.h - who is trusted here, with what, and under which name.
//
// Contract   Changes are durable when the call returns and excluded against other processes. Questions see the newest
//            file: it is read again when it changed, so `untrust` works on a running server. When the file cannot be
//            read, every question fails and nobody is let in.
// Errors     not_found · exists: the name or key belongs to another entry · refused: unknown or revoked peer, or not
//            enough rights; the message says what to run · corrupt: names the file and the line · usage · io.
// Threads    Any; one mutex.
// Memory     The decoded file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trust/config_directory.h"
#include "trust/identity.h"
#include "trust/trust_file.h"

namespace peel::trust {

class PeerStore {
public:
  explicit PeerStore(ConfigDirectory directory);
  ~PeerStore();
  PeerStore(PeerStore&&) noexcept;
  PeerStore& operator=(PeerStore&&) noexcept;

  // Adds a peer, or updates the one with this name and key: grants are replaced, addresses joined, revocation lifted.
  // A revoked entry gives its name up to a new key. `peer.added_ns` is the caller's clock.
  Status trust(Peer peer);
  // Marks the entry revoked; the key stays known, so that an invite cannot bring it back.
  Status untrust(const std::string& name);
  // Removes the entry.
  Status forget(const std::string& name);
  Status add_address(const std::string& name, const std::string& host_port);

  // All, revoked ones included, sorted by name.
  Result<std::vector<Peer>> list() const;
  // not_found when there is none; revoked entries are returned.
  Result<Peer> by_name(const std::string& name) const;
  Result<Peer> by_key(const PublicKey& key) const;
  Result<std::vector<Peer>> by_address(const std::string& host_port) const;

  // For a server: known and not revoked.
  Result<Peer> admit(const PublicKey& key) const;
  // For a server: ok, or refused with the reason. An empty onion name stands for the whole server.
  Status authorize(const PublicKey& key, Level action, std::string_view onion_name) const;
  // The same as yes or no; errors are no.
  bool allowed(const PublicKey& key, Level action, std::string_view onion_name) const;

  // For a client that meant `name_or_address` and met `key`: the peer, or refused. A name means that peer alone; an
  // address means the peers it is recorded for, or any trusted peer while it is recorded for none. So a client should
  // add_address after its first success.
  Result<Peer> expect(const PublicKey& key, const std::string& name_or_address) const;

  // `met` has proven its key and presents statements, oldest first. When they lead from a trusted key to it, the
  // entry moves to the new key (with its grants and remembered heads) and is returned; refused otherwise.
  Result<Peer> accept_succession(const PublicKey& met, std::span<const Succession> statements);

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace peel::trust
