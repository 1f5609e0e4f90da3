#include <cerrno>

#include "base/hex.h"
#include "workspace/identity.h"
#include "workspace/replacement.h"
#include "workspace/stamp.h"
#include "workspace/working_copy.h"

namespace peel::workspace {
namespace {

Result<RevisionInfo> resolve_revision(const Onion& onion, std::string_view rev) {
  PEEL_TRY(const std::uint64_t number, onion.resolve(rev), "");
  return onion.revision(number);
}

// The file is what was asked for by now; a stamp is a hint, and not worth an error.
void try_stamp(Onion& onion, const Paths& paths, const Replacement& replacement, const ReplaceReport& report) {
  const auto change = stamp_after(paths, replacement, report);
  if (!change) return;
  if (auto stored = onion.update_refs(std::span(&*change, 1)); !stored) return;
}

// To restore, a history that may only be read is enough, also a damaged one.
Result<Onion> open_to_restore(const Paths& paths, const ReplaceRequest& request) {
  auto onion = open_onion(paths, Access::write, Damaged::refused, request.run.cancel);
  if (onion) return onion;
  if (onion.error().kind() == ErrorKind::corrupt) return open_onion(paths, Access::read, Damaged::readable);
  const int code = onion.error().os_error();
  return code == EACCES || code == EROFS || code == EPERM ? open_onion(paths, Access::read) : std::move(onion);
}

std::string shown_branch(const std::string& branch) { return "branch " + escape_for_terminal(branch); }

}  // namespace

Result<RevisionInfo> head_of(const Onion& onion, const std::string& branch) {
  const auto ref = onion.ref(RefKind::branch, branch);
  if (!ref) return fail(ErrorKind::not_found, "no " + shown_branch(branch));
  const auto number = onion.find(ref->target);
  if (!number) return fail(ErrorKind::corrupt, shown_branch(branch) + " names a revision that is not here");
  return onion.revision(*number);
}

Status replace_content(const Onion& onion, Replacement& replacement, const RevisionInfo& target, ReplaceReport& report) {
  report.revision = target;
  if (replacement.file_exists() && replacement.content() == target.content) return {};
  PEEL_CHECK(replacement.require_given_back(onion, target.number), "");
  PEEL_TRY(const Reader reader, onion.open_revision(target.number), "");
  report.file_created = !replacement.file_exists();
  PEEL_CHECK(replacement.install(reader, target), "");
  report.file_changed = true;
  return {};
}

Result<RefChange> stamp_after(const Paths& paths, const Replacement& replacement, const ReplaceReport& report) {
  Stamp stamp;
  stamp.revision = report.revision.id;
  stamp.content = report.revision.content;
  if (report.file_changed) {
    // Just written: its times are younger than any look, so this stamp says where the file came from, and
    // a later look will make it proof.
    PEEL_TRY(const auto named, look_at(paths.file), "");
    if (named) stamp.times = named->times;
    stamp.looked_ns = now_ns();
  } else {
    stamp.times = replacement.times();
    stamp.looked_ns = replacement.looked_ns();
    stamp.quiet = replacement.quiet();
  }
  return stamp_change(stamp);
}

namespace {

// Hashing the file took a while: a collection may have dropped the revision that held its bytes.
Status require_saved_now(Onion& onion, const Replacement& replacement) {
  PEEL_CHECK(onion.refresh(), "");
  return replacement.require_saved(onion);
}

}  // namespace

Result<ReplaceReport> restore(const Paths& paths, std::string_view rev, const ReplaceRequest& request) {
  PEEL_TRY(Onion onion, open_to_restore(paths, request), "");
  PEEL_TRY(const RevisionInfo target, resolve_revision(onion, rev), "");
  ReplaceReport report;
  report.left_behind = remove_stale(paths.file, &onion);
  PEEL_TRY(Replacement replacement, Replacement::begin(paths, request), "");
  const bool same = replacement.file_exists() && replacement.content() == target.content;
  if (!same && !request.discard) PEEL_CHECK(require_saved_now(onion, replacement), "");
  PEEL_CHECK(replace_content(onion, replacement, target, report), "restore");
  try_stamp(onion, paths, replacement, report);
  return report;
}

Result<ReplaceReport> switch_branch(const Paths& paths, const std::string& branch, const ReplaceRequest& request) {
  PEEL_TRY(Onion onion, open_onion(paths, Access::write, Damaged::refused, request.run.cancel), "");
  auto head = head_of(onion, branch);
  if (!head && head.error().kind() == ErrorKind::not_found)
    return std::move(head.error()).advise("peel branch " + escape_for_terminal(paths.file) + " lists the branches, and makes one when a NAME follows");
  if (!head) return std::move(head.error());
  const RevisionInfo target = *head;
  std::vector<RefChange> changes{current_branch_change(branch)};
  ReplaceReport report;
  report.revision = target;
  const auto here = head_of(onion, onion.current_branch());
  const bool carry_over = here && here->content == target.content && !request.discard;
  if (!carry_over) {
    report.left_behind = remove_stale(paths.file, &onion);
    PEEL_TRY(Replacement replacement, Replacement::begin(paths, request), "");
    const bool same = replacement.file_exists() && replacement.content() == target.content;
    if (!same && !request.discard) PEEL_CHECK(require_saved_now(onion, replacement), "");
    PEEL_CHECK(replace_content(onion, replacement, target, report), "switch");
    PEEL_TRY(RefChange stamp, stamp_after(paths, replacement, report), "");
    changes.push_back(std::move(stamp));
  }
  PEEL_CHECK(onion.update_refs(changes), "switch to " + shown_branch(branch));
  return report;
}

Result<ReplaceReport> rollback(const Paths& paths, std::string_view rev, const ReplaceRequest& request) {
  PEEL_TRY(Onion onion, open_onion(paths, Access::write, Damaged::refused, request.run.cancel), "");
  PEEL_TRY(const RevisionInfo target, resolve_revision(onion, rev), "");
  PEEL_TRY(const RevisionInfo head, head_of(onion, onion.current_branch()), "");
  ReplaceReport report;
  report.left_behind = remove_stale(paths.file, &onion);
  PEEL_TRY(Replacement replacement, Replacement::begin(paths, request), "");
  const bool same = replacement.file_exists() && replacement.content() == target.content;
  if (!same && !request.discard) PEEL_CHECK(require_saved_now(onion, replacement), "");
  // The file first: should the commit fail, the state is that of a plain restore, and nothing later can
  // undo a rollback by accident.
  PEEL_CHECK(replace_content(onion, replacement, target, report), "rollback");
  if (target.number != head.number) {
    CommitOptions options;
    options.meta = describe_commit(request.author, request.note.empty() ? "rollback to @" + std::to_string(target.number) : request.note);
    options.meta.mode = target.meta.mode;
    options.meta.mtime_ns = target.meta.mtime_ns;
    options.meta.labels = label_rollback;
    options.expected_head = head.id;
    options.even_if_same = true;
    options.cancel = request.run.cancel;
    PEEL_TRY(const CommitResult result, onion.commit_copy(target.number, options), "rollback");
    report.revision = result.revision;
    report.revision_added = result.added;
  }
  try_stamp(onion, paths, replacement, report);
  return report;
}

}  // namespace peel::workspace
