// hdf5/helper/attribute_value.h - an attribute read into memory, and values as short text.
//
// Errors     corrupt with libhdf5's reason · limit: larger than attribute_bytes_max.
// Threads    One thread.
// Memory     The value; variable parts as libhdf5 allocates them, within the helper's address space.
#pragma once

#include <string>

#include "hdf5/helper/describe.h"
#include "hdf5/helper/elements.h"

namespace peel::hdf5 {

inline constexpr std::size_t attribute_bytes_max = 16u << 20;

class AttributeValue {
 public:
  static Result<AttributeValue> read(hid_t object, const std::string& name);
  AttributeValue(AttributeValue&&) noexcept = default;
  AttributeValue& operator=(AttributeValue&&) = delete;
  ~AttributeValue();

  hid_t file_type() const { return file_type_.get(); }
  const Shape& shape() const { return shape_; }
  const Element& element() const { return memory_.element; }
  const MemoryType& memory() const { return memory_; }
  const std::byte* data() const { return bytes_.data(); }
  std::size_t count() const { return static_cast<std::size_t>(shape_.elements()); }
  // "3.5", "'kelvin'", "[1, 2, 3, ...]"; empty when there is no short form.
  std::string text() const;
  // Type, shape and value in one line.
  std::string description() const;

 private:
  AttributeValue() = default;
  Handle file_type_, space_;
  Shape shape_;
  MemoryType memory_;
  Buffer bytes_;
};

std::string value_text(const Element& element, const std::byte* data, std::size_t count, const Shape& shape);

}  // namespace peel::hdf5
