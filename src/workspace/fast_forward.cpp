#include "base/hex.h"
#include "workspace/stamp.h"
#include "workspace/working_copy.h"

namespace peel::workspace {
namespace {

// What moving the branch from `before` to `target` means for the working file.
enum class Follow : std::uint8_t {
  create,    // there is none, and one is wanted
  stay_away, // there is none, and none is wanted
  replace,   // it is what the branch was
  is_there,  // it is what the branch becomes
  saved,     // it is another revision, not on the way there: somebody restored that on purpose
  modified,  // its bytes are in no revision
};

Result<Follow> judge(const Onion& onion, const Replacement& replacement, const std::optional<RevisionInfo>& before,
                     const RevisionInfo& target, bool create_missing) {
  if (!replacement.file_exists()) return create_missing ? Follow::create : Follow::stay_away;
  if (replacement.content() == target.content) return Follow::is_there;
  if (before && replacement.content() == before->content) return Follow::replace;
  PEEL_TRY(const auto other, find_content(onion, replacement.content(), replacement.size()), "");
  if (!other) return Follow::modified;
  if (!before) return Follow::saved;
  // On the way from one to the other: where a pull was killed between the file and the branch.
  PEEL_TRY(const bool after_it, onion.is_ancestor(before->number, *other), "");
  PEEL_TRY(const bool before_target, onion.is_ancestor(*other, target.number), "");
  return after_it && before_target ? Follow::replace : Follow::saved;
}

// Rewrites the file where that is called for and adds its stamp to `changes`.
Status apply(const Paths& paths, const Onion& onion, Replacement& replacement, Follow follow, const RevisionInfo& target,
             std::vector<RefChange>& changes, FastForwardReport& report) {
  switch (follow) {
    case Follow::stay_away: return {};
    case Follow::saved: report.file_is_older = true; [[fallthrough]];
    case Follow::modified: report.file_left = true; return {};
    case Follow::create:
    case Follow::replace:
    case Follow::is_there: break;
  }
  ReplaceReport replaced;
  PEEL_CHECK(replace_content(onion, replacement, target, replaced), "");
  report.file_changed = replaced.file_changed;
  report.file_created = replaced.file_created;
  PEEL_TRY(RefChange stamp, stamp_after(paths, replacement, replaced), "");
  changes.push_back(std::move(stamp));
  return {};
}

Error has_unsaved_changes(const std::string& file, const std::string& fetched) {
  return fail(ErrorKind::refused, file + " has unsaved changes: what was fetched is here (" + fetched +
                                      "), the branch was not moved")
      .advise("to keep them: peel commit " + file + ", then peel merge " + file + " " + fetched +
              "; to drop them: peel restore " + file + " --discard, then peel pull " + file);
}

}  // namespace

Result<FastForwardReport> pull_fast_forward(const Paths& paths, const RevisionId& target_id,
                                            const FastForwardRequest& request, bool create_missing) {
  PEEL_TRY(Onion onion, open_onion(paths, Access::write, Damaged::refused, request.run.cancel), "");
  const auto number = onion.find(target_id);
  if (!number) return fail(ErrorKind::not_found, "revision " + short_hex(target_id) + " is not here: fetch it first");
  PEEL_TRY(const RevisionInfo target, onion.revision(*number), "");
  const std::string branch = onion.current_branch();
  const auto branch_ref = onion.ref(RefKind::branch, branch);
  std::optional<RevisionInfo> before;
  FastForwardReport report;
  report.before = report.after = target.number;
  if (branch_ref) {
    PEEL_TRY(before, head_of(onion, branch), "");
    report.before = report.after = before->number;
    PEEL_TRY(const bool behind, onion.is_ancestor(target.number, before->number), "");
    if (behind) return report;
    PEEL_TRY(const bool ahead, onion.is_ancestor(before->number, target.number), "");
    if (!ahead)
      return fail(ErrorKind::conflict, "branch " + escape_for_terminal(branch) + " (@" + std::to_string(before->number) +
                                           ") and @" + std::to_string(target.number) +
                                           " have diverged; both are kept: peel merge joins them");
  }
  PEEL_TRY(Replacement replacement, Replacement::begin(paths, request), "");
  PEEL_TRY(const Follow follow, judge(onion, replacement, before, target, create_missing), "");
  if (follow == Follow::modified && !request.leave_modified_file && !request.discard)
    return has_unsaved_changes(escape_for_terminal(paths.file), "@" + std::to_string(target.number));
  const Follow action = follow == Follow::modified && request.discard ? Follow::replace : follow;
  std::vector<RefChange> changes(1);
  changes[0].kind = RefKind::branch;
  changes[0].name = branch;
  changes[0].expected = branch_ref ? branch_ref->target : RevisionId{};
  changes[0].target = target.id;
  changes[0].reason = request.reason;
  // The file first. Were the branch first and the file then failed, the next commit would quietly undo
  // what was pulled; this way round a failure looks like a restore.
  PEEL_CHECK(apply(paths, onion, replacement, action, target, changes, report), "");
  PEEL_CHECK(onion.update_refs(changes), "move branch " + escape_for_terminal(branch));
  report.after = target.number;
  return report;
}

Result<FastForwardReport> follow_branch(const Paths& paths, const RevisionId& before_id, const ReplaceRequest& request,
                                        bool create_missing) {
  PEEL_TRY(Onion onion, open_onion(paths, Access::write, Damaged::refused, request.run.cancel), "");
  PEEL_TRY(const RevisionInfo head, head_of(onion, onion.current_branch()), "");
  std::optional<RevisionInfo> before;
  if (const auto number = onion.find(before_id)) {
    PEEL_TRY(before, onion.revision(*number), "");
  }
  FastForwardReport report;
  report.before = before ? before->number : head.number;
  report.after = head.number;
  PEEL_TRY(Replacement replacement, Replacement::begin(paths, request), "");
  PEEL_TRY(const Follow follow, judge(onion, replacement, before, head, create_missing), "");
  std::vector<RefChange> changes;
  PEEL_CHECK(apply(paths, onion, replacement, follow, head, changes, report), "");
  if (!changes.empty()) PEEL_CHECK(onion.update_refs(changes), "");
  return report;
}

}  // namespace peel::workspace
