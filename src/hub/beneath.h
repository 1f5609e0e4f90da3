// hub/beneath.h - a file system that ends at one folder: every path is relative to it, and no component is
// followed through a symbolic link. An Onion opened through it cannot leave the folder, whatever its name.
//
// Contract   Each call walks from the root's descriptor component by component with O_NOFOLLOW, so there is no
//            moment between a check and a use in which a link could be swapped in.
// Errors     refused: "..", an absolute path, a symbolic link on the way. Else as base/file.h. Messages name
//            the path below the root only.
// Threads    Any; no state but the root's descriptor.
#pragma once

#include <functional>

#include "base/file.h"
#include "base/unique_fd.h"

namespace peel::hub {

class BeneathFileSystem final : public FileSystem {
public:
  static Result<std::unique_ptr<BeneathFileSystem>> open(const std::string& root);

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode, unsigned permissions = 0666) override;
  Result<FileIdentity> identify(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to, bool replace) override;
  Status remove(const std::string& path) override;
  Status sync_directory_of(const std::string& path) override;
  Result<std::uint64_t> free_space(const std::string& path) override;

  // The folders that `path` lies in, made as needed and durable.
  Status make_folders_of(const std::string& path);

  struct Entry {
    std::string name;
    bool folder = false;
    std::int64_t mtime_ns = 0;
  };
  // Plain files and folders in a folder ("" is the root), sorted by name; links and special files are left out.
  Result<std::vector<Entry>> list(const std::string& folder);

private:
  explicit BeneathFileSystem(UniqueFd root) : root_(std::move(root)) {}
  struct Place {
    UniqueFd folder;
    std::string base;
  };
  Result<Place> walk(const std::string& path, bool make = false);
  UniqueFd root_;
};

}  // namespace peel::hub
