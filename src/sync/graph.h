// sync/graph.h - which revisions two ends share, and which must move. Plain form: samples of ancestors.
//
// Errors     as the onion's reads.
// Threads    Free functions over a const Onion; ReceivedGraph has one owner.
// Memory     Per revision looked at about 100 bytes: what differs, not what exists, except haves_of (9 bytes
//            per revision of the onion).
#pragma once

#include <map>
#include <set>
#include <vector>

#include "peel/onion.h"

namespace peel::sync {

// What an onion tells a sender: heads of all its refs, their ancestors at distances 1, 2, 4, ... along first
// parents, and the revisions with a parent that is not here. Empty when that would be too much to say: then
// everything is offered, and chunks that are here still do not travel.
struct Haves {
  std::vector<RevisionId> ids, shallow;
};
Result<Haves> haves_of(const Onion& onion);

// Revisions reachable from `wants` and not from `haves`, by number: parents first. `shallow` ends the
// ancestry of `haves`. Every parent of a result that is here is a result too, or reached by `haves`.
Result<std::vector<std::uint64_t>> difference(const Onion& onion, const std::vector<std::uint64_t>& wants,
                                              const std::vector<std::uint64_t>& haves,
                                              const std::set<std::uint64_t>& shallow = {});

// The numbers of those ids that are here.
std::vector<std::uint64_t> known_numbers(const Onion& onion, const std::vector<RevisionId>& ids);

// Ancestry over an onion and revisions that are still on their way into it.
class ReceivedGraph {
public:
  explicit ReceivedGraph(const Onion& onion) : onion_(&onion) {}
  void add(const RevisionId& id, const std::vector<RevisionId>& parents) { coming_[id] = parents; }
  bool knows(const RevisionId& id) const { return coming_.contains(id) || onion_->find(id).has_value(); }
  // True when equal. False when either is unknown.
  Result<bool> is_ancestor(const RevisionId& ancestor, const RevisionId& descendant) const;

private:
  const Onion* onion_;
  std::map<RevisionId, std::vector<RevisionId>> coming_;  // ordered: the peer chose the ids
};

}  // namespace peel::sync
