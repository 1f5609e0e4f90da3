#include <algorithm>

#include "hdf5/helper/comparison.h"
#include "hdf5/helper/describe.h"
#include "hdf5/helper/value_comparison.h"

namespace peel::hdf5 {
namespace {

Change change_of(const std::string& path, What what) { return {.path = path, .object = ObjectKind::dataset, .what = what}; }

bool is_complete_description(const std::string& text) { return text.size() < description_size_max && !text.ends_with("..."); }

std::string most_text(const Shape& shape) {
  std::string out = "at most [";
  for (std::size_t i = 0; i < shape.most.size(); ++i) {
    out += (i > 0 ? ", " : "") + (shape.most[i] == H5S_UNLIMITED ? "unlimited" : std::to_string(shape.most[i]));
  }
  return out + "]";
}

}  // namespace

bool same_type(hid_t before, hid_t after) {
  if (H5Tequal(before, after) > 0) return true;
  // libhdf5 calls lists and references of two files different because they live in different files. In memory
  // they do not, and the description covers the rest.
  const Handle a(H5Tget_native_type(before, H5T_DIR_ASCEND)), b(H5Tget_native_type(after, H5T_DIR_ASCEND));
  const bool same_in_memory = a && b && H5Tequal(a.get(), b.get()) > 0;
  H5Eclear2(H5E_DEFAULT);
  if (!same_in_memory) return false;
  const auto indirect = memory_type_for(before);
  if (!indirect || !(indirect->element.is_indirect() || indirect->element.has_references())) return false;
  const std::string words = type_text(before);
  return words == type_text(after) && is_complete_description(words);
}

void compare_datasets(Comparison& c, const std::string& path, hid_t before, hid_t after) {
  ++c.diff().datasets_compared;
  DatasetSide a(before), b(after);
  if (!a.ok() || !b.ok()) {
    Change change = change_of(path, What::not_compared);
    change.object = ObjectKind::dataset;
    change.note = std::string("cannot be read in the file ") + (a.ok() ? "after" : "before") + ": " + take_library_error();
    return c.report(std::move(change));
  }
  const bool retyped = !same_type(a.type.get(), b.type.get());
  if (retyped) {
    Change change = change_of(path, What::type_changed);
    change.before = type_text(a.type.get());
    change.after = type_text(b.type.get());
    c.report(std::move(change));
  }
  const bool reshaped = a.shape.null != b.shape.null || a.shape.now != b.shape.now;
  if (reshaped) {
    Change change = change_of(path, What::reshaped);
    change.before = shape_text(a.shape);
    change.after = shape_text(b.shape);
    if (a.shape.now.size() != b.shape.now.size()) change.note = "values are not compared between shapes of different rank";
    c.report(std::move(change));
  }
  std::string old_storage = a.storage.text(), new_storage = b.storage.text();
  if (!reshaped && a.shape.most != b.shape.most) {
    old_storage += ", " + most_text(a.shape);
    new_storage += ", " + most_text(b.shape);
  }
  if (old_storage != new_storage) {
    Change change = change_of(path, What::storage_changed);
    change.before = old_storage;
    change.after = new_storage;
    c.report(std::move(change));
  }
  compare_values_of(c, path, a, b, retyped);
}

}  // namespace peel::hdf5
