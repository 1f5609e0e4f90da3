// hdf5/helper/comparison.h - the state every part of a comparison shares, and the parts.
//
// Contract   Each compare_* function adds what it finds to the report and goes on past what it cannot read,
//            saying so. They stop early when the budget is used up.
// Threads    One thread.
// Memory     Two tiles of values (tile_bytes_max each, a whole chunk up to chunk_bytes_max where chunks are
//            larger), libhdf5's chunk cache, the names on the way to the current object.
#pragma once

#include <set>
#include <string>

#include "hdf5/helper/budget.h"
#include "hdf5/helper/elements.h"
#include "hdf5/helper/open_file.h"
#include "hdf5/report.h"

namespace peel::hdf5 {

inline constexpr std::size_t tile_bytes_max = 4u << 20;
inline constexpr std::size_t chunk_bytes_max = 128u << 20;

class Comparison {
 public:
  Comparison(OpenFile& before, OpenFile& after, Budget& budget, const std::optional<std::vector<Range>>* changed)
      : before_(before),
        after_(after),
        budget_(budget),
        changed_(changed),
        old_paths_(before.id(), budget),
        new_paths_(after.id(), budget) {}

  OpenFile& before() { return before_; }
  OpenFile& after() { return after_; }
  Budget& budget() { return budget_; }
  FileDiff& diff() { return diff_; }
  References references() { return {old_paths_, new_paths_}; }
  bool knows_all_paths() const { return old_paths_.complete() && new_paths_.complete(); }

  void report(Change change);
  // Whether bytes that lie at the same place in both files are known to be equal.
  bool known_equal(const Range& place) const;
  bool knows_ranges() const { return changed_ && changed_->has_value(); }

 private:
  OpenFile& before_;
  OpenFile& after_;
  Budget& budget_;
  const std::optional<std::vector<Range>>* changed_;
  ObjectPaths old_paths_, new_paths_;
  FileDiff diff_;
};

void compare_attributes(Comparison& c, const std::string& path, hid_t before, hid_t after);
void compare_datasets(Comparison& c, const std::string& path, hid_t before, hid_t after);
// Whether two types of different files mean the same.
bool same_type(hid_t before, hid_t after);

}  // namespace peel::hdf5
