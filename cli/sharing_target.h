// cli/sharing_target.h - the other end of a sharing command: which remote, how to connect, what travelled.
//
// Threads    One owner.
#pragma once

#include <string>

#include "cli/context.h"
#include "cli/named_file.h"
#include "cli/progress.h"
#include "sync/client.h"
#include "sync/url.h"

namespace peel::cli {

// `progress` must outlive what is returned.
sync::ConnectOptions connect_options(const Context& context, Progress& progress);

// A URL as typed. What has no ':' is a path of this machine, and comes out absolute.
Result<sync::Url> parse_url(const std::string& text);

struct Target {
  std::string remote;  // its name here
  sync::Url url;
  bool remembered = true;  // it stands in the history's list already
};

// The REMOTE operand: nothing, a name, or a URL. The first URL a history is used with becomes its origin.
Result<Target> target_of(const Context& context, const Onion& onion);
Status remember(Context& context, NamedOnion& named, const Target& target);

// "3 revisions and 12 chunks sent, 1.2 MiB on the wire"
std::string transfer_text(const sync::TransferStats& stats, const char* verb);
void write_transfer(JsonWriter& json, const sync::TransferStats& stats);  // the key "transfer"
// Nothing for a zero id.
void write_id(JsonWriter& json, const char* name, const RevisionId& id);

}  // namespace peel::cli
