#include "workspace/file_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/hex.h"
#include "codec/grid_digest.h"

namespace peel::workspace {
namespace {

constexpr std::size_t read_size = 1u << 20;
constexpr std::int64_t settle_ns = 20'000'000;

std::int64_t nanoseconds(const timespec& t) { return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec; }

FileTimes times_of(const struct stat& st) {
  FileTimes times;
  times.size = static_cast<std::uint64_t>(st.st_size);
  times.allocated = static_cast<std::uint64_t>(st.st_blocks) * 512;
  times.mtime_ns = nanoseconds(st.st_mtim);
  times.ctime_ns = nanoseconds(st.st_ctim);
  times.device = st.st_dev;
  times.inode = st.st_ino;
  times.mode = st.st_mode & 07777;
  times.links = st.st_nlink;
  return times;
}

}  // namespace

Result<std::unique_ptr<FileSource>> FileSource::open(const std::string& path, Symlinks symlinks) {
  const std::string shown = escape_for_terminal(path);
  // O_NONBLOCK: a FIFO under this name must not hang us; regular files ignore it.
  const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (symlinks == Symlinks::refuse ? O_NOFOLLOW : 0);
  UniqueFd fd(::open(path.c_str(), flags));
  if (!fd) {
    if (errno == ENOENT || errno == ENOTDIR) return fail(ErrorKind::not_found, "no file " + shown);
    if (errno == ELOOP) return fail(ErrorKind::refused, shown + " is a symbolic link");
    return Error::from_errno(errno, "open " + shown);
  }
  struct stat st;
  if (::fstat(fd.get(), &st) != 0) return Error::from_errno(errno, "stat " + shown);
  if (S_ISDIR(st.st_mode)) return fail(ErrorKind::usage, shown + " is a directory: name a file in it");
  if (!S_ISREG(st.st_mode)) return fail(ErrorKind::refused, shown + " is not a regular file");
  return std::unique_ptr<FileSource>(new FileSource(path, std::move(fd), times_of(st)));
}

Result<FileTimes> FileSource::times() const {
  struct stat st;
  if (::fstat(fd_.get(), &st) != 0) return Error::from_errno(errno, "stat " + escape_for_terminal(path_));
  return times_of(st);
}

Status FileSource::check_still() const {
  PEEL_TRY(const FileTimes now, times(), "");
  if (same_moment(now, opened_)) return {};
  moved_.store(true, std::memory_order_relaxed);
  return fail(ErrorKind::conflict, escape_for_terminal(path_) + " changed while it was read");
}

Result<std::size_t> FileSource::read_at(std::uint64_t offset, MutableBytes out) const {
  if (offset >= opened_.size) return std::size_t{0};
  const std::size_t want = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), opened_.size - offset));
  std::size_t done = 0;
  while (done < want) {
    const ssize_t n = ::pread(fd_.get(), out.data() + done, want - done, static_cast<off_t>(offset + done));
    if (n < 0) {
      if (errno == EINTR) continue;
      return Error::from_errno(errno, "read " + escape_for_terminal(path_) + " at " + std::to_string(offset + done));
    }
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  if (done < want) {  // it shrank under us
    moved_.store(true, std::memory_order_relaxed);
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(done), out.begin() + static_cast<std::ptrdiff_t>(want), std::byte{0});
  }
  if (watch_) PEEL_CHECK(check_still(), "");
  return want;
}

Result<Source::Extent> FileSource::next_data(std::uint64_t offset) const {
  const std::uint64_t end = opened_.size;
  if (offset >= end) return Extent{end, end};
  // lseek moves only the descriptor's own position, which pread does not use.
  const off_t data = ::lseek(fd_.get(), static_cast<off_t>(offset), SEEK_DATA);
  if (data < 0) {
    if (errno != ENXIO) return Extent{offset, end};  // no such question here: all of it may be data
    if (watch_) PEEL_CHECK(check_still(), "");
    return Extent{end, end};
  }
  const off_t hole = ::lseek(fd_.get(), data, SEEK_HOLE);
  if (watch_) PEEL_CHECK(check_still(), "");
  const auto begin = std::min(static_cast<std::uint64_t>(data), end);
  const auto stop = hole < 0 ? end : std::min(static_cast<std::uint64_t>(hole), end);
  return Extent{begin, std::max(begin, stop)};
}

Result<std::optional<NamedFile>> look_at(const std::string& path) {
  struct stat st;
  if (::lstat(path.c_str(), &st) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<NamedFile>();
    return Error::from_errno(errno, "stat " + escape_for_terminal(path));
  }
  return std::optional<NamedFile>({times_of(st), S_ISREG(st.st_mode), S_ISLNK(st.st_mode), S_ISDIR(st.st_mode)});
}

bool same_moment(const FileTimes& a, const FileTimes& b) {
  return a.size == b.size && a.mtime_ns == b.mtime_ns && a.ctime_ns == b.ctime_ns && a.device == b.device &&
         a.inode == b.inode;
}

void let_times_settle(const FileTimes& times) {
  const std::int64_t age = now_ns() - std::max(times.mtime_ns, times.ctime_ns);
  if (age < 0 || age >= settle_ns) return;  // a time from the future (another machine's clock) tells nothing
  const timespec pause{0, static_cast<long>(settle_ns - age)};
  ::nanosleep(&pause, nullptr);
}

std::int64_t now_ns() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds(now);
}

Result<Digest> hash_source(const Source& source, const Run& run) {
  codec::ContentHasher hasher;
  Buffer buffer(read_size);
  const std::uint64_t size = source.size();
  std::uint64_t at = 0;
  while (at < size) {
    PEEL_TRY(const Source::Extent extent, source.next_data(at), "");
    if (extent.begin > at) hasher.skip_zeros(extent.begin - at);
    at = extent.begin;
    while (at < extent.end) {
      if (run.cancel) PEEL_CHECK(run.cancel->check(), "");
      const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), extent.end - at));
      PEEL_TRY(const std::size_t got, source.read_at(at, MutableBytes(buffer).first(want)), "");
      if (got == 0) return fail(ErrorKind::truncated, "file ends at " + std::to_string(at));
      hasher.update(Bytes(buffer).first(got));
      at += got;
      if (run.progress) run.progress({at, size});
    }
  }
  return hasher.finish();
}

Result<FileDigest> digest_file(const std::string& path, const Run& run) {
  PEEL_TRY(const auto source, FileSource::open(path, Symlinks::follow), "");
  PEEL_TRY(const Digest content, hash_source(*source, run), "digest " + escape_for_terminal(path));
  return FileDigest{content, source->size()};
}

}  // namespace peel::workspace
