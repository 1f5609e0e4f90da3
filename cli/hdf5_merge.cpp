// cli/hdf5_merge.cpp - see hdf5_merge.h.
#include "cli/hdf5_merge.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "base/hex.h"
#include "cli/hdf5_changes.h"
#include "hdf5/hdf5.h"

namespace peel::cli {
namespace {

constexpr std::chrono::minutes question_time_max{2};
constexpr std::size_t faults_told_max = 3;

using Key = std::pair<std::string, std::string>;  // path, attribute
using Index = std::map<Key, std::vector<const hdf5::Change*>>;

Key key_of(const hdf5::Change& change) { return {change.path, change.attribute}; }

Index index_of(const hdf5::FileDiff& diff) {
  Index out;
  for (const hdf5::Change& change : diff.changes) out[key_of(change)].push_back(&change);
  return out;
}

std::string name_of(const hdf5::Change& change) {
  std::string out = escape_for_terminal(change.path);
  if (!change.attribute.empty()) out += " @" + escape_for_terminal(change.attribute);
  return out;
}

bool is_unreadable_after(const hdf5::Change& change) {
  return change.what == hdf5::What::not_compared && change.note.find("in the file before") == std::string::npos;
}

bool holds_more(const hdf5::Change& change, const hdf5::Change& cause) {
  return change.changed && cause.changed && *change.changed > *cause.changed;
}

// Whether `change`, from one side to the merged file, is what `made` (base to the other side) brought. `own` is what the
// one side had changed itself.
bool is_explained(const hdf5::Change& change, const Index& made, const Index& own) {
  const auto found = made.find(key_of(change));
  if (found == made.end()) return !change.attribute.empty() && made.contains({change.path, ""}) && own.contains({change.path, ""});
  const auto same = std::find_if(found->second.begin(), found->second.end(),
                                 [&](const hdf5::Change* cause) { return cause->what == change.what; });
  const auto ours = own.find(key_of(change));
  if (same == found->second.end()) return ours != own.end();
  const bool only_values = ours == own.end() || std::all_of(ours->second.begin(), ours->second.end(), [](const auto* c) {
                             return c->what == hdf5::What::values_changed;
                           });
  return !only_values || !holds_more(change, **same);
}

// How many elements, where nothing but values changed.
std::optional<std::uint64_t> values_changed_in(const Index& index, const Key& key) {
  const auto found = index.find(key);
  if (found == index.end() || found->second.size() != 1 || found->second[0]->what != hdf5::What::values_changed)
    return std::nullopt;
  return found->second[0]->changed;
}

class MergeCheck {
public:
  MergeCheck(const Context& context, const std::string& file, const workspace::MergeParts& parts)
      : context_(context), file_(file), parts_(parts) {
    limits_.time_max = question_time_max;
    limits_.cancel = &context.cancel;
  }

  Result<std::optional<std::string>> run() {
    const bool ours = hdf5::looks_like_hdf5(parts_.ours), theirs = hdf5::looks_like_hdf5(parts_.theirs);
    if (!ours && !theirs) return std::optional<std::string>();
    if (!hdf5::looks_like_hdf5(parts_.merged)) return std::optional<std::string>("it does not begin like an HDF5 file any more");
    context_.messages.trace("check the merge as HDF5");
    const bool base = hdf5::looks_like_hdf5(parts_.base);
    const std::uint64_t size = parts_.base.size();
    if (base && ours && theirs && parts_.ours.size() > size && parts_.theirs.size() > size)
      fault("both sides made the file longer, so new data of both lie at the same place");
    PEEL_CHECK(check_health(ours ? parts_.ours : parts_.theirs), "");
    PEEL_CHECK(check_contents(base && ours && theirs, ours, theirs), "");
    if (faults_.empty()) return std::optional<std::string>();
    std::string out;
    for (std::size_t i = 0; i < std::min(faults_.size(), faults_told_max); ++i) out += (i > 0 ? "; " : "") + faults_[i];
    if (faults_.size() > faults_told_max) out += "; and more";
    return std::optional(std::move(out));
  }

private:
  void fault(std::string text) { faults_.push_back(std::move(text)); }

  void warn(const std::string& why) {
    if (!std::exchange(warned_, true))
      context_.messages.warning(file_ + ": the merged file is not wholly checked as HDF5: " + escape_for_terminal(why));
  }

