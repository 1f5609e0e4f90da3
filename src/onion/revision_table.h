// onion/revision_table.h - all revisions by number and id, loaded when first asked for.
//
// Shape      A checkpoint writes new rows as a REVISION_RUN; eight runs of similar size become one (run_merge.h): a
//            history of n revisions is read back in O(log n) reads and each row is rewritten O(log n) times. Rows ascend by number, which gaps after a collection.
//            REVISION_RUN payload: count u64, then count rows (format.h).
// Errors     corrupt, io.
// Threads    Guarded by the Onion (see Impl::history).
// Memory     About 200 bytes a revision once loaded; nothing before.
#pragma once

#include <unordered_map>

#include "onion/group_writer.h"
#include "onion/store.h"

namespace peel::onion {

class RevisionTable {
 public:
  static constexpr std::size_t run_rows_max = 1u << 20;

  void reset(std::vector<RunLocation> runs);
  void add(const RevisionRow& row);
  Status load(const Store& store);
  // Instead of load(), where a run is damaged: these rows and the newer ones not yet in a run. The next write_runs
  // writes them all anew.
  void take(std::vector<RevisionRow>&& rows);
  bool loaded() const { return loaded_; }

  // After load():
  std::span<const RevisionSummary> summaries() const { return summaries_; }
  std::size_t size() const { return summaries_.size(); }
  // Index of a number, of the offset of a COMMIT record (both ascend), or of an id (the first time makes a map of all).
  std::optional<std::size_t> index_of(std::uint64_t number) const;
  std::optional<std::size_t> index_of_commit(std::uint64_t offset) const;
  std::optional<std::size_t> index_of(const RevisionId& id) const;
  struct Extra {
    Digest content;
    std::uint64_t commit = 0, root = 0;
    std::uint8_t page_log2 = 0, parents = 0;
  };
  const Extra& extra(std::size_t index) const { return extras_[index]; }

  Status write_runs(const Store& store, GroupWriter& writer);
  const std::vector<RunLocation>& runs() const { return runs_; }

 private:
  void put(const RevisionRow& row);
  Status load_rows(const Store& store);
  static Result<std::vector<RevisionRow>> read_run(const Store& store, const RunLocation& run);

  std::vector<RunLocation> runs_;
  std::vector<RevisionRow> unwritten_;
  bool loaded_ = false;
  std::vector<RevisionSummary> summaries_;
  std::vector<Extra> extras_;
  mutable std::unordered_map<RevisionId, std::size_t, DigestHash> by_id_;  // built on the first look-up by id
  mutable std::size_t by_id_count_ = 0;
};

}  // namespace peel::onion
