// onion/log.h - finding the end of an onion: superblocks, groups, and what a crash left behind.
//
// Invariants 1. A group is written only after the one before it is on stable storage (or known to be in the
//               page cache of a living machine, see Impl::take_lock). So at most one group can be torn.
//            2. A superblock names only groups that were synced before it was written.
// Hence      A broken group that no later group follows is a crash: it is not there. A broken group followed
//            by a valid record of a later group, or inside what a superblock acknowledges, is damage: an error,
//            never a shorter history.
// Errors     corrupt, io, unsupported.
// Threads    Pure functions over a File; the caller owns the results.
// Memory     One window (1 MiB or one record), and per group 16 bytes a chunk.
#pragma once

#include <functional>
#include <optional>

#include "base/file.h"
#include "onion/format.h"

namespace peel::onion {

struct LogPosition {
  std::uint64_t end = records_begin;  // where the next group begins
  std::uint64_t group = 0;            // the last one seen
  std::uint32_t epoch = 1;
  std::uint32_t end_crc = 0;          // header_crc of its END: which group that was
};

// Both superblocks; the valid one with the greater sequence. Corrupt when neither is valid.
Result<Superblock> read_superblock(const File& file);
// Writes `s` to its slot (sequence decides which). Not synced.
Status write_superblock(File& file, const Superblock& s);

// Sequential reader of records that does not believe anything.
class RecordScanner {
 public:
  RecordScanner(const File& file, const Salt& salt) : file_(file), salt_(salt) {}
  struct Record {
    std::uint64_t offset = 0;
    RecordHeader header;
    std::uint32_t header_crc = 0;
    Bytes payload;  // valid until the next call
    std::uint64_t end() const { return offset + record_size(header.length); }
  };
  // absent: nothing valid begins here.
  Result<std::optional<Record>> at(std::uint64_t offset);
  // The next offset at or after `offset` where a valid record header of `epoch` or later begins.
  Result<std::optional<Record>> find_header(std::uint64_t offset, std::uint32_t epoch);

 private:
  Result<Bytes> window(std::uint64_t offset, std::size_t size);  // may be shorter at the end of the file
  Result<Bytes> buffered_from(std::uint64_t offset);             // a record header at least, unless the file ends

  const File& file_;
  const Salt salt_;
  Buffer buffer_;
  std::uint64_t buffer_at_ = 0;
};

struct SeenGroup {
  std::uint64_t begin = 0, end = 0;
  std::uint32_t end_crc = 0;
  struct SeenChunk { std::uint64_t key, offset; };
  std::vector<SeenChunk> chunks;
  std::vector<std::pair<std::uint64_t, CommitRecord>> commits;
  std::vector<std::pair<std::uint64_t, RefRecord>> refs;
  std::vector<std::pair<std::uint64_t, std::vector<std::uint64_t>>> gc_marks;
  std::optional<std::pair<std::uint64_t, CheckpointRecord>> checkpoint;
};

// Calls `on_group` for each visible group from `position` on and moves `position` past it.
Status scan_groups(const File& file, const Salt& salt, LogPosition& position,
                   const std::function<Status(SeenGroup&&)>& on_group);

}  // namespace peel::onion
