#include "hdf5/helper/elements.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstring>
#include <new>
#include <string_view>

namespace peel::hdf5 {
namespace {

using Kind = Element::Kind;

constexpr unsigned nesting_max = 16;
constexpr std::size_t members_max = 4096;

template <class T>
T load(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// --- describing ------------------------------------------------------------------------------

Result<Element> describe(hid_t type, unsigned depth);

Result<Element> describe_record(hid_t type, std::size_t size, unsigned depth) {
  const int count = H5Tget_nmembers(type);
  if (count < 0 || static_cast<std::size_t>(count) > members_max) return fail(ErrorKind::corrupt, "type: too many members");
  Element out{.kind = Kind::record, .size = size};
  for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
    const Handle member(H5Tget_member_type(type, i));
    const std::size_t offset = H5Tget_member_offset(type, i);
    PEEL_TRY(auto part, describe(member.get(), depth + 1), "");
    if (offset > size || part.size > size - offset) return fail(ErrorKind::corrupt, "type: member outside its record");
    out.parts.push_back(std::move(part));
    out.offsets.push_back(offset);
  }
  return out;
}

Result<Element> describe_array(hid_t type, std::size_t size, unsigned depth) {
  const Handle base(H5Tget_super(type));
  PEEL_TRY(auto part, describe(base.get(), depth + 1), "");
  if (part.size == 0 || size % part.size != 0) return fail(ErrorKind::corrupt, "type: array size");
  Element out{.kind = Kind::array, .size = size, .count = size / part.size};
  out.parts.push_back(std::move(part));
  return out;
}

Element describe_integer(hid_t type, std::size_t size) {
  // Only what the machine has can be compared as a number; wider integers are bytes.
  if (size != 1 && size != 2 && size != 4 && size != 8) return Element{.kind = Kind::bytes, .size = size};
  return Element{.kind = H5Tget_sign(type) == H5T_SGN_NONE ? Kind::unsigned_integer : Kind::signed_integer, .size = size};
}

Result<Element> describe(hid_t type, unsigned depth) {
  const std::size_t size = H5Tget_size(type);
  if (size == 0 || depth > nesting_max) return fail(ErrorKind::corrupt, "type: nested too deeply or without size");
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: return describe_integer(type, size);
    case H5T_ENUM: {
      const Handle base(H5Tget_super(type));
      Element out = describe_integer(base.get(), size);
      out.is_label = true;
      return out;
    }
    case H5T_FLOAT:
      if (size == sizeof(float) || size == sizeof(double) || size == sizeof(long double)) {
        return Element{.kind = Kind::real, .size = size};
      }
      return Element{.kind = Kind::bytes, .size = size};
    case H5T_STRING:
      if (H5Tis_variable_str(type) > 0) return Element{.kind = Kind::variable_text, .size = sizeof(char*)};
      return Element{.kind = H5Tget_strpad(type) == H5T_STR_SPACEPAD ? Kind::bytes : Kind::text, .size = size};
    case H5T_COMPOUND: return describe_record(type, size, depth);
    case H5T_ARRAY: return describe_array(type, size, depth);
    case H5T_VLEN: {
      const Handle base(H5Tget_super(type));
      PEEL_TRY(auto part, describe(base.get(), depth + 1), "");
      Element out{.kind = Kind::list, .size = sizeof(hvl_t)};
      out.parts.push_back(std::move(part));
      return out;
    }
    case H5T_REFERENCE:
      if (size == sizeof(hobj_ref_t) && H5Tequal(type, H5T_STD_REF_OBJ) > 0) return Element{.kind = Kind::object_reference, .size = size};
      return Element{.kind = Kind::bytes, .size = size};
    default: return Element{.kind = Kind::bytes, .size = size};
  }
}

// --- comparing -------------------------------------------------------------------------------

void raise(std::optional<double>& max, double by) {
  if (!max || by > *max) max = by;
}

template <std::integral T>
bool differ(T a, T b, std::optional<double>& max) {
  if (a == b) return false;
  using U = std::make_unsigned_t<T>;
  // The true difference always fits the unsigned type, even where a - b would overflow.
  raise(max, static_cast<double>(a > b ? static_cast<U>(static_cast<U>(a) - static_cast<U>(b))
                                       : static_cast<U>(static_cast<U>(b) - static_cast<U>(a))));
  return true;
}

template <std::floating_point T>
bool differ(T a, T b, std::optional<double>& max) {
  if (a == b) return false;
  const bool no_a = std::isnan(a), no_b = std::isnan(b);
  if (no_a && no_b) return false;
  if (!no_a && !no_b) raise(max, static_cast<double>(std::fabs(static_cast<long double>(a) - static_cast<long double>(b))));
  return true;
}

template <class T>
void compare_numbers(const std::byte* a, const std::byte* b, std::size_t count, Difference& out) {
  for (std::size_t i = 0; i < count; ++i) {
    if (differ(load<T>(a + i * sizeof(T)), load<T>(b + i * sizeof(T)), out.max)) ++out.changed;
  }
}

void compare_numbers(const Element& element, const std::byte* a, const std::byte* b, std::size_t count, Difference& out) {
  if (element.kind == Kind::real) {
    switch (element.size) {
      case sizeof(float): return compare_numbers<float>(a, b, count, out);
      case sizeof(double): return compare_numbers<double>(a, b, count, out);
      default: return compare_numbers<long double>(a, b, count, out);
    }
  }
  const bool has_sign = element.kind == Kind::signed_integer;
  switch (element.size) {
    case 1: return has_sign ? compare_numbers<std::int8_t>(a, b, count, out) : compare_numbers<std::uint8_t>(a, b, count, out);
    case 2: return has_sign ? compare_numbers<std::int16_t>(a, b, count, out) : compare_numbers<std::uint16_t>(a, b, count, out);
    case 4: return has_sign ? compare_numbers<std::int32_t>(a, b, count, out) : compare_numbers<std::uint32_t>(a, b, count, out);
    default: return has_sign ? compare_numbers<std::int64_t>(a, b, count, out) : compare_numbers<std::uint64_t>(a, b, count, out);
  }
}

bool same_text(const std::byte* a, const std::byte* b, std::size_t size) {
  const auto* x = reinterpret_cast<const char*>(a);
  const auto* y = reinterpret_cast<const char*>(b);
  const std::size_t n = ::strnlen(x, size);
  return n == ::strnlen(y, size) && std::memcmp(x, y, n) == 0;
}

bool same_variable_text(const char* a, const char* b) {
  return std::string_view(a ? a : "") == std::string_view(b ? b : "");  // no pointer is an empty string
}

// A rewritten file has its objects elsewhere: what a reference means is whom it names.
bool same_reference(const std::byte* a, const std::byte* b, std::size_t size, References references) {
  static_assert(sizeof(hobj_ref_t) == sizeof(std::uint64_t));
  const std::string* x = references.before.path_of(load<hobj_ref_t>(a));
  const std::string* y = references.after.path_of(load<hobj_ref_t>(b));
  if (x && y) return *x == *y;
  return !x && !y && std::memcmp(a, b, size) == 0;
}

bool same(const Element& e, const std::byte* a, const std::byte* b, References references, std::optional<double>& max) {
  switch (e.kind) {
    case Kind::bytes: return std::memcmp(a, b, e.size) == 0;
    case Kind::signed_integer:
    case Kind::unsigned_integer:
    case Kind::real: {
      Difference one{0, max};
      compare_numbers(e, a, b, 1, one);
      max = one.max;
      return one.changed == 0;
    }
    case Kind::text: return same_text(a, b, e.size);
    case Kind::variable_text: return same_variable_text(load<const char*>(a), load<const char*>(b));
    case Kind::list: {
      const auto x = load<hvl_t>(a), y = load<hvl_t>(b);
      if (x.len != y.len) return false;
      const auto* p = static_cast<const std::byte*>(x.p);
      const auto* q = static_cast<const std::byte*>(y.p);
      const std::size_t step = e.parts[0].size;
      for (std::size_t i = 0; i < x.len; ++i) {
        if (!same(e.parts[0], p + i * step, q + i * step, references, max)) return false;
      }
      return true;
    }
    case Kind::array: {
      bool equal = true;  // no early end: the greatest difference is wanted
      const std::size_t step = e.parts[0].size;
      for (std::size_t i = 0; i < e.count; ++i) equal &= same(e.parts[0], a + i * step, b + i * step, references, max);
      return equal;
    }
    case Kind::record:
      for (std::size_t i = 0; i < e.parts.size(); ++i) {
        if (!same(e.parts[i], a + e.offsets[i], b + e.offsets[i], references, max)) return false;
      }
      return true;
    case Kind::object_reference: return same_reference(a, b, e.size, references);
  }
  return false;
}

}  // namespace

