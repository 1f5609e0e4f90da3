// hdf5/helper/object_paths.h - which path leads to an address: what an object reference means.
//
// Contract   The first path in sorted order. All paths are gathered at the first question, once. Rejected:
//            H5Rget_name, which walks the file for each reference.
// Errors     None: an address nothing leads to, or one beyond objects_max, has no path.
// Threads    One thread.
// Memory     The paths of at most objects_max objects, at most paths_bytes_max together.
#pragma once

#include <string>
#include <unordered_map>

#include "hdf5/helper/budget.h"
#include "hdf5/helper/handle.h"

namespace peel::hdf5 {

class ObjectPaths {
 public:
  static constexpr std::size_t objects_max = 200'000;
  static constexpr std::size_t paths_bytes_max = 32u << 20;

  ObjectPaths(hid_t file, Budget& budget) : file_(file), budget_(budget) {}

  // Null when there is none.
  const std::string* path_of(std::uint64_t address);
  bool complete() const { return complete_; }

 private:
  void gather();
  bool add(std::uint64_t address, const std::string& path);

  hid_t file_;
  Budget& budget_;
  bool gathered_ = false, complete_ = true;
  std::size_t bytes_ = 0;
  std::unordered_map<std::uint64_t, std::string> paths_;
};

}  // namespace peel::hdf5
