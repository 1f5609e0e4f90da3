#include "workspace/merge_plan.h"

#include <algorithm>

namespace peel::workspace {
namespace {

std::uint64_t end_of(const Range& range) { return range.offset + range.length; }

std::vector<Range> in_both(const std::vector<Range>& a, const std::vector<Range>& b) {
  std::vector<Range> out;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const std::uint64_t begin = std::max(a[i].offset, b[j].offset), end = std::min(end_of(a[i]), end_of(b[j]));
    if (begin < end) out.push_back({begin, end - begin});
    if (end_of(a[i]) < end_of(b[j])) ++i;
    else ++j;
  }
  return out;
}

std::vector<Range> without(const std::vector<Range>& from, const std::vector<Range>& holes) {
  std::vector<Range> out;
  std::size_t j = 0;
  for (const Range& range : from) {
    std::uint64_t at = range.offset;
    while (j < holes.size() && end_of(holes[j]) <= at) ++j;
    for (std::size_t k = j; k < holes.size() && holes[k].offset < end_of(range); ++k) {
      if (holes[k].offset > at) out.push_back({at, holes[k].offset - at});
      at = std::max(at, end_of(holes[k]));
    }
    if (at < end_of(range)) out.push_back({at, end_of(range) - at});
  }
  return out;
}

void cut_to(std::vector<Range>& ranges, std::uint64_t end) {
  while (!ranges.empty() && ranges.back().offset >= end) ranges.pop_back();
  if (!ranges.empty()) ranges.back().length = std::min(end_of(ranges.back()), end) - ranges.back().offset;
}

// The one size both sides can live with; absent when both chose a new one.
std::optional<std::uint64_t> agreed_size(std::uint64_t base, std::uint64_t ours, std::uint64_t theirs) {
  if (ours == theirs || theirs == base) return ours;
  if (ours == base) return theirs;
  return std::nullopt;
}

}  // namespace

Result<MergePlan> plan_merge(const Onion& onion, std::uint64_t base, std::uint64_t ours, std::uint64_t theirs, Side prefer,
                             const Run& run) {
  DiffRequest by_word;
  by_word.grain = word_size;
  by_word.run = run;
  PEEL_TRY(DiffReport mine, diff_revisions(onion, base, ours, by_word), "");
  PEEL_TRY(DiffReport others, diff_revisions(onion, base, theirs, by_word), "");
  PEEL_TRY(const Reader our_reader, onion.open_revision(ours), "");
  PEEL_TRY(const Reader their_reader, onion.open_revision(theirs), "");
  const RevisionSource our_bytes(our_reader), their_bytes(their_reader);
  const std::uint64_t our_size = our_reader.size(), their_size = their_reader.size();
  const std::uint64_t shorter = std::min(our_size, their_size), longer = std::max(our_size, their_size);

  MergePlan plan;
  RangeList conflicts;
  const std::vector<Range> overlap = in_both(mine.ranges, others.ranges);
  for (const Range& both : overlap) {
    RangeList words(word_size);
    PEEL_CHECK(compare_range(our_bytes, their_bytes, both, run, words), "");
    for (const Range& word : words.take(end_of(both))) conflicts.add(word.offset, word.length);
  }
  plan.conflicts = conflicts.take(longer);
  const auto agreed = agreed_size(mine.size_a, our_size, their_size);
  plan.size_conflict = !agreed;
  if (plan.size_conflict) {  // the tail that one side has and the other has not
    cut_to(plan.conflicts, shorter);
    plan.conflicts.push_back({shorter, longer - shorter});
  }
  const bool about_tail = our_size != their_size && !plan.conflicts.empty() && end_of(plan.conflicts.back()) > shorter;
  plan.size = about_tail ? (prefer == Side::theirs ? their_size : our_size) : *agreed;

  const std::vector<Range> agreed_on = without(overlap, plan.conflicts);
  const bool to_theirs = prefer == Side::theirs;
  plan.take = without(others.ranges, to_theirs ? agreed_on : overlap);
  cut_to(plan.take, std::min(plan.size, their_size));
  // What theirs keeps beyond our end comes from theirs, changed or not.
  if (plan.size > our_size) {
    cut_to(plan.take, our_size);
    plan.take.push_back({our_size, plan.size - our_size});
  }
  for (const Range& range : plan.take) plan.bytes_taken += range.length;

  plan.unlike_theirs = without(without(mine.ranges, to_theirs ? overlap : agreed_on), plan.take);
  cut_to(plan.unlike_theirs, std::min(plan.size, their_size));
  if (plan.size != their_size) {
    const std::uint64_t common = std::min(plan.size, their_size);
    plan.unlike_theirs.push_back({common, std::max(plan.size, their_size) - common});
  }
  plan.ours_changed = std::move(mine.ranges);
  plan.theirs_changed = std::move(others.ranges);
  return plan;
}

const Range* MergedSource::taken_at_or_after(std::uint64_t offset) const {
  const auto found = std::lower_bound(plan_.take.begin(), plan_.take.end(), offset,
                                      [](const Range& range, std::uint64_t at) { return end_of(range) <= at; });
  return found == plan_.take.end() ? nullptr : &*found;
}

Result<std::size_t> MergedSource::read_at(std::uint64_t offset, MutableBytes out) const {
  std::size_t done = 0;
  while (done < out.size() && offset + done < plan_.size) {
    const std::uint64_t at = offset + done;
    const std::uint64_t end = std::min<std::uint64_t>(plan_.size, offset + out.size());
    const Range* next = taken_at_or_after(at);
    const bool from_theirs = next && next->offset <= at;
    const std::uint64_t stop = !next ? end : std::min(end, from_theirs ? end_of(*next) : next->offset);
    const MutableBytes part = out.subspan(done, static_cast<std::size_t>(stop - at));
    PEEL_TRY(const std::size_t got, (from_theirs ? theirs_ : ours_).read(at, part), "");
    if (got != part.size()) return fail(ErrorKind::corrupt, "a revision ends at " + std::to_string(at + got));
    done += got;
  }
  return done;
}

Result<Source::Extent> MergedSource::next_data(std::uint64_t offset) const {
  if (offset >= plan_.size) return Extent{plan_.size, plan_.size};
  const Range* next = taken_at_or_after(offset);
  if (next && next->offset <= offset) return Extent{offset, end_of(*next)};
  const std::uint64_t limit = next ? next->offset : plan_.size;
  PEEL_TRY(const Extent own, RevisionSource(ours_).next_data(offset), "");
  if (own.begin >= limit) {
    if (!next) return Extent{plan_.size, plan_.size};
    return Extent{next->offset, end_of(*next)};
  }
  return Extent{own.begin, std::min(own.end, limit)};
}

}  // namespace peel::workspace
