// cli/sharing_fetch.cpp - clone, fetch, pull: histories come here.
#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/hex.h"
#include "cli/context.h"
#include "cli/handlers.h"
#include "cli/human.h"
#include "cli/named_file.h"
#include "cli/progress.h"
#include "cli/revision_text.h"
#include "cli/sharing_target.h"
#include "workspace/temp_name.h"

namespace peel::cli {
namespace {

const char* state_word(sync::BranchState state) {
  switch (state) {
    case sync::BranchState::same:
      return "same";
    case sync::BranchState::local_missing:
      return "local_missing";
    case sync::BranchState::behind:
      return "behind";
    case sync::BranchState::ahead:
      return "ahead";
    case sync::BranchState::diverged:
      return "diverged";
    case sync::BranchState::remote_gone:
      return "remote_gone";
  }
  return "?";
}

// With `pulling` the branch that is about to be moved gets no advice to pull it.
std::string branch_text(const std::string& file, const std::string& remote, const sync::BranchReport& branch,
                        bool pulling) {
  const std::string theirs = shown(remote + "/" + branch.branch);
  switch (branch.state) {
    case sync::BranchState::same:
      return theirs + ": the same as here";
    case sync::BranchState::local_missing:
      return theirs + ": not here as a branch; make one with: peel branch " + file + " " + shown(branch.branch) + " " +
             theirs;
    case sync::BranchState::behind:
      return theirs + ": " + counted(branch.behind, "new revision", "new revisions") +
             (pulling ? "" : "; take over with: peel pull " + file);
    case sync::BranchState::ahead:
      return theirs + ": " + counted(branch.ahead, "revision", "revisions") + " only here; send with: peel push " +
             file;
    case sync::BranchState::diverged:
      return theirs + ": diverged, " + count_text(branch.ahead) + " only here, " + count_text(branch.behind) +
             " only there; both are kept; join them with: peel merge " + file + " " + theirs;
    case sync::BranchState::remote_gone:
      return theirs + ": removed at the remote";
  }
  return theirs;
}

void write_fetch(JsonWriter& json, const workspace::Paths& paths, const Target& target,
                 const sync::FetchResult& result) {
  json.begin_object();
  write_paths(json, paths);
  json.string("url", target.url.text()).string("remote", target.remote);
  write_transfer(json, result.stats);
  json.key("branches").begin_array();
  for (const sync::BranchReport& branch : result.branches) {
    json.begin_object().string("name", branch.branch).string("state", state_word(branch.state));
    write_id(json, "local", branch.local);
    write_id(json, "remote", branch.remote);
    write_id(json, "remote_before", branch.remote_before);
    json.integer("ahead", branch.ahead).integer("behind", branch.behind).end_object();
  }
  json.end_array().key("tags").begin_array();
  for (const sync::TagReport& tag : result.tags)
    json.begin_object()
        .string("name", tag.tag)
        .string("state", tag.state == sync::TagReport::State::differs ? "differs" : "added")
        .end_object();
  json.end_array();
}

void tell_fetch(Context& context, const workspace::Paths& paths, const Target& target, const sync::FetchResult& result,
                const std::string& branch_to_pull = {}) {
  const std::string file = shown(paths);
  context.report(file + ": from " + shown(target.url.text()) + ": " + transfer_text(result.stats, "received"));
  for (const sync::BranchReport& branch : result.branches)
    context.report("  " + branch_text(file, target.remote, branch, branch.branch == branch_to_pull));
  for (const sync::TagReport& tag : result.tags) {
    if (tag.state == sync::TagReport::State::differs)
      context.messages.warning(file + ": tag " + shown(tag.tag) + " means " + short_hex(tag.remote) + " there and " +
                               short_hex(tag.local) + " here; ours is kept");
    else
      context.report("  tag " + shown(tag.tag));
  }
}

}  // namespace

Result<int> run_clone(Context& context) {
  PEEL_TRY(const sync::Url url, parse_url(context.arguments.operand_or(0, "")), "");
  std::string wanted = context.arguments.operand_or(1, "");
  std::string last = base_name_of(url.kind == sync::Url::Kind::file ? url.path : url.name);
  if (last.ends_with(".onion")) last.resize(last.size() - 6);
  std::error_code ignored;
  if (wanted.empty())
    wanted = last;
  else if (std::filesystem::is_directory(wanted, ignored))
    wanted += "/" + last;
  PEEL_TRY(const workspace::Paths paths, paths_of_name(context, wanted), "");
  if (std::filesystem::exists(std::filesystem::symlink_status(paths.file, ignored)))
    return fail(ErrorKind::refused, shown(paths) + ": exists already; name another FILE");
  if (std::filesystem::exists(std::filesystem::symlink_status(paths.onion, ignored)))
    return fail(ErrorKind::exists, shown(paths.onion) + " exists already, without its file: peel restore " +
                                       shown(paths) + " makes it, peel pull " + shown(paths) + " asks for news");

  PEEL_CHECK(workspace::require_directory_of(paths.onion), shown(paths));
  workspace::remove_stale(paths.onion, nullptr);  // of clones that were killed
  Progress progress(context, shown(paths) + ": cloning");
  PEEL_TRY(const sync::FetchResult result, sync::clone(url, paths.onion, connect_options(context, progress)), "");
  progress.clear();
  context.report(shown(paths) + ": cloned from " + shown(url.text()) + ": " + transfer_text(result.stats, "received"));

  PEEL_TRY(const Onion onion, workspace::open_onion(paths), "");
  if (!onion.ref(RefKind::branch, onion.current_branch())) {
    context.report(shown(paths) + ": the history is empty; there is no file to make yet");
    return 0;
  }
  workspace::ReplaceRequest request;
  request.run = {.cancel = &context.cancel, .progress = progress.function()};
  auto restored = workspace::restore(paths, "", request);
  if (!restored)
    return std::move(restored.error())
        .in(shown(paths))
        .advise("the history is complete, the file is not: peel restore " + shown(paths) + " makes it");
  context.report(shown(paths) + ": made from " + revision_name(restored->revision));
  return 0;
}

Result<int> run_fetch(Context& context) {
  PEEL_TRY(NamedOnion named, open_named(context, Access::write), "");
  PEEL_TRY(const Target target, target_of(context, named.onion), shown(named.paths));
  Progress progress(context, shown(named.paths) + ": fetching");
  PEEL_TRY(const sync::FetchResult result,
           sync::fetch(named.onion, target.remote, target.url, connect_options(context, progress)), shown(named.paths));
  progress.clear();
  PEEL_CHECK(remember(context, named, target), "");
  tell_fetch(context, named.paths, target, result);
  if (context.json) {
    JsonWriter json;
    write_fetch(json, named.paths, target, result);
    json.end_object();
    context.document(std::move(json));
  }
  return 0;
}

namespace {

// Takes over what fetch brought, where that is a plain step forward.
Result<workspace::FastForwardReport> step_forward(Context& context, const workspace::Paths& paths, const Target& target,
                                                  const sync::BranchReport& branch, Progress& progress) {
  const std::string theirs = shown(target.remote + "/" + branch.branch);
  switch (branch.state) {
    case sync::BranchState::same:
    case sync::BranchState::ahead:
      return workspace::FastForwardReport{};
    case sync::BranchState::remote_gone:
      return fail(ErrorKind::not_found,
                  shown(paths) + ": " + theirs + " was removed at the remote; nothing was changed here");
    case sync::BranchState::diverged:
      return fail(ErrorKind::conflict, shown(paths) + ": " + shown(branch.branch) + " and " + theirs +
                                           " have diverged; both are kept. Join them with: peel merge " + shown(paths) +
                                           " " + theirs);
    case sync::BranchState::local_missing:
    case sync::BranchState::behind:
      break;
  }
  workspace::FastForwardRequest request;
  request.leave_modified_file = context.arguments.has("keep-changes");
  request.reason = "pull from " + target.remote;
  request.run = {.cancel = &context.cancel, .progress = progress.function()};
  return workspace::pull_fast_forward(paths, branch.remote, request);
}

void tell_pull(Context& context, const workspace::Paths& paths, const workspace::FastForwardReport& report) {
  const std::string file = shown(paths);
  if (report.before == report.after) {
    context.report(file + ": nothing to take over");
    return;
  }
  std::string text = file + ": now at @" + std::to_string(report.after);
  if (report.file_changed) text += ", working file rewritten";
  if (report.file_created) text += ", working file made";
  if (report.file_left)
    text += report.file_is_older ? "; the working file keeps the content of another revision (peel status says which)" : "; the working file keeps its unsaved changes";
  context.report(text);
}

}  // namespace

Result<int> run_pull(Context& context) {
  PEEL_TRY(NamedOnion named, open_named(context, Access::write), "");
  PEEL_TRY(const Target target, target_of(context, named.onion), shown(named.paths));
  Progress progress(context, shown(named.paths) + ": fetching");
  PEEL_TRY(const sync::FetchResult result,
           sync::fetch(named.onion, target.remote, target.url, connect_options(context, progress)), shown(named.paths));
  progress.clear();
  PEEL_CHECK(remember(context, named, target), "");
  const std::string current = named.onion.current_branch();
  tell_fetch(context, named.paths, target, result, current);
  const auto branch = std::find_if(result.branches.begin(), result.branches.end(),
                                   [&](const sync::BranchReport& b) { return b.branch == current; });
  if (branch == result.branches.end())
    return fail(ErrorKind::not_found, shown(named.paths) + ": " + shown(target.remote) + " has no branch " +
                                          shown(current) + "; switch to one it has, or push yours");
  auto stepped = step_forward(context, named.paths, target, *branch, progress);
  progress.clear();
  // What was fetched is here, whether the branch could follow or not.
  const workspace::FastForwardReport moved = stepped ? *stepped : workspace::FastForwardReport{};
  if (stepped) tell_pull(context, named.paths, moved);
  if (context.json) {
    JsonWriter json;
    write_fetch(json, named.paths, target, result);
    json.key("pulled")
        .begin_object()
        .string("branch", current)
        .boolean("moved", moved.before != moved.after)
        .boolean("file_changed", moved.file_changed || moved.file_created)
        .boolean("file_left", moved.file_left)
        .end_object()
        .end_object();
    context.document(std::move(json));
  }
  if (!stepped) return std::move(stepped.error());
  return 0;
}

}  // namespace peel::cli
