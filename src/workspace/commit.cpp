#include <sys/stat.h>
#include <time.h>

#include <cerrno>

#include "base/cancel.h"
#include "base/file.h"
#include "base/hex.h"
#include "workspace/file_source.h"
#include "workspace/identity.h"
#include "workspace/space_estimate.h"
#include "workspace/stamp.h"
#include "workspace/temp_name.h"
#include "workspace/workspace.h"

namespace peel::workspace {
namespace {

// One reading of the file and what is known about it.
struct Look {
  std::unique_ptr<FileSource> source;
  std::int64_t looked_ns = 0;
  Writer writer = Writer::unknown;
};

Result<Look> look(const Paths& paths) {
  PEEL_TRY(auto first, FileSource::open(paths.file, Symlinks::follow), "");
  let_times_settle(first->opened());
  Look out;
  out.looked_ns = now_ns();
  PEEL_TRY(out.source, FileSource::open(paths.file, Symlinks::follow), "");
  out.writer = probe_writer(out.source->fd());
  return out;
}

Status check_space(const Paths& paths, const FileSource& source, const CommitRequest& request, bool first) {
  if (source.size() < request.large_bytes_min) return {};
  PEEL_TRY(const std::uint64_t data_bytes, data_bytes_of(source), "");
  if (data_bytes < request.large_bytes_min) return {};
  PEEL_TRY(const SpaceNeed need, estimate_space(source, paths.onion, first), "");
  if (request.on_large) request.on_large(need);
  // Later commits store what changed, which nobody knows yet; when that does not fit, the commit fails and
  // leaves the onion as it was.
  if (first && need.expected_bytes > need.free_bytes)
    return Error::from_errno(ENOSPC, "commit " + escape_for_terminal(paths.file) + ": about " +
                                         std::to_string(need.expected_bytes) + " bytes needed where " +
                                         escape_for_terminal(paths.onion) + " will be, " +
                                         std::to_string(need.free_bytes) + " free");
  return {};
}

std::optional<std::string> health_of(const Look& look, const CommitRequest& request) {
  std::optional<std::string> unhealthy;
  if (request.health_check) unhealthy = request.health_check(*look.source);
  if (!unhealthy && look.writer == Writer::yes) unhealthy = "another process had the file open for writing";
  return unhealthy;
}

CommitOptions options_for(const CommitRequest& request, const FileTimes& file, const CommitReport& report) {
  CommitOptions options;
  options.branch = request.branch;
  options.meta = describe_commit(request.author, report.unhealthy ? with_unhealthy_line(request.note, *report.unhealthy) : request.note);
  options.meta.mtime_ns = file.mtime_ns;
  options.meta.mode = file.mode;
  options.meta.labels = request.labels | (report.unhealthy ? label_unhealthy : 0u) | (report.torn ? label_torn : 0u);
  options.tag = request.tag;
  options.even_if_same = request.even_if_same;
  options.element_width = request.element_width;
  options.codec = request.codec;
  options.check_kept = request.always_scan;
  options.cancel = request.run.cancel;
  options.progress = request.run.progress;
  if (request.clock) {
    options.clock = request.clock;
    options.meta.time_ns = request.clock();
  }
  return options;
}

// A stamp that would tell a later look nothing more than the one that is there costs a record for nothing.
bool adds_nothing(const std::optional<Stamp>& have, const Stamp& next) {
  if (!have || have->revision != next.revision || have->content != next.content) return false;
  if (!same_moment(have->times, next.times)) return false;
  return proves_unchanged(*have, next.times, Writer::no) || !proves_unchanged(next, next.times, Writer::no);
}

// Best effort: the revision is on disk by now, and a missing stamp only costs the next look a reading.
void try_stamp(Onion& onion, const Look& look, const CommitReport& report) {
  Stamp stamp;
  stamp.times = look.source->opened();
  stamp.looked_ns = look.looked_ns;
  stamp.quiet = !report.torn && look.writer == Writer::no && probe_writer(look.source->fd()) == Writer::no;
  stamp.revision = report.result.revision.id;
  stamp.content = report.result.revision.content;
  if (adds_nothing(load_stamp(onion), stamp)) return;
  const RefChange change = stamp_change(stamp);
  if (auto stored = onion.update_refs(std::span(&change, 1)); !stored) return;
}

// Reads until one reading saw one state; when none did, the last takes what comes and says so.
Status commit_into(Onion& onion, const Paths& paths, const CommitRequest& request, Look first, CommitReport& report) {
  Look current = std::move(first);
  for (report.attempts = 1;; ++report.attempts) {
    report.torn = report.attempts > request.attempts_max;
    current.source->set_watch(!report.torn);
    auto result = onion.commit_scan(*current.source, options_for(request, current.source->opened(), report));
    if (result) {
      report.result = std::move(*result);
      try_stamp(onion, current, report);
      return {};
    }
    const bool retry = current.source->moved() && !report.torn && !(request.run.cancel && request.run.cancel->requested());
    if (!retry) return std::move(result.error());
    PEEL_TRY(current, look(paths), "");
  }
}

// The head, when the file's times alone prove that it is still what was recorded.
std::optional<RevisionInfo> known_unchanged(const Onion& onion, const Look& look, const CommitRequest& request) {
  if (request.always_scan || request.even_if_same || request.tag) return std::nullopt;
  const auto stamp = load_stamp(onion);
  if (!stamp || !proves_unchanged(*stamp, look.source->opened(), look.writer)) return std::nullopt;
  const auto branch = onion.ref(RefKind::branch, request.branch.empty() ? onion.current_branch() : request.branch);
  const auto number = branch ? onion.find(branch->target) : std::nullopt;
  if (!number) return std::nullopt;
  auto head = onion.revision(*number);
  if (!head || head->content != stamp->content) return std::nullopt;
  return std::move(*head);
}

Status commit_again(Onion& onion, const Paths& paths, const CommitRequest& request, Look look, CommitReport& report) {
  if (auto head = known_unchanged(onion, look, request)) {
    report.result.revision = std::move(*head);
    report.attempts = 0;
    return {};
  }
  PEEL_CHECK(check_space(paths, *look.source, request, false), "");
  report.unhealthy = health_of(look, request);
  return commit_into(onion, paths, request, std::move(look), report);
}

// Built under a hidden name and published whole, so that a crash leaves no empty history.
Status commit_first(const Paths& paths, const CommitRequest& request, Look look, CommitReport& report) {
  remove_stale(paths.onion, nullptr);
  PEEL_CHECK(check_space(paths, *look.source, request, true), "");
  report.unhealthy = health_of(look, request);
  PEEL_TRY(const TempName temp, TempName::reserve(paths.onion), "");
  {
    CreateOptions options;
    if (!request.branch.empty()) options.first_branch = request.branch;
    struct stat st;  // a private file gets a private history
    if (::stat(paths.file.c_str(), &st) == 0) options.permissions = st.st_mode & 0666;
    PEEL_TRY(Onion onion, Onion::create(temp.fresh_path(), options), "");
    PEEL_CHECK(commit_into(onion, paths, request, std::move(look), report), "");
  }
  FileSystem& disk = posix_file_system();
  PEEL_CHECK(disk.rename(temp.fresh_path(), paths.onion, false), "");
  report.created = true;
  return disk.sync_directory_of(paths.onion);
}

std::uint64_t size_of(const std::string& path) {
  struct stat st;
  return ::stat(path.c_str(), &st) == 0 ? static_cast<std::uint64_t>(st.st_size) : 0;
}

std::string default_snapshot_name() {
  const time_t now = now_ns() / 1'000'000'000;
  tm utc;
  ::gmtime_r(&now, &utc);
  char text[40];
  ::strftime(text, sizeof text, "snapshot-%Y%m%dT%H%M%SZ", &utc);
  return text;
}

}  // namespace

Result<CommitReport> commit(const Paths& paths, const CommitRequest& request) {
  const std::string context = "commit " + escape_for_terminal(paths.file);
  // Twice at most: an onion that another process makes at the same time is found by the second round.
  for (int round = 0;; ++round) {
    CommitReport report;
    PEEL_TRY(Look first, look(paths), context);
    auto onion = open_onion(paths, Access::write, Damaged::refused, request.run.cancel);
    Status done;
    if (onion) {
      done = commit_again(*onion, paths, request, std::move(first), report);
    } else if (onion.error().kind() == ErrorKind::not_found) {
      done = commit_first(paths, request, std::move(first), report);
      if (!done && done.error().kind() == ErrorKind::exists && round == 0) continue;
    } else {
      return std::move(onion.error()).in(context);
    }
    PEEL_CHECK(std::move(done), context);
    report.onion_bytes = size_of(paths.onion);
    return report;
  }
}

Result<SnapshotReport> snapshot(const Paths& paths, const std::string& name, CommitRequest request) {
  std::string tag = name.empty() ? default_snapshot_name() : name;
  PEEL_CHECK(check_ref_name(tag), "snapshot");
  if (auto onion = open_onion(paths)) {
    const std::string stem = tag;
    for (int n = 2; name.empty() && onion->ref(RefKind::tag, tag); ++n) tag = stem + "-" + std::to_string(n);
    if (onion->ref(RefKind::tag, tag))
      return fail(ErrorKind::exists, "snapshot: a tag " + escape_for_terminal(tag) + " is there already: choose another name");
  }
  request.tag = tag;
  request.even_if_same = true;
  request.labels |= label_snapshot;
  PEEL_TRY(CommitReport report, commit(paths, request), "");
  SnapshotReport out;
  static_cast<CommitReport&>(out) = std::move(report);
  out.tag = tag;
  return out;
}

}  // namespace peel::workspace
