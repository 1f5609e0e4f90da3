// workspace/file_source.h - a file of the user's, read where it lies.
//
// Contract   Opened read-only, read by pread, never mapped and never locked, so nothing that has it open
//            can notice. size() is the size when it was opened. In `watch` mode every read looks at the
//            file's times afterwards and fails (conflict) once they moved: what was read then is no
//            single state of the file. Without it, bytes that a shrinking file lost read as zeros.
// Errors     not_found · refused (no regular file, a symlink where none may be) · io · conflict.
// Threads    read_at, next_data and moved(): any. The rest: one owner.
#pragma once

#include <atomic>
#include <string>

#include "base/cancel.h"
#include "base/unique_fd.h"
#include "workspace/workspace.h"

namespace peel::workspace {

enum class Symlinks : std::uint8_t { follow, refuse };

class FileSource final : public Source {
 public:
  static Result<std::unique_ptr<FileSource>> open(const std::string& path, Symlinks symlinks);

  std::uint64_t size() const override { return opened_.size; }
  Result<std::size_t> read_at(std::uint64_t offset, MutableBytes out) const override;
  Result<Extent> next_data(std::uint64_t offset) const override;

  const FileTimes& opened() const { return opened_; }
  Result<FileTimes> times() const;  // now
  void set_watch(bool on) { watch_ = on; }
  bool moved() const { return moved_.load(std::memory_order_relaxed); }
  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }

 private:
  FileSource(std::string path, UniqueFd fd, FileTimes opened)
      : path_(std::move(path)), fd_(std::move(fd)), opened_(opened) {}
  Status check_still() const;

  std::string path_;
  UniqueFd fd_;
  FileTimes opened_;
  bool watch_ = false;
  mutable std::atomic<bool> moved_{false};
};

// What a name means now, links not followed; absent when nothing has it.
struct NamedFile {
  FileTimes times;
  bool regular = false, symlink = false, directory = false;
};
Result<std::optional<NamedFile>> look_at(const std::string& path);

// Size, times and identity are equal. Block counts are not compared: the kernel allocates late.
bool same_moment(const FileTimes& a, const FileTimes& b);

// Sleeps (at most 20 ms) until a change from now on must get another time than the file has. Older
// kernels stamp in ticks of up to 10 ms, so a fresh time proves nothing.
void let_times_settle(const FileTimes& times);

std::int64_t now_ns();

// The content digest of a source, holes skipped.
Result<Digest> hash_source(const Source& source, const Run& run);

}  // namespace peel::workspace
