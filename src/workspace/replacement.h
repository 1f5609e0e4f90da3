// workspace/replacement.h - one replacement of the working file, the dangerous part of peel.
//
// Contract   begin() looks, refuses and hashes; install() writes a temporary beside the file, syncs it,
//            exchanges the two names in one step, hashes what was displaced and puts it back if it is
//            not what begin() hashed. At every instant the name has a whole file, old or new. On any
//            error before the exchange the file is untouched and the temporary is gone.
//
//   begin   lstat: regular, one link, no symlink -> open read-only -> nobody writes -> hash, times watched
//   install write + attributes + fsync -> same inode, same times, one link, nobody writes -> EXCHANGE ->
//           displaced inode is the hashed one, nobody writes, same hash -> fsync directory -> unlink ->
//           fsync directory; else EXCHANGE back
//
// Errors     refused (what it may not replace, or what changed meanwhile) · io · corrupt · cancelled.
// Threads    One owner.
// Memory     1 MiB, besides what Reader::stream states.
// Source     docs/adr/0005-replacing-a-working-file.md
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "workspace/file_source.h"
#include "workspace/temp_name.h"
#include "workspace/workspace.h"

namespace peel::workspace {

class Replacement {
 public:
  // Absent `file` is fine: install() then creates it and replaces nothing.
  static Result<Replacement> begin(const Paths& paths, const ReplaceRequest& request);

  bool file_exists() const { return source_ != nullptr; }
  const Digest& content() const { return content_; }  // of the working file; zero when there is none
  std::uint64_t size() const { return source_ ? source_->size() : 0; }

  // Refuses to go on when the file's bytes are in no revision.
  // corrupt: a revision has the content of the file, but where it differs from `target` it cannot be read any more. What
  // does not differ is proven by writing `target`.
  Status require_given_back(const Onion& onion, std::uint64_t target) const;
  Status require_saved(const Onion& onion) const;

  // Afterwards the file has the content of `reader`. `info` gives mtime, and the mode for a new file.
  Status install(const Reader& reader, const RevisionInfo& info);

  // The working file as begin() saw it, and whether a writer could be ruled out all the while.
  const FileTimes& times() const { return source_->opened(); }
  bool quiet() const { return quiet_; }
  std::int64_t looked_ns() const { return looked_ns_; }

  // For tests: called between the steps, to be the other process.
  enum class Step : std::uint8_t { before_exchange, after_exchange };
  void set_interference(std::function<void(Step)> interfere) { interfere_ = std::move(interfere); }

 private:
  Replacement(Paths paths, const ReplaceRequest& request) : paths_(std::move(paths)), request_(request) {}

  Status refuse_writer(int fd) const;
  Status check_untouched() const;
  Status create(const TempName& temp, const Reader& reader, const RevisionInfo& info);
  Status check_displaced(const TempName& temp) const;
  Error put_back(const TempName& temp, Error why, UniqueFd fresh, const Digest& installed) const;
  void at(Step step) const {
    if (interfere_) interfere_(step);
  }

  Paths paths_;
  ReplaceRequest request_;
  std::unique_ptr<FileSource> source_;
  Digest content_;
  std::int64_t looked_ns_ = 0;
  bool quiet_ = false;
  std::function<void(Step)> interfere_;
};

}  // namespace peel::workspace
