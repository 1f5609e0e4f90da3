#include "hdf5/helper/compare.h"

#include <algorithm>

#include "hdf5/helper/comparison.h"
#include "hdf5/helper/describe.h"
#include "hdf5/helper/walk.h"

namespace peel::hdf5 {
namespace {

// The part of the tree that was asked for.
class Scope {
 public:
  explicit Scope(std::string path) : path_(std::move(path)) {
    if (path_.empty() || path_[0] != '/') path_ = "/" + path_;
    while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  }
  bool holds(const std::string& path) const {
    return path_ == "/" || path == path_ || path.starts_with(path_ + "/");
  }
  bool may_lie_below(const std::string& path) const {
    return holds(path) || path == "/" || path_.starts_with(path + "/");
  }
  bool is_everything() const { return path_ == "/"; }

 private:
  std::string path_;
};

std::string description_of(hid_t object) {
  const auto kind = kind_of(object);
  if (kind == ObjectKind::named_type) return type_text(object);
  if (kind != ObjectKind::dataset) return "";
  const Handle type(H5Dget_type(object)), space(H5Dget_space(object));
  return type_text(type.get()) + " " + shape_text(shape_of_space(space.get())) + ", " + storage_of(object).text();
}

class TreeComparison {
 public:
  TreeComparison(Comparison& c, Scope scope) : c_(c), scope_(std::move(scope)) {}

  Status run() {
    PEEL_TRY(const Handle before, open_root(c_.before().id()), "before: root group");
    PEEL_TRY(const Handle after, open_root(c_.after().id()), "after: root group");
    compare_groups("/", before.get(), after.get(), 0);
    return {};
  }
  bool found_scope() const { return found_scope_; }

 private:
  enum class Side : std::uint8_t { before, after };

  OpenFile& file(Side side) { return side == Side::before ? c_.before() : c_.after(); }
  static const char* name(Side side) { return side == Side::before ? "before" : "after"; }

  void cannot(const std::string& path, ObjectKind kind, Side side, const std::string& why) {
    c_.report({.path = path, .object = kind, .what = What::not_compared,
               .note = std::string("cannot be read in the file ") + name(side) + ": " + why});
  }

  void compare_groups(const std::string& path, hid_t before, hid_t after, unsigned depth) {
    if (!c_.budget().go_on(path)) return;
    if (depth > depth_max) return c_.budget().stop("groups are nested too deeply at " + path.substr(0, 200));
    if (scope_.holds(path)) {
      found_scope_ = true;
      if (!compared_.emplace(address_of(before), address_of(after)).second) return;  // also ends cycles
      compare_attributes(c_, path, before, after);
    }
    auto old_links = links_of(before), new_links = links_of(after);
    if (!old_links) return cannot(path, ObjectKind::group, Side::before, old_links.error().message());
    if (!new_links) return cannot(path, ObjectKind::group, Side::after, new_links.error().message());
    auto a = old_links->begin();
    auto b = new_links->begin();
    while ((a != old_links->end() || b != new_links->end()) && c_.budget().go_on(path)) {
      const bool only_a = b == new_links->end() || (a != old_links->end() && a->name < b->name);
      const bool only_b = !only_a && (a == old_links->end() || b->name < a->name);
      const std::string child = child_path(path, only_b ? b->name : a->name);
      if (scope_.may_lie_below(child)) {
        if (only_a) tell_whole(child, *a, Side::before, depth + 1);
        else if (only_b) tell_whole(child, *b, Side::after, depth + 1);
        else compare_links(child, *a, *b, depth + 1);
      }
      if (!only_b) ++a;
      if (!only_a) ++b;
    }
  }

  void compare_links(const std::string& path, const Link& a, const Link& b, unsigned depth) {
    if (scope_.holds(path)) found_scope_ = true;
    if (!a.hard || !b.hard) {
      if (a.hard != b.hard || a.target != b.target) {
        if (!scope_.holds(path)) return;
        const auto words = [](const Link& l) { return l.hard ? std::string("object of this file") : l.target; };
        c_.report({.path = path, .object = ObjectKind::link, .what = What::target_changed, .before = words(a), .after = words(b)});
      }
      return;
    }
    const auto old_object = open_object(c_.before().id(), a.address);
    const auto new_object = open_object(c_.after().id(), b.address);
    if (!old_object || !new_object) {
      const auto& failed = old_object ? new_object : old_object;
      return cannot(path, ObjectKind::link, old_object ? Side::after : Side::before, failed.error().message());
    }
    compare_objects(path, a, b, old_object->get(), new_object->get(), depth);
  }

