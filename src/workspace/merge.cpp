#include "base/cancel.h"
#include "base/hex.h"
#include "workspace/identity.h"
#include "workspace/merge_plan.h"
#include "workspace/stamp.h"
#include "workspace/working_copy.h"

namespace peel::workspace {
namespace {

// Up to here a merge is told to the onion as writes, and costs what they cost; beyond, it is scanned.
constexpr std::uint64_t bytes_in_memory_max = 16u << 20;
constexpr std::size_t writes_max = 65536;

struct Sides {
  std::string branch;
  RevisionInfo ours, theirs;
  std::uint64_t base = 0;
};

Result<Sides> find_sides(const Onion& onion, const std::string& other) {
  Sides sides;
  sides.branch = onion.current_branch();
  PEEL_TRY(sides.ours, head_of(onion, sides.branch), "");
  PEEL_TRY(const std::uint64_t number, onion.resolve(other), "");
  PEEL_TRY(sides.theirs, onion.revision(number), "");
  PEEL_TRY(const auto base, onion.merge_base(sides.ours.number, number), "");
  if (!base)
    return fail(ErrorKind::refused, "@" + std::to_string(sides.ours.number) + " and @" + std::to_string(number) +
                                        " have no common past, so nothing says what either of them changed");
  sides.base = *base;
  return sides;
}

CommitOptions options_for(const Sides& sides, const MergeRequest& request, const std::optional<std::string>& unsound) {
  CommitOptions options;
  options.branch = sides.branch;
  const std::string note = request.note.empty() ? "merge " + request.other : request.note;
  options.meta = describe_commit(request.author, unsound ? with_unhealthy_line(note, *unsound) : note);
  options.meta.labels = label_merge | (unsound ? label_unhealthy : 0u);
  options.meta.mode = sides.ours.meta.mode;
  options.meta.mtime_ns = options.meta.time_ns;
  options.extra_parents = {sides.theirs.id};
  options.expected_head = sides.ours.id;
  options.even_if_same = true;  // that the other side is merged is news
  options.cancel = request.run.cancel;
  options.progress = request.run.progress;
  return options;
}

Side whole_side(const MergePlan& plan, const Sides& sides) {
  if (plan.take.empty() && plan.size == sides.ours.size) return Side::ours;
  return plan.unlike_theirs.empty() ? Side::theirs : Side::neither;
}

Result<std::optional<std::string>> check_plan(const Onion& onion, const Sides& sides, const MergePlan& plan,
                                              const MergeRequest& request) {
  if (!request.check || whole_side(plan, sides) != Side::neither) return std::optional<std::string>();
  PEEL_TRY(const Reader base, onion.open_revision(sides.base), "");
  PEEL_TRY(const Reader ours, onion.open_revision(sides.ours.number), "");
  PEEL_TRY(const Reader theirs, onion.open_revision(sides.theirs.number), "");
  const RevisionSource base_bytes(base), our_bytes(ours), their_bytes(theirs);
  const MergedSource merged(ours, theirs, plan);
  MergeParts parts{.base = base_bytes, .ours = our_bytes, .theirs = their_bytes, .merged = merged,
                   .base_ours = plan.ours_changed, .base_theirs = plan.theirs_changed, .ours_merged = plan.take,
                   .theirs_merged = plan.unlike_theirs};
  if (plan.size < ours.size()) parts.ours_merged.push_back({plan.size, ours.size() - plan.size});
  return request.check(parts);
}

Result<CommitResult> commit_plan(Onion& onion, const Sides& sides, const MergePlan& plan, const MergeRequest& request,
                                 const std::optional<std::string>& unsound) {
  PEEL_TRY(const Reader theirs, onion.open_revision(sides.theirs.number), "");
  const CommitOptions options = options_for(sides, request, unsound);
  if (plan.bytes_taken > bytes_in_memory_max || plan.take.size() > writes_max) {
    PEEL_TRY(const Reader ours, onion.open_revision(sides.ours.number), "");
    return onion.commit_scan(MergedSource(ours, theirs, plan), options);
  }
  Buffer bytes(static_cast<std::size_t>(plan.bytes_taken));
  std::vector<Write> writes;
  MutableBytes rest(bytes);
  for (const Range& range : plan.take) {
    const MutableBytes part = rest.first(static_cast<std::size_t>(range.length));
    PEEL_TRY(const std::size_t got, theirs.read(range.offset, part), "");
    if (got != part.size()) return fail(ErrorKind::corrupt, "a revision ends at " + std::to_string(range.offset + got));
    writes.push_back({range.offset, part});
    rest = rest.subspan(part.size());
  }
  return onion.commit_writes(writes, plan.size, options);
}

Status require_unmodified(const Paths& paths, const Replacement& replacement, const Sides& sides) {
  if (!replacement.file_exists() || replacement.content() == sides.ours.content) return {};
  return fail(ErrorKind::refused, escape_for_terminal(paths.file) + " differs from the head of " +
                                      escape_for_terminal(sides.branch) + ": peel commit it, or peel restore the head, first");
}

// Rewrites the working file when there is one.
Status rewrite(const Paths& paths, const Onion& onion, Replacement& replacement, const RevisionInfo& target,
               std::vector<RefChange>& changes, MergeReport& report) {
  if (!replacement.file_exists()) return {};
  ReplaceReport replaced;
  PEEL_CHECK(replace_content(onion, replacement, target, replaced), "");
  report.file_changed = replaced.file_changed;
  PEEL_TRY(RefChange stamp, stamp_after(paths, replacement, replaced), "");
  changes.push_back(std::move(stamp));
  return {};
}

Status move_forward(const Paths& paths, Onion& onion, Replacement& replacement, const Sides& sides, MergeReport& report) {
  report.outcome = MergeOutcome::fast_forward;
  report.revision = sides.theirs;
  std::vector<RefChange> changes(1);
  changes[0].kind = RefKind::branch;
  changes[0].name = sides.branch;
  changes[0].expected = sides.ours.id;
  changes[0].target = sides.theirs.id;
  changes[0].reason = "merge: fast-forward";
  PEEL_CHECK(rewrite(paths, onion, replacement, sides.theirs, changes, report), "");
  return onion.update_refs(changes);
}

}  // namespace

Result<MergeReport> merge(const Paths& paths, const MergeRequest& request) {
  const std::string context = "merge " + escape_for_terminal(request.other);
  PEEL_TRY(Onion onion, open_onion(paths, Access::write), "");
  PEEL_TRY(const Sides sides, find_sides(onion, request.other), context);
  MergeReport report;
  report.base = sides.base;
  report.ours = sides.ours.number;
  report.theirs = sides.theirs.number;
  if (sides.base == sides.theirs.number) return report;

  remove_stale(paths.file, &onion);
  ReplaceRequest replace;
  replace.assume_closed = request.assume_closed;
  replace.run = request.run;
  PEEL_TRY(Replacement replacement, Replacement::begin(paths, replace), context);
  PEEL_CHECK(require_unmodified(paths, replacement, sides), context);
  if (sides.base == sides.ours.number) {
    PEEL_CHECK(move_forward(paths, onion, replacement, sides, report), context);
    return report;
  }

  PEEL_TRY(MergePlan plan, plan_merge(onion, sides.base, sides.ours.number, sides.theirs.number, request.on_conflict, request.run), context);
  report.conflicts = std::move(plan.conflicts);
  report.size_conflict = plan.size_conflict;
  if (!report.conflicts.empty() && request.on_conflict == Side::neither) {
    report.outcome = MergeOutcome::conflict;
    return report;
  }
  PEEL_TRY(report.unsound, check_plan(onion, sides, plan, request), context);
  if (report.unsound && !request.even_if_unsound) {
    report.outcome = MergeOutcome::unsound;
    return report;
  }
  PEEL_TRY(const CommitResult result, commit_plan(onion, sides, plan, request, report.unsound), context);
  report.outcome = MergeOutcome::merged;
  report.revision = result.revision;
  report.bytes_taken = plan.bytes_taken;
  report.whole = whole_side(plan, sides);
  std::vector<RefChange> changes;
  if (auto rewritten = rewrite(paths, onion, replacement, result.revision, changes, report); !rewritten)
    return fail(ErrorKind::partial, context + ": recorded as @" + std::to_string(result.revision.number) + ", but " +
                                        escape_for_terminal(paths.file) + " still has the content from before it (" +
                                        rewritten.error().message() + "): peel restore it before you commit again");
  if (!changes.empty()) PEEL_CHECK(onion.update_refs(changes), context);
  return report;
}

}  // namespace peel::workspace
