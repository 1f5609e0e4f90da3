#include "workspace/attributes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "base/hex.h"

namespace peel::workspace {
namespace {

// The kernel's own limit for a list and for a value (XATTR_LIST_MAX, XATTR_SIZE_MAX).
constexpr std::size_t xattr_bytes_max = 65536;

bool starts_with(const std::string& text, std::string_view prefix) { return text.rfind(prefix, 0) == 0; }

// Without these the file would mean something else to its users. The rest belongs to the system, which
// sets it by its own rules (SELinux labels, capabilities).
bool must_arrive(const std::string& name) { return starts_with(name, "user.") || starts_with(name, "system.posix_acl_"); }

Result<std::vector<std::string>> list_attributes(int fd) {
  std::vector<char> buffer(xattr_bytes_max);
  const ssize_t size = ::flistxattr(fd, buffer.data(), buffer.size());
  if (size < 0) {
    if (errno == ENOTSUP || errno == ENOSYS) return std::vector<std::string>();
    return Error::from_errno(errno, "list extended attributes");
  }
  std::vector<std::string> names;
  for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
    names.emplace_back(buffer.data() + at);
    at += names.back().size() + 1;
  }
  return names;
}

// Absent: it went away, or may not be read.
Result<std::optional<std::vector<char>>> get_attribute(int fd, const std::string& name) {
  std::vector<char> value(xattr_bytes_max);
  const ssize_t size = ::fgetxattr(fd, name.c_str(), value.data(), value.size());
  if (size < 0) {
    const int code = errno;
    if (code == ENODATA || !must_arrive(name)) return std::optional<std::vector<char>>();
    return Error::from_errno(code, "read extended attribute " + escape_for_terminal(name));
  }
  value.resize(static_cast<std::size_t>(size));
  return std::optional<std::vector<char>>(std::move(value));
}

Status copy_owner(const struct stat& from, int to) {
  struct stat have;
  if (::fstat(to, &have) != 0) return Error::from_errno(errno, "stat");
  if (have.st_uid == from.st_uid && have.st_gid == from.st_gid) return {};
  if (::fchown(to, from.st_uid, from.st_gid) == 0) return {};
  if (errno == EPERM || errno == EINVAL)
    return fail(ErrorKind::refused, "the new file could not keep its owner (" + std::to_string(from.st_uid) + ":" +
                                        std::to_string(from.st_gid) + "): run this as that user, or as root");
  return Error::from_errno(errno, "chown");
}

// An access ACL the directory's default gave the temporary, but the original has not.
Status drop_extra_acl(int to, const std::vector<std::string>& wanted) {
  constexpr const char* access_acl = "system.posix_acl_access";
  for (const std::string& name : wanted)
    if (name == access_acl) return {};
  if (::fremovexattr(to, access_acl) == 0 || errno == ENODATA || errno == ENOTSUP || errno == ENOSYS) return {};
  return Error::from_errno(errno, "remove ACL");
}

}  // namespace

Status copy_attributes(int from, int to) {
  struct stat st;
  if (::fstat(from, &st) != 0) return Error::from_errno(errno, "stat");
  PEEL_TRY(const auto names, list_attributes(from), "");
  // In this order: a new owner clears set-id bits and capabilities, a mode rewrites an ACL's mask, and an
  // ACL rewrites the mode's group bits to what they were.
  PEEL_CHECK(copy_owner(st, to), "");
  PEEL_CHECK(drop_extra_acl(to, names), "");
  if (::fchmod(to, st.st_mode & 07777) != 0) return Error::from_errno(errno, "chmod");
  for (const std::string& name : names) {
    PEEL_TRY(const auto value, get_attribute(from, name), "");
    if (!value) continue;
    if (::fsetxattr(to, name.c_str(), value->data(), value->size(), 0) == 0) continue;
    const int code = errno;
    if (!must_arrive(name)) continue;
    if (code == EPERM || code == EACCES || code == ENOTSUP)
      return fail(ErrorKind::refused, "the new file could not keep the extended attribute " + escape_for_terminal(name));
    return Error::from_errno(code, "set extended attribute " + escape_for_terminal(name));
  }
  return {};
}

unsigned recorded_permissions(std::uint32_t mode) { return (mode == 0 ? 0666u : mode & 0777u) | S_IRUSR | S_IWUSR; }

Status set_mtime(int fd, std::int64_t mtime_ns) {
  constexpr std::int64_t second_ns = 1'000'000'000;
  timespec times[2];
  times[0].tv_sec = 0;
  times[0].tv_nsec = UTIME_OMIT;
  times[1].tv_sec = mtime_ns / second_ns;
  times[1].tv_nsec = mtime_ns % second_ns;
  if (times[1].tv_nsec < 0) {  // before 1970
    times[1].tv_nsec += second_ns;
    times[1].tv_sec -= 1;
  }
  if (::futimens(fd, times) != 0) return Error::from_errno(errno, "set the time of modification");
  return {};
}

}  // namespace peel::workspace
