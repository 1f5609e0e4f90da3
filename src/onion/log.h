// onion/log.h - finding the end of an onion: superblocks, groups, and what a crash left behind.
//
// Invariants 1. A group is written only after the one before it is on stable storage (or known to be in the
//               page cache of a living machine, see Impl::take_lock). So at most one group can be torn.
//            2. A superblock names only groups that were synced before it was written.
// Hence      A broken group that no later group follows is a crash: it is not there. A broken group followed
//            by a valid record of a later group, or inside what a superblock acknowledges, is damage: reported,
//            never a shorter history. What still checks in it is handed out, marked as such.
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

struct SuperblockSlots {
  Superblock current;                       // of the valid ones that with the greater sequence
  std::uint64_t acknowledged_twice = 0;     // what both say is durable: one damaged slot cannot hide it
  std::optional<unsigned> bad;              // the slot that does not check
};
// Corrupt when neither is valid.
Result<SuperblockSlots> read_superblocks(const File& file);
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
    Bytes payload;             // valid until the next call
    bool sound = true;         // the payload checks
    std::uint64_t end() const { return offset + record_size(header.length); }
  };
  // absent: nothing valid begins here.
  Result<std::optional<Record>> at(std::uint64_t offset);
  // The same, but only the header must check.
  Result<std::optional<Record>> at_unsound(std::uint64_t offset);
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

// Bytes of a group that do not check, and why.
struct LostRange {
  std::uint64_t begin = 0, end = 0;
  std::string what;
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
  std::vector<LostRange> lost;  // damage inside it
  bool complete = true;         // false: damage may have taken commits and refs; else only chunks and nodes
};

// Calls `on_group` for each visible group from `position` on and moves `position` past it. What lies before
// `proven_end` was acknowledged: there a broken group is damage, also when nothing follows it.
Status scan_groups(const File& file, const Salt& salt, std::uint64_t proven_end, LogPosition& position,
                   const std::function<Status(SeenGroup&&)>& on_group);

}  // namespace peel::onion
