// onion/chunk_index.h - "is a chunk with this digest here already?": hints, which the caller rechecks.
//
// Shape      New entries live in memory; a checkpoint writes them as a sorted run with a blocked Bloom filter
//            and merges runs of similar size (run_merge.h), so there are O(log n) runs and each entry is rewritten
//            O(log n) times. Runs stop growing at run_entries_max, so a merge is bounded too.
//            CHUNK_RUN payload: count u64, filter blocks u64, filter (64 bytes a block), then count entries of
//            key u64 (first 8 digest bytes), offset u64 of the CHUNK record, ascending by key.
// Errors     A run that cannot be read is skipped: less deduplication, nothing worse.
// Threads    One owner; the Onion guards it.
// Memory     Recent entries (24 bytes each, at most recent_entries_max), filters (1 byte an entry), and whole runs
//            up to loaded_bytes_max in total; larger ones are searched on disk by interpolation.
#pragma once

#include <optional>

#include "onion/group_writer.h"
#include "onion/store.h"

namespace peel::onion {

// Open-addressed u64 -> u64; the newest value of a key wins.
class HintMap {
 public:
  void put(std::uint64_t key, std::uint64_t value);
  std::optional<std::uint64_t> get(std::uint64_t key) const;
  std::size_t size() const { return used_; }
  void clear();

 private:
  void grow();
  std::size_t slot_for(std::uint64_t key) const;
  struct Entry { std::uint64_t key = 0, value = 0; };  // key 0: free
  std::vector<Entry> slots_;
  std::size_t used_ = 0;
};

class ChunkIndex {
 public:
  static constexpr std::size_t run_entries_max = 1u << 20;
  static constexpr std::size_t recent_entries_max = 1u << 20;
  static constexpr std::size_t loaded_bytes_max = 48u << 20;

  static std::uint64_t key_of(const Digest& d) { return WireReader::load<std::uint64_t>(d.bytes.data()); }

  void reset(std::vector<RunLocation> runs);
  void add(std::uint64_t key, std::uint64_t offset);
  // Calls `accept(offset)` for each candidate, newest first, until it says true; that offset is returned.
  template <class Accept>
  std::optional<std::uint64_t> find(const Store& store, std::uint64_t key, Accept&& accept) const {
    if (const auto hit = recent_.get(key); hit && accept(*hit)) return hit;
    for (std::size_t i = runs_.size(); i-- > 0;)
      if (const auto hit = runs_[i].in_recent ? std::nullopt : find_in_run(store, i, key); hit && accept(*hit)) return hit;
    return std::nullopt;
  }
  // Reads filters and small runs now, so that find() may be called from several threads afterwards.
  void load(const Store& store) const;

  // Writes what is new as a run, merging; the result is what a checkpoint should name.
  Status write_runs(const Store& store, GroupWriter& writer);
  const std::vector<RunLocation>& runs() const { return locations_; }
  // Forgets entries at or beyond `offset` (a commit that was given up).
  void forget_from(std::uint64_t offset);

 private:
  struct Entry {
    std::uint64_t key, offset;
    bool operator<(const Entry& o) const { return key < o.key; }
  };
  struct Run {
    RunLocation location;
    bool loaded = false, usable = true;
    bool in_recent = false;        // every entry is in recent_ too: nothing to look for here
    std::uint64_t entries_at = 0;  // file offset of the first entry
    Buffer filter;
    std::vector<Entry> entries;    // empty when the run is searched on disk
  };
  std::optional<std::uint64_t> find_in_run(const Store& store, std::size_t i, std::uint64_t key) const;
  void load_run(const Store& store, Run& run) const;
  Result<std::vector<Entry>> read_entries(const Store& store, const Run& run) const;

  HintMap recent_;
  std::vector<Entry> unwritten_;
  bool unwritten_in_recent_ = true;  // until recent_ overflows and is cleared
  std::vector<RunLocation> locations_;
  mutable std::vector<Run> runs_;
  mutable std::size_t loaded_bytes_ = 0;
};

}  // namespace peel::onion
