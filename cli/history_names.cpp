// cli/history_names.cpp - branch, tag: names for revisions.
#include <algorithm>

#include "base/hex.h"
#include "cli/context.h"
#include "cli/handlers.h"
#include "cli/named_file.h"
#include "cli/revision_text.h"

namespace peel::cli {
namespace {

std::vector<Ref> sorted_refs(const Onion& onion, std::initializer_list<RefKind> kinds) {
  std::vector<Ref> out;
  for (Ref& ref : onion.refs())
    if (std::find(kinds.begin(), kinds.end(), ref.kind) != kinds.end()) out.push_back(std::move(ref));
  std::sort(out.begin(), out.end(),
            [](const Ref& a, const Ref& b) { return std::pair(a.kind, a.name) < std::pair(b.kind, b.name); });
  return out;
}

Result<std::optional<RevisionInfo>> target_of(const Onion& onion, const Ref& ref) {
  const auto number = onion.find(ref.target);
  if (!number) return std::optional<RevisionInfo>();
  PEEL_TRY(RevisionInfo revision, onion.revision(*number), "");
  return std::optional(std::move(revision));
}

// "main  @4 3f2a9c01b2d4", or the id alone where the revision is not here.
std::string ref_text(const Ref& ref, const std::optional<RevisionInfo>& revision) {
  return shown(ref.name) + "  " +
         (revision ? revision_name(*revision) : short_hex(ref.target) + " (not in this history)");
}

Result<int> list_branches(Context& context) {
  PEEL_TRY(const NamedOnion named, open_named(context), "");
  const RefNames names(named.onion);
  JsonWriter json;
  json.begin_object();
  write_paths(json, named.paths);
  json.string("current", names.current_branch()).key("branches").begin_array();
  for (const Ref& ref : sorted_refs(named.onion, {RefKind::branch, RefKind::remote})) {
    PEEL_TRY(const auto revision, target_of(named.onion, ref), shown(named.paths));
    const bool remote = ref.kind == RefKind::remote;
    const bool current = !remote && ref.name == names.current_branch();
    if (!context.json) {
      context.out.line((current ? "* " : "  ") + ref_text(ref, revision));
      continue;
    }
    json.begin_object().string("name", ref.name).boolean("remote", remote).boolean("current", current);
    if (revision) {
      json.key("revision");
      write_revision(json, *revision, &names);
    }
    json.end_object();
  }
  json.end_array().end_object();
  if (context.json) context.document(std::move(json));
  PEEL_CHECK(complete(named), "");
  return 0;
}

Result<int> list_tags(Context& context) {
  PEEL_TRY(const NamedOnion named, open_named(context), "");
  const RefNames names(named.onion);
  JsonWriter json;
  json.begin_object();
  write_paths(json, named.paths);
  json.key("tags").begin_array();
  for (const Ref& ref : sorted_refs(named.onion, {RefKind::tag})) {
    PEEL_TRY(const auto revision, target_of(named.onion, ref), shown(named.paths));
    if (!context.json) {
      context.out.line(ref_text(ref, revision));
      for (const std::string& line : note_lines(ref.value)) context.out.line("    " + line);
      continue;
    }
    json.begin_object().string("name", ref.name).string("note", ref.value);
    if (revision) {
      json.key("revision");
      write_revision(json, *revision, &names);
    }
    json.end_object();
  }
  json.end_array().end_object();
  if (context.json) context.document(std::move(json));
  PEEL_CHECK(complete(named), "");
  return 0;
}

Error json_is_for_lists(const char* command) {
  return fail(ErrorKind::usage, std::string("--json is for the list (see: peel ") + command + " --help)");
}

}  // namespace

Result<int> run_branch(Context& context) {
  const auto name = context.arguments.operand(1);
  const auto doomed = context.arguments.value("delete");
  const std::vector<std::string> renamed = context.arguments.values("rename");
  const bool changes = name || doomed || !renamed.empty();
  if (!changes) return list_branches(context);
  if (context.json) return json_is_for_lists("branch");
  if (name && (doomed || !renamed.empty()))
    return fail(ErrorKind::usage,
                "NAME makes a branch; leave it out with --delete and --rename (see: peel branch --help)");
  PEEL_TRY(NamedOnion named, open_named(context, Access::write), "");
  const std::string file = shown(named.paths);
  if (doomed) {
    PEEL_CHECK(workspace::delete_branch(named.onion, *doomed), file);
    context.report(file + ": branch " + shown(*doomed) + " deleted; peel reflog knows where it was");
  } else if (!renamed.empty()) {
    PEEL_CHECK(workspace::rename_branch(named.onion, renamed[0], renamed[1]), file);
    context.report(file + ": branch " + shown(renamed[0]) + " is now " + shown(renamed[1]));
  } else {
    PEEL_CHECK(workspace::create_branch(named.onion, *name, context.arguments.operand_or(2, "")), file);
    context.report(file + ": branch " + shown(*name) + " made; work on it after: peel switch " + file + " " +
                   shown(*name));
  }
  return 0;
}

Result<int> run_tag(Context& context) {
  const auto name = context.arguments.operand(1);
  const auto doomed = context.arguments.value("delete");
  if (!name && !doomed) return list_tags(context);
  if (context.json) return json_is_for_lists("tag");
  if (name && doomed)
    return fail(ErrorKind::usage, "NAME makes a tag; leave it out with --delete (see: peel tag --help)");
  PEEL_TRY(NamedOnion named, open_named(context, Access::write), "");
  const std::string file = shown(named.paths);
  if (doomed) {
    PEEL_CHECK(workspace::delete_tag(named.onion, *doomed), file);
    context.report(file + ": tag " + shown(*doomed) + " deleted");
  } else {
    PEEL_CHECK(workspace::create_tag(named.onion, *name, context.arguments.operand_or(2, ""),
                                     context.arguments.value("message").value_or("")),
               file);
    context.report(file + ": tagged " + shown(*name));
  }
  return 0;
}

}  // namespace peel::cli
