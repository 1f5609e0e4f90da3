#include "workspace/temp_name.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <memory>

#include "base/file.h"
#include "base/hex.h"
#include "base/random.h"
#include "workspace/file_source.h"
#include "workspace/stamp.h"

namespace peel::workspace {
namespace {

constexpr std::string_view run_part = ".peel-run-", fresh_part = ".peel-new-", swap_part = ".peel-swap-";
constexpr std::size_t tag_digits = 16;
constexpr std::size_t stem_bytes_max = 200;  // leaves room in the 255 bytes of a name for what others append

enum class Lock : std::uint8_t { taken_by_us, held_by_another, impossible };

Lock try_lock(int fd) {
  struct flock request {};
  request.l_type = F_WRLCK;
  request.l_whence = SEEK_SET;
  if (::fcntl(fd, F_OFD_SETLK, &request) == 0) return Lock::taken_by_us;
  return errno == EAGAIN || errno == EACCES ? Lock::held_by_another : Lock::impossible;
}

// A long name is cut so that ours still fit; what two such files share is then told apart by content.
std::string stem_of(const std::string& target) {
  const std::string name = base_name_of(target);
  return "." + name.substr(0, stem_bytes_max);
}

std::string in_directory_of(const std::string& target, const std::string& name) {
  const auto slash = target.rfind('/');
  return slash == std::string::npos ? name : target.substr(0, slash + 1) + name;
}

bool names_this_file(const std::string& path, int fd) {
  struct stat by_name, by_fd;
  return ::lstat(path.c_str(), &by_name) == 0 && ::fstat(fd, &by_fd) == 0 && by_name.st_dev == by_fd.st_dev &&
         by_name.st_ino == by_fd.st_ino;
}

}  // namespace

Result<TempName> TempName::reserve(const std::string& target) {
  const std::string stem = stem_of(target);
  for (;;) {
    const auto random = random_array<tag_digits / 2>();
    const std::string tag = to_hex(Bytes(random));
    TempName temp;
    temp.run_ = in_directory_of(target, stem + std::string(run_part) + tag);
    temp.fresh_ = in_directory_of(target, stem + std::string(fresh_part) + tag);
    temp.swap_ = in_directory_of(target, stem + std::string(swap_part) + tag);
    temp.run_fd_ = UniqueFd(::open(temp.run_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!temp.run_fd_) {
      const int code = errno;
      temp.run_.clear();
      if (code == EEXIST) continue;
      return Error::from_errno(code, "make a temporary beside " + escape_for_terminal(target));
    }
    // Another run may clear the name up before the lock is on it: then take a new one.
    if (try_lock(temp.run_fd_.get()) == Lock::held_by_another || !names_this_file(temp.run_, temp.run_fd_.get())) continue;
    return temp;
  }
}

TempName::TempName(TempName&& other) noexcept
    : run_(std::exchange(other.run_, {})),
      fresh_(std::exchange(other.fresh_, {})),
      swap_(std::exchange(other.swap_, {})),
      run_fd_(std::move(other.run_fd_)) {}

TempName::~TempName() {
  if (run_.empty()) return;
  ::unlink(fresh_.c_str());
  ::unlink(run_.c_str());  // last: while it stands, the others are known to be in use
}

Result<UniqueFd> TempName::create_fresh(unsigned permissions) const {
  UniqueFd fd(::open(fresh_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, permissions));
  if (!fd) return Error::from_errno(errno, "make a temporary file in " + escape_for_terminal(directory_of(fresh_)));
  return fd;
}

Result<std::optional<std::uint64_t>> find_content(const Onion& onion, const Digest& content, std::uint64_t size) {
  PEEL_TRY(const auto revisions, onion.list(), "");
  for (std::size_t i = revisions.size(); i-- > 0;) {
    if (revisions[i].size != size) continue;
    PEEL_TRY(const RevisionInfo info, onion.revision(revisions[i].number), "");
    if (info.content == content) return std::optional<std::uint64_t>(info.number);
  }
  return std::optional<std::uint64_t>();
}

namespace {

bool is_regular(const std::string& path) {
  struct stat st;
  return ::lstat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode);
}

// The run that owned `tag` is dead: its run file is gone, or nobody holds its lock (then `fd` does).
bool run_is_dead(const std::string& run_path, UniqueFd& fd) {
  fd = UniqueFd(::open(run_path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return errno == ENOENT;
  return try_lock(fd.get()) == Lock::taken_by_us;
}

bool is_saved(const std::string& path, const Onion* onion) {
  if (!onion) return false;
  const auto source = FileSource::open(path, Symlinks::refuse);
  if (!source || probe_writer((*source)->fd()) == Writer::yes) return false;
  const auto content = hash_source(**source, {});
  if (!content) return false;
  const auto found = find_content(*onion, *content, (*source)->size());
  if (!found || !found->has_value()) return false;
  const auto reader = onion->open_revision(**found);  // a digest is no proof that the bytes can be read back
  return reader && reader->verify();
}

struct HiddenName {
  std::string_view stem, part, tag;
};

// A name of ours, taken apart.
std::optional<HiddenName> take_apart(std::string_view name) {
  for (const std::string_view part : {run_part, fresh_part, swap_part}) {
    if (name.size() <= part.size() + tag_digits) continue;
    const std::size_t at = name.size() - tag_digits - part.size();
    if (name.substr(at, part.size()) == part) return HiddenName{name.substr(0, at), part, name.substr(name.size() - tag_digits)};
  }
  return std::nullopt;
}

std::string run_path_of(const std::string& target, const HiddenName& name) {
  return in_directory_of(target, std::string(name.stem) + std::string(run_part) + std::string(name.tag));
}

// Names in the directory of `target`, listed before anything is removed: removing while reading may hide entries.
std::vector<std::string> names_beside(const std::string& target) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(directory_of(target).c_str()), &::closedir);
  while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr)
    if (entry->d_name[0] == '.') names.emplace_back(entry->d_name);
  return names;
}

}  // namespace