  void compare_objects(const std::string& path, const Link& a, const Link& b, hid_t before, hid_t after, unsigned depth) {
    const auto old_kind = kind_of(before), new_kind = kind_of(after);
    if (old_kind != new_kind || !old_kind) {
      tell_whole(path, a, Side::before, depth);
      tell_whole(path, b, Side::after, depth);
      return;
    }
    if (*old_kind == ObjectKind::group) return compare_groups(path, before, after, depth);
    if (!scope_.holds(path) || !compared_.emplace(a.address, b.address).second) return;
    compare_attributes(c_, path, before, after);
    if (*old_kind == ObjectKind::dataset) return compare_datasets(c_, path, before, after);
    if (!same_type(before, after)) {
      c_.report({.path = path, .object = ObjectKind::named_type, .what = What::type_changed,
                 .before = type_text(before), .after = type_text(after)});
    }
  }

  // An object that only one file has, with everything below it.
  void tell_whole(const std::string& path, const Link& link, Side side, unsigned depth) {
    if (!c_.budget().go_on(path)) return;
    Change change{.path = path, .what = side == Side::before ? What::removed : What::added};
    std::string& words = side == Side::before ? change.before : change.after;
    if (!link.hard) {
      change.object = ObjectKind::link;
      words = link.target;
      return tell(std::move(change));
    }
    const auto object = open_object(file(side).id(), link.address);
    if (!object) {
      change.object = ObjectKind::link;
      change.note = "what it leads to cannot be read: " + object.error().message();
      return tell(std::move(change));
    }
    change.object = kind_of(object->get()).value_or(ObjectKind::link);
    words = description_of(object->get());
    const bool is_group = change.object == ObjectKind::group;
    auto& seen = side == Side::before ? told_before_ : told_after_;
    const bool again = is_group && !seen.insert(link.address).second;
    if (again) change.note = "its contents are listed at another path";
    tell(std::move(change));
    if (is_group && !again) tell_members(path, object->get(), side, depth);
  }

  void tell_members(const std::string& path, hid_t group, Side side, unsigned depth) {
    if (depth > depth_max) return c_.budget().stop("groups are nested too deeply at " + path.substr(0, 200));
    const auto links = links_of(group);
    if (!links) return cannot(path, ObjectKind::group, side, links.error().message());
    for (const Link& link : *links) {
      const std::string child = child_path(path, link.name);
      if (scope_.may_lie_below(child)) tell_whole(child, link, side, depth + 1);
    }
  }

  void tell(Change change) {
    if (!scope_.holds(change.path)) return;
    found_scope_ = true;
    c_.report(std::move(change));
  }

  Comparison& c_;
  Scope scope_;
  bool found_scope_ = false;
  std::set<std::pair<std::uint64_t, std::uint64_t>> compared_;  // pairs of addresses, within the scope
  std::set<std::uint64_t> told_before_, told_after_;            // groups listed as removed or added
};

}  // namespace

void Comparison::report(Change change) {
  constexpr std::size_t fixed = 64;
  const std::size_t bytes = fixed + change.path.size() + change.attribute.size() + change.before.size() +
                            change.after.size() + change.note.size();
  if (budget_.take_item(bytes)) diff_.changes.push_back(std::move(change));
}

bool Comparison::known_equal(const Range& place) const {
  if (!knows_ranges() || place.offset > UINT64_MAX - place.length) return false;
  const std::vector<Range>& ranges = **changed_;
  // The first range that ends behind the beginning of `place` is the only one to look at.
  const auto first = std::partition_point(ranges.begin(), ranges.end(), [&](const Range& r) {
    return r.offset + r.length <= place.offset;
  });
  return first == ranges.end() || first->offset >= place.offset + place.length;
}

Result<FileDiff> compare_files(const Source& before, const Source& after, const CompareTask& task) {
  PEEL_TRY(OpenFile old_file, OpenFile::open(before, Strictness::lenient), "the file before cannot be opened as HDF5");
  PEEL_TRY(OpenFile new_file, OpenFile::open(after, Strictness::lenient), "the file after cannot be opened as HDF5");
  Budget budget(task.time_ms, task.items_max);
  Comparison comparison(old_file, new_file, budget, &task.changed);
  const Scope scope(task.path);
  TreeComparison tree(comparison, scope);
  PEEL_CHECK(tree.run(), "");
  if (!tree.found_scope() && !budget.stopped()) {
    return fail(ErrorKind::not_found, "there is no " + task.path + " in either file");
  }
  FileDiff out = std::move(comparison.diff());
  out.bytes_read = old_file.raw_bytes_read() + new_file.raw_bytes_read();
  out.complete = !budget.stopped();
  out.incomplete_because = budget.why();
  return out;
}

}  // namespace peel::hdf5
