#include "hdf5/helper/describe.h"

#include <algorithm>
#include <array>

namespace peel::hdf5 {
namespace {

constexpr unsigned nesting_max = 8;  // of types inside types, in words
constexpr std::size_t sources_listed_max = 4;

void append_type(std::string& out, hid_t type, unsigned depth);

std::string byte_order(hid_t type) {
  const H5T_order_t order = H5Tget_order(type);
  return order == H5T_ORDER_BE && H5Tget_size(type) > 1 ? " BE" : order == H5T_ORDER_VAX ? " VAX" : "";
}

std::string number_text(hid_t type, const char* family) {
  std::string out = family + std::to_string(H5Tget_size(type) * 8);
  const std::size_t precision = H5Tget_precision(type);
  // A long double of 80 bits in 16 bytes, a 12-bit sensor in 2: the meaning is not in the size alone.
  if (precision != 0 && precision != H5Tget_size(type) * 8) out += "/" + std::to_string(precision);
  return out + byte_order(type);
}

std::string float_text(hid_t type) {
  std::string out = number_text(type, "float");
  size_t sign, exponent, exponent_size, mantissa, mantissa_size;
  // bfloat16 and float16 have one size; only the mantissa tells them apart.
  if (H5Tget_size(type) == 2 && H5Tget_fields(type, &sign, &exponent, &exponent_size, &mantissa, &mantissa_size) >= 0 &&
      mantissa_size == 7) {
    out = "bfloat16" + byte_order(type);
  }
  return out;
}

std::string string_text(hid_t type) {
  std::string out = H5Tis_variable_str(type) > 0 ? "string (variable)" : "string[" + std::to_string(H5Tget_size(type)) + "]";
  if (H5Tget_cset(type) == H5T_CSET_UTF8) out += " utf-8";
  return out;
}

void append_members(std::string& out, hid_t type, unsigned depth) {
  out += "record {";
  const int count = H5Tget_nmembers(type);
  for (int i = 0; i < count && out.size() < description_size_max; ++i) {
    if (i > 0) out += ", ";
    if (char* name = H5Tget_member_name(type, static_cast<unsigned>(i))) {
      out += name;
      H5free_memory(name);
    }
    out += ": ";
    const Handle member(H5Tget_member_type(type, static_cast<unsigned>(i)));
    append_type(out, member.get(), depth + 1);
  }
  out += "}";
}

void append_enumeration(std::string& out, hid_t type, unsigned depth) {
  const Handle base(H5Tget_super(type));
  out += "enum ";
  append_type(out, base.get(), depth + 1);
  out += " {";
  const int count = H5Tget_nmembers(type);
  for (int i = 0; i < count && out.size() < description_size_max; ++i) {
    if (i > 0) out += ", ";
    if (char* name = H5Tget_member_name(type, static_cast<unsigned>(i))) {
      out += name;
      H5free_memory(name);
    }
  }
  out += "}";
}

void append_array(std::string& out, hid_t type, unsigned depth) {
  std::array<hsize_t, H5S_MAX_RANK> dims;
  const int rank = H5Tget_array_ndims(type) <= H5S_MAX_RANK ? H5Tget_array_dims2(type, dims.data()) : -1;
  const Handle base(H5Tget_super(type));
  append_type(out, base.get(), depth + 1);
  out += " x [";
  for (int i = 0; i < rank; ++i) out += (i > 0 ? ", " : "") + std::to_string(dims[static_cast<std::size_t>(i)]);
  out += "]";
}

void append_type(std::string& out, hid_t type, unsigned depth) {
  if (depth > nesting_max || out.size() > description_size_max) {
    out += "...";
    return;
  }
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: out += number_text(type, H5Tget_sign(type) == H5T_SGN_NONE ? "uint" : "int"); break;
    case H5T_FLOAT: out += float_text(type); break;
    case H5T_BITFIELD: out += number_text(type, "bits"); break;
    case H5T_STRING: out += string_text(type); break;
    case H5T_COMPOUND: append_members(out, type, depth); break;
    case H5T_ENUM: append_enumeration(out, type, depth); break;
    case H5T_ARRAY: append_array(out, type, depth); break;
    case H5T_VLEN: {
      const Handle base(H5Tget_super(type));
      out += "list of ";
      append_type(out, base.get(), depth + 1);
      break;
    }
    case H5T_OPAQUE: out += "opaque[" + std::to_string(H5Tget_size(type)) + "]"; break;
    case H5T_REFERENCE: out += H5Tequal(type, H5T_STD_REF_OBJ) > 0 ? "object reference" : "region reference"; break;
    case H5T_TIME: out += "time[" + std::to_string(H5Tget_size(type)) + "]"; break;
    default: out += "unknown"; break;
  }
}

std::string filter_text(hid_t creation, unsigned index) {
  unsigned flags = 0, config = 0;
  std::array<unsigned, 32> values{};
  size_t count = values.size();
  std::array<char, 64> name{};
  const H5Z_filter_t id = H5Pget_filter2(creation, index, &flags, &count, values.data(), name.size(), name.data(), &config);
  count = std::min(count, values.size());
  switch (id) {
    case H5Z_FILTER_DEFLATE: return "gzip" + (count > 0 ? " " + std::to_string(values[0]) : std::string());
    case H5Z_FILTER_SHUFFLE: return "shuffle";
    case H5Z_FILTER_FLETCHER32: return "fletcher32";
    case H5Z_FILTER_NBIT: return "nbit";
    default: break;
  }
  name.back() = '\0';
  std::string out = id == H5Z_FILTER_SZIP ? "szip" : id == H5Z_FILTER_SCALEOFFSET ? "scaleoffset"
                    : name[0] != '\0' ? std::string(name.data()) : "filter";
  if (id > H5Z_FILTER_SCALEOFFSET || id < 0) out += " (" + std::to_string(id) + ")";
  for (std::size_t i = 0; i < std::min<std::size_t>(count, 8); ++i) out += " " + std::to_string(values[i]);
  return out;
}

// "a.h5:/x, b.h5:/x and 7 more"
std::string virtual_sources(hid_t creation) {
  size_t count = 0;
  if (H5Pget_virtual_count(creation, &count) < 0) return "";
  std::string out;
  for (std::size_t i = 0; i < std::min(count, sources_listed_max); ++i) {
    std::array<char, 128> file{}, dataset{};
    H5Pget_virtual_filename(creation, i, file.data(), file.size());
    H5Pget_virtual_dsetname(creation, i, dataset.data(), dataset.size());
    file.back() = dataset.back() = '\0';
    out += (i > 0 ? ", " : "") + std::string(file.data()) + ":" + dataset.data();
  }
  if (count > sources_listed_max) out += " and " + std::to_string(count - sources_listed_max) + " more";
  return out;
}

std::string external_sources(hid_t creation, int count) {
  std::string out;
  for (int i = 0; i < std::min(count, static_cast<int>(sources_listed_max)); ++i) {
    std::array<char, 128> name{};
    off_t offset = 0;
    hsize_t size = 0;
    H5Pget_external(creation, static_cast<unsigned>(i), name.size() - 1, name.data(), &offset, &size);
    name.back() = '\0';
    out += (i > 0 ? ", " : "") + std::string(name.data()) + " at " + std::to_string(offset);
  }
  if (count > static_cast<int>(sources_listed_max)) out += " and more";
  return out;
}

std::string list_text(const std::vector<std::uint64_t>& values) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) out += (i > 0 ? ", " : "") + std::to_string(values[i]);
  return out + "]";
}

}  // namespace

