// onion/gc_selection.h - which revisions a collection keeps.
//
// Cost       One pass over the rows from the newest down (parents come before children), a few ns each; a look at the
//            COMMIT record of each merge.
// Errors     corrupt: a ref names a revision that is not here. io.
// Threads    One owner; the history is loaded, and the lock held unless it is a dry run.
// Memory     A byte or two a revision.
#pragma once

#include "onion/impl.h"

namespace peel::onion {

class GcSelection {
 public:
  explicit GcSelection(const Onion::Impl& m) : m_(m), rows_(m.table.summaries()), keep_(rows_.size(), false) {}

  // By row of the table.
  Result<std::vector<bool>> choose(const GcPolicy& policy, std::int64_t now_ns);
  // Marked revisions that got a name or a child since the mark stay; what a branch or a child brought back keeps the
  // marked ones before it too.
  Status rescue(std::vector<bool>& keep) const;

 private:
  Result<std::size_t> revision_of(const std::string& name, const StoredRef& stored) const;
  Result<std::vector<char>> reachable(const std::vector<std::size_t>& from) const;
  Status reach_parents(std::size_t i, std::vector<char>& reached) const;
  Status keep_of_branch(std::size_t head, const GcPolicy& policy, std::int64_t now_ns);

  const Onion::Impl& m_;
  std::span<const RevisionSummary> rows_;
  std::vector<bool> keep_;
  std::vector<std::size_t> heads_;
};

}  // namespace peel::onion
