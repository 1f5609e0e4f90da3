// cli/named_file.h - the FILE operand of a command: the names behind it, its history opened.
//
// Threads    One owner.
#pragma once

#include "cli/context.h"
#include "workspace/workspace.h"

namespace peel::cli {

// The i-th operand as a working file, with --onion taken into account.
Result<workspace::Paths> paths_of(const Context& context, std::size_t operand = 0);
Result<workspace::Paths> paths_of_name(const Context& context, const std::string& name);

struct NamedOnion {
  workspace::Paths paths;
  Onion onion;
};
// A damaged history is opened too, with a warning, where it is only read.
Result<NamedOnion> open_named(const Context& context, Access access = Access::read);
void warn_of_damage(const Context& context, const workspace::Paths& paths, std::span<const Damage> damage);
// corrupt when revisions or refs may be missing: what was listed is not all there was.
Status complete(const NamedOnion& named);

// To what failed because a history is damaged, adds what can be done.
Error with_repair_hint(Error error, const workspace::Paths& paths);

// The file's name for messages, escaped.
std::string shown(const workspace::Paths& paths);
std::string shown(const std::string& name);

// "file" and "onion" of a JSON document.
void write_paths(JsonWriter& json, const workspace::Paths& paths);

// Says which hidden files beside `files` hold what no revision has, and what can be done about it.
std::vector<workspace::Leftover> tell_leftovers(const Context& context, const std::vector<workspace::Paths>& files);

// What long operations of workspace take, without progress.
workspace::Run run_of(const Context& context);

}  // namespace peel::cli
