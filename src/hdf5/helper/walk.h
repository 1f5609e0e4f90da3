// hdf5/helper/walk.h - what a group holds, and opening it without following anything out of the file.
//
// Contract   Objects are opened by address, never by path: a name cannot lead through another link.
// Errors     corrupt with libhdf5's reason · limit: more names than names_max in one group.
// Threads    One thread.
// Memory     The names of one group: names_bytes_max.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hdf5/helper/handle.h"
#include "hdf5/report.h"
#include "peel/error.h"

namespace peel::hdf5 {

inline constexpr std::size_t names_bytes_max = 64u << 20;
inline constexpr unsigned depth_max = 128;  // of groups in groups

struct Link {
  std::string name;
  bool hard = false;
  std::uint64_t address = 0;  // of the object, for a hard link
  std::string target;         // in words, for the others
};

// By name.
Result<std::vector<Link>> links_of(hid_t group);
Result<std::vector<std::string>> attribute_names_of(hid_t object);

Result<Handle> open_object(hid_t file, std::uint64_t address);
Result<Handle> open_root(hid_t file);
std::optional<ObjectKind> kind_of(hid_t object);
std::uint64_t address_of(hid_t object);

std::string child_path(const std::string& parent, const std::string& name);

}  // namespace peel::hdf5