bool Element::is_indirect() const {
  if (kind == Kind::variable_text || kind == Kind::list) return true;
  return std::any_of(parts.begin(), parts.end(), [](const Element& part) { return part.is_indirect(); });
}

bool Element::has_references() const {
  if (kind == Kind::object_reference) return true;
  return std::any_of(parts.begin(), parts.end(), [](const Element& part) { return part.has_references(); });
}

Result<MemoryType> memory_type_for(hid_t file_type) {
  MemoryType out;
  const bool small_float = H5Tget_class(file_type) == H5T_FLOAT && H5Tget_size(file_type) < sizeof(float);
  out.type = Handle(small_float ? H5Tcopy(H5T_NATIVE_FLOAT) : H5Tget_native_type(file_type, H5T_DIR_ASCEND));
  if (!out.type) {
    // No native counterpart (integers of 16 bytes, time): read it as it is stored.
    H5Eclear2(H5E_DEFAULT);
    out.type = Handle(H5Tcopy(file_type));
  }
  PEEL_TRY(out.element, describe(out.type.get(), 0), "");
  return out;
}

Result<MemoryType> widest_real_for(hid_t file_type) {
  const H5T_class_t family = H5Tget_class(file_type);
  const bool number = family == H5T_FLOAT || (family == H5T_INTEGER && H5Tget_size(file_type) <= 8);
  if (!number) return fail(ErrorKind::unsupported, "no number");
  return MemoryType{Handle(H5Tcopy(H5T_NATIVE_LDOUBLE)), Element{.kind = Kind::real, .size = sizeof(long double)}};
}

