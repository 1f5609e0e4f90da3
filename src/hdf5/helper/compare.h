// hdf5/helper/compare.h - the difference between two HDF5 files.
//
// Contract   Objects are matched by path. Links out of the file are compared as links, never followed. An object
//            reached by several paths is compared once. See hdf5.h for `path` and `changed`.
// Errors     corrupt: one of the files cannot be opened, and which · not_found: `path` is in neither.
// Threads    One thread.
#pragma once

#include "hdf5/report.h"
#include "peel/onion.h"

namespace peel::hdf5 {

struct CompareTask {
  std::uint32_t time_ms = 0, items_max = 0;
  std::string path;
  std::optional<std::vector<Range>> changed;
};

Result<FileDiff> compare_files(const Source& before, const Source& after, const CompareTask& task);

}  // namespace peel::hdf5
