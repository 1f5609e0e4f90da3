#include "trust/config_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/unique_fd.h"

namespace peel::trust {
namespace {

constexpr mode_t beyond_owner = 077;

// Makes `path` and what is missing above it.
Status make_directories(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return posix_file_system().sync_directory_of(path);
  if (errno == EEXIST) return {};
  if (errno != ENOENT) return Error::from_errno(errno, "mkdir " + path);
  const std::string parent = directory_of(path);
  if (parent == path || parent == ".") return Error::from_errno(ENOENT, "mkdir " + path);
  PEEL_CHECK(make_directories(parent), "");
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return Error::from_errno(errno, "mkdir " + path);
  return posix_file_system().sync_directory_of(path);
}

// Ours alone, or an error. `fd` is open on `path`.
Status keep_private(int fd, const std::string& path, bool want_directory) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return Error::from_errno(errno, "stat " + path);
  if (want_directory ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode))
    return fail(ErrorKind::refused, path + " is no " + (want_directory ? "directory" : "regular file"));
  if (st.st_uid != ::geteuid())
    return fail(ErrorKind::refused, path + " belongs to another user: set PEEL_CONFIG_DIR to a directory of your own");
  if ((st.st_mode & beyond_owner) != 0 && ::fchmod(fd, st.st_mode & 07700) != 0)
    return Error::from_errno(errno, "make " + path + " private");
  return {};
}

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

}  // namespace

Result<ConfigDirectory> ConfigDirectory::open() {
  if (const char* own = environment("PEEL_CONFIG_DIR")) return open_at(own);
  // The XDG specification says that relative paths are to be ignored.
  if (const char* xdg = environment("XDG_CONFIG_HOME"); xdg != nullptr && xdg[0] == '/')
    return open_at(std::string(xdg) + "/peel");
  if (const char* home = environment("HOME")) return open_at(std::string(home) + "/.config/peel");
  return fail(ErrorKind::usage, "no place for keys and trust: set HOME or PEEL_CONFIG_DIR");
}

Result<ConfigDirectory> ConfigDirectory::open_at(std::string path) {
  path = without_trailing_slashes(std::move(path));
  PEEL_CHECK(make_directories(path), "configuration directory");
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return Error::from_errno(errno, "open configuration directory " + path);
  PEEL_CHECK(keep_private(fd.get(), path, true), "configuration directory");
  return ConfigDirectory(std::move(path));
}

Result<ConfigDirectory::Lock> ConfigDirectory::lock() const {
  const std::string path = path_of("lock");
  FileSystem& files = posix_file_system();
  auto file = files.open(path, OpenMode::create_new, 0600);
  if (!file && file.error().kind() == ErrorKind::exists) file = files.open(path, OpenMode::read_write);
  if (!file) return std::move(file.error());
  PEEL_CHECK((*file)->lock(true), path);
  return std::move(*file);
}

Result<std::optional<Buffer>> ConfigDirectory::read(const std::string& name, std::size_t limit) const {
  const std::string path = path_of(name);
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a FIFO must not hang us
  if (!fd) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<Buffer>();
    return Error::from_errno(errno, "open " + path);
  }
  PEEL_CHECK(keep_private(fd.get(), path, false), "");
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return Error::from_errno(errno, "stat " + path);
  if (static_cast<std::uint64_t>(st.st_size) > limit)
    return fail(ErrorKind::limit, path + " is larger than " + std::to_string(limit) + " bytes");
  Buffer content(static_cast<std::size_t>(st.st_size));
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t n = ::read(fd.get(), content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error::from_errno(errno, "read " + path);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  content.resize(done);
  return std::optional<Buffer>(std::move(content));
}

Status ConfigDirectory::write(const std::string& name, Bytes data) const {
  FileSystem& files = posix_file_system();
  const std::string path = path_of(name);
  if (const std::string parent = directory_of(path); parent != path_) PEEL_CHECK(make_directories(parent), "");
  // One fixed name: writers hold the lock, so one that exists is what a crash left behind.
  const std::string fresh = path + ".new";
  if (Status removed = files.remove(fresh); !removed && removed.error().kind() != ErrorKind::not_found) return removed;
  const auto fill = [&]() -> Status {
    PEEL_TRY(const auto file, files.open(fresh, OpenMode::create_new, 0600), "");
    PEEL_CHECK(file->write_at(0, data), fresh);
    PEEL_CHECK(file->sync_data(), fresh);
    return {};
  };
  Status written = fill();
  if (written) written = files.rename(fresh, path, true);
  if (!written) {
    (void)files.remove(fresh);  // the first error is the one to report
    return written;
  }
  return files.sync_directory_of(path);
}

Status ConfigDirectory::remove(const std::string& name) const {
  const std::string path = path_of(name);
  if (Status removed = posix_file_system().remove(path); !removed) {
    if (removed.error().kind() == ErrorKind::not_found) return {};
    return removed;
  }
  return posix_file_system().sync_directory_of(path);
}

}  // namespace peel::trust
