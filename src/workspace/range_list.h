// workspace/range_list.h - ascending ranges, joined where they touch, and how two contents differ.
//
// Contract   RangeList holds at most ranges_max ranges: when more come, ranges that are near each other
//            are joined, so it may then say too much but never too little.
// Threads    One owner.
// Memory     16 bytes a range.
#pragma once

#include "workspace/workspace.h"

namespace peel::workspace {

class RangeList {
 public:
  explicit RangeList(std::uint32_t grain = 1, std::size_t most = ranges_max) : grain_(grain ? grain : 1), most_(most) {}

  // Not before the begin of the last one added.
  void add(std::uint64_t offset, std::uint64_t length);
  // Cuts to `end` (rounding out may have passed it) and hands the ranges over.
  std::vector<Range> take(std::uint64_t end);
  bool empty() const { return ranges_.empty(); }

 private:
  void join_near();

  std::uint32_t grain_;
  std::size_t most_;
  std::uint64_t gap_ = 0;  // ranges this near are one
  std::vector<Range> ranges_;
};

// Adds where a and b (equal sizes, at `offset` of the file) differ.
void add_differences(std::uint64_t offset, Bytes a, Bytes b, RangeList& out);

// Adds where the bytes of [range) differ; what one side has and the other has not, differs.
Status compare_range(const Source& a, const Source& b, const Range& range, const Run& run, RangeList& out);

// A revision as a Source; holes are what its pieces say.
class RevisionSource final : public Source {
 public:
  explicit RevisionSource(const Reader& reader) : reader_(reader) {}
  std::uint64_t size() const override { return reader_.size(); }
  Result<std::size_t> read_at(std::uint64_t offset, MutableBytes out) const override { return reader_.read(offset, out); }
  Result<Extent> next_data(std::uint64_t offset) const override;

 private:
  const Reader& reader_;
};

}  // namespace peel::workspace