std::vector<Leftover> unsaved_leftovers(const std::vector<Paths>& files) {
  std::map<std::string, std::multimap<std::string, const Paths*>> by_directory;
  for (const Paths& paths : files) by_directory[directory_of(paths.file)].emplace(stem_of(paths.file), &paths);
  std::vector<Leftover> out;
  for (const auto& [directory, by_stem] : by_directory) {
    for (const std::string& name : names_beside(by_stem.begin()->second->file)) {
      const auto parts = take_apart(name);
      if (!parts || parts->part != swap_part) continue;
      const auto [first, last] = by_stem.equal_range(std::string(parts->stem));
      for (auto it = first; it != last; ++it) {
        const Paths& paths = *it->second;
        const std::string path = in_directory_of(paths.file, name);
        UniqueFd run_fd;
        if (!is_regular(path) || !run_is_dead(run_path_of(paths.file, *parts), run_fd)) continue;
        const auto onion = open_onion(paths);
        if (onion && is_saved(path, &*onion)) continue;
        Leftover left{paths, path, 0, 0};
        if (const auto look = look_at(path); look && *look) {
          left.size = (*look)->times.size;
          left.mtime_ns = (*look)->times.mtime_ns;
        }
        out.push_back(std::move(left));
      }
    }
  }
  return out;
}

namespace {

// An onion is made as ".NAME.new-DIGITS" before it has the name NAME: one of a run of ours ("new", with its tag), or of
// an onion that takes shape for a clone. The latter has no lock, but making it takes milliseconds.
void remove_half_made(const std::string& target, const std::string& name) {
  constexpr std::int64_t age_ns_min = 300ll * 1'000'000'000;
  constexpr std::size_t ending = 5 + 12;  // ".new-" and its digits
  if (name.size() <= ending || name.compare(name.size() - ending, 5, ".new-") != 0) return;
  const std::string made = name.substr(1, name.size() - ending - 1), path = in_directory_of(target, name);
  const auto look = look_at(path);
  if (!look || !*look || !(*look)->regular) return;
  if (const auto parts = take_apart(made); parts && parts->part == fresh_part && parts->stem == stem_of(target)) {
    UniqueFd run_fd;
    if (run_is_dead(run_path_of(target, *parts), run_fd)) ::unlink(path.c_str());
    return;
  }
  const std::string own = base_name_of(target);
  const bool ours = made == own || made.starts_with(own + ".incomplete-");
  if (ours && now_ns() - (*look)->times.ctime_ns > age_ns_min) ::unlink(path.c_str());
}

}  // namespace

std::vector<std::string> remove_stale(const std::string& target, const Onion* onion) {
  std::vector<std::string> left;
  const std::string stem = stem_of(target);
  for (const std::string& name : names_beside(target)) {
    remove_half_made(target, name);
    const auto parts = take_apart(name);
    if (!parts || parts->stem != stem) continue;
    const std::string path = in_directory_of(target, name);
    if (!is_regular(path)) continue;
    UniqueFd run_fd;
    if (!run_is_dead(run_path_of(target, *parts), run_fd)) continue;
    if (parts->part == swap_part && !is_saved(path, onion)) {
      left.push_back(path);
      continue;
    }
    ::unlink(path.c_str());
  }
  return left;
}

}  // namespace peel::workspace
