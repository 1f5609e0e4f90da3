// hdf5/report.h - what is said about an HDF5 file: its health, its contents, what changed in it.
//
// Contract   Plain values. Strings are bytes from the file, not checked for anything but length: escape
//            them (base/hex.h) before they reach a terminal. Paths are absolute ("/run/temperature").
// Threads    Value types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace peel::hdf5 {

enum class HealthState : std::uint8_t {
  healthy,
  truncated,         // shorter than its own superblock says
  open_for_writing,  // its consistency flags say so: a writer is at work, or was killed
  unreadable,        // libhdf5 cannot open it
  not_hdf5,
};

struct Health {
  HealthState state = HealthState::healthy;
  bool swmr = false;                // the mark is that of a single-writer/multiple-reader writer
  std::uint64_t size = 0;           // of the file
  std::uint64_t expected_size = 0;  // by its superblock, user block included; 0 where unknown
  std::string text;                 // one line for people, with the remedy where there is one
  bool operator==(const Health&) const = default;
};

enum class ObjectKind : std::uint8_t { group, dataset, named_type, attribute, link };

struct Attribute {
  std::string name, type;
  std::vector<std::uint64_t> shape;  // empty: a scalar
  std::string value;                 // a short text, or empty where there is none
  bool operator==(const Attribute&) const = default;
};

struct Object {
  std::string path;
  ObjectKind kind = ObjectKind::group;
  std::string type;                               // datasets and named types: "float64", "string[8]", ...
  std::vector<std::uint64_t> shape, shape_max;    // datasets; a dimension without limit is 2^64 - 1
  std::string layout;                             // "contiguous", "chunked", "compact", "virtual", "external"
  std::vector<std::uint64_t> chunk;               // of a chunked dataset
  std::string filters;                            // in the order of writing: "shuffle, gzip 6"
  std::uint64_t storage_bytes = 0;
  std::string target;                             // links: "soft link to ...", "external link to ... (not followed)"
  std::vector<Attribute> attributes;
  bool operator==(const Object&) const = default;
};

struct Listing {
  std::vector<Object> objects;  // each object once, at the first path that reaches it; further paths are links
  bool complete = true;
  std::string incomplete_because;
  bool operator==(const Listing&) const = default;
};

enum class What : std::uint8_t {
  added,
  removed,
  type_changed,
  reshaped,
  storage_changed,  // layout, chunk shape or filters
  values_changed,
  target_changed,   // a link points elsewhere
  not_compared,     // its values could not be read; the note says why
};

struct Change {
  std::string path;       // of the object; for an attribute of the object that carries it
  std::string attribute;  // its name, for ObjectKind::attribute
  ObjectKind object = ObjectKind::dataset;
  What what = What::values_changed;
  std::string before, after;             // short descriptions, where there is something to say
  std::optional<std::uint64_t> changed;  // elements, for values_changed; absent: cannot be counted
  std::uint64_t total = 0;               // elements compared: all, or the part both shapes have
  std::optional<double> max_difference;  // numbers only; infinite when one side is; NaN does not count
  std::string note;
  bool operator==(const Change&) const = default;
};

struct FileDiff {
  std::vector<Change> changes;  // by path, as a walk over sorted names finds them
  bool complete = true;
  std::string incomplete_because;
  std::uint64_t datasets_compared = 0;  // present on both sides
  std::uint64_t bytes_read = 0;         // of values, both sides together: what the comparison cost
  bool operator==(const FileDiff&) const = default;
};

constexpr const char* name_of(HealthState state) {
  switch (state) {
    case HealthState::healthy: return "healthy";
    case HealthState::truncated: return "truncated";
    case HealthState::open_for_writing: return "open for writing";
    case HealthState::unreadable: return "unreadable";
    case HealthState::not_hdf5: return "not HDF5";
  }
  return "";
}

constexpr const char* name_of(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::group: return "group";
    case ObjectKind::dataset: return "dataset";
    case ObjectKind::named_type: return "named type";
    case ObjectKind::attribute: return "attribute";
    case ObjectKind::link: return "link";
  }
  return "";
}

constexpr const char* name_of(What what) {
  switch (what) {
    case What::added: return "added";
    case What::removed: return "removed";
    case What::type_changed: return "type changed";
    case What::reshaped: return "reshaped";
    case What::storage_changed: return "storage changed";
    case What::values_changed: return "values changed";
    case What::target_changed: return "target changed";
    case What::not_compared: return "not compared";
  }
  return "";
}

}  // namespace peel::hdf5
