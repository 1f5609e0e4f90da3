#include "workspace/replacement.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/file.h"
#include "base/hex.h"
#include "workspace/attributes.h"
#include "workspace/name_exchange.h"
#include "workspace/revision_file.h"
#include "workspace/stamp.h"

namespace peel::workspace {
namespace {

Error refusal(const std::string& file, const std::string& why) {
  return fail(ErrorKind::refused, escape_for_terminal(file) + " " + why);
}

// Only what may be replaced without anybody else losing something.
Status refuse_odd_file(const std::string& file, const NamedFile& named) {
  if (named.symlink)
    return refusal(file, "is a symbolic link, which would be replaced by a file: name the file it points to");
  if (!named.regular) return refusal(file, "is not a regular file");
  if (named.times.links > 1)
    return refusal(file, "has " + std::to_string(named.times.links) +
                             " hard links, and the other names would keep the old content: remove them, or export elsewhere");
  return {};
}

// Certainly these bytes, and nobody about to change them.
bool has_content(const std::string& path, const Digest& content) {
  const auto source = FileSource::open(path, Symlinks::refuse);
  if (!source || probe_writer((*source)->fd()) == Writer::yes) return false;
  const auto found = hash_source(**source, {});
  return found && *found == content;
}

bool same_file(const FileTimes& a, const FileTimes& b) { return a.device == b.device && a.inode == b.inode; }

}  // namespace

Status Replacement::refuse_writer(int fd) const {
  switch (probe_writer(fd)) {
    case Writer::no: return {};
    case Writer::yes: return refusal(paths_.file, "is open for writing in another process: close it there first");
    case Writer::unknown: break;
  }
  if (request_.assume_closed) return {};
  return refusal(paths_.file,
                 "may be open for writing in another process, which cannot be known here (not your file, or a "
                 "network file system): make sure it is closed and say so with --assume-closed");
}

Result<Replacement> Replacement::begin(const Paths& paths, const ReplaceRequest& request) {
  Replacement self(paths, request);
  PEEL_TRY(const auto named, look_at(paths.file), "");
  if (!named) return self;
  PEEL_CHECK(refuse_odd_file(paths.file, *named), "");
  let_times_settle(named->times);
  PEEL_TRY(self.source_, FileSource::open(paths.file, Symlinks::refuse), "");
  if (!same_file(self.source_->opened(), named->times)) return refusal(paths.file, "was replaced just now: look again");
  PEEL_CHECK(self.refuse_writer(self.source_->fd()), "");

  self.looked_ns_ = now_ns();
  self.source_->set_watch(true);
  const Run quietly{request.run.cancel, {}};
  auto content = hash_source(*self.source_, quietly);
  if (!content) {
    if (self.source_->moved()) return refusal(paths.file, "changed while it was read: a program is writing it");
    return std::move(content.error());
  }
  self.content_ = *content;
  PEEL_CHECK(self.refuse_writer(self.source_->fd()), "");
  self.quiet_ = probe_writer(self.source_->fd()) == Writer::no;
  return self;
}

Status Replacement::require_saved(const Onion& onion) const {
  if (!source_) return {};
  PEEL_TRY(const auto number, find_content(onion, content_, size()), "");
  if (number) return {};
  return refusal(paths_.file, "has unsaved changes: peel commit keeps them, --discard drops them");
}

Status Replacement::require_given_back(const Onion& onion, std::uint64_t target) const {
  if (!source_ || request_.discard) return {};
  PEEL_TRY(const auto number, find_content(onion, content_, size()), "");
  if (!number || *number == target) return {};
  PEEL_TRY(const auto ranges, onion.diff(*number, target), "");
  PEEL_TRY(const Reader reader, onion.open_revision(*number), "");
  for (const Range& range : ranges) {
    auto read = reader.stream(range.offset, range.length, [&](std::uint64_t, Bytes, std::uint64_t) -> Status {
      return request_.run.cancel ? request_.run.cancel->check() : Status();
    });
    if (read || read.error().kind() != ErrorKind::corrupt) {
      PEEL_CHECK(std::move(read), "");
      continue;
    }
    return fail(ErrorKind::corrupt, escape_for_terminal(paths_.file) + " is the last sound copy of @" + std::to_string(*number) + ", and stays as it is: " +
                                        read.error().message() + "; copy it elsewhere, mend the history (peel verify --repair-from), or say --discard");
  }
  return {};
}

Status Replacement::install(const Reader& reader, const RevisionInfo& info) {
  PEEL_TRY(const TempName temp, TempName::reserve(paths_.file), "");
  if (!source_) return create(temp, reader, info);

  PEEL_TRY(UniqueFd fresh, temp.create_fresh(), "");
  PEEL_CHECK(write_revision(reader, fresh.get(), request_.run), "write " + escape_for_terminal(paths_.file));
  PEEL_CHECK(copy_attributes(source_->fd(), fresh.get()), escape_for_terminal(paths_.file));
  PEEL_CHECK(set_mtime(fresh.get(), info.meta.mtime_ns), "");
  if (::fsync(fresh.get()) != 0) return Error::from_errno(errno, "fsync " + escape_for_terminal(paths_.file));

  at(Step::before_exchange);
  PEEL_CHECK(check_untouched(), "");
  PEEL_CHECK(exchange_names(temp, paths_.file, source_->opened()), "");
  at(Step::after_exchange);
  // From here on an error must not leave with the user's bytes under a hidden name.
  if (auto same = check_displaced(temp); !same)
    return put_back(temp, std::move(same.error()), std::move(fresh), info.content);
  FileSystem& disk = posix_file_system();
  if (auto synced = disk.sync_directory_of(paths_.file); !synced)
    return put_back(temp, std::move(synced.error()), std::move(fresh), info.content);
  PEEL_CHECK(disk.remove(temp.swap_path()), "");
  return disk.sync_directory_of(paths_.file);
}

Status Replacement::create(const TempName& temp, const Reader& reader, const RevisionInfo& info) {
  PEEL_TRY(const UniqueFd fresh, temp.create_fresh(recorded_permissions(info.meta.mode)), "");
  PEEL_CHECK(write_revision(reader, fresh.get(), request_.run), "write " + escape_for_terminal(paths_.file));
  PEEL_CHECK(set_mtime(fresh.get(), info.meta.mtime_ns), "");
  if (::fsync(fresh.get()) != 0) return Error::from_errno(errno, "fsync " + escape_for_terminal(paths_.file));
  at(Step::before_exchange);
  FileSystem& disk = posix_file_system();
  if (auto named = disk.rename(temp.fresh_path(), paths_.file, false); !named) {
    if (named.error().kind() == ErrorKind::exists) return refusal(paths_.file, "appeared just now: look again");
    return Error::from_errno(named.error().os_error(), "name " + escape_for_terminal(paths_.file));
  }
  return disk.sync_directory_of(paths_.file);
}

// The name still means the file that was hashed, as it was then.
Status Replacement::check_untouched() const {
  PEEL_TRY(const auto named, look_at(paths_.file), "");
  if (!named) return refusal(paths_.file, "went away just now: look again");
  PEEL_CHECK(refuse_odd_file(paths_.file, *named), "");
  if (!same_moment(named->times, source_->opened())) return refusal(paths_.file, "changed just now: look again");
  return refuse_writer(source_->fd());
}

// What stands under the swap name is the file that was hashed, byte for byte, and nobody can change it now:
// its name is gone, and nobody has it open for writing.
Status Replacement::check_displaced(const TempName& temp) const {
  PEEL_TRY(const auto named, look_at(temp.swap_path()), "");
  if (!named || !same_file(named->times, source_->opened()))
    return refusal(paths_.file, "was replaced by another file just now: look again");
  if (named->times.links > 1) return refusal(paths_.file, "got a hard link just now");
  PEEL_CHECK(refuse_writer(source_->fd()), "");
  PEEL_TRY(const auto displaced, FileSource::open(temp.swap_path(), Symlinks::refuse), "");
  const Run quietly{request_.run.cancel, {}};
  PEEL_TRY(const Digest content, hash_source(*displaced, quietly), "look again at " + escape_for_terminal(paths_.file));
  if (content != content_ || displaced->size() != size())
    return refusal(paths_.file, "changed while it was being replaced; it is back in its place");
  return {};
}

Error Replacement::put_back(const TempName& temp, Error why, UniqueFd fresh, const Digest& installed) const {
  struct stat ours;
  const bool known = ::fstat(fresh.get(), &ours) == 0;
  fresh.reset();  // our own descriptor would look like a writer
  PutBack outcome = PutBack::failed;
  if (known) outcome = put_names_back(temp, paths_.file, {static_cast<std::uint64_t>(ours.st_dev), ours.st_ino});
  if (outcome == PutBack::failed) {
    const std::string kept = keep_visible(temp, paths_.file);
    return std::move(why).in("the previous content of " + escape_for_terminal(paths_.file) + " is kept at " +
                             escape_for_terminal(kept));
  }
  // The file we made stood under the user's name for a moment: whoever wrote into it then keeps that.
  if (!has_content(temp.swap_path(), installed)) {
    const std::string kept = keep_visible(temp, paths_.file);
    return std::move(why).in("what was written meanwhile is kept at " + escape_for_terminal(kept));
  }
  ::unlink(temp.swap_path().c_str());
  if (auto synced = posix_file_system().sync_directory_of(paths_.file); !synced)
    return std::move(why).in(synced.error().message());
  return why;
}

}  // namespace peel::workspace
