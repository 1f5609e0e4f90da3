#include "sync/graph.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "proto/limits.h"

namespace peel::sync {
namespace {

// Parents that are here. A parent that came after its child (a collected one that was fetched again) is not
// linked to it in the store, so it does not count here either.
Result<std::vector<std::uint64_t>> parents_of(const Onion& onion, std::uint64_t number, bool* missing = nullptr) {
  PEEL_TRY(const auto info, onion.revision(number), "");
  std::vector<std::uint64_t> out;
  for (const RevisionId& id : info.parents) {
    const auto parent = onion.find(id);
    if (parent && *parent < number) {
      out.push_back(*parent);
    } else if (missing) {
      *missing = true;
    }
  }
  return out;
}

int order_of(RefKind kind) { return kind == RefKind::branch ? 0 : kind == RefKind::remote ? 1 : 2; }

}  // namespace

Result<Haves> haves_of(const Onion& onion) {
  Haves out;
  PEEL_TRY(const auto rows, onion.list(), "");
  std::vector<Ref> heads = onion.refs();
  std::erase_if(heads, [](const Ref& ref) { return ref.kind == RefKind::setting; });
  std::stable_sort(heads.begin(), heads.end(),
                   [](const Ref& a, const Ref& b) { return order_of(a.kind) < order_of(b.kind); });
  std::vector<bool> seen(rows.size());
  const auto row_of = [&](std::uint64_t number) -> std::optional<std::size_t> {
    const auto it = std::lower_bound(rows.begin(), rows.end(), number,
                                     [](const RevisionSummary& row, std::uint64_t n) { return row.number < n; });
    if (it == rows.end() || it->number != number) return std::nullopt;
    return static_cast<std::size_t>(it - rows.begin());
  };
  for (const Ref& head : heads) {
    const auto number = onion.find(head.target);
    auto row = number ? row_of(*number) : std::nullopt;
    // A head on a chain that was walked before is bracketed by that chain's samples.
    for (std::uint64_t distance = 0, next = 0; row && !seen[*row]; ++distance) {
      if (distance == next && out.ids.size() < proto::haves_max) {
        out.ids.push_back(rows[*row].id);
        next = distance == 0 ? 1 : distance * 2;
      }
      seen[*row] = true;
      const auto parent = rows[*row].first_parent;
      row = parent ? row_of(*parent) : std::nullopt;
    }
  }
  for (const RevisionSummary& row : rows) {
    bool missing = false;
    PEEL_TRY([[maybe_unused]] const auto parents, parents_of(onion, row.number, &missing), "");
    if (missing) out.shallow.push_back(row.id);
  }
  if (out.shallow.size() > proto::shallow_max) return Haves{};
  return out;
}

std::vector<std::uint64_t> known_numbers(const Onion& onion, const std::vector<RevisionId>& ids) {
  std::vector<std::uint64_t> out;
  for (const RevisionId& id : ids)
    if (const auto number = onion.find(id)) out.push_back(*number);
  return out;
}

Result<std::vector<std::uint64_t>> difference(const Onion& onion, const std::vector<std::uint64_t>& wants,
                                              const std::vector<std::uint64_t>& haves,
                                              const std::set<std::uint64_t>& shallow) {
  // Newest number first: all children of a revision are met before it. Done when nothing is left that only
  // `wants` reaches.
  constexpr unsigned want = 1, have = 2;
  std::unordered_map<std::uint64_t, unsigned> colour;
  std::priority_queue<std::uint64_t> open;
  std::size_t open_wanted = 0;
  const auto paint = [&](std::uint64_t number, unsigned bits) {
    if (bits == 0) return;
    const auto [it, fresh] = colour.try_emplace(number, 0u);
    if (fresh) open.push(number);
    const unsigned before = it->second;
    it->second |= bits;
    if (before != want && it->second == want) ++open_wanted;
    if (before == want && it->second != want) --open_wanted;
  };
  for (const auto number : wants) paint(number, want);
  for (const auto number : haves) paint(number, have);
  std::vector<std::uint64_t> out;
  while (open_wanted > 0) {
    const std::uint64_t number = open.top();
    open.pop();
    unsigned bits = colour[number];
    if (bits == want) {
      --open_wanted;
      out.push_back(number);
    }
    if (shallow.contains(number)) bits &= ~have;
    if (bits == 0) continue;
    PEEL_TRY(const auto parents, parents_of(onion, number), "");
    for (const auto parent : parents) paint(parent, bits);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

Result<bool> ReceivedGraph::is_ancestor(const RevisionId& ancestor, const RevisionId& descendant) const {
  if (!knows(ancestor) || !knows(descendant)) return false;
  const auto target = onion_->find(ancestor);
  std::vector<RevisionId> open{descendant};
  std::set<RevisionId> seen{descendant};
  while (!open.empty()) {
    const RevisionId id = open.back();
    open.pop_back();
    if (id == ancestor) return true;
    if (const auto coming = coming_.find(id); coming != coming_.end()) {
      for (const RevisionId& parent : coming->second)
        if (seen.insert(parent).second) open.push_back(parent);
      continue;
    }
    const auto number = onion_->find(id);
    if (!number || !target) continue;
    PEEL_TRY(const bool found, onion_->is_ancestor(*target, *number), "");
    if (found) return true;
  }
  return false;
}

}  // namespace peel::sync
