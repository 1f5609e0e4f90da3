// cli/sharing_push.cpp - push, remote, ls: histories go elsewhere, and where that is.
#include <algorithm>
#include <filesystem>

#include "base/hex.h"
#include "cli/context.h"
#include "cli/handlers.h"
#include "cli/human.h"
#include "cli/named_file.h"
#include "cli/progress.h"
#include "cli/sharing_target.h"
#include "sync/push_rules.h"
#include "sync/remotes.h"

namespace peel::cli {
namespace {

sync::PushOptions push_options(const Context& context) {
  sync::PushOptions options;
  options.all = context.arguments.has("all");
  options.tags = context.arguments.has("tags");
  if (const auto doomed = context.arguments.value("delete")) options.delete_branches.push_back(*doomed);
  options.force_with_lease = context.arguments.has("force-with-lease");
  options.atomic = context.arguments.has("atomic");
  return options;
}

void warn_of_unsaved_changes(const Context& context, const workspace::Paths& paths) {
  const auto status = workspace::status(paths, {.always_hash = false, .run = run_of(context)});
  if (status && status->state == workspace::State::modified)
    context.messages.warning(shown(paths) + " has unsaved changes, which are not sent; record them with: peel commit " +
                             shown(paths));
}

const char* state_word(sync::PushedRef::State state) {
  switch (state) {
    case sync::PushedRef::State::up_to_date:
      return "up_to_date";
    case sync::PushedRef::State::moved:
      return "moved";
    case sync::PushedRef::State::deleted:
      return "deleted";
    case sync::PushedRef::State::rejected:
      return "rejected";
  }
  return "?";
}

std::string pushed_text(const sync::PushedRef& ref) {
  const std::string what = (ref.kind == RefKind::tag ? "tag " : "") + shown(ref.name);
  switch (ref.state) {
    case sync::PushedRef::State::up_to_date:
      return what + ": up to date";
    case sync::PushedRef::State::moved:
      return what + ": " + (ref.before.is_zero() ? "new" : short_hex(ref.before)) + " -> " + short_hex(ref.after);
    case sync::PushedRef::State::deleted:
      return what + ": deleted there";
    case sync::PushedRef::State::rejected:
      return what + ": refused: " + ref.reason;
  }
  return what;
}

// The commands that lead out of a refusal; nothing where there are none.
std::string way_out(const std::string& file, const Target& target, const sync::PushedRef& ref) {
  const std::string push = "then peel push " + file;
  if (ref.reason == sync::reason_behind(ref.name)) return "peel pull " + file;
  if (ref.reason == sync::reason_moved(ref.name)) return "peel fetch " + file + ", look, " + push;
  if (ref.reason == sync::reason_not_fast_forward(ref.name))
    return "peel fetch " + file + ", then peel merge " + file + " " + shown(target.remote + "/" + ref.name) + ", " +
           push;
  return {};
}

// One error for what was refused; of several each has its line before it.
Status refusals(Context& context, const std::string& file, const Target& target, const sync::PushResult& result) {
  std::vector<const sync::PushedRef*> refused;
  for (const sync::PushedRef& ref : result.refs)
    if (ref.state == sync::PushedRef::State::rejected) refused.push_back(&ref);
  if (refused.empty()) return {};
  for (std::size_t i = 0; i + 1 < refused.size(); ++i) {
    const std::string way = way_out(file, target, *refused[i]);
    context.messages.error(file + ": " + pushed_text(*refused[i]) + (way.empty() ? "" : "; " + way));
  }
  return fail(ErrorKind::refused, file + ": " + pushed_text(*refused.back()))
      .advise(way_out(file, target, *refused.back()));
}

void write_push(JsonWriter& json, const workspace::Paths& paths, const Target& target, const sync::PushResult& result) {
  json.begin_object();
  write_paths(json, paths);
  json.string("url", target.url.text()).string("remote", target.remote).boolean("created", result.created);
  write_transfer(json, result.stats);
  json.key("refs").begin_array();
  for (const sync::PushedRef& ref : result.refs) {
    json.begin_object()
        .string("kind", ref.kind == RefKind::tag ? "tag" : "branch")
        .string("name", ref.name)
        .string("state", state_word(ref.state));
    write_id(json, "before", ref.before);
    write_id(json, "after", ref.after);
    if (!ref.reason.empty()) json.string("reason", ref.reason);
    json.end_object();
  }
  json.end_array().end_object();
}

}  // namespace

Result<int> run_push(Context& context) {
  PEEL_TRY(NamedOnion named, open_named(context, Access::write), "");
  PEEL_TRY(const Target target, target_of(context, named.onion), shown(named.paths));
  if (target.url.kind == sync::Url::Kind::file)
    PEEL_CHECK(workspace::require_directory_of(target.url.path), shown(named.paths));
  warn_of_unsaved_changes(context, named.paths);
  Progress progress(context, shown(named.paths) + ": pushing");
  PEEL_TRY(
      const sync::PushResult result,
      sync::push(named.onion, target.remote, target.url, push_options(context), connect_options(context, progress)),
      shown(named.paths));
  progress.clear();
  PEEL_CHECK(remember(context, named, target), "");
  context.report(shown(named.paths) + ": to " + shown(target.url.text()) + (result.created ? " (new there): " : ": ") +
                 transfer_text(result.stats, "sent"));
  for (const sync::PushedRef& ref : result.refs)
    if (ref.state != sync::PushedRef::State::rejected) context.report("  " + pushed_text(ref));
  if (context.json) {
    JsonWriter json;
    write_push(json, named.paths, target, result);
    context.document(std::move(json));
  }
  PEEL_CHECK(refusals(context, shown(named.paths), target, result), "");
  return 0;
}

Result<int> run_remote(Context& context) {
  const auto name = context.arguments.operand(1);
  const auto url = context.arguments.operand(2);
  const auto doomed = context.arguments.value("delete");
  if (name && (!url || doomed))
    return fail(ErrorKind::usage, "a remote is set by NAME and URL (see: peel remote --help)");
  PEEL_TRY(NamedOnion named, open_named(context, name || doomed ? Access::write : Access::read), "");
  const std::string file = shown(named.paths);
  if (doomed) {
    PEEL_CHECK(sync::remove_remote(named.onion, *doomed), file);
    context.report(file + ": remote " + shown(*doomed) + " forgotten");
    return 0;
  }
  if (name) {
    PEEL_TRY(const sync::Url parsed, parse_url(*url), "");
    PEEL_CHECK(sync::set_remote(named.onion, *name, parsed), file);
    context.report(file + ": remote " + shown(*name) + " is " + shown(parsed.text()));
    return 0;
  }
  JsonWriter json;
  json.begin_object();
  write_paths(json, named.paths);
  json.key("remotes").begin_array();
  for (const sync::Remote& remote : sync::remotes(named.onion)) {
    json.begin_object().string("name", remote.name).string("url", remote.url).end_object();
    if (!context.json) context.out.line(shown(remote.name) + "  " + shown(remote.url));
  }
  json.end_array().end_object();
  if (context.json) context.document(std::move(json));
  return 0;
}

namespace {

struct LocalList {
  std::vector<sync::ListedOnion> onions;
  std::size_t unreadable = 0;
};

// What a server with this root would show: hidden names are left out. What cannot be read does not hide the rest.
Result<LocalList> histories_below(const Context& context, const std::string& root) {
  namespace fs = std::filesystem;
  LocalList out;
  std::error_code error;
  std::vector<std::string> found;
  for (fs::recursive_directory_iterator at(root, fs::directory_options::skip_permission_denied, error), end;
       at != end && !error; at.increment(error)) {
    PEEL_CHECK(context.cancel.check(), "");
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    if (name.front() == '.') {
      at.disable_recursion_pending();
    } else if (name.size() > 6 && name.ends_with(".onion") && at->is_regular_file(ignored)) {
      found.push_back(at->path().string());
    }
  }
  if (error) return Error::from_errno(error.value(), "list " + shown(root));
  std::sort(found.begin(), found.end());
  for (const std::string& path : found) {
    const auto onion =
        workspace::open_onion({path.substr(0, path.size() - 6), path}, Access::read, workspace::Damaged::readable);
    if (!onion) {
      context.messages.error(onion.error().message());
      ++out.unreadable;
      continue;
    }
    const std::string name = fs::path(path).lexically_relative(root).string();
    sync::ListedOnion listed{name.substr(0, name.size() - 6), onion->current_branch(), {}};
    for (const Ref& ref : onion->refs())
      if (ref.kind == RefKind::branch) listed.branches.push_back({ref.name, ref.target});
    out.onions.push_back(std::move(listed));
  }
  return out;
}

}  // namespace

Result<int> run_ls(Context& context) {
  PEEL_TRY(const sync::Url url, parse_url(context.arguments.operand_or(0, "")), "");
  Progress progress(context, "listing");
  std::error_code ignored;
  LocalList list;
  if (url.kind == sync::Url::Kind::file && std::filesystem::is_directory(url.path, ignored)) {
    PEEL_TRY(list, histories_below(context, url.path), "");
  } else {
    PEEL_TRY(list.onions, sync::ls(url, connect_options(context, progress)), "");
  }
  const std::vector<sync::ListedOnion>& onions = list.onions;
  progress.clear();
  JsonWriter json;
  json.begin_object().string("url", url.text()).key("onions").begin_array();
  for (const sync::ListedOnion& onion : onions) {
    std::string line = shown(onion.name);
    json.begin_object()
        .string("name", onion.name)
        .string("current_branch", onion.current_branch)
        .key("branches")
        .begin_array();
    for (const auto& branch : onion.branches) {
      line += "  " + shown(branch.name) + " " + short_hex(branch.head);
      json.begin_object().string("name", branch.name).string("head", to_hex(branch.head)).end_object();
    }
    json.end_array().end_object();
    if (!context.json) context.out.line(line);
  }
  json.end_array().end_object();
  if (context.json) context.document(std::move(json));
  if (onions.empty() && list.unreadable == 0) context.report("nothing there that you may read");
  if (list.unreadable > 0)
    return fail(ErrorKind::partial, counted(list.unreadable, "history", "histories") + " of " +
                                        count_text(onions.size() + list.unreadable) + " not read");
  return 0;
}

}  // namespace peel::cli
