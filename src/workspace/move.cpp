#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/file.h"
#include "base/hex.h"
#include "workspace/workspace.h"

namespace peel::workspace {
namespace {

std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat st;
  if (::lstat(path.c_str(), &st) != 0) return std::nullopt;
  return FileIdentity{st.st_dev, st.st_ino};
}

bool is_directory(const std::string& path) {
  struct stat st;
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

Result<Paths> new_paths(const Paths& paths, const std::string& new_name) {
  std::string target = new_name;
  if (is_directory(target)) target += (target.back() == '/' ? "" : "/") + base_name_of(paths.file);
  PEEL_CHECK(require_directory_of(target), "");
  std::optional<std::string> onion;
  if (paths.onion_elsewhere) onion = paths.onion;
  return locate(target, onion);
}

Error taken(const std::string& path) {
  return fail(ErrorKind::exists, escape_for_terminal(path) + " exists already: choose another name");
}

Status sync_both(const Paths& from, const Paths& to) {
  PEEL_CHECK(posix_file_system().sync_directory_of(to.file), "");
  return posix_file_system().sync_directory_of(from.file);
}

Status move_file(const Paths& from, const Paths& to) {
  if (!identity_of(from.file)) return {};  // deleted or renamed before: the onion alone moves
  auto moved = posix_file_system().rename(from.file, to.file, false);
  if (!moved && moved.error().os_error() == EXDEV)
    return fail(ErrorKind::unsupported, escape_for_terminal(to.file) +
                                            " is on another file system: peel clone file:///PATH makes a copy there");
  return moved;
}

// No link() here: the onion goes first. A crash in between leaves the file untracked under its old name
// and its onion under the new one; running it again finishes.
Status move_by_rename(const Paths& from, const Paths& to) {
  FileSystem& disk = posix_file_system();
  PEEL_CHECK(disk.rename(from.onion, to.onion, false), "");
  if (auto moved = move_file(from, to); !moved) {
    PEEL_CHECK(disk.rename(to.onion, from.onion, false), "put " + escape_for_terminal(from.onion) + " back");
    return moved;
  }
  return sync_both(from, to);
}

// A second name for the onion, then the file's new name, then the onion's old name goes: whichever name
// the file has, its onion is beside it.
Status move_by_link(const Paths& from, const Paths& to, bool linked_before) {
  if (!linked_before && ::link(from.onion.c_str(), to.onion.c_str()) != 0) {
    if (errno == EEXIST) return taken(to.onion);
    if (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS || errno == EMLINK) return move_by_rename(from, to);
    if (errno == EXDEV)
      return fail(ErrorKind::unsupported, escape_for_terminal(to.onion) +
                                              " is on another file system: peel clone file:///PATH makes a copy there");
    return Error::from_errno(errno, "link " + escape_for_terminal(to.onion));
  }
  PEEL_CHECK(posix_file_system().sync_directory_of(to.onion), "");
  if (auto moved = move_file(from, to); !moved) {
    ::unlink(to.onion.c_str());
    return moved;
  }
  PEEL_CHECK(sync_both(from, to), "");
  PEEL_CHECK(posix_file_system().remove(from.onion), "");
  return posix_file_system().sync_directory_of(from.onion);
}

}  // namespace

Result<Paths> move(const Paths& paths, const std::string& new_name) {
  const std::string context = "move " + escape_for_terminal(paths.file);
  PEEL_TRY(const Paths to, new_paths(paths, new_name), context);
  if (to.file == paths.file) return fail(ErrorKind::usage, context + ": that is its name already");
  struct stat by_name;
  if (!paths.onion_elsewhere && ::lstat(paths.onion.c_str(), &by_name) == 0 && S_ISLNK(by_name.st_mode))
    return fail(ErrorKind::refused,
                context + ": " + escape_for_terminal(paths.onion) +
                    " is a symbolic link: move it and the file it leads to yourself, or say --onion");
  // Writers of the onion wait while it has two names: a collection would replace only one of them.
  auto onion = posix_file_system().open(paths.onion, OpenMode::read_write);
  if (!onion && onion.error().kind() == ErrorKind::not_found) {
    PEEL_CHECK(open_onion(paths), context);  // says how to start a history
  }
  if (!onion) return std::move(onion.error()).in(context);
  if (auto locked = (*onion)->lock(true); !locked && locked.error().kind() != ErrorKind::unsupported)
    return std::move(locked.error()).in(context);
  PEEL_TRY(const FileIdentity held, (*onion)->identity(), context);
  if (identity_of(paths.onion) != held && !paths.onion_elsewhere)
    return fail(ErrorKind::conflict, context + ": its history was replaced just now: try again");

  const auto new_onion = identity_of(to.onion);
  const bool linked_before = !paths.onion_elsewhere && new_onion == held;  // a move that was killed half way
  if (identity_of(to.file) && !(linked_before && !identity_of(paths.file))) return taken(to.file).in(context);
  if (paths.onion_elsewhere) {
    PEEL_CHECK(move_file(paths, to), context);
    PEEL_CHECK(sync_both(paths, to), context);
    return to;
  }
  if (new_onion && !linked_before) return taken(to.onion).in(context);
  PEEL_CHECK(move_by_link(paths, to, linked_before), context);
  return to;
}

}  // namespace peel::workspace
