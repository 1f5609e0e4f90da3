// trust/remote_memory.h - the heads a remote showed last time, so that a client notices one that goes backwards.
//
// Contract   One small file for each peer and onion; replaced atomically. Never seen: an empty map. When a peer's key
//            is succeeded (peers.h), what is remembered moves to the new key.
// Errors     corrupt: names the file and the line · io · limit.
// Threads    Any; processes take turns by the directory's lock.
// Memory     At most 16 MiB of text for one onion.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "trust/config_directory.h"
#include "trust/fingerprint.h"

namespace peel::trust {

using RemoteHeads = std::map<std::string, RevisionId>;  // branch -> revision last seen

class RemoteMemory {
public:
  explicit RemoteMemory(ConfigDirectory directory) : directory_(std::move(directory)) {}

  Result<RemoteHeads> load(const PublicKey& peer, const std::string& onion_name) const;
  Status save(const PublicKey& peer, const std::string& onion_name, const RemoteHeads& heads) const;
  // Load, change and save with no other process between.
  Status update(const PublicKey& peer, const std::string& onion_name,
                const std::function<Status(RemoteHeads&)>& change) const;
  Status forget(const PublicKey& peer, const std::string& onion_name) const;

private:
  ConfigDirectory directory_;
};

// The text of one file, apart from where it lives.
std::string encode_remote_heads(const PublicKey& peer, const std::string& onion_name, const RemoteHeads& heads);
Result<RemoteHeads> decode_remote_heads(const std::string& onion_name, std::string_view text);

}  // namespace peel::trust
