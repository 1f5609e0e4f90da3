#include "sync/unpublished.h"

namespace peel::sync {

std::string unpublished_path(const std::string& path, const std::string& key) {
  constexpr std::size_t endings = 32;  // what its own staging and its making append
  return name_beside(path, ".incomplete-" + key, name_bytes_max - endings);
}

Result<Onion> open_or_create_unpublished(FileSystem& files, const std::string& path, const std::string& key,
                                         const std::array<std::byte, 32>& lineage) {
  constexpr int tries_max = 3;
  const std::string at = unpublished_path(path, key);
  OpenOptions open_options;
  open_options.access = Access::write;
  open_options.file_system = &files;
  CreateOptions create_options;
  create_options.lineage = lineage;
  create_options.file_system = &files;
  for (int tries = 1;; ++tries) {
    if (auto onion = Onion::open(at, open_options)) {
      if (onion->lineage() == lineage) return onion;
      PEEL_CHECK(files.remove(at), "");
    } else if (onion.error().kind() == ErrorKind::corrupt) {
      PEEL_CHECK(files.remove(at), "");
    } else if (onion.error().kind() != ErrorKind::not_found) {
      return onion;
    }
    auto made = Onion::create(at, create_options);
    // Another process makes the same this moment; which of them goes on is decided by the lock on its staging.
    if (made || made.error().kind() != ErrorKind::exists || tries == tries_max) return made;
  }
}

Status publish_onion(FileSystem& files, const std::string& path, const std::string& key) {
  if (auto named = files.rename(unpublished_path(path, key), path, false); !named) {
    if (files.identify(path)) return fail(ErrorKind::exists, path + ": another process made it meanwhile");
    return named;
  }
  return files.sync_directory_of(path);
}

}  // namespace peel::sync
