#include "hub/beneath.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/hex.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE (1 << 0)
#endif

namespace peel::hub {
namespace {

constexpr int walk_flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Error error_for(int code, const std::string& what) {
  const std::string text = escape_for_terminal(what);
  if (code == ELOOP) return fail(ErrorKind::refused, text + ": a symbolic link is not followed");
  if (code == EISDIR) return fail(ErrorKind::refused, text + " is a directory, not a file");
  if (code == ENXIO) return fail(ErrorKind::refused, text + " is not a regular file");
  Error error = Error::from_errno(code, text);
  if (code == ENOENT || code == ENOTDIR) return Error(ErrorKind::not_found, error.message());
  if (code == EEXIST) return Error(ErrorKind::exists, error.message());
  return error;
}

// Components of a relative path; "." and doubled slashes say nothing.
Result<std::vector<std::string>> components_of(const std::string& path) {
  if (!path.empty() && path.front() == '/') return fail(ErrorKind::refused, "an absolute path");
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    std::string part = path.substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == ".." || part.find('\0') != std::string::npos)
      return fail(ErrorKind::refused, "a path that leads out of its folder");
    out.push_back(std::move(part));
  }
  return out;
}

// ENOTDIR is what O_DIRECTORY|O_NOFOLLOW says of a link to a folder.
bool is_link(int folder, const std::string& name) {
  struct stat st;
  return ::fstatat(folder, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

Result<UniqueFd> readable(int folder, const std::string& what) {
  UniqueFd fd(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return error_for(errno, "open " + what);
  return fd;
}

Status sync_folder(int folder, const std::string& what) {
  PEEL_TRY(const auto fd, readable(folder, what), "");
  if (::fsync(fd.get()) != 0 && errno != EINVAL) return error_for(errno, "fsync " + what);
  return {};
}

}  // namespace

Result<std::unique_ptr<BeneathFileSystem>> BeneathFileSystem::open(const std::string& root) {
  UniqueFd fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));  // the root itself may be a link
  if (!fd) return error_for(errno, "open " + root);
  return std::unique_ptr<BeneathFileSystem>(new BeneathFileSystem(std::move(fd)));
}

Result<BeneathFileSystem::Place> BeneathFileSystem::walk(const std::string& path, bool make) {
  PEEL_TRY(auto parts, components_of(path), escape_for_terminal(path));
  if (parts.empty()) return fail(ErrorKind::refused, "an empty path");
  Place place;
  place.base = std::move(parts.back());
  parts.pop_back();
  place.folder = UniqueFd(::openat(root_.get(), ".", walk_flags));
  if (!place.folder) return error_for(errno, "open root");
  for (const std::string& part : parts) {
    UniqueFd next(::openat(place.folder.get(), part.c_str(), walk_flags));
    if (!next && errno == ENOENT && make) {
      if (::mkdirat(place.folder.get(), part.c_str(), 0777) != 0 && errno != EEXIST)
        return error_for(errno, "make " + path);
      PEEL_CHECK(sync_folder(place.folder.get(), path), "");
      next = UniqueFd(::openat(place.folder.get(), part.c_str(), walk_flags));
    }
    if (!next) return error_for(errno == ENOTDIR && is_link(place.folder.get(), part) ? ELOOP : errno, path);
    place.folder = std::move(next);
  }
  return place;
}

Result<std::unique_ptr<File>> BeneathFileSystem::open(const std::string& path, OpenMode mode, unsigned permissions) {
  PEEL_TRY(const auto place, walk(path), "");
  int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;  // a FIFO must not hang the server
  switch (mode) {
    case OpenMode::read:
      flags |= O_RDONLY;
      break;
    case OpenMode::read_write:
      flags |= O_RDWR;
      break;
    case OpenMode::create_new:
      flags |= O_RDWR | O_CREAT | O_EXCL;
      break;
  }
  UniqueFd fd(::openat(place.folder.get(), place.base.c_str(), flags, permissions));
  if (!fd) return error_for(errno, path);
  return file_from_descriptor(std::move(fd), path);
}

Result<FileIdentity> BeneathFileSystem::identify(const std::string& path) {
  PEEL_TRY(const auto place, walk(path), "");
  struct stat st;
  if (::fstatat(place.folder.get(), place.base.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) return error_for(errno, path);
  return FileIdentity{st.st_dev, st.st_ino};
}

Status BeneathFileSystem::rename(const std::string& from, const std::string& to, bool replace) {
  PEEL_TRY(const auto a, walk(from), "");
  PEEL_TRY(const auto b, walk(to), "");
  const int flags = replace ? 0 : RENAME_NOREPLACE;
  if (::renameat2(a.folder.get(), a.base.c_str(), b.folder.get(), b.base.c_str(), flags) == 0) return {};
  if (replace || (errno != EINVAL && errno != ENOSYS)) return error_for(errno, "rename to " + to);
  // No RENAME_NOREPLACE here: link() refuses an existing target too.
  if (::linkat(a.folder.get(), a.base.c_str(), b.folder.get(), b.base.c_str(), 0) != 0)
    return error_for(errno, "link " + to);
  if (::unlinkat(a.folder.get(), a.base.c_str(), 0) != 0) return error_for(errno, "unlink " + from);
  return {};
}

Status BeneathFileSystem::remove(const std::string& path) {
  PEEL_TRY(const auto place, walk(path), "");
  if (::unlinkat(place.folder.get(), place.base.c_str(), 0) != 0) return error_for(errno, "unlink " + path);
  return {};
}

Status BeneathFileSystem::sync_directory_of(const std::string& path) {
  PEEL_TRY(const auto place, walk(path), "");
  return sync_folder(place.folder.get(), path);
}

Result<std::uint64_t> BeneathFileSystem::free_space(const std::string& path) {
  PEEL_TRY(const auto place, walk(path), "");
  struct statvfs st;
  if (::fstatvfs(place.folder.get(), &st) != 0) return error_for(errno, "statvfs " + path);
  return static_cast<std::uint64_t>(st.f_bavail) * st.f_frsize;
}

Status BeneathFileSystem::make_folders_of(const std::string& path) {
  PEEL_TRY([[maybe_unused]] const auto place, walk(path, true), "");
  return {};
}

Result<std::vector<BeneathFileSystem::Entry>> BeneathFileSystem::list(const std::string& folder) {
  PEEL_TRY(const auto place, walk(folder.empty() ? "x" : folder + "/x"), "");
  PEEL_TRY(auto fd, readable(place.folder.get(), folder), "");
  DIR* raw = ::fdopendir(fd.get());
  if (!raw) return error_for(errno, "read " + folder);
  (void)fd.release();
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(raw, &::closedir);
  std::vector<Entry> out;
  while (const dirent* found = ::readdir(directory.get())) {
    const std::string name = found->d_name;
    struct stat st;
    if (name == "." || name == ".." || ::fstatat(::dirfd(directory.get()), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) continue;
    out.push_back({name, S_ISDIR(st.st_mode), std::int64_t{st.st_mtim.tv_sec} * 1'000'000'000 + st.st_mtim.tv_nsec});
  }
  std::sort(out.begin(), out.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return out;
}

}  // namespace peel::hub
