#include "hdf5/helper/list.h"

#include <map>

#include "hdf5/helper/attribute_value.h"
#include "hdf5/helper/budget.h"
#include "hdf5/helper/describe.h"
#include "hdf5/helper/open_file.h"
#include "hdf5/helper/walk.h"

namespace peel::hdf5 {
namespace {

std::size_t size_of(const Object& object) {
  constexpr std::size_t fixed = 40, per_dimension = 8;
  return fixed + object.path.size() + object.type.size() + object.layout.size() + object.filters.size() + object.target.size() +
         per_dimension * (object.shape.size() + object.shape_max.size() + object.chunk.size());
}

class Lister {
 public:
  Lister(OpenFile& file, Budget& budget) : file_(file), budget_(budget) {}

  Status run() {
    PEEL_TRY(const Handle root, open_root(file_.id()), "root group");
    visit("/", root.get(), 0);
    return {};
  }
  Listing take() { return std::move(listing_); }

 private:
  void visit(const std::string& path, hid_t object, unsigned depth) {
    if (!budget_.go_on(path)) return;
    const auto kind = kind_of(object);
    const auto [first, is_new] = first_path_.emplace(address_of(object), path);
    if (!kind || !is_new) return add_link(path, kind ? "same object as " + first->second : "object of an unknown kind");
    Object out{.path = path, .kind = *kind};
    if (*kind == ObjectKind::dataset) describe_dataset(out, object);
    if (*kind == ObjectKind::named_type) out.type = type_text(object);
    add_attributes(out, object);
    add(std::move(out));
    if (*kind == ObjectKind::group) visit_members(path, object, depth);
  }

  void visit_members(const std::string& path, hid_t group, unsigned depth) {
    if (depth > depth_max) return budget_.stop("groups are nested too deeply at " + path.substr(0, 200));
    const auto links = links_of(group);
    if (!links) return budget_.stop("group " + path + " cannot be read: " + links.error().message());
    for (const Link& link : *links) {
      const std::string child = child_path(path, link.name);
      if (!budget_.go_on(child)) return;
      if (!link.hard) {
        add_link(child, link.target);
        continue;
      }
      const auto object = open_object(file_.id(), link.address);
      if (object) visit(child, object->get(), depth + 1);
      else add_link(child, "object that cannot be read: " + object.error().message());
    }
  }

  void describe_dataset(Object& out, hid_t dataset) {
    const Handle type(H5Dget_type(dataset)), space(H5Dget_space(dataset));
    out.type = type_text(type.get());
    const Shape shape = shape_of_space(space.get());
    out.shape = shape.now;
    out.shape_max = shape.most;
    Storage storage = storage_of(dataset);
    out.layout = storage.layout;
    out.chunk = std::move(storage.chunk);
    out.filters = std::move(storage.filters);
    out.target = std::move(storage.sources);
    out.storage_bytes = H5Dget_storage_size(dataset);
    H5Eclear2(H5E_DEFAULT);
  }

  void add_attributes(Object& out, hid_t object) {
    const auto names = attribute_names_of(object);
    if (!names) {
      out.attributes.push_back({.name = "", .type = "unknown", .value = "attributes cannot be read: " + names.error().message()});
      return;
    }
    for (const std::string& name : *names) {
      Attribute attribute{.name = name};
      if (const auto value = AttributeValue::read(object, name)) {
        attribute.type = type_text(value->file_type());
        attribute.shape = value->shape().now;
        attribute.value = value->text();
      } else {
        attribute.type = "unknown";
        attribute.value = "cannot be read: " + value.error().message();
      }
      constexpr std::size_t fixed = 80;
      if (!budget_.take_item(fixed + attribute.name.size() + attribute.type.size() + attribute.value.size())) return;
      out.attributes.push_back(std::move(attribute));
    }
  }

  void add_link(const std::string& path, std::string target) {
    add(Object{.path = path, .kind = ObjectKind::link, .target = std::move(target)});
  }

  void add(Object object) {
    // Cut short by its own attributes, it is still worth showing.
    if (budget_.take_item(size_of(object)) || !object.attributes.empty()) listing_.objects.push_back(std::move(object));
  }

  OpenFile& file_;
  Budget& budget_;
  Listing listing_;
  std::map<std::uint64_t, std::string> first_path_;
};

}  // namespace

Result<Listing> list_file(const Source& source, std::uint32_t time_ms, std::uint32_t items_max) {
  PEEL_TRY(OpenFile file, OpenFile::open(source, Strictness::lenient), "the file cannot be opened as HDF5");
  Budget budget(time_ms, items_max > 0 ? items_max - 1 : 0);  // room for the object add() lets through
  Lister lister(file, budget);
  PEEL_CHECK(lister.run(), "");
  Listing out = lister.take();
  out.complete = !budget.stopped();
  out.incomplete_because = budget.why();
  return out;
}

}  // namespace peel::hdf5
