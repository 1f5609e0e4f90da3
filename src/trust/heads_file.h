// trust/heads_file.h - where remembered heads live inside the configuration directory.
//
// Threads    Free functions; move_heads with the directory's lock held.
#pragma once

#include <string>

#include "trust/config_directory.h"
#include "trust/fingerprint.h"

namespace peel::trust {

std::string heads_directory_name(const PublicKey& peer);
std::string heads_file_name(const PublicKey& peer, const std::string& onion_name);

// All that is remembered of `from` belongs to `to` afterwards. Nothing remembered is fine.
Status move_heads(const ConfigDirectory& directory, const PublicKey& from, const PublicKey& to);

}  // namespace peel::trust
