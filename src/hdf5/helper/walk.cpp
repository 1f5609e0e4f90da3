#include "hdf5/helper/walk.h"

#include <algorithm>

namespace peel::hdf5 {
namespace {

#if H5_VERSION_GE(1, 12, 0)
using ObjectInfo = H5O_info1_t;
using LinkInfo = H5L_info1_t;
herr_t iterate_links(hid_t group, hsize_t* index, H5L_iterate1_t visit, void* data) {
  return H5Literate1(group, H5_INDEX_NAME, H5_ITER_NATIVE, index, visit, data);
}
#else
using ObjectInfo = H5O_info_t;
using LinkInfo = H5L_info_t;
herr_t iterate_links(hid_t group, hsize_t* index, H5L_iterate_t visit, void* data) {
  return H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, index, visit, data);
}
#endif

struct Gathering {
  std::vector<Link> links;
  std::vector<std::string> names;
  std::size_t bytes = 0;
  bool too_many = false;

  bool take(const char* name) {
    // What one entry costs in memory, roughly.
    bytes += std::char_traits<char>::length(name) + sizeof(Link);
    too_many = bytes > names_bytes_max;
    return !too_many;
  }
};

// The words for a link that is not followed.
std::string target_text(hid_t group, const char* name, H5L_type_t type, std::size_t value_size) {
  if (type != H5L_TYPE_SOFT && type != H5L_TYPE_EXTERNAL) return "link of a user-defined kind (not followed)";
  std::vector<char> value(std::min<std::size_t>(value_size, 0xffff) + 1, '\0');
  if (H5Lget_val(group, name, value.data(), value.size() - 1, H5P_DEFAULT) < 0) return "link that cannot be read";
  if (type == H5L_TYPE_SOFT) return std::string("soft link to ") + value.data();
  unsigned flags = 0;
  const char *file = nullptr, *path = nullptr;
  if (H5Lunpack_elink_val(value.data(), std::min<std::size_t>(value_size, 0xffff), &flags, &file, &path) < 0) {
    return "external link that cannot be read";
  }
  return std::string("external link to ") + file + ":" + path + " (not followed)";
}

herr_t gather_link(hid_t group, const char* name, const LinkInfo* info, void* data) {
  auto& out = *static_cast<Gathering*>(data);
  if (!out.take(name)) return 1;
  Link link;
  link.name = name;
  link.hard = info->type == H5L_TYPE_HARD;
  if (link.hard) {
    link.address = info->u.address;
  } else {
    link.target = target_text(group, name, info->type, info->u.val_size);
    H5Eclear2(H5E_DEFAULT);
  }
  out.links.push_back(std::move(link));
  return 0;
}

herr_t gather_attribute(hid_t, const char* name, const H5A_info_t*, void* data) {
  auto& out = *static_cast<Gathering*>(data);
  if (!out.take(name)) return 1;
  out.names.emplace_back(name);
  return 0;
}

Status check(herr_t iterated, const Gathering& gathered) {
  if (gathered.too_many) return fail(ErrorKind::limit, "it has too many names");
  if (iterated < 0) return fail(ErrorKind::corrupt, take_library_error());
  return {};
}

bool info_of(hid_t object, ObjectInfo& out) {
  if (H5Oget_info2(object, &out, H5O_INFO_BASIC) >= 0) return true;
  H5Eclear2(H5E_DEFAULT);
  return false;
}

}  // namespace

Result<std::vector<Link>> links_of(hid_t group) {
  Gathering gathered;
  hsize_t index = 0;
  const herr_t status = iterate_links(group, &index, gather_link, &gathered);
  PEEL_CHECK(check(status, gathered), "");
  std::sort(gathered.links.begin(), gathered.links.end(), [](const Link& a, const Link& b) { return a.name < b.name; });
  return std::move(gathered.links);
}

Result<std::vector<std::string>> attribute_names_of(hid_t object) {
  Gathering gathered;
  hsize_t index = 0;
  const herr_t status = H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, &index, gather_attribute, &gathered);
  PEEL_CHECK(check(status, gathered), "");
  std::sort(gathered.names.begin(), gathered.names.end());
  return std::move(gathered.names);
}

Result<Handle> open_object(hid_t file, std::uint64_t address) {
  Handle out(H5Oopen_by_addr(file, address));
  if (!out) return fail(ErrorKind::corrupt, take_library_error());
  return out;
}

Result<Handle> open_root(hid_t file) {
  Handle out(H5Gopen2(file, "/", H5P_DEFAULT));
  if (!out) return fail(ErrorKind::corrupt, take_library_error());
  return out;
}

std::optional<ObjectKind> kind_of(hid_t object) {
  switch (H5Iget_type(object)) {
    case H5I_GROUP: return ObjectKind::group;
    case H5I_DATASET: return ObjectKind::dataset;
    case H5I_DATATYPE: return ObjectKind::named_type;
    default: return std::nullopt;
  }
}

std::uint64_t address_of(hid_t object) {
  ObjectInfo info;
  return info_of(object, info) ? info.addr : HADDR_UNDEF;
}

std::string child_path(const std::string& parent, const std::string& name) {
  return parent == "/" ? "/" + name : parent + "/" + name;
}

}  // namespace peel::hdf5