  // An answer that says nothing about the merged file is a warning; false: it says that the file is bad.
  Result<bool> only_unanswered(const Error& error) {
    switch (error.kind()) {
      case ErrorKind::cancelled:
        return Error(error);
      case ErrorKind::io:  // no helper could be started; what cannot be read fails the merge later on
      case ErrorKind::timeout:
      case ErrorKind::limit:
      case ErrorKind::not_found:
      case ErrorKind::unsupported:
        warn(error.message());
        return true;
      default:
        return false;
    }
  }

  Status check_health(const Source& side) {
    const Result<hdf5::Health> merged = hdf5::inspect(parts_.merged, limits_);
    if (!merged) {
      PEEL_TRY(const bool unanswered, only_unanswered(merged.error()), "");
      if (!unanswered) fault(escape_for_terminal(merged.error().message()));
      return {};
    }
    if (merged->state == hdf5::HealthState::healthy) return {};
    const Result<hdf5::Health> before = hdf5::inspect(side, limits_);
    if (before && before->state == merged->state) return {};  // it was so before
    fault(std::string(hdf5::name_of(merged->state)) + ": " + escape_for_terminal(merged->text));
    return {};
  }

  // What a side changed; nothing where that cannot be told, which is no fault of the merge.
  Result<std::optional<hdf5::FileDiff>> changes_to(const Source& side, const std::vector<Range>& ranges) {
    Result<hdf5::FileDiff> diff = hdf5::compare(parts_.base, side, {.path = {}, .changed = ranges, .limits = limits_});
    if (diff && diff->complete) return std::optional(std::move(*diff));
    if (diff) {
      warn(diff->incomplete_because);
    } else {
      PEEL_TRY(const bool unanswered, only_unanswered(diff.error()), "");
      if (!unanswered) warn(diff.error().message());
    }
    return std::optional<hdf5::FileDiff>();
  }

  Status check_contents(bool all_hdf5, bool ours, bool theirs) {
    std::optional<hdf5::FileDiff> by_ours, by_theirs;
    if (all_hdf5) {
      PEEL_TRY(by_ours, changes_to(parts_.ours, parts_.base_ours), "");
      PEEL_TRY(by_theirs, changes_to(parts_.theirs, parts_.base_theirs), "");
    }
    const bool known = by_ours && by_theirs;
    const Index our_index = known ? index_of(*by_ours) : Index(), their_index = known ? index_of(*by_theirs) : Index();
    tell_lost(our_index, their_index);
    tell_lost(their_index, our_index);
    std::optional<hdf5::FileDiff> from_ours, from_theirs;
    if (ours) {
      PEEL_TRY(from_ours, check_against("ours", parts_.ours, parts_.ours_merged, known, their_index, our_index), "");
    }
    if (theirs) {
      PEEL_TRY(from_theirs, check_against("theirs", parts_.theirs, parts_.theirs_merged, known, our_index, their_index), "");
    }
    if (known && from_ours && from_theirs) return check_elements(index_of(*from_ours), index_of(*from_theirs));
    return {};
  }

  // What one side changed in objects that the other removed.
  void tell_lost(const Index& removing, const Index& changing) {
    const auto tell_if_changed = [&](const auto& entry) {
      const hdf5::Change& change = *entry.second.front();
      if (change.what != hdf5::What::removed) fault(name_of(change) + " was changed by one side and removed by the other");
    };
    for (const auto& [key, changes] : removing) {
      if (changes.front()->what != hdf5::What::removed) continue;
      const auto& [path, attribute] = key;
      for (auto i = changing.lower_bound(key); i != changing.end() && i->first.first == path; ++i)
        if (attribute.empty() || i->first == key) tell_if_changed(*i);
      const auto below = changing.lower_bound({path + "/", ""});
      for (auto i = below; attribute.empty() && i != changing.end() && i->first.first.starts_with(path + "/"); ++i)
        tell_if_changed(*i);
    }
  }

