#include "workspace/name_exchange.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/hex.h"

namespace peel::workspace {
namespace {

bool means(const std::string& path, std::uint64_t device, std::uint64_t inode) {
  struct stat st;
  return ::lstat(path.c_str(), &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

bool is_missing_call(int code) { return code == EINVAL || code == ENOSYS || code == ENOTSUP; }

Status exchange_by_link(const TempName& temp, const std::string& file, const FileTimes& old_file) {
  if (::rename(temp.swap_path().c_str(), temp.fresh_path().c_str()) != 0) return Error::from_errno(errno, "rename");
  if (::link(file.c_str(), temp.swap_path().c_str()) != 0)
    return fail(ErrorKind::unsupported, "this file system can neither exchange two names nor link a file, so " +
                                            escape_for_terminal(file) +
                                            " cannot be replaced safely: move it away first, or export elsewhere");
  const bool right = means(temp.swap_path(), old_file.device, old_file.inode);
  if (right && ::rename(temp.fresh_path().c_str(), file.c_str()) == 0) return {};
  const int code = errno;
  ::unlink(temp.swap_path().c_str());  // a second name only
  if (!right) return fail(ErrorKind::refused, escape_for_terminal(file) + " was replaced just now: look again");
  return Error::from_errno(code, "rename to " + escape_for_terminal(file));
}

}  // namespace

Status exchange_names(const TempName& temp, const std::string& file, const FileTimes& old_file) {
  // Renamed first: from the exchange on, the name holds the user's bytes, and must say so after a crash.
  if (::rename(temp.fresh_path().c_str(), temp.swap_path().c_str()) != 0)
    return Error::from_errno(errno, "replace " + escape_for_terminal(file));
  if (::renameat2(AT_FDCWD, temp.swap_path().c_str(), AT_FDCWD, file.c_str(), RENAME_EXCHANGE) == 0) return {};
  const int code = errno;
  if (is_missing_call(code)) return exchange_by_link(temp, file, old_file);
  ::unlink(temp.swap_path().c_str());  // still ours: nothing was exchanged
  return Error::from_errno(code, "exchange names with " + escape_for_terminal(file));
}

PutBack put_names_back(const TempName& temp, const std::string& file, const FileIdentity& new_file) {
  if (!means(file, new_file.device, new_file.inode)) return PutBack::failed;
  if (::renameat2(AT_FDCWD, temp.swap_path().c_str(), AT_FDCWD, file.c_str(), RENAME_EXCHANGE) == 0) return PutBack::done;
  if (!is_missing_call(errno)) return PutBack::failed;
  // Keep a name for the new file, so that nothing written into it is lost.
  if (::link(file.c_str(), temp.fresh_path().c_str()) != 0) return PutBack::failed;
  if (::rename(temp.swap_path().c_str(), file.c_str()) != 0) return PutBack::failed;
  return ::rename(temp.fresh_path().c_str(), temp.swap_path().c_str()) == 0 ? PutBack::done : PutBack::failed;
}

std::string keep_visible(const TempName& temp, const std::string& file) {
  const std::string tag = temp.swap_path().substr(temp.swap_path().size() - 16);
  const std::string visible = name_beside(file, ".peel-kept-" + tag);
  if (!posix_file_system().rename(temp.swap_path(), visible, false)) return temp.swap_path();
  if (!posix_file_system().sync_directory_of(visible)) return visible;  // the name is right all the same
  return visible;
}

}  // namespace peel::workspace