void compare_values(const Element& element, const std::byte* a, const std::byte* b, std::size_t count,
                    References references, Difference& out) {
  if (!element.is_indirect() && !element.has_references() && std::memcmp(a, b, count * element.size) == 0) return;
  if (element.is_number()) {
    compare_numbers(element, a, b, count, out);
    if (element.is_label) out.max.reset();
    return;
  }
  std::optional<double> ignored;
  std::optional<double>& max = element.is_numeric() ? out.max : ignored;
  for (std::size_t i = 0; i < count; ++i) {
    if (!same(element, a + i * element.size, b + i * element.size, references, max)) ++out.changed;
  }
}

void* ValueArena::allocate(size_t size, void* self) {
  auto& arena = *static_cast<ValueArena*>(self);
  if (size > bytes_max - arena.used_) {
    arena.overflowed_ = true;
    return nullptr;
  }
  auto* piece = new (std::nothrow) std::byte[size + 1];
  if (!piece) {
    arena.overflowed_ = true;
    return nullptr;
  }
  arena.pieces_.emplace_back(piece);
  arena.used_ += size;
  return piece;
}

Handle ValueArena::transfer_list() {
  Handle list(H5Pcreate(H5P_DATASET_XFER));
  // Freed all at once by clear(), whatever libhdf5 thinks.
  H5Pset_vlen_mem_manager(list.get(), allocate, this, [](void*, void*) {}, nullptr);
  return list;
}

void ValueArena::clear() {
  pieces_.clear();
  used_ = 0;
  overflowed_ = false;
}

}  // namespace peel::hdf5
