// cli/named_file.cpp - see named_file.h.
#include "cli/named_file.h"

#include "base/hex.h"
#include "cli/human.h"

namespace peel::cli {

Result<workspace::Paths> paths_of_name(const Context& context, const std::string& name) {
  return workspace::locate(name, context.arguments.value("onion"));
}

Result<workspace::Paths> paths_of(const Context& context, std::size_t operand) {
  return paths_of_name(context, context.arguments.operand_or(operand, ""));
}

Result<NamedOnion> open_named(const Context& context, Access access) {
  PEEL_TRY(workspace::Paths paths, paths_of(context), "");
  context.messages.trace("open " + shown(paths.onion));
  const auto damaged = access == Access::read ? workspace::Damaged::readable : workspace::Damaged::refused;
  PEEL_TRY(Onion onion, workspace::open_onion(paths, access, damaged, &context.cancel), "");
  warn_of_damage(context, paths, onion.damage());
  return NamedOnion{std::move(paths), std::move(onion)};
}

void warn_of_damage(const Context& context, const workspace::Paths& paths, std::span<const Damage> damage) {
  for (const Damage& d : damage) context.messages.warning(shown(paths.onion) + ": " + escape_for_terminal(d.what));
  if (!damage.empty()) context.messages.warning("peel verify " + shown(paths) + " says what that touches");
}

Status complete(const NamedOnion& named) {
  if (named.onion.is_complete()) return {};
  return fail(ErrorKind::corrupt, shown(named.paths.onion) + " is damaged: something may be missing from this list");
}

Error with_repair_hint(Error error, const workspace::Paths& paths) {
  if (error.kind() != ErrorKind::corrupt || !error.advice().empty()) return error;
  const std::string verify = "peel verify " + shown(paths);
  return std::move(error).advise(verify + " says what is damaged, " + verify +
                                 " --repair-from URL mends it from another copy of this history");
}

std::string shown(const std::string& name) { return escape_for_terminal(name); }
std::string shown(const workspace::Paths& paths) { return shown(paths.file); }

void write_paths(JsonWriter& json, const workspace::Paths& paths) {
  json.string("file", paths.file).string("onion", paths.onion);
}

std::vector<workspace::Leftover> tell_leftovers(const Context& context, const std::vector<workspace::Paths>& files) {
  std::vector<workspace::Leftover> found = workspace::unsaved_leftovers(files);
  for (const workspace::Leftover& left : found) {
    const std::string file = shown(left.paths), path = shown(left.path);
    context.messages.warning(path + " holds " + size_text(left.size) + ", last changed " +
                             local_time_text(left.mtime_ns) + ", that no revision of " + file +
                             " has: a peel that was killed while it replaced " + file +
                             " left it. To bring it back: peel commit " + file + ", then mv " + path + " " + file +
                             "; to drop it: rm " + path);
  }
  return found;
}

workspace::Run run_of(const Context& context) { return {.cancel = &context.cancel, .progress = {}}; }

}  // namespace peel::cli
