#include "hdf5/helper/value_comparison.h"

#include <algorithm>
#include <array>

#include "hdf5/helper/tiles.h"

namespace peel::hdf5 {
namespace {

bool lives_in_this_file(const DatasetSide& side) {
  return side.storage.layout != "virtual" && side.storage.layout != "external";
}

// One comparison of one pair of datasets.
class ValueComparison {
 public:
  ValueComparison(Comparison& c, const std::string& path, const DatasetSide& a, const DatasetSide& b)
      : c_(c), path_(path), a_(a), b_(b) {}

  void run(bool retyped);

 private:
  bool choose_types(bool retyped);
  void choose_tiles();
  void choose_shortcuts(bool retyped);
  bool visit(const Box& tile);
  bool is_known_equal(const Box& tile);
  bool run_is_known_equal(const Box& tile) const;
  bool chunk_is_known_equal(const Box& tile);
  std::optional<Range> place_of_chunk(OpenFile& file, hid_t dataset, const Extents& at);
  void compare_tile(const Box& tile);
  bool read(const DatasetSide& side, const MemoryType& memory, ValueArena& arena, const Handle& transfer, const Box& tile,
            Buffer& out);
  void note_unread(const char* side, std::string why);
  void compare_as_stored();
  std::optional<bool> chunk_differs_as_stored(const Box& chunk);
  bool read_chunk(const char* name, const DatasetSide& side, const Extents& at, Buffer& out, std::uint32_t& mask);
  void tell();

