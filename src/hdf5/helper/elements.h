// hdf5/helper/elements.h - comparing values in memory, whatever their type.
//
// Contract   An Element describes one value as libhdf5 lays it out for a memory type. Numbers are compared as
//            numbers (every NaN equals every NaN, -0 equals 0), strings as strings (what follows the end of a
//            terminated one does not count), records member by member (padding does not count), lists by
//            length and members, object references by the path they name, the rest as bytes.
// Errors     describe_element: corrupt for types nested too deeply or impossible.
// Threads    One thread.
// Memory     Values belong to the caller; lists and variable strings are borrowed from its ValueArena.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "hdf5/helper/handle.h"
#include "hdf5/helper/object_paths.h"
#include "peel/error.h"
#include "peel/types.h"

namespace peel::hdf5 {

struct Element {
  enum class Kind : std::uint8_t {
    bytes,
    signed_integer,
    unsigned_integer,
    real,
    text,             // fixed size, ends at the first zero if there is one
    variable_text,    // char*
    list,             // hvl_t of parts[0]
    array,            // count x parts[0]
    record,           // parts at offsets
    object_reference,
  };
  Kind kind = Kind::bytes;
  bool is_label = false;  // an enumeration: a number whose differences mean nothing
  std::size_t size = 0;
  std::size_t count = 0;
  std::vector<Element> parts;
  std::vector<std::size_t> offsets;

  bool is_number() const {
    return kind == Kind::signed_integer || kind == Kind::unsigned_integer || kind == Kind::real;
  }
  // A number or an array of them: a difference means something.
  bool is_numeric() const { return (is_number() && !is_label) || (kind == Kind::array && parts[0].is_numeric()); }
  // Kept in a heap elsewhere in the file: equal bytes where the dataset is stored do not mean equal values.
  bool is_indirect() const;
  bool has_references() const;
};

// The type to read a file's values as, and what they then look like.
struct MemoryType {
  Handle type;
  Element element;
};
Result<MemoryType> memory_type_for(hid_t file_type);
// Any integer of at most 8 bytes and any float, as the widest real: for comparing across types.
Result<MemoryType> widest_real_for(hid_t file_type);

// Where object references lead, on either side.
struct References {
  ObjectPaths& before;
  ObjectPaths& after;
};

struct Difference {
  std::uint64_t changed = 0;
  std::optional<double> max;
};

// Compares `count` values at `a` and `b`, adding to `out`.
void compare_values(const Element& element, const std::byte* a, const std::byte* b, std::size_t count,
                    References references, Difference& out);

// Where libhdf5 puts lists and variable strings. Bounded: reads that need more fail.
class ValueArena {
 public:
  static constexpr std::size_t bytes_max = 64u << 20;
  // A transfer property list that allocates here.
  Handle transfer_list();
  void clear();
  bool overflowed() const { return overflowed_; }

 private:
  static void* allocate(size_t size, void* self);
  std::vector<std::unique_ptr<std::byte[]>> pieces_;
  std::size_t used_ = 0;
  bool overflowed_ = false;
};

}  // namespace peel::hdf5
