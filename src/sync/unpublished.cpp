#include "sync/unpublished.h"

namespace peel::sync {

std::string unpublished_path(const std::string& path, const std::string& key) { return path + ".incomplete-" + key; }

Result<Onion> open_or_create_unpublished(FileSystem& files, const std::string& path, const std::string& key,
                                         const std::array<std::byte, 32>& lineage) {
  const std::string at = unpublished_path(path, key);
  OpenOptions open_options;
  open_options.access = Access::write;
  open_options.file_system = &files;
  if (auto onion = Onion::open(at, open_options)) {
    if (onion->lineage() == lineage) return onion;
    PEEL_CHECK(files.remove(at), "");
  } else if (onion.error().kind() == ErrorKind::corrupt) {
    PEEL_CHECK(files.remove(at), "");
  } else if (onion.error().kind() != ErrorKind::not_found) {
    return onion;
  }
  CreateOptions create_options;
  create_options.lineage = lineage;
  create_options.file_system = &files;
  return Onion::create(at, create_options);
}

Status publish_onion(FileSystem& files, const std::string& path, const std::string& key) {
  PEEL_CHECK(files.rename(unpublished_path(path, key), path, false), "");
  return files.sync_directory_of(path);
}

}  // namespace peel::sync
