#include "hdf5/helper/attribute_value.h"
#include "hdf5/helper/comparison.h"
#include "hdf5/helper/walk.h"

namespace peel::hdf5 {
namespace {

Change change_of(const std::string& path, const std::string& name, What what) {
  return {.path = path, .attribute = name, .object = ObjectKind::attribute, .what = what};
}

void cannot(Comparison& c, const std::string& path, const std::string& name, const char* side, const Error& why) {
  Change change = change_of(path, name, What::not_compared);
  change.note = std::string("cannot be read in the file ") + side + ": " + why.message();
  c.report(std::move(change));
}

void tell_one_sided(Comparison& c, const std::string& path, const std::string& name, hid_t object, What what) {
  Change change = change_of(path, name, what);
  const auto value = AttributeValue::read(object, name);
  if (value) (what == What::added ? change.after : change.before) = value->description();
  else change.note = "its value cannot be read: " + value.error().message();
  c.report(std::move(change));
}

void compare_one(Comparison& c, const std::string& path, const std::string& name, hid_t before, hid_t after) {
  const auto a = AttributeValue::read(before, name), b = AttributeValue::read(after, name);
  if (!a) return cannot(c, path, name, "before", a.error());
  if (!b) return cannot(c, path, name, "after", b.error());
  const bool retyped = !same_type(a->file_type(), b->file_type());
  const bool reshaped = a->shape().null != b->shape().null || a->shape().now != b->shape().now;
  if (retyped || reshaped) {
    Change change = change_of(path, name, retyped ? What::type_changed : What::reshaped);
    change.before = a->description();
    change.after = b->description();
    return c.report(std::move(change));
  }
  Difference difference;
  if (a->element().size != b->element().size) return;  // same_type() says otherwise
  compare_values(a->element(), a->data(), b->data(), a->count(), c.references(), difference);
  if (difference.changed == 0) return;
  Change change = change_of(path, name, What::values_changed);
  change.before = a->text();
  change.after = b->text();
  change.changed = difference.changed;
  change.total = a->count();
  change.max_difference = difference.max;
  c.report(std::move(change));
}

}  // namespace

void compare_attributes(Comparison& c, const std::string& path, hid_t before, hid_t after) {
  const auto old_names = attribute_names_of(before), new_names = attribute_names_of(after);
  if (!old_names) return cannot(c, path, "", "before", old_names.error());
  if (!new_names) return cannot(c, path, "", "after", new_names.error());
  auto a = old_names->begin();
  auto b = new_names->begin();
  while ((a != old_names->end() || b != new_names->end()) && c.budget().go_on(path)) {
    if (b == new_names->end() || (a != old_names->end() && *a < *b)) {
      tell_one_sided(c, path, *a++, before, What::removed);
    } else if (a == old_names->end() || *b < *a) {
      tell_one_sided(c, path, *b++, after, What::added);
    } else {
      compare_one(c, path, *a++, before, after);
      ++b;
    }
  }
}

}  // namespace peel::hdf5
