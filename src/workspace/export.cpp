#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/cancel.h"
#include "base/hex.h"
#include "onion/impl.h"
#include "workspace/attributes.h"
#include "workspace/revision_file.h"
#include "workspace/temp_name.h"
#include "workspace/workspace.h"

namespace peel::workspace {
namespace {

constexpr std::size_t copy_size = 1u << 20;

enum class Target : std::uint8_t { absent, file, stream };

bool same_file(const struct stat& a, const std::string& path) {
  struct stat b;
  return ::stat(path.c_str(), &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// What an export would displace: never a history, and never a working file, whose unsaved changes only
// restore looks at.
Result<Target> judge_target(const std::string& onion_path, const std::string& out, bool force) {
  if (out.empty()) return fail(ErrorKind::usage, "an empty file name");
  const std::string shown = escape_for_terminal(out);
  struct stat st;
  if (::stat(out.c_str(), &st) != 0) {
    if (errno == ENOENT) {
      PEEL_CHECK(require_directory_of(out), "");
      return Target::absent;
    }
    return Error::from_errno(errno, "stat " + shown);
  }
  if (S_ISDIR(st.st_mode)) return fail(ErrorKind::usage, shown + " is a directory: name a file in it");
  if (!S_ISREG(st.st_mode)) return Target::stream;
  if (!force) return fail(ErrorKind::exists, shown + " exists already: choose another name, or say --force");
  constexpr std::size_t suffix = 6;  // ".onion"
  if (same_file(st, onion_path)) return fail(ErrorKind::refused, shown + " is the history itself");
  if (onion_path.size() > suffix && same_file(st, onion_path.substr(0, onion_path.size() - suffix)))
    return fail(ErrorKind::refused, shown + " is the working file of this history: peel restore rewrites it safely");
  return Target::file;
}

Status publish(const TempName& temp, const std::string& out, Target target) {
  FileSystem& disk = posix_file_system();
  if (auto named = disk.rename(temp.fresh_path(), out, target == Target::file); !named) {
    if (named.error().kind() == ErrorKind::exists) return fail(ErrorKind::exists, escape_for_terminal(out) + " appeared just now");
    return Error::from_errno(named.error().os_error(), "name " + escape_for_terminal(out));
  }
  return disk.sync_directory_of(out);
}

Status export_file(const Reader& reader, const RevisionInfo& info, const std::string& out, Target target, const Run& run) {
  remove_stale(out, nullptr);
  PEEL_TRY(const TempName temp, TempName::reserve(out), "");
  PEEL_TRY(const UniqueFd fresh, temp.create_fresh(recorded_permissions(info.meta.mode)), "");
  PEEL_CHECK(write_revision(reader, fresh.get(), run), "");
  PEEL_CHECK(set_mtime(fresh.get(), info.meta.mtime_ns), "");
  if (::fsync(fresh.get()) != 0) return Error::from_errno(errno, "fsync");
  return publish(temp, out, target);
}

Status stream_out(const Reader& reader, std::uint64_t offset, std::uint64_t length, const ByteSink& sink, const Run& run,
                  std::uint64_t& written) {
  const Buffer zeros(64u << 10);
  return reader.stream(offset, length, [&](std::uint64_t, Bytes data, std::uint64_t hole_length) -> Status {
    if (run.cancel) {
      if (auto go_on = run.cancel->check(); !go_on) return go_on;
    }
    if (!data.empty()) {
      if (auto sunk = sink(data); !sunk) return sunk;
      written += data.size();
    }
    while (data.empty() && hole_length > 0) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(zeros.size(), hole_length));
      if (auto sunk = sink(Bytes(zeros).first(size)); !sunk) return sunk;
      hole_length -= size;
      written += size;
    }
    if (run.progress) run.progress({written, length});
    return {};
  });
}

// Everything visible at `end` lies before it and never changes, so no lock is needed: what others append
// meanwhile is not part of this copy.
Status copy_onion(const Onion& onion, File& out, const Run& run) {
  const Onion::Impl& impl = onion.impl();
  const std::uint64_t end = impl.position.end;
  Buffer buffer(copy_size);
  PEEL_CHECK(out.write_at(0, Buffer(onion::records_begin)), "");
  onion::Superblock super = impl.super;
  super.acknowledged = end;
  for (int slot = 0; slot < 2; ++slot, ++super.sequence) PEEL_CHECK(onion::write_superblock(out, super), "");
  for (std::uint64_t at = onion::records_begin; at < end;) {
    if (run.cancel) PEEL_CHECK(run.cancel->check(), "");
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), end - at));
    PEEL_CHECK(read_exactly(impl.store->file(), at, MutableBytes(buffer).first(want)), onion.path());
    PEEL_CHECK(out.write_at(at, Bytes(buffer).first(want)), "");
    at += want;
    if (run.progress) run.progress({at, end});
  }
  return out.sync_data();
}

