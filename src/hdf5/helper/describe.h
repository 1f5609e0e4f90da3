// hdf5/helper/describe.h - types, shapes and storage of HDF5 objects in words.
//
// Contract   Words are stable and compare equal for what is the same: "float64", "int16 BE", "string[8]",
//            "string (variable)", "record {t: float64, n: int32}". At most description_size_max bytes.
// Errors     None: what cannot be read is called "unknown".
// Threads    One thread.
#pragma once

#include <string>
#include <vector>

#include "hdf5/helper/handle.h"

namespace peel::hdf5 {

inline constexpr std::size_t description_size_max = 400;

struct Shape {
  bool null = false;  // no elements and no place for any
  std::vector<std::uint64_t> now, most;
  std::uint64_t elements() const;  // saturating
};

Shape shape_of_space(hid_t space);
std::string shape_text(const Shape& shape);  // "[3, 4]", "scalar", "null"
std::string type_text(hid_t type);

struct Storage {
  std::string layout;  // "contiguous", "chunked", "compact", "virtual", "external"
  std::vector<std::uint64_t> chunk;
  std::string filters;  // "shuffle, gzip 6"
  std::string sources;  // of virtual and external storage: the files named
  // All of it in one line.
  std::string text() const;
};

Storage storage_of(hid_t dataset);

}  // namespace peel::hdf5
