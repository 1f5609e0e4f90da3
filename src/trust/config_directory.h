// trust/config_directory.h - the private directory of this user: $PEEL_CONFIG_DIR, else $XDG_CONFIG_HOME/peel, else
// ~/.config/peel.
//
// Contract   The directory is 0700, its files 0600 and owned by this user; wider modes are narrowed on opening.
//            Every write is a temp, fsync, rename and fsync of the directory: a reader or a crash sees the old file
//            or the new one.
//            Whoever reads, changes and writes holds lock() meanwhile; it excludes threads and processes alike.
// Errors     io · refused: the directory or a file belongs to another user, or is no directory or regular file ·
//            usage: no HOME · limit: a file is larger than its stated bound.
// Threads    const methods: any.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/file.h"
#include "peel/error.h"
#include "peel/types.h"

namespace peel::trust {

class ConfigDirectory {
public:
  // The place the environment names; made when absent.
  static Result<ConfigDirectory> open();
  static Result<ConfigDirectory> open_at(std::string path);

  const std::string& path() const { return path_; }
  std::string path_of(const std::string& name) const { return path_ + "/" + name; }

  // Released when the returned object goes. Waits for another holder.
  using Lock = std::unique_ptr<File>;
  Result<Lock> lock() const;

  // Names may hold '/': subdirectories, made 0700 when written to. Absent file: no value.
  Result<std::optional<Buffer>> read(const std::string& name, std::size_t limit) const;
  Status write(const std::string& name, Bytes data) const;
  Status remove(const std::string& name) const;  // absent is fine

private:
  explicit ConfigDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace peel::trust
