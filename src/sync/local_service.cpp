#include "sync/local_service.h"

#include "base/file.h"
#include "sync/unpublished.h"

namespace peel::sync {
namespace {
constexpr std::size_t listed_heads_max = 4096;  // keeps an entry within one frame
}

std::string onion_path_of(const std::string& path) {
  if (path.ends_with(".onion")) return path;
  const std::string beside = path + ".onion";
  // A renamed onion without the usual ending is still found by its exact name.
  if (!posix_file_system().identify(beside) && posix_file_system().identify(path)) return path;
  return beside;
}

proto::LsEntry describe(const Onion& onion, const std::string& name) {
  proto::LsEntry entry{name, onion.current_branch(), {}};
  for (const Ref& ref : onion.refs())
    if (ref.kind == RefKind::branch && entry.heads.size() < listed_heads_max && ref.name.size() <= 200)
      entry.heads.push_back({ref.name, ref.target});
  return entry;
}

Result<Onion> LocalService::open(const std::string&, Access access) {
  OpenOptions options;
  options.access = access;
  return Onion::open(path_, options);
}

Result<Onion> LocalService::open_unpublished(const std::string&, const std::array<std::byte, 32>& lineage) {
  return open_or_create_unpublished(posix_file_system(), path_, staging_key(), lineage);
}

Status LocalService::publish(const std::string&) { return publish_onion(posix_file_system(), path_, staging_key()); }

void LocalService::forget_unpublished(const std::string&) {
  (void)posix_file_system().remove(unpublished_path(path_, staging_key())).ok();
}

Status LocalService::list(const std::string&, const std::function<Status(const proto::LsEntry&)>& sink) {
  PEEL_TRY(const auto onion, open({}, Access::read), "");
  return sink(describe(onion, path_));
}

Result<proto::Joined> LocalService::join(const proto::Join&) {
  return fail(ErrorKind::usage, "a local onion needs no invite");
}

}  // namespace peel::sync