  // Where the merged values differ from both sides, each element must be that of one side. It is when the elements that
  // differ from ours and those that differ from theirs are together as many as those in which the sides differ.
  Status check_elements(const Index& from_ours, const Index& from_theirs) {
    std::vector<Key> mixed;
    for (const auto& [key, changes] : from_ours)
      if (values_changed_in(from_ours, key) && values_changed_in(from_theirs, key)) mixed.push_back(key);
    if (mixed.empty()) return {};
    std::vector<Range> ranges = parts_.base_ours;
    ranges.insert(ranges.end(), parts_.base_theirs.begin(), parts_.base_theirs.end());
    const Result<hdf5::FileDiff> sides =
        hdf5::compare(parts_.ours, parts_.theirs, {.path = {}, .changed = std::move(ranges), .limits = limits_});
    if (!sides) {
      PEEL_TRY(const bool unanswered, only_unanswered(sides.error()), "");
      if (!unanswered) warn(sides.error().message());
      return {};
    }
    if (!sides->complete) {
      warn(sides->incomplete_because);
      return {};
    }
    const Index between = index_of(*sides);
    for (const Key& key : mixed) {
      const auto here = between.find(key);
      const std::uint64_t either = values_changed_in(between, key).value_or(0);
      if (here != between.end() && either == 0) continue;  // not only values differ
      const std::uint64_t both = *values_changed_in(from_ours, key) + *values_changed_in(from_theirs, key);
      if (both > either) fault(name_of(*from_ours.at(key).front()) + " has values that neither side has");
    }
    return {};
  }

  Result<std::optional<hdf5::FileDiff>> check_against(const std::string& name, const Source& side,
                                                      const std::vector<Range>& ranges, bool known,
                                                      const Index& made_by_other, const Index& own) {
    Result<hdf5::FileDiff> diff = hdf5::compare(side, parts_.merged, {.path = {}, .changed = ranges, .limits = limits_});
    if (!diff) {
      PEEL_TRY(const bool unanswered, only_unanswered(diff.error()), "");
      if (!unanswered) fault("it cannot be compared with " + name + ": " + escape_for_terminal(diff.error().message()));
      return std::optional<hdf5::FileDiff>();
    }
    if (!diff->complete) warn(diff->incomplete_because);
    std::set<Key> told;
    for (const hdf5::Change& change : diff->changes) {
      const std::size_t before = faults_.size();
      if (told.contains(key_of(change))) continue;
      if (is_unreadable_after(change))
        fault(name_of(change) + ", readable in " + name + ": " + escape_for_terminal(change.note));
      else if (change.what != hdf5::What::not_compared && known && !is_explained(change, made_by_other, own))
        fault(name_of(change) + " is not as in " + name + ", though the other side did not change it so (" +
              hdf5::name_of(change.what) + ")");
      if (faults_.size() > before) told.insert(key_of(change));
    }
    if (!diff->complete) return std::optional<hdf5::FileDiff>();
    return std::optional(std::move(*diff));
  }

  const Context& context_;
  const std::string& file_;
  const workspace::MergeParts& parts_;
  hdf5::Limits limits_;
  std::vector<std::string> faults_;
  bool warned_ = false;
};

}  // namespace

Result<std::optional<std::string>> hdf5_merge_fault(const Context& context, const std::string& file,
                                                    const workspace::MergeParts& parts) {
  return MergeCheck(context, file, parts).run();
}

Result<std::vector<std::string>> hdf5_changed_by_both(const Context& context, const workspace::Paths& paths,
                                                      const workspace::MergeReport& report) {
  PEEL_TRY(const Onion onion, workspace::open_onion(paths), "");
  PEEL_TRY(const Reader base, onion.open_revision(report.base), "");
  std::vector<Index> sides;
  std::vector<Hdf5Outcome> outcomes(2);
  for (const std::uint64_t number : {report.ours, report.theirs}) {
    PEEL_TRY(const Reader side, onion.open_revision(number), "");
    Hdf5Request request;
    request.limits.time_max = question_time_max;
    PEEL_TRY(request.changed, onion.diff(report.base, number), "");
    Hdf5Outcome& outcome = outcomes[sides.size()];
    PEEL_TRY(outcome, compare_hdf5(context, RevisionSource(base), RevisionSource(side), request), "");
    if (outcome.state != Hdf5Outcome::State::compared) return std::vector<std::string>();
    sides.push_back(index_of(outcome.diff));
  }
  std::vector<std::string> out;
  for (const auto& [key, changes] : sides[0])
    if (sides[1].contains(key)) out.push_back(name_of(*changes.front()));
  return out;
}

}  // namespace peel::cli
