#include "hdf5/helper/tiles.h"

namespace peel::hdf5 {
namespace {

std::uint64_t product(const Extents& e) { return Box{Extents(e.size(), 0), e}.elements(); }

}  // namespace

Extents tile_shape(const Extents& region, const Extents& grid, std::uint64_t elements_max) {
  Extents tile(region.size());
  for (std::size_t d = 0; d < region.size(); ++d) tile[d] = std::max(1ull, std::min(grid[d], region[d]));
  // Too large a cell: halve it from the slowest dimension on.
  for (std::size_t d = 0; d < tile.size(); ++d) {
    while (product(tile) > elements_max && tile[d] > 1) tile[d] = (tile[d] + 1) / 2;
  }
  // Room for more: whole cells, fastest dimension first; a dimension that does not fit whole ends it.
  for (std::size_t d = tile.size(); d-- > 0;) {
    const std::uint64_t cells = elements_max / std::max<std::uint64_t>(1, product(tile));
    if (cells < 2) break;
    const std::uint64_t wanted = (region[d] + tile[d] - 1) / tile[d];
    tile[d] = std::min<std::uint64_t>(region[d], tile[d] * std::min(cells, wanted));
    if (cells < wanted) break;
  }
  for (auto& t : tile) t = std::max(1ull, t);
  return tile;
}

}  // namespace peel::hdf5
