// hdf5/helper/tiles.h - cutting an n-dimensional region into pieces small enough to hold.
//
// Contract   for_each_tile visits every element of the region once, in row-major order of the tiles.
// Threads    Pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace peel::hdf5 {

using Extents = std::vector<unsigned long long>;  // hsize_t

struct Box {
  Extents start, count;  // of one rank; rank 0 is a single element

  std::uint64_t elements() const {
    std::uint64_t n = 1;
    for (const auto c : count) {
      if (c == 0) return 0;
      n = n > UINT64_MAX / c ? UINT64_MAX : n * c;
    }
    return n;
  }
};

// The largest tile of at most `elements_max` elements (but at least one) that is made of whole cells of
// `grid`, if a cell fits; a part of a cell otherwise. It grows along the fastest dimension first, so that
// without a grid (all ones) a tile is one run in row-major storage.
Extents tile_shape(const Extents& region, const Extents& grid, std::uint64_t elements_max);

template <class Visit>  // bool(const Box&): false stops
bool for_each_tile(const Box& region, const Extents& tile, Visit&& visit) {
  const std::size_t rank = region.count.size();
  if (region.elements() == 0) return true;
  Extents at(rank, 0);
  while (true) {
    Box box{Extents(rank), Extents(rank)};
    for (std::size_t d = 0; d < rank; ++d) {
      box.start[d] = region.start[d] + at[d];
      box.count[d] = std::min(tile[d], region.count[d] - at[d]);
    }
    if (!visit(box)) return false;
    std::size_t d = rank;
    while (d > 0) {
      --d;
      if (region.count[d] - at[d] > tile[d]) {
        at[d] += tile[d];
        break;
      }
      at[d] = 0;
      if (d == 0) return true;
    }
    if (rank == 0) return true;
  }
}

}  // namespace peel::hdf5
