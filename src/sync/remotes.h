// sync/remotes.h - the names an onion gives to other copies of itself: "origin" -> URL.
//
// Contract   Kept in the onion as settings ("remote.NAME.url"), so they move with the file. Local: they are
//            never sent to a peer.
// Errors     usage (bad name), not_found.
// Threads    As Onion.
#pragma once

#include <string>
#include <vector>

#include "peel/onion.h"
#include "sync/url.h"

namespace peel::sync {

struct Remote {
  std::string name;
  std::string url;
};

std::vector<Remote> remotes(const Onion& onion);
// `name` empty: "origin", or the only remote there is.
Result<Remote> find_remote(const Onion& onion, const std::string& name);
Status set_remote(Onion& onion, const std::string& name, const Url& url);
// Also forgets the refs "NAME/...".
Status remove_remote(Onion& onion, const std::string& name);
// 1..64 of [A-Za-z0-9_.-], not beginning with '.' or '-'.
Status check_remote_name(const std::string& name);

}  // namespace peel::sync
