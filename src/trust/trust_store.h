// trust/trust_store.h - the trust file on disk: read, and changed under the lock.
//
// Contract   change_trust_file hands the newest content to `change` while it holds the lock, and replaces the file
//            when that returned ok. Nothing is written otherwise. No file is an empty store.
// Errors     Those of `change`; corrupt names the file and the line; io.
// Threads    Any.
#pragma once

#include <functional>

#include "trust/config_directory.h"
#include "trust/trust_file.h"

namespace peel::trust {

inline constexpr const char* trust_file_name = "trust";

Result<TrustFile> load_trust_file(const ConfigDirectory& directory);

Status change_trust_file(const ConfigDirectory& directory, const std::function<Status(TrustFile&)>& change);

// `wanted`, or `wanted-2`, `wanted-3`, ... when taken. `wanted` is a safe name.
std::string free_name(const TrustFile& file, std::string_view wanted);

Peer* find_by_name(TrustFile& file, std::string_view name);
Peer* find_by_key(TrustFile& file, const PublicKey& key);

// Adds what `held` does not say already.
void join_grants(std::vector<Grant>& held, const std::vector<Grant>& added);

}  // namespace peel::trust
