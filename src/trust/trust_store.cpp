#include "trust/trust_store.h"

#include <algorithm>

namespace peel::trust {
namespace {

constexpr std::size_t max_name = 64;

}  // namespace

Result<TrustFile> load_trust_file(const ConfigDirectory& directory) {
  PEEL_TRY(const auto content, directory.read(trust_file_name, max_trust_file_bytes), "trust store");
  if (!content) return TrustFile{};
  auto file = decode_trust_file({reinterpret_cast<const char*>(content->data()), content->size()});
  if (!file) {
    const std::string path = directory.path_of(trust_file_name);
    return std::move(file.error()).in(path + " (mend it in an editor; peel changed nothing)");
  }
  return file;
}

Status change_trust_file(const ConfigDirectory& directory, const std::function<Status(TrustFile&)>& change) {
  PEEL_TRY(const auto lock, directory.lock(), "trust store");
  PEEL_TRY(auto file, load_trust_file(directory), "");
  PEEL_CHECK(change(file), "");
  const std::string text = encode(file);
  // What cannot be read back must not replace what can.
  PEEL_CHECK(decode_trust_file(text).ok() ? Status{} : fail(ErrorKind::limit, "the trust store is full"), "");
  PEEL_CHECK(directory.write(trust_file_name, as_bytes(text)), "trust store");
  return {};
}

Peer* find_by_name(TrustFile& file, std::string_view name) {
  const auto found = std::find_if(file.peers.begin(), file.peers.end(), [&](const Peer& p) { return p.name == name; });
  return found == file.peers.end() ? nullptr : &*found;
}

Peer* find_by_key(TrustFile& file, const PublicKey& key) {
  const auto found = std::find_if(file.peers.begin(), file.peers.end(), [&](const Peer& p) { return p.key == key; });
  return found == file.peers.end() ? nullptr : &*found;
}

std::string free_name(const TrustFile& file, std::string_view wanted) {
  const auto taken = [&](const std::string& name) {
    return std::any_of(file.peers.begin(), file.peers.end(), [&](const Peer& p) { return p.name == name; });
  };
  std::string name(wanted.substr(0, max_name));
  for (std::uint64_t n = 2; taken(name); ++n) {
    const std::string suffix = "-" + std::to_string(n);
    name = std::string(wanted.substr(0, max_name - suffix.size())) + suffix;
  }
  return name;
}

void join_grants(std::vector<Grant>& held, const std::vector<Grant>& added) {
  for (const Grant& grant : added) {
    const bool said = std::any_of(held.begin(), held.end(), [&](const Grant& have) {
      return have.level >= grant.level && prefix_matches(have.prefix, grant.prefix);
    });
    if (!said) held.push_back(grant);
  }
}

}  // namespace peel::trust
