// hdf5/helper/value_comparison.h - the values of two datasets at one path, tile by tile.
//
// Contract   Compares the part both shapes have. Where the caller knows which bytes of the files may differ and
//            a chunk or run lies at one place in both, outside them, it is not read. Chunks whose filter is
//            not available are compared as stored. Values in other files (virtual and external datasets) are
//            not looked at. Reports at most one values_changed and one not_compared.
// Threads    One thread.
// Memory     See comparison.h.
#pragma once

#include <string>

#include "hdf5/helper/comparison.h"
#include "hdf5/helper/describe.h"
#include "hdf5/helper/elements.h"

namespace peel::hdf5 {

// A dataset with what is asked about it again and again.
struct DatasetSide {
  explicit DatasetSide(hid_t id);
  bool ok() const { return type && space; }

  hid_t dataset;  // borrowed
  Handle type, space;
  Shape shape;
  Storage storage;
  bool readable = false;        // all its filters are here
  std::string missing_filter;   // one that is not
};

void compare_values_of(Comparison& c, const std::string& path, const DatasetSide& before, const DatasetSide& after, bool retyped);

}  // namespace peel::hdf5
