#include "hdf5/helper/attribute_value.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace peel::hdf5 {
namespace {

constexpr std::size_t values_shown_max = 6;
constexpr std::size_t text_shown_max = 80;

template <class T>
std::string number_text(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, end.ptr);
}

std::string quoted(const char* text, std::size_t length) {
  std::string out = "'" + std::string(text, std::min(length, text_shown_max));
  return out + (length > text_shown_max ? "...'" : "'");
}

std::string one_value(const Element& e, const std::byte* p) {
  switch (e.kind) {
    case Element::Kind::signed_integer:
      return e.size == 1 ? number_text<std::int8_t>(p) : e.size == 2 ? number_text<std::int16_t>(p)
             : e.size == 4 ? number_text<std::int32_t>(p) : number_text<std::int64_t>(p);
    case Element::Kind::unsigned_integer:
      return e.size == 1 ? number_text<std::uint8_t>(p) : e.size == 2 ? number_text<std::uint16_t>(p)
             : e.size == 4 ? number_text<std::uint32_t>(p) : number_text<std::uint64_t>(p);
    case Element::Kind::real:
      return e.size == sizeof(float) ? number_text<float>(p) : e.size == sizeof(double) ? number_text<double>(p)
                                                                                        : number_text<long double>(p);
    case Element::Kind::text: {
      const auto* text = reinterpret_cast<const char*>(p);
      return quoted(text, ::strnlen(text, e.size));
    }
    case Element::Kind::variable_text: {
      const char* text = nullptr;
      std::memcpy(&text, p, sizeof text);
      return text ? quoted(text, std::strlen(text)) : "''";
    }
    default: return "";
  }
}

}  // namespace

std::string value_text(const Element& element, const std::byte* data, std::size_t count, const Shape& shape) {
  if (shape.null) return "null";
  if (shape.now.empty()) return one_value(element, data);
  std::string out = "[";
  for (std::size_t i = 0; i < std::min(count, values_shown_max); ++i) {
    const std::string one = one_value(element, data + i * element.size);
    if (one.empty()) return "";
    out += (i > 0 ? ", " : "") + one;
  }
  return out + (count > values_shown_max ? ", ...]" : "]");
}

Result<AttributeValue> AttributeValue::read(hid_t object, const std::string& name) {
  const Handle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT));
  if (!attribute) return fail(ErrorKind::corrupt, take_library_error());
  AttributeValue out;
  out.file_type_ = Handle(H5Aget_type(attribute.get()));
  out.space_ = Handle(H5Aget_space(attribute.get()));
  if (!out.file_type_ || !out.space_) return fail(ErrorKind::corrupt, take_library_error());
  out.shape_ = shape_of_space(out.space_.get());
  PEEL_TRY(out.memory_, memory_type_for(out.file_type_.get()), "");
  const std::uint64_t count = out.shape_.elements();
  if (count > attribute_bytes_max / out.memory_.element.size) return fail(ErrorKind::limit, "it is too large");
  Buffer bytes(static_cast<std::size_t>(count) * out.memory_.element.size);
  if (count > 0 && H5Aread(attribute.get(), out.memory_.type.get(), bytes.data()) < 0) {
    return fail(ErrorKind::corrupt, take_library_error());
  }
  out.bytes_ = std::move(bytes);  // only now: the destructor gives back what a finished read allocated
  return out;
}

AttributeValue::~AttributeValue() {
  if (!bytes_.empty() && memory_.element.is_indirect()) {
    H5Dvlen_reclaim(memory_.type.get(), space_.get(), H5P_DEFAULT, bytes_.data());
  }
}

std::string AttributeValue::text() const { return value_text(memory_.element, bytes_.data(), count(), shape_); }

std::string AttributeValue::description() const {
  std::string out = type_text(file_type_.get());
  if (!shape_.now.empty()) out += " " + shape_text(shape_);
  const std::string value = text();
  return value.empty() ? out : out + " = " + value;
}

}  // namespace peel::hdf5
