#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/file.h"
#include "base/hex.h"
#include "base/unique_fd.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE (1 << 0)
#endif

namespace peel {
namespace {

ErrorKind kind_of(int code) {
  if (code == ENOENT || code == ENOTDIR) return ErrorKind::not_found;
  if (code == EEXIST) return ErrorKind::exists;
  return ErrorKind::io;
}

Error errno_error(int code, const std::string& what) {
  Error error = Error::from_errno(code, what);
  if (kind_of(code) == ErrorKind::io) return error;
  return Error(kind_of(code), error.message());
}

class PosixFile final : public File {
 public:
  explicit PosixFile(UniqueFd fd) : fd_(std::move(fd)) {}

  Result<std::size_t> read_at(std::uint64_t offset, MutableBytes out) const override {
    std::size_t done = 0;
    while (done < out.size()) {
      const ssize_t n = ::pread(fd_.get(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
      if (n < 0) {
        if (errno == EINTR) continue;
        return Error::from_errno(errno, "read at " + std::to_string(offset + done));
      }
      if (n == 0) break;
      done += static_cast<std::size_t>(n);
    }
    return done;
  }

  Status write_at(std::uint64_t offset, Bytes data) override {
    std::size_t done = 0;
    while (done < data.size()) {
      const ssize_t n = ::pwrite(fd_.get(), data.data() + done, data.size() - done, static_cast<off_t>(offset + done));
      if (n < 0) {
        if (errno == EINTR) continue;
        return Error::from_errno(errno, "write at " + std::to_string(offset + done));
      }
      done += static_cast<std::size_t>(n);
    }
    return {};
  }

  Status sync_data() override {
    // EINTR included: after a failed sync nothing is known about what reached the disk.
    if (::fdatasync(fd_.get()) != 0) return Error::from_errno(errno, "fdatasync");
    return {};
  }

  Result<std::uint64_t> size() const override {
    struct stat st;
    if (::fstat(fd_.get(), &st) != 0) return Error::from_errno(errno, "fstat");
    return static_cast<std::uint64_t>(st.st_size);
  }

  Status truncate(std::uint64_t size) override {
    if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) return Error::from_errno(errno, "ftruncate");
    return {};
  }

  Result<FileIdentity> identity() const override {
    struct stat st;
    if (::fstat(fd_.get(), &st) != 0) return Error::from_errno(errno, "fstat");
    return FileIdentity{st.st_dev, st.st_ino};
  }

  Status adopt_access_of(const File& other) override {
    const auto* like = dynamic_cast<const PosixFile*>(&other);
    struct stat st;
    if (!like) return {};
    if (::fstat(like->fd_.get(), &st) != 0) return Error::from_errno(errno, "fstat");
    // Narrow first: no instant at which somebody reads who should not. Only root can give files away.
    if (::fchmod(fd_.get(), st.st_mode & 07777 & ~077u) != 0) return Error::from_errno(errno, "fchmod");
    if (::fchown(fd_.get(), st.st_uid, st.st_gid) != 0 && ::fchown(fd_.get(), static_cast<uid_t>(-1), st.st_gid) != 0 && errno != EPERM)
      return Error::from_errno(errno, "fchown");
    if (::fchmod(fd_.get(), st.st_mode & 07777) != 0) return Error::from_errno(errno, "fchmod");
    Buffer acl(65536);
    const ssize_t size = ::fgetxattr(like->fd_.get(), "system.posix_acl_access", acl.data(), acl.size());
    if (size > 0 && ::fsetxattr(fd_.get(), "system.posix_acl_access", acl.data(), static_cast<std::size_t>(size), 0) != 0)
      return Error::from_errno(errno, "set the access control list");
    return {};
  }

  Status lock(bool wait) override {
    struct flock request {};
    request.l_type = F_WRLCK;
    request.l_whence = SEEK_SET;
    while (::fcntl(fd_.get(), wait ? F_OFD_SETLKW : F_OFD_SETLK, &request) != 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EACCES) return fail(ErrorKind::conflict, "another process is writing");
      if (errno == ENOLCK || errno == EOPNOTSUPP || errno == EINVAL)
        return fail(ErrorKind::unsupported, "this file system has no working locks");
      return Error::from_errno(errno, "lock");
    }
    return {};
  }

  void unlock() override {
    struct flock request {};
    request.l_type = F_UNLCK;
    request.l_whence = SEEK_SET;
    ::fcntl(fd_.get(), F_OFD_SETLK, &request);
  }

