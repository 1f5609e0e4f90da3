// cli/history_record.cpp - commit, snapshot, status.
#include <filesystem>

#include <fcntl.h>

#include "base/open_probe.h"
#include "base/unique_fd.h"
#include "cli/context.h"
#include "cli/handlers.h"
#include "cli/hdf5_changes.h"
#include "cli/human.h"
#include "cli/named_file.h"
#include "cli/progress.h"
#include "cli/revision_text.h"
#include "codec/page_codec.h"
#include "workspace/workspace.h"

namespace peel::cli {
namespace {

// Looks at the file as HDF5, and at who else has it open. Only where that is HDF5: other programs append to their
// logs all day, and a page of a log is a page.
std::optional<std::string> illness_of(const Context& context, const workspace::Paths& paths, const Source& source) {
  if (std::optional<std::string> illness = hdf5_illness(context, source, paths.file)) return illness;
  if (!hdf5::looks_like_hdf5(source)) return std::nullopt;
  const UniqueFd file(::open(paths.file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file || probe_open_for_writing(file.get()) != OpenForWriting::yes) return std::nullopt;
  return "open for writing by another process, which may hold changes back";
}

Result<workspace::CommitRequest> commit_request(const Context& context, const workspace::Paths& paths, Progress& progress) {
  workspace::CommitRequest request;
  request.note = context.arguments.value("message").value_or("");
  request.author = context.arguments.value("author");
  request.always_scan = context.arguments.has("full");
  if (const auto name = context.arguments.value("codec")) {
    PEEL_TRY(const auto codec, codec::codec_from_name(*name), "--codec " + shown(*name));
    request.codec = static_cast<std::uint8_t>(codec);
  }
  request.run = {.cancel = &context.cancel, .progress = progress.function()};
  if (!context.arguments.has("no-hdf5"))
    request.health_check = [&context, paths](const Source& source) { return illness_of(context, paths, source); };
  request.on_large = [&context, paths](const workspace::SpaceNeed& need) {
    context.messages.note(shown(paths) + ": reading " + size_text(need.file_bytes) + "; the history grows by at most " +
                          size_text(need.expected_bytes) + ", " + size_text(need.free_bytes) + " are free");
  };
  return request;
}

void warn_about(const Context& context, const workspace::Paths& paths, const workspace::CommitReport& report) {
  if (report.unhealthy)
    context.messages.warning(shown(paths) + ": " + *report.unhealthy +
                             (report.result.added ? "; recorded all the same, labelled unhealthy"
                                                  : "; what can be read of it is recorded already"));
  if (report.torn)
    context.messages.warning(shown(paths) +
                             ": kept changing while it was read; recorded, labelled torn: commit again when "
                             "its writer is done");
}

std::string recorded_text(const workspace::Paths& paths, const workspace::CommitReport& report) {
  const RevisionInfo& revision = report.result.revision;
  if (!report.result.added) return shown(paths) + ": nothing changed since " + revision_name(revision);
  std::string out = shown(paths) + ": recorded " + revision_name(revision) + ", ";
  out += report.created ? size_text(revision.size) : size_text(report.result.bytes_changed) + " changed";
  return out + ", history +" + size_text(revision.bytes_added) + " = " + size_text(report.onion_bytes);
}

Status write_report(JsonWriter& json, const workspace::Paths& paths, const workspace::CommitReport& report) {
  PEEL_TRY(const Onion onion, workspace::open_onion(paths), shown(paths));
  const RefNames names(onion);
  json.begin_object();
  write_paths(json, paths);
  json.boolean("added", report.result.added)
      .boolean("created", report.created)
      .integer("bytes_changed", report.result.bytes_changed)
      .integer("onion_bytes", report.onion_bytes);
  if (report.unhealthy) json.string("unhealthy", *report.unhealthy);
  json.key("revision");
  write_revision(json, report.result.revision, &names);
  json.end_object();
  return {};
}

Result<workspace::CommitReport> commit_one(Context& context, const workspace::Paths& paths) {
  Progress progress(context, shown(paths) + ": recording");
  PEEL_TRY(const workspace::CommitRequest request, commit_request(context, paths, progress), "");
  return workspace::commit(paths, request);
}

}  // namespace

Result<int> run_commit(Context& context) {
  const std::vector<std::string>& names = context.arguments.operands();
  if (names.size() > 1 && context.arguments.has("onion"))
    return fail(ErrorKind::usage, "--onion names one history; commit one FILE with it (see: peel commit --help)");
  JsonWriter json;
  json.begin_object().key("files").begin_array();
  std::size_t failed = 0;
  std::vector<workspace::Paths> done;
  for (const std::string& name : names) {
    PEEL_CHECK(context.cancel.check(), "");
    Result<workspace::Paths> paths = paths_of_name(context, name);
    Result<workspace::CommitReport> report =
        paths ? commit_one(context, *paths) : Result<workspace::CommitReport>(std::move(paths.error()));
    if (!report) {
      if (names.size() == 1 || report.error().kind() == ErrorKind::cancelled) return std::move(report.error());
      context.messages.error(report.error().message());
      ++failed;
      continue;
    }
    warn_about(context, *paths, *report);
    context.report(recorded_text(*paths, *report));
    if (context.json) PEEL_CHECK(write_report(json, *paths, *report), "");
    done.push_back(std::move(*paths));
  }
  json.end_array().end_object();
  if (context.json) context.document(std::move(json));
  tell_leftovers(context, done);
  if (failed > 0)
    return fail(ErrorKind::partial,
                std::to_string(failed) + " of " + std::to_string(names.size()) + " files not recorded");
  return 0;
}

Result<int> run_snapshot(Context& context) {
  PEEL_TRY(const workspace::Paths paths, paths_of(context), "");
  Progress progress(context, shown(paths) + ": recording");
  PEEL_TRY(const workspace::CommitRequest request, commit_request(context, paths, progress), "");
  PEEL_TRY(const workspace::SnapshotReport report, workspace::snapshot(paths, context.arguments.operand_or(1, ""), request), "");
  progress.clear();
  warn_about(context, paths, report);
  context.report(shown(paths) + ": " + revision_name(report.result.revision) + " tagged " + shown(report.tag));
  return 0;
}

namespace {

const char* writer_word(workspace::Writer writer) {
  switch (writer) {
    case workspace::Writer::no:
      return "no";
    case workspace::Writer::yes:
      return "yes";
    case workspace::Writer::unknown:
      return "unknown";
  }
  return "unknown";
}

// Remembered remote heads that are not part of the current branch.
struct RemoteStanding {
  std::vector<std::string> ahead, diverged;  // REMOTE/BRANCH
};

Result<RemoteStanding> remote_standing(const workspace::StatusReport& report) {
  RemoteStanding out;
  if (!report.head) return out;
  PEEL_TRY(const Onion onion, workspace::open_onion(report.paths), "");
  for (const Ref& ref : onion.refs()) {
    // "origin/main" concerns the branch main alone.
    if (ref.kind != RefKind::remote || ref.name.substr(ref.name.find('/') + 1) != report.branch) continue;
    const auto theirs = onion.find(ref.target);
    if (!theirs || *theirs == report.head->number) continue;
    PEEL_TRY(const bool ours_has_it, onion.is_ancestor(*theirs, report.head->number), "");
    if (ours_has_it) continue;
    PEEL_TRY(const bool theirs_has_ours, onion.is_ancestor(report.head->number, *theirs), "");
    (theirs_has_ours ? out.ahead : out.diverged).push_back(ref.name);
  }
  return out;
}

std::string headline(const workspace::StatusReport& report) {
  std::string out = shown(report.paths) + "  " + workspace::state_name(report.state);
  if (report.head && report.state == workspace::State::modified) out += " since " + revision_name(*report.head);
  if (report.head && report.state == workspace::State::unmodified) out += ", equal to " + revision_name(*report.head);
  if (!report.branch.empty()) out += " (" + shown(report.branch) + ")";
  return out;
}

void print_status(Context& context, const workspace::StatusReport& report, const RemoteStanding& standing) {
  Output& out = context.out;
  out.line(headline(report));
  if (!report.why.empty()) out.line("  " + shown(report.why));
  if (report.state == workspace::State::modified && report.same_as)
    out.line("  has the content of @" + std::to_string(*report.same_as));
  if (report.based_on && report.head && *report.based_on != report.head->number)
    out.line("  came from @" + std::to_string(*report.based_on));
  std::string sizes = "  ";
  if (report.file) sizes += "file " + size_text(report.file->size) + ", ";
  out.line(sizes + "history " + size_text(report.onion_bytes) + ", " +
           counted(report.revisions, "revision", "revisions"));
  if (report.writer == workspace::Writer::yes) out.line("  open for writing by another process");
  for (const std::string& name : standing.ahead)
    out.line("  " + shown(name) + " is ahead: peel pull " + shown(report.paths));
  for (const std::string& name : standing.diverged)
    out.line("  " + shown(name) + " has diverged: peel merge " + shown(report.paths) + " " + shown(name));
}

Status write_status(JsonWriter& json, const workspace::StatusReport& report, const RemoteStanding& standing) {
  json.begin_object();
  write_paths(json, report.paths);
  json.string("state", workspace::state_name(report.state));
  if (!report.why.empty()) json.string("why", report.why);
  json.boolean("hashed", report.hashed).string("open_for_writing", writer_word(report.writer));
  if (report.file) json.integer("size", report.file->size).integer("allocated", report.file->allocated);
  json.integer("onion_bytes", report.onion_bytes).integer("revisions", report.revisions);
  if (!report.branch.empty()) json.string("branch", report.branch);
  if (report.head) {
    PEEL_TRY(const Onion onion, workspace::open_onion(report.paths), "");
    const RefNames names(onion);
    json.key("head");
    write_revision(json, *report.head, &names);
  }
  if (report.same_as) json.integer("same_as", *report.same_as);
  if (report.based_on) json.integer("based_on", *report.based_on);
  json.key("diverged").begin_array();
  for (const std::string& name : standing.diverged) json.string(name);
  json.end_array().end_object();
  return {};
}

// FILE, or every history of a directory.
Result<std::vector<workspace::Paths>> files_asked_for(const Context& context) {
  const std::string name = context.arguments.operand_or(0, ".");
  std::error_code ignored;
  if (std::filesystem::is_directory(name, ignored)) return workspace::onions_in(name);
  PEEL_TRY(workspace::Paths paths, paths_of_name(context, name), "");
  return std::vector{std::move(paths)};
}

}  // namespace

namespace {

// Says what it found; true when the file is not equal to its head.
Result<bool> status_of_one(Context& context, const workspace::Paths& paths, JsonWriter& json) {
  Progress progress(context, shown(paths) + ": reading");
  workspace::StatusRequest request;
  request.always_hash = context.arguments.has("full");
  request.run = {.cancel = &context.cancel, .progress = progress.function()};
  PEEL_TRY(const workspace::StatusReport report, workspace::status(paths, request), "");
  progress.clear();
  warn_of_damage(context, paths, report.damage);
  PEEL_TRY(const RemoteStanding standing, remote_standing(report), "");
  if (context.json)
    PEEL_CHECK(write_status(json, report, standing), "");
  else
    print_status(context, report, standing);
  return report.state != workspace::State::unmodified;
}

}  // namespace

Result<int> run_status(Context& context) {
  PEEL_TRY(const std::vector<workspace::Paths> files, files_asked_for(context), "");
  JsonWriter json;
  json.begin_object().key("files").begin_array();
  bool differs = false;
  std::size_t failed = 0;
  for (const workspace::Paths& paths : files) {
    Result<bool> one = status_of_one(context, paths, json);
    if (!one && (files.size() == 1 || one.error().kind() == ErrorKind::cancelled)) return std::move(one.error());
    if (!one) {
      context.messages.error(one.error().message());
      ++failed;
      continue;
    }
    differs = differs || *one;
  }
  json.end_array().key("left_behind").begin_array();
  for (const workspace::Leftover& left : tell_leftovers(context, files))
    json.begin_object()
        .string("file", left.paths.file)
        .string("path", left.path)
        .integer("size", left.size)
        .end_object();
  json.end_array().end_object();
  if (context.json) context.document(std::move(json));
  if (files.empty()) context.report("no histories here; begin one with: peel commit FILE");
  if (failed > 0)
    return fail(ErrorKind::partial,
                counted(failed, "history", "histories") + " of " + count_text(files.size()) + " not read");
  return differs && context.arguments.has("exit-code") ? 1 : 0;
}

}  // namespace peel::cli
