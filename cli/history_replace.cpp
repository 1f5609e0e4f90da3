// cli/history_replace.cpp - restore, rollback, switch, merge, move: what touches the working file.
#include "cli/context.h"
#include "cli/handlers.h"
#include "cli/hdf5_merge.h"
#include "cli/human.h"
#include "cli/named_file.h"
#include "cli/progress.h"
#include "cli/revision_text.h"

namespace peel::cli {
namespace {

// More conflicts than a person reads are counted, not listed, unless -v asks for them.
constexpr std::size_t conflicts_listed_max = 20;

workspace::ReplaceRequest replace_request(const Context& context, Progress& progress) {
  workspace::ReplaceRequest request;
  request.discard = context.arguments.has("discard");
  request.assume_closed = context.arguments.has("assume-closed");
  request.run = {.cancel = &context.cancel, .progress = progress.function()};
  return request;
}

const char* fate_of_file(const workspace::ReplaceReport& report) {
  if (report.file_created) return "made from it";
  return report.file_changed ? "rewritten" : "already equal to it";
}

}  // namespace

Result<int> run_restore(Context& context) {
  PEEL_TRY(const workspace::Paths paths, paths_of(context), "");
  Progress progress(context, shown(paths) + ": restoring");
  const auto report =
      workspace::restore(paths, context.arguments.operand_or(1, ""), replace_request(context, progress));
  progress.clear();
  tell_leftovers(context, {paths});
  if (!report) return with_repair_hint(report.error(), paths);
  context.report(shown(paths) + ": " + revision_name(report->revision) + ", working file " + fate_of_file(*report));
  return 0;
}

Result<int> run_rollback(Context& context) {
  PEEL_TRY(const workspace::Paths paths, paths_of(context), "");
  Progress progress(context, shown(paths) + ": rolling back");
  workspace::ReplaceRequest request = replace_request(context, progress);
  request.note = context.arguments.value("message").value_or("");
  request.author = context.arguments.value("author");
  const auto rolled = workspace::rollback(paths, context.arguments.operand_or(1, ""), request);
  progress.clear();
  if (!rolled) return with_repair_hint(rolled.error(), paths);
  const workspace::ReplaceReport& report = *rolled;
  if (report.revision_added)
    context.report(shown(paths) + ": added " + revision_name(report.revision) + ", equal to " +
                   shown(context.arguments.operand_or(1, "")) + "; working file " + fate_of_file(report));
  else
    context.report(shown(paths) + ": the head is equal to it already");
  return 0;
}

Result<int> run_switch(Context& context) {
  PEEL_TRY(const workspace::Paths paths, paths_of(context), "");
  const std::string branch = context.arguments.operand_or(1, "");
  Progress progress(context, shown(paths) + ": switching");
  const auto switched = workspace::switch_branch(paths, branch, replace_request(context, progress));
  progress.clear();
  if (!switched) return with_repair_hint(Error(switched.error()).in(shown(paths)), paths);
  const workspace::ReplaceReport& report = *switched;
  context.report(shown(paths) + ": on " + shown(branch) + " at " + revision_name(report.revision) + ", working file " +
                 fate_of_file(report));
  return 0;
}

namespace {

std::string both_diffs(const workspace::Paths& paths, const workspace::MergeReport& report) {
  const std::string diff = "`peel diff " + shown(paths) + " @" + std::to_string(report.base) + " @";
  return diff + std::to_string(report.ours) + "` and " + diff + std::to_string(report.theirs) + "`";
}

Result<int> tell_conflict(Context& context, const workspace::Paths& paths, const std::string& other,
                          const workspace::MergeReport& report) {
  PEEL_TRY(const std::vector<std::string> names, hdf5_changed_by_both(context, paths, report), "");
  for (std::size_t i = 0; i < names.size() && (i < conflicts_listed_max || context.messages.verbose()); ++i)
    context.out.line(shown(paths) + ": both sides changed " + names[i]);
  if (names.size() > conflicts_listed_max && !context.messages.verbose())
    context.out.line(shown(paths) + ": ... and " + counted(names.size() - conflicts_listed_max, "more object", "more objects"));
  if (report.size_conflict) context.out.line(shown(paths) + ": both sides changed the size, to different ones");
  const std::size_t listed =
      context.messages.verbose() ? report.conflicts.size() : std::min(report.conflicts.size(), conflicts_listed_max);
  for (std::size_t i = 0; i < listed; ++i)
    context.out.line(shown(paths) + ": conflict in " + range_text(report.conflicts[i]));
  if (listed < report.conflicts.size())
    context.out.line(shown(paths) + ": ... and " +
                     counted(report.conflicts.size() - listed, "more range", "more ranges"));
  return fail(ErrorKind::conflict, shown(paths) +
                                       ": both sides changed the same bytes or words; nothing was changed. Decide with: "
                                       "peel merge " +
                                       shown(paths) + " " + shown(other) + " --ours (or --theirs)");
}

Result<int> tell_unsound(const workspace::Paths& paths, const std::string& other, const workspace::MergeReport& report) {
  return fail(ErrorKind::conflict,
              shown(paths) + ": the merged bytes would be no sound HDF5 file: " + *report.unsound +
                  "; nothing was changed. Look at " + both_diffs(paths, report) + "; take theirs as a whole with: peel rollback " +
                  shown(paths) + " " + shown(other) + "; or merge with --force, to be labelled unhealthy");
}

}  // namespace

Result<int> run_merge(Context& context) {
  PEEL_TRY(const workspace::Paths paths, paths_of(context), "");
  Progress progress(context, shown(paths) + ": merging");
  workspace::MergeRequest request;
  request.other = context.arguments.operand_or(1, "");
  request.on_conflict = context.arguments.has("ours")     ? workspace::Side::ours
                        : context.arguments.has("theirs") ? workspace::Side::theirs
                                                          : workspace::Side::neither;
  request.note = context.arguments.value("message").value_or("");
  request.author = context.arguments.value("author");
  request.assume_closed = context.arguments.has("assume-closed");
  request.run = {.cancel = &context.cancel, .progress = progress.function()};
  request.even_if_unsound = context.arguments.has("force");
  const std::string name = shown(paths);
  request.check = [&context, &name](const workspace::MergeParts& parts) { return hdf5_merge_fault(context, name, parts); };
  PEEL_TRY(const workspace::MergeReport report, workspace::merge(paths, request), "");
  progress.clear();
  const std::string now = report.revision ? revision_name(*report.revision) : "";
  switch (report.outcome) {
    case workspace::MergeOutcome::up_to_date:
      context.report(shown(paths) + ": everything of " + shown(request.other) + " is here already");
      return 0;
    case workspace::MergeOutcome::fast_forward:
      context.report(shown(paths) + ": fast-forwarded to " + now);
      return 0;
    case workspace::MergeOutcome::merged:
      if (report.unsound)
        context.messages.warning(name + ": no sound HDF5 file: " + *report.unsound +
                                 "; recorded all the same, labelled unhealthy");
      context.report(name + ": merged as " + now + ", " + size_text(report.bytes_taken) + " taken over" +
                     (report.whole == workspace::Side::ours     ? "; the result is ours as a whole"
                      : report.whole == workspace::Side::theirs ? "; the result is theirs as a whole"
                                                                : ""));
      return 0;
    case workspace::MergeOutcome::unsound:
      return tell_unsound(paths, request.other, report);
    case workspace::MergeOutcome::conflict:
      break;
  }
  return tell_conflict(context, paths, request.other, report);
}

Result<int> run_move(Context& context) {
  PEEL_TRY(const workspace::Paths from, paths_of(context), "");
  PEEL_TRY(const workspace::Paths to, workspace::move(from, context.arguments.operand_or(1, "")), "");
  context.report(shown(from) + ": now " + shown(to) + ", history " + shown(to.onion));
  return 0;
}

}  // namespace peel::cli