 private:
  UniqueFd fd_;
};

Status require_regular(const struct stat& st, const std::string& name) {
  if (S_ISREG(st.st_mode)) return {};
  return fail(ErrorKind::refused, name + (S_ISDIR(st.st_mode) ? " is a directory, not a file" : " is not a regular file"));
}

// O_NONBLOCK is for a FIFO that took the place of the file since we looked; regular files ignore it but for leases
// (open_probe.h takes one for an instant): there it makes the open fail instead of wait, so the waiting is done here.
Result<UniqueFd> open_without_hanging(const std::string& path, int flags) {
  constexpr auto lease_wait = std::chrono::seconds(60);  // the kernel breaks one after 45
  const auto give_up = std::chrono::steady_clock::now() + lease_wait;
  while (true) {
    UniqueFd fd(::open(path.c_str(), flags | O_NONBLOCK | O_NOCTTY));
    if (fd) return fd;
    const int code = errno;
    if (code == EINTR) continue;
    if (code != EWOULDBLOCK || std::chrono::steady_clock::now() >= give_up) return errno_error(code, "open " + path);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

class PosixFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode, unsigned permissions) override {
    int flags = O_CLOEXEC;
    switch (mode) {
      case OpenMode::read: flags |= O_RDONLY; break;
      case OpenMode::read_write: flags |= O_RDWR; break;
      case OpenMode::create_new: flags |= O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW; break;
    }
    if (mode == OpenMode::create_new) {
      UniqueFd fd(::open(path.c_str(), flags, permissions));
      if (!fd) return errno_error(errno, "open " + path);
      return file_from_descriptor(std::move(fd), path);
    }
    // Looked at first: opening a device may do something, and opening a FIFO may wait for ever.
    struct stat st;
    if (::stat(path.c_str(), &st) != 0) return errno_error(errno, "open " + path);
    PEEL_CHECK(require_regular(st, path), "");
    PEEL_TRY(auto fd, open_without_hanging(path, flags), "");
    return file_from_descriptor(std::move(fd), path);
  }

  Result<FileIdentity> identify(const std::string& path) override {
    struct stat st;
    if (::stat(path.c_str(), &st) != 0) return errno_error(errno, "stat " + path);
    return FileIdentity{st.st_dev, st.st_ino};
  }

  std::string behind_link(const std::string& path) override {
    struct stat st;
    if (::lstat(path.c_str(), &st) != 0 || !S_ISLNK(st.st_mode)) return path;
    char* real = ::realpath(path.c_str(), nullptr);
    if (!real) return path;
    std::string out(real);
    std::free(real);
    return out;
  }

  Status rename(const std::string& from, const std::string& to, bool replace) override {
    if (replace) {
      if (::rename(from.c_str(), to.c_str()) != 0) return errno_error(errno, "rename " + from + " to " + to);
      return {};
    }
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return {};
    if (errno != EINVAL && errno != ENOSYS) return errno_error(errno, "rename " + from + " to " + to);
    // No RENAME_NOREPLACE here (some network file systems): link() refuses an existing target too.
    if (::link(from.c_str(), to.c_str()) != 0) return errno_error(errno, "link " + from + " to " + to);
    return remove(from);
  }

  Status remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0) return errno_error(errno, "unlink " + path);
    return {};
  }

  Status sync_directory_of(const std::string& path) override {
    const std::string directory = directory_of(path);
    UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) return Error::from_errno(errno, "open " + directory);
    // Some file systems cannot sync a directory and say EINVAL; there is nothing better to do there.
    if (::fsync(fd.get()) != 0 && errno != EINVAL) return Error::from_errno(errno, "fsync " + directory);
    return {};
  }

  Result<std::uint64_t> free_space(const std::string& path) override {
    struct statvfs st;
    if (::statvfs(directory_of(path).c_str(), &st) != 0) return Error::from_errno(errno, "statvfs " + path);
    return static_cast<std::uint64_t>(st.f_bavail) * st.f_frsize;
  }
};

}  // namespace

Result<std::unique_ptr<File>> file_from_descriptor(UniqueFd fd, const std::string& name) {
  struct stat st;
  if (::fstat(fd.get(), &st) != 0) return Error::from_errno(errno, "stat " + name);
  PEEL_CHECK(require_regular(st, name), "");
  return std::unique_ptr<File>(new PosixFile(std::move(fd)));
}

FileSystem& posix_file_system() {
  static PosixFileSystem instance;
  return instance;
}

Status read_exactly(const File& file, std::uint64_t offset, MutableBytes out) {
  PEEL_TRY(const auto n, file.read_at(offset, out), "");
  if (n != out.size())
    return fail(ErrorKind::truncated, "file ends at " + std::to_string(offset + n) + ", " +
                                          std::to_string(out.size() - n) + " bytes short");
  return {};
}

std::string name_beside(const std::string& path, const std::string& suffix, std::size_t name_bytes) {
  const std::string name = base_name_of(path);
  if (name.size() + suffix.size() <= name_bytes) return path + suffix;
  std::uint64_t sum = 0xcbf29ce484222325u;  // FNV-1a: the same in every build, and nobody gains by a collision
  for (const char c : name) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  std::array<std::byte, 8> raw;
  for (std::size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<std::byte>(sum >> (8 * i));
  const std::string mark = "~" + to_hex(Bytes(raw));
  std::size_t keep = name_bytes - std::min(name_bytes, suffix.size() + mark.size());
  while (keep > 0 && (static_cast<unsigned char>(name[keep]) & 0xc0) == 0x80) --keep;  // not within a UTF-8 character
  return path.substr(0, path.size() - name.size() + keep) + mark + suffix;
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string base_name_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

}  // namespace peel
