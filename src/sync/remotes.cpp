#include "sync/remotes.h"

#include <algorithm>

#include "base/hex.h"

namespace peel::sync {
namespace {

constexpr std::string_view prefix = "remote.", suffix = ".url";

std::string setting_of(const std::string& name) { return std::string(prefix) + name + std::string(suffix); }

}  // namespace

Status check_remote_name(const std::string& name) {
  const auto good = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
  };
  if (name.empty() || name.size() > 64 || name.front() == '.' || name.front() == '-' ||
      !std::all_of(name.begin(), name.end(), good))
    return fail(ErrorKind::usage,
                "'" + escape_for_terminal(name) + "' cannot name a remote: use letters, digits, '_', '.', '-'");
  return {};
}

std::vector<Remote> remotes(const Onion& onion) {
  std::vector<Remote> out;
  for (const Ref& ref : onion.refs()) {
    if (ref.kind != RefKind::setting || ref.name.size() <= prefix.size() + suffix.size()) continue;
    if (!ref.name.starts_with(prefix) || !ref.name.ends_with(suffix)) continue;
    out.push_back({ref.name.substr(prefix.size(), ref.name.size() - prefix.size() - suffix.size()), ref.value});
  }
  return out;
}

Result<Remote> find_remote(const Onion& onion, const std::string& name) {
  const auto all = remotes(onion);
  const std::string wanted = name.empty() ? "origin" : name;
  for (const Remote& remote : all)
    if (remote.name == wanted) return remote;
  if (name.empty() && all.size() == 1) return all.front();
  if (all.empty())
    return fail(ErrorKind::not_found, "no remote is known for this onion; name one: peel remote FILE origin URL");
  std::string known;
  for (const Remote& remote : all) known += (known.empty() ? "" : ", ") + remote.name;
  return fail(ErrorKind::not_found, "no remote '" + escape_for_terminal(wanted) + "'; there is: " + known);
}

Status set_remote(Onion& onion, const std::string& name, const Url& url) {
  PEEL_CHECK(check_remote_name(name), "");
  RefChange change;
  change.kind = RefKind::setting;
  change.name = setting_of(name);
  change.value = url.text();
  change.reason = "remote " + name;
  return onion.update_refs(std::span(&change, 1));
}

Status remove_remote(Onion& onion, const std::string& name) {
  PEEL_CHECK(check_remote_name(name), "");
  if (!onion.ref(RefKind::setting, setting_of(name))) return fail(ErrorKind::not_found, "no remote '" + name + "'");
  std::vector<RefChange> changes(1);
  changes[0].kind = RefKind::setting;
  changes[0].name = setting_of(name);
  changes[0].reason = "remove remote " + name;
  for (const Ref& ref : onion.refs()) {
    if (ref.kind != RefKind::remote || !ref.name.starts_with(name + "/")) continue;
    RefChange change;
    change.kind = RefKind::remote;
    change.name = ref.name;
    change.reason = "remove remote " + name;
    changes.push_back(std::move(change));
  }
  return onion.update_refs(changes);
}

}  // namespace peel::sync