  Comparison& c_;
  const std::string& path_;
  const DatasetSide& a_;
  const DatasetSide& b_;
  Box region_;      // what both have
  Extents tile_;
  Extents inner_;   // tiles of a tile, where one chunk is too large to hold
  MemoryType old_memory_, new_memory_;
  ValueArena old_arena_, new_arena_;
  Handle old_transfer_, new_transfer_;
  Buffer old_values_, new_values_;
  enum class Shortcut : std::uint8_t { none, chunks, run } shortcut_ = Shortcut::none;
  std::uint64_t run_begin_ = 0;  // where a contiguous dataset lies, in both files
  Difference difference_;
  std::uint64_t tiles_unread_ = 0;
  std::string why_unread_;
  std::string note_;
  bool counted_ = true;  // difference_.changed counts elements, not chunks
};

void ValueComparison::run(bool retyped) {
  if (!lives_in_this_file(a_) || !lives_in_this_file(b_)) return;
  if (a_.shape.null || b_.shape.null || a_.shape.now.size() != b_.shape.now.size()) return;
  for (std::size_t d = 0; d < a_.shape.now.size(); ++d) {
    region_.start.push_back(0);
    region_.count.push_back(std::min(a_.shape.now[d], b_.shape.now[d]));
  }
  if (region_.elements() == 0) return;
  if (!a_.readable || !b_.readable) {
    if (!retyped) compare_as_stored();
    return tell();
  }
  if (!choose_types(retyped)) return tell();
  choose_shortcuts(retyped);
  choose_tiles();
  for_each_tile(region_, tile_, [&](const Box& tile) { return visit(tile); });
  tell();
}

bool ValueComparison::choose_types(bool retyped) {
  auto x = retyped ? widest_real_for(a_.type.get()) : memory_type_for(a_.type.get());
  auto y = retyped ? widest_real_for(b_.type.get()) : memory_type_for(b_.type.get());
  if (!x || !y || x->element.size != y->element.size) {
    // A type change is reported already; between unlike types there is no "same value".
    if (!retyped) note_unread(x ? "after" : "before", x ? (y ? "types differ in memory" : y.error().message()) : x.error().message());
    return false;
  }
  if (x->element.size > chunk_bytes_max) {
    note_unread("before", "one element is too large");
    return false;
  }
  if (retyped) note_ = "compared after conversion";
  old_memory_ = std::move(*x);
  new_memory_ = std::move(*y);
  old_transfer_ = old_arena_.transfer_list();
  new_transfer_ = new_arena_.transfer_list();
  return true;
}

void ValueComparison::choose_shortcuts(bool retyped) {
  if (!c_.knows_ranges() || retyped || old_memory_.element.is_indirect() || old_memory_.element.has_references()) return;
  if (a_.storage.text() != b_.storage.text() || H5Tget_size(a_.type.get()) != H5Tget_size(b_.type.get())) return;
  if (a_.storage.layout == "chunked") {
    shortcut_ = Shortcut::chunks;
  } else if (a_.storage.layout == "contiguous") {
    const haddr_t at = H5Dget_offset(a_.dataset);
    // The same element must lie at the same place: all dimensions but the slowest agree.
    const bool same_rows = a_.shape.now.empty() || std::equal(a_.shape.now.begin() + 1, a_.shape.now.end(), b_.shape.now.begin() + 1);
    if (at == HADDR_UNDEF || at != H5Dget_offset(b_.dataset) || !same_rows) return;
    shortcut_ = Shortcut::run;
    run_begin_ = at;
  }
  H5Eclear2(H5E_DEFAULT);
}

void ValueComparison::choose_tiles() {
  const std::size_t element = old_memory_.element.size;
  std::uint64_t elements_max = std::max<std::size_t>(1, tile_bytes_max / element);
  // Lists and strings cost more than their pointers: fewer at a time.
  if (old_memory_.element.is_indirect()) elements_max = std::min<std::uint64_t>(elements_max, 1u << 16);
  const DatasetSide& chunked = b_.storage.layout == "chunked" ? b_ : a_;
  Extents grid(region_.count.size(), 1);
  if (chunked.storage.chunk.size() == grid.size()) grid.assign(chunked.storage.chunk.begin(), chunked.storage.chunk.end());
  const std::uint64_t cell = Box{Extents(grid.size(), 0), grid}.elements();
  tile_ = tile_shape(region_.count, grid, elements_max);
  inner_ = tile_;
  if (cell > elements_max || shortcut_ == Shortcut::chunks) {
    // Tile by chunk: one to skip as a whole, or one larger than a tile, in which case its parts follow each
    // other so that libhdf5 unpacks it once; beyond its cache, the chunk itself is the part, if it can be held.
    for (std::size_t d = 0; d < grid.size(); ++d) tile_[d] = std::max(1ull, std::min(grid[d], region_.count[d]));
    const bool hold_whole = cell <= chunk_bytes_max / element && cell * element > OpenFile::chunk_cache_bytes;
    inner_ = hold_whole ? tile_ : tile_shape(tile_, Extents(grid.size(), 1), elements_max);
  }
}

bool ValueComparison::visit(const Box& tile) {
  if (!c_.budget().go_on(path_)) return false;
  if (shortcut_ != Shortcut::none && is_known_equal(tile)) return true;
  return for_each_tile(tile, inner_, [&](const Box& part) {
    if (!c_.budget().go_on(path_)) return false;
    compare_tile(part);
    return true;
  });
}

bool ValueComparison::is_known_equal(const Box& tile) {
  return shortcut_ == Shortcut::run ? run_is_known_equal(tile) : chunk_is_known_equal(tile);
}

bool ValueComparison::run_is_known_equal(const Box& tile) const {
  // From the first element of the tile to its last, in row-major order.
  std::uint64_t first = 0, last = 0;
  for (std::size_t d = 0; d < tile.start.size(); ++d) {
    first = first * a_.shape.now[d] + tile.start[d];
    last = last * a_.shape.now[d] + tile.start[d] + tile.count[d] - 1;
  }
  const std::uint64_t width = H5Tget_size(a_.type.get());
  return c_.known_equal(Range{run_begin_ + first * width, (last - first + 1) * width});
}

std::optional<Range> ValueComparison::place_of_chunk(OpenFile& file, hid_t dataset, const Extents& at) {
  hsize_t size = 0;
  if (H5Dget_chunk_storage_size(dataset, at.data(), &size) < 0 || size == 0 || size > chunk_bytes_max) {
    H5Eclear2(H5E_DEFAULT);
    return std::nullopt;
  }
  if (new_values_.size() < size) new_values_.resize(size);  // where the bytes would go
  return file.place_of([&] {
    std::uint32_t mask = 0;
    return H5Dread_chunk(dataset, H5P_DEFAULT, at.data(), &mask, new_values_.data()) >= 0;
  });
}

bool ValueComparison::chunk_is_known_equal(const Box& tile) {
  const auto now = place_of_chunk(c_.after(), b_.dataset, tile.start);
  if (!now || !c_.known_equal(*now)) return false;
  return place_of_chunk(c_.before(), a_.dataset, tile.start) == now;
}

void ValueComparison::note_unread(const char* side, std::string why) {
  ++tiles_unread_;
  if (why_unread_.empty()) why_unread_ = std::string("in the file ") + side + ": " + why;
}

bool ValueComparison::read(const DatasetSide& side, const MemoryType& memory, ValueArena& arena, const Handle& transfer,
                           const Box& tile, Buffer& out) {
  arena.clear();
  const std::uint64_t count = tile.elements();
  out.resize(static_cast<std::size_t>(count) * memory.element.size);
  const Handle file_space(H5Scopy(side.space.get()));
  const hsize_t n = count;
  const Handle memory_space(H5Screate_simple(1, &n, nullptr));
  if (!tile.start.empty() &&
      H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, tile.start.data(), nullptr, tile.count.data(), nullptr) < 0) {
    return false;
  }
  return H5Dread(side.dataset, memory.type.get(), memory_space.get(), file_space.get(), transfer.get(), out.data()) >= 0;
}

void ValueComparison::compare_tile(const Box& tile) {
  const bool old_ok = read(a_, old_memory_, old_arena_, old_transfer_, tile, old_values_);
  const bool new_ok = old_ok && read(b_, new_memory_, new_arena_, new_transfer_, tile, new_values_);
  if (!old_ok || !new_ok) {
    std::string why = take_library_error();
    if ((old_arena_.overflowed() || new_arena_.overflowed()) && tile.elements() > 1) {
      const Extents half = tile_shape(tile.count, Extents(tile.count.size(), 1), (tile.elements() + 1) / 2);
      for_each_tile(tile, half, [&](const Box& part) {
        compare_tile(part);
        return c_.budget().go_on(path_);
      });
      return;
    }
    return note_unread(old_ok ? "after" : "before", std::move(why));
  }
  compare_values(old_memory_.element, old_values_.data(), new_values_.data(), static_cast<std::size_t>(tile.elements()), c_.references(),
                 difference_);
}

bool ValueComparison::read_chunk(const char* name, const DatasetSide& side, const Extents& at, Buffer& out, std::uint32_t& mask) {
  hsize_t size = 0;
  out.clear();
  mask = 0;
  if (H5Dget_chunk_storage_size(side.dataset, at.data(), &size) < 0 || size == 0) {
    H5Eclear2(H5E_DEFAULT);
    return true;  // never written: no bytes
  }
  if (size > chunk_bytes_max) {
    note_unread(name, "a chunk is too large");
    return false;
  }
  out.resize(size);
  if (H5Dread_chunk(side.dataset, H5P_DEFAULT, at.data(), &mask, out.data()) >= 0) return true;
  note_unread(name, take_library_error());
  return false;
}

std::optional<bool> ValueComparison::chunk_differs_as_stored(const Box& chunk) {
  std::uint32_t old_mask = 0, new_mask = 0;
  if (!read_chunk("before", a_, chunk.start, old_values_, old_mask)) return std::nullopt;
  if (!read_chunk("after", b_, chunk.start, new_values_, new_mask)) return std::nullopt;
  return old_mask != new_mask || old_values_ != new_values_;
}

void ValueComparison::compare_as_stored() {
  const std::string& filter = a_.readable ? b_.missing_filter : a_.missing_filter;
  if (a_.storage.text() != b_.storage.text() || a_.storage.chunk.size() != region_.count.size()) {
    return note_unread(a_.readable ? "after" : "before", "filter " + filter + " is not available");
  }
  tile_.assign(a_.storage.chunk.begin(), a_.storage.chunk.end());
  if (c_.knows_ranges()) shortcut_ = Shortcut::chunks;
  std::uint64_t chunks = 0, different = 0;
  for_each_tile(region_, tile_, [&](const Box& chunk) {
    if (!c_.budget().go_on(path_)) return false;
    ++chunks;
    if (shortcut_ == Shortcut::chunks && chunk_is_known_equal(chunk)) return true;
    if (chunk_differs_as_stored(chunk).value_or(false)) ++different;
    return true;
  });
  counted_ = false;
  difference_.changed = different;
  note_ = "filter " + filter + " is not available: " + std::to_string(different) + " of " + std::to_string(chunks) +
          " chunks differ as stored";
}

void ValueComparison::tell() {
  if (difference_.changed > 0) {
    Change change{.path = path_, .object = ObjectKind::dataset, .what = What::values_changed, .total = region_.elements()};
    if (counted_) change.changed = difference_.changed;
    change.max_difference = difference_.max;
    change.note = note_;
    if (old_memory_.element.has_references() && !c_.knows_all_paths()) change.note = "some references are compared as stored";
    c_.report(std::move(change));
  }
  if (tiles_unread_ > 0) {
    Change change{.path = path_, .object = ObjectKind::dataset, .what = What::not_compared, .total = region_.elements()};
    change.note = "a part of its values cannot be read " + why_unread_;
    c_.report(std::move(change));
  }
}

}  // namespace

DatasetSide::DatasetSide(hid_t id)
    : dataset(id), type(H5Dget_type(id)), space(H5Dget_space(id)), storage(storage_of(id)) {
  if (!ok()) return;
  shape = shape_of_space(space.get());
  const Handle creation(H5Dget_create_plist(id));
  const int filters = creation ? H5Pget_nfilters(creation.get()) : 0;
  readable = true;
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0, config = 0;
    size_t values = 0;
    std::array<char, 64> name{};
    const H5Z_filter_t filter = H5Pget_filter2(creation.get(), static_cast<unsigned>(i), &flags, &values, nullptr, name.size(), name.data(), &config);
    if (H5Zfilter_avail(filter) > 0) continue;
    name.back() = '\0';
    readable = false;
    missing_filter = std::to_string(filter) + (name[0] ? " (" + std::string(name.data()) + ")" : "");
  }
  H5Eclear2(H5E_DEFAULT);
}

void compare_values_of(Comparison& c, const std::string& path, const DatasetSide& before, const DatasetSide& after, bool retyped) {
  ValueComparison(c, path, before, after).run(retyped);
}

}  // namespace peel::hdf5
