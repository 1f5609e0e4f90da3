#include "base/hex.h"
#include "workspace/workspace.h"
#include "workspace/working_copy.h"

namespace peel::workspace {
namespace {

constexpr std::size_t name_bytes_max = 200;

bool is_hex_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

bool could_be_an_id(std::string_view name) {
  constexpr std::size_t id_prefix_min = 6;
  if (name.size() < id_prefix_min) return false;
  for (const char c : name)
    if (!is_hex_digit(c)) return false;
  return true;
}

RefChange change_of(RefKind kind, const std::string& name, const std::string& reason) {
  RefChange change;
  change.kind = kind;
  change.name = name;
  change.reason = reason;
  return change;
}

Result<RevisionInfo> at(const Onion& onion, std::string_view rev) {
  PEEL_TRY(const std::uint64_t number, onion.resolve(rev), "");
  return onion.revision(number);
}

const char* word_for(RefKind kind) { return kind == RefKind::tag ? "tag" : "branch"; }

Status create_ref(Onion& onion, RefKind kind, const std::string& name, std::string_view rev, const std::string& note) {
  PEEL_CHECK(check_ref_name(name), "");
  if (onion.ref(kind, name))
    return fail(ErrorKind::exists, std::string("a ") + word_for(kind) + " " + escape_for_terminal(name) +
                                       " is there already: choose another name, or delete it first");
  PEEL_TRY(const RevisionInfo target, at(onion, rev), "");
  RefChange change = change_of(kind, name, std::string("create ") + word_for(kind));
  change.expected = RevisionId{};
  change.target = target.id;
  if (!note.empty()) change.value = note;
  return onion.update_refs(std::span(&change, 1));
}

Status delete_ref(Onion& onion, RefKind kind, const std::string& name) {
  const auto have = onion.ref(kind, name);
  if (!have) return fail(ErrorKind::not_found, std::string("no ") + word_for(kind) + " " + escape_for_terminal(name));
  RefChange change = change_of(kind, name, std::string("delete ") + word_for(kind));
  change.expected = have->target;
  return onion.update_refs(std::span(&change, 1));
}

}  // namespace

RefChange current_branch_change(const std::string& branch) {
  RefChange change = change_of(RefKind::setting, "branch", "switch to " + branch);
  change.value = branch;
  return change;
}

Status check_ref_name(std::string_view name) {
  const auto refuse = [&](const std::string& why) {
    return fail(ErrorKind::usage, "\"" + escape_for_terminal(name) + "\" cannot be a name: " + why);
  };
  if (name.empty()) return refuse("it is empty");
  if (name.size() > name_bytes_max) return refuse("it is longer than " + std::to_string(name_bytes_max) + " bytes");
  if (escape_for_terminal(name) != name) return refuse("it has a character that cannot be printed");
  if (name.front() == '-') return refuse("it would read as an option");
  if (name.front() == '/' || name.back() == '/' || name.find("//") != std::string_view::npos)
    return refuse("a slash separates two parts");
  if (name.find_first_of("@=~^: \t{}*?[") != std::string_view::npos)
    return refuse("none of @ = ~ ^ : { } * ? [ or a space may be in it");
  if (name == "." || name == ".." || name.find("..") != std::string_view::npos) return refuse("it has two dots");
  if (could_be_an_id(name)) return refuse("it would read as the beginning of a revision's id");
  return {};
}

Status create_branch(Onion& onion, const std::string& name, std::string_view rev) {
  return create_ref(onion, RefKind::branch, name, rev, {});
}

Status delete_branch(Onion& onion, const std::string& name) {
  if (name == onion.current_branch())
    return fail(ErrorKind::refused, "branch " + escape_for_terminal(name) + " is the current one: peel switch to another first");
  return delete_ref(onion, RefKind::branch, name);
}

Status rename_branch(Onion& onion, const std::string& from, const std::string& to) {
  PEEL_CHECK(check_ref_name(to), "");
  const auto have = onion.ref(RefKind::branch, from);
  if (!have) return fail(ErrorKind::not_found, "no branch " + escape_for_terminal(from));
  if (onion.ref(RefKind::branch, to))
    return fail(ErrorKind::exists, "a branch " + escape_for_terminal(to) + " is there already");
  std::vector<RefChange> changes;
  changes.push_back(change_of(RefKind::branch, to, "rename " + from));
  changes.back().expected = RevisionId{};
  changes.back().target = have->target;
  changes.push_back(change_of(RefKind::branch, from, "rename to " + to));
  changes.back().expected = have->target;
  if (onion.current_branch() == from) changes.push_back(current_branch_change(to));
  return onion.update_refs(changes);
}

Status create_tag(Onion& onion, const std::string& name, std::string_view rev, const std::string& note) {
  return create_ref(onion, RefKind::tag, name, rev, note);
}

Status delete_tag(Onion& onion, const std::string& name) { return delete_ref(onion, RefKind::tag, name); }

}  // namespace peel::workspace