std::uint64_t Shape::elements() const {
  if (null) return 0;
  std::uint64_t n = 1;
  for (const std::uint64_t d : now) {
    if (d == 0) return 0;
    n = n > UINT64_MAX / d ? UINT64_MAX : n * d;
  }
  return n;
}

Shape shape_of_space(hid_t space) {
  Shape out;
  const H5S_class_t kind = H5Sget_simple_extent_type(space);
  out.null = kind != H5S_SCALAR && kind != H5S_SIMPLE;
  if (kind != H5S_SIMPLE) return out;
  std::array<hsize_t, H5S_MAX_RANK> now{}, most{};
  const int rank = H5Sget_simple_extent_dims(space, now.data(), most.data());
  out.null = rank < 0;
  for (int i = 0; i < rank; ++i) {
    out.now.push_back(now[static_cast<std::size_t>(i)]);
    out.most.push_back(most[static_cast<std::size_t>(i)]);
  }
  return out;
}

std::string shape_text(const Shape& shape) {
  return shape.null ? "null" : shape.now.empty() ? "scalar" : list_text(shape.now);
}

std::string type_text(hid_t type) {
  std::string out;
  append_type(out, type, 0);
  if (out.size() > description_size_max) out.resize(description_size_max);
  return out;
}

std::string Storage::text() const {
  std::string out = layout;
  if (!chunk.empty()) out += " " + list_text(chunk);
  if (!filters.empty()) out += ", " + filters;
  if (!sources.empty()) out += " " + sources;
  return out;
}

Storage storage_of(hid_t dataset) {
  Storage out;
  const Handle creation(H5Dget_create_plist(dataset));
  switch (creation ? H5Pget_layout(creation.get()) : H5D_LAYOUT_ERROR) {
    case H5D_COMPACT: out.layout = "compact"; break;
    case H5D_CONTIGUOUS: out.layout = "contiguous"; break;
    case H5D_CHUNKED: {
      out.layout = "chunked";
      std::array<hsize_t, H5S_MAX_RANK> chunk{};
      const int rank = H5Pget_chunk(creation.get(), H5S_MAX_RANK, chunk.data());
      for (int i = 0; i < std::min(rank, H5S_MAX_RANK); ++i) out.chunk.push_back(chunk[static_cast<std::size_t>(i)]);
      break;
    }
    case H5D_VIRTUAL:
      out.layout = "virtual";
      out.sources = virtual_sources(creation.get());
      break;
    default: out.layout = "unknown"; return out;
  }
  const int external = H5Pget_external_count(creation.get());
  if (external > 0) {
    out.layout = "external";
    out.sources = external_sources(creation.get(), external);
  }
  const int filters = H5Pget_nfilters(creation.get());
  for (int i = 0; i < filters; ++i) {
    if (i > 0) out.filters += ", ";
    out.filters += filter_text(creation.get(), static_cast<unsigned>(i));
  }
  return out;
}

}  // namespace peel::hdf5
