// onion/run_merge.h - which sorted runs a checkpoint merges.
//
// Runs are kept in classes by size, a factor of eight apart. A class holds at most seven runs; the eighth melts them
// all into one of the next class. So an entry is rewritten once a class (log8 n times) and there are at most
// 7 log8 n runs.
#pragma once

#include <bit>
#include <vector>

#include "onion/format.h"

namespace peel::onion {

constexpr unsigned run_class(std::uint64_t count) { return (static_cast<unsigned>(std::bit_width(count | 1)) + 2) / 3; }

// How many of the last runs should be merged with `fresh` new entries; none of them alone or together beyond `most`.
inline std::size_t runs_to_merge(const std::vector<RunLocation>& runs, std::uint64_t fresh, std::uint64_t most) {
  constexpr std::size_t runs_per_class = 8;
  std::size_t merged = 0;
  std::uint64_t total = fresh;
  while (true) {
    std::size_t same = 0;
    std::uint64_t sum = total;
    while (merged + same < runs.size()) {
      const std::uint64_t count = runs[runs.size() - 1 - merged - same].count;
      if (run_class(count) > run_class(total) || sum + count > most) break;
      sum += count;
      ++same;
    }
    if (same + 1 < runs_per_class) return merged;
    merged += same;
    total = sum;
  }
}

}  // namespace peel::onion
