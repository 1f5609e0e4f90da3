#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/file.h"
#include "base/hex.h"
#include "workspace/workspace.h"

namespace peel::workspace {
namespace {

constexpr std::string_view onion_suffix = ".onion";

bool ends_in_onion(std::string_view name) {
  return name.size() > onion_suffix.size() && name.substr(name.size() - onion_suffix.size()) == onion_suffix;
}

bool exists(const std::string& path) {
  struct stat st;
  return ::lstat(path.c_str(), &st) == 0;
}

bool is_directory(const std::string& path) {
  struct stat st;
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

}  // namespace

Result<Paths> locate(const std::string& name, const std::optional<std::string>& onion) {
  if (name.empty()) return fail(ErrorKind::usage, "an empty file name");
  if (name.find('\0') != std::string::npos) return fail(ErrorKind::usage, "a file name with a NUL byte");
  if (name.back() == '/' && !is_directory(name))
    return fail(ErrorKind::not_found, "no directory " + escape_for_terminal(name));
  if (is_directory(name))
    return fail(ErrorKind::usage, escape_for_terminal(name) + " is a directory: name a file in it");
  Paths paths;
  paths.file = name;
  if (onion) {
    if (onion->empty() || onion->back() == '/' || is_directory(*onion))
      return fail(ErrorKind::usage, "--onion names a directory: name the file that keeps the history");
    paths.onion = *onion;
    paths.onion_elsewhere = true;
    return paths;
  }
  const std::string beside = name + std::string(onion_suffix);
  const bool means_its_file = ends_in_onion(base_name_of(name)) && !exists(beside);
  if (means_its_file) {
    paths.onion = name;
    paths.file = name.substr(0, name.size() - onion_suffix.size());
  } else {
    paths.onion = beside;
  }
  return paths;
}

Result<std::vector<Paths>> onions_in(const std::string& directory) {
  const std::string shown = directory.empty() ? "." : directory;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(shown.c_str()), &::closedir);
  if (!dir) {
    if (errno == ENOENT) return fail(ErrorKind::not_found, "no directory " + escape_for_terminal(shown));
    return Error::from_errno(errno, "open directory " + escape_for_terminal(shown));
  }
  // "." is left out of the names, so that a message reads data.h5 and not ./data.h5.
  const std::string prefix = shown == "." ? "" : shown.back() == '/' ? shown : shown + "/";
  std::vector<Paths> found;
  errno = 0;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string name = entry->d_name;
    if (ends_in_onion(name) && !is_directory(prefix + name)) {
      Paths paths;
      paths.onion = prefix + name;
      paths.file = paths.onion.substr(0, paths.onion.size() - onion_suffix.size());
      found.push_back(std::move(paths));
    }
    errno = 0;
  }
  if (errno != 0) return Error::from_errno(errno, "read directory " + escape_for_terminal(shown));
  std::sort(found.begin(), found.end(), [](const Paths& a, const Paths& b) { return a.onion < b.onion; });
  return found;
}

Status require_directory_of(const std::string& path) {
  const std::string directory = directory_of(path);
  if (exists(directory)) return {};
  const std::string shown = escape_for_terminal(directory);
  return fail(ErrorKind::not_found, "there is no directory " + shown + ": make it first, with mkdir -p " + shown);
}

Result<Onion> open_onion(const Paths& paths, Access access, Damaged damaged, const Cancel* cancel) {
  OpenOptions options;
  options.damaged_too = damaged == Damaged::readable;
  options.access = access;
  options.cancel = cancel;
  auto onion = Onion::open(paths.onion, options);
  if (!onion && onion.error().kind() == ErrorKind::not_found && exists(paths.onion))
    return fail(ErrorKind::refused,
                escape_for_terminal(paths.onion) + " is a symbolic link that leads nowhere: mend or remove it");
  if (!onion && onion.error().kind() == ErrorKind::not_found)
    return fail(ErrorKind::not_found, escape_for_terminal(paths.file) + " has no history (no " +
                                          escape_for_terminal(paths.onion) + "): peel commit starts one");
  return onion;
}

}  // namespace peel::workspace
