// base/file.h - the narrow door between peel and a file system, so that tests can own crashes,
// full disks and lost writes (testing/faulty_file_system.h) and an onion can live in memory.
//
// Errors     io with errno; not_found; exists; refused: what is to be opened is no regular file. Reads are short only at the end of the file.
// Threads    read_at may be called from many threads at once; everything else by one owner.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/unique_fd.h"
#include "peel/error.h"
#include "peel/types.h"

namespace peel {

// Which file a name meant when it was looked at.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

class File {
 public:
  virtual ~File() = default;
  // Fills `out` from `offset`; fewer bytes only when the file ends.
  virtual Result<std::size_t> read_at(std::uint64_t offset, MutableBytes out) const = 0;
  virtual Status write_at(std::uint64_t offset, Bytes data) = 0;
  // Data and the size needed to read it are on stable storage when this returns success.
  virtual Status sync_data() = 0;
  virtual Result<std::uint64_t> size() const = 0;
  virtual Status truncate(std::uint64_t size) = 0;
  virtual Result<FileIdentity> identity() const = 0;
  // Exclusive advisory lock that closing the file releases (an OFD lock: it excludes other opens of
  // this process too). `wait` blocks; otherwise a taken lock is `conflict`. `unsupported` where the
  // file system has no locks.
  virtual Status lock(bool wait) = 0;
  virtual void unlock() = 0;
  // Takes over who may read and write: mode, ACL, and owner as far as this process may give it away. Where there is
  // nothing of the kind: nothing.
  virtual Status adopt_access_of(const File&) { return {}; }
};

enum class OpenMode : std::uint8_t { read, read_write, create_new };

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode, unsigned permissions = 0666) = 0;
  // What `path` names now; not_found when nothing.
  virtual Result<FileIdentity> identify(const std::string& path) = 0;
  // Atomic. With `replace` false an existing target is `exists`.
  virtual Status rename(const std::string& from, const std::string& to, bool replace) = 0;
  virtual Status remove(const std::string& path) = 0;
  // Makes creations, renames and removals inside the directory of `path` durable.
  virtual Status sync_directory_of(const std::string& path) = 0;
  // Where a symbolic link leads, so that replacing a file does not replace the link; other names stay as they are.
  virtual std::string behind_link(const std::string& path) { return path; }
  // Bytes free for an ordinary user where `path` lives.
  virtual Result<std::uint64_t> free_space(const std::string& path) = 0;
};

// The real one. Stateless; the reference lives as long as the process.
FileSystem& posix_file_system();

// A file of the real file system that somebody else opened (beneath a folder, without following symlinks).
// `name` is for messages. refused: not a regular file.
Result<std::unique_ptr<File>> file_from_descriptor(UniqueFd fd, const std::string& name);

// Files that live and die with this object. No crash model: that is testing/'s. `reserve` bytes are fetched from the
// operating system at once, so that growing into them costs no page faults.
std::unique_ptr<FileSystem> make_memory_file_system(std::uint64_t reserve = 0);

// Reads exactly `out.size()` bytes or fails with `truncated`.
Status read_exactly(const File& file, std::uint64_t offset, MutableBytes out);

// `path` + `suffix`, for a file that goes with the one at `path`. Where that would make the name longer than
// `name_bytes`, the name of `path` is cut and the cut marked by "~" and 16 digits of what was cut: the same each time,
// another one for another name.
inline constexpr std::size_t name_bytes_max = 255;
std::string name_beside(const std::string& path, const std::string& suffix, std::size_t name_bytes = name_bytes_max);

// The directory part of a path ("." when there is none), and the last component.
std::string directory_of(const std::string& path);
std::string base_name_of(const std::string& path);

}  // namespace peel
