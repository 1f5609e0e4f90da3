// workspace/merge_plan.h - three contents, one result: what comes from where.
//
// Contract   The unit is a word of word_size bytes, aligned in the file. Words only theirs changed (against the
//            base) come from theirs, all else from ours. Words both changed to the same are no conflict; other
//            words both changed are, whichever of their bytes each side changed. A size only one side changed
//            is taken; two different new sizes are a conflict. With a preference every conflict goes to that
//            side, its size included where the conflict is about a tail.
// Errors     As Reader; cancelled.
// Memory     16 bytes a range, at most ranges_max in each list; 2 MiB.
#pragma once

#include "workspace/range_list.h"
#include "workspace/workspace.h"

namespace peel::workspace {

// A number of up to 8 bytes that lies at a multiple of its size lies in one word.
inline constexpr std::uint32_t word_size = 8;

struct MergePlan {
  std::uint64_t size = 0;
  std::vector<Range> take;       // from theirs; ascending, disjoint, inside theirs and inside size
  std::vector<Range> conflicts;  // also when a preference settles them
  bool size_conflict = false;
  std::vector<Range> ours_changed, theirs_changed;  // against the base
  std::vector<Range> unlike_theirs;                 // where the result may differ from theirs; empty: it is theirs
  std::uint64_t bytes_taken = 0;  // sum of take
};

Result<MergePlan> plan_merge(const Onion& onion, std::uint64_t base, std::uint64_t ours, std::uint64_t theirs, Side prefer,
                             const Run& run);

// The result as a Source, for merges too large to hold in memory.
class MergedSource final : public Source {
 public:
  MergedSource(const Reader& ours, const Reader& theirs, const MergePlan& plan) : ours_(ours), theirs_(theirs), plan_(plan) {}
  std::uint64_t size() const override { return plan_.size; }
  Result<std::size_t> read_at(std::uint64_t offset, MutableBytes out) const override;
  Result<Extent> next_data(std::uint64_t offset) const override;

 private:
  const Range* taken_at_or_after(std::uint64_t offset) const;

  const Reader& ours_;
  const Reader& theirs_;
  const MergePlan& plan_;
};

}  // namespace peel::workspace