// The copy is a history of its own, whole and undamaged.
Status check_copy(const std::string& path, const Onion& original, const Run& run) {
  OpenOptions options;
  PEEL_TRY(Onion copy, Onion::open(path, options), "open the copy");
  VerifyOptions verify;
  verify.cancel = run.cancel;
  PEEL_TRY(const VerifyReport report, copy.verify(verify), "verify the copy");
  if (!report.damage.empty())
    return fail(ErrorKind::corrupt, escape_for_terminal(original.path()) + " is damaged (" + report.damage.front().what +
                                        "): peel verify tells where, --repair-from mends it");
  if (copy.revision_count() != original.revision_count())
    return fail(ErrorKind::corrupt, "the copy has " + std::to_string(copy.revision_count()) + " revisions, the original " +
                                        std::to_string(original.revision_count()));
  return {};
}

}  // namespace

Result<ExportReport> export_revision(const Onion& onion, std::string_view rev, const std::string& out, const ExportRequest& request) {
  const std::string context = "export to " + escape_for_terminal(out);
  PEEL_TRY(const std::uint64_t number, onion.resolve(rev), "");
  PEEL_TRY(const RevisionInfo info, onion.revision(number), "");
  PEEL_TRY(const Target target, judge_target(onion.path(), out, request.force), context);
  PEEL_TRY(const Reader reader, onion.open_revision(number), "");
  if (target == Target::stream) {
    const UniqueFd fd(::open(out.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!fd) return Error::from_errno(errno, "open " + escape_for_terminal(out));
    std::uint64_t written = 0;
    PEEL_CHECK(stream_out(reader, 0, reader.size(), descriptor_sink(fd.get()), request.run, written), context);
  } else {
    PEEL_CHECK(export_file(reader, info, out, target, request.run), context);
  }
  return ExportReport{number, reader.size(), info.content};
}

Result<ExportReport> export_onion(const Paths& paths, const std::string& out, const ExportRequest& request) {
  const std::string context = "export the history to " + escape_for_terminal(out);
  PEEL_TRY(const Onion onion, open_onion(paths), "");
  PEEL_TRY(const Target target, judge_target(paths.onion, out, request.force), context);
  if (target == Target::stream) return fail(ErrorKind::usage, context + ": a history is copied to a file");
  remove_stale(out, nullptr);
  PEEL_TRY(const TempName temp, TempName::reserve(out), context);
  PEEL_TRY(const auto file, posix_file_system().open(temp.fresh_path(), OpenMode::create_new), context);
  PEEL_CHECK(copy_onion(onion, *file, request.run), context);
  PEEL_CHECK(check_copy(temp.fresh_path(), onion, request.run), context);
  PEEL_CHECK(publish(temp, out, target), context);
  ExportReport report;
  report.size = onion.impl().position.end;
  return report;
}

Result<std::uint64_t> cat(const Onion& onion, std::string_view rev, std::uint64_t offset, std::uint64_t length,
                          const ByteSink& sink, const Run& run) {
  PEEL_TRY(const std::uint64_t number, onion.resolve(rev), "");
  PEEL_TRY(const Reader reader, onion.open_revision(number), "");
  if (offset >= reader.size()) return std::uint64_t{0};
  std::uint64_t written = 0;
  PEEL_CHECK(stream_out(reader, offset, std::min(length, reader.size() - offset), sink, run, written), "");
  return written;
}

ByteSink descriptor_sink(int fd) {
  return [fd](Bytes data) -> Status {
    while (!data.empty()) {
      const ssize_t n = ::write(fd, data.data(), data.size());
      if (n >= 0) {
        data = data.subspan(static_cast<std::size_t>(n));
        continue;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return Error::from_errno(errno, "write");
      pollfd wait{fd, POLLOUT, 0};  // a pipe somebody made non-blocking
      if (::poll(&wait, 1, -1) < 0 && errno != EINTR) return Error::from_errno(errno, "poll");
    }
    return {};
  };
}

}  // namespace peel::workspace
