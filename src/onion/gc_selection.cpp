#include "onion/gc_selection.h"

namespace peel::onion {
namespace {

constexpr std::int64_t day_ns = 86'400'000'000'000;

}  // namespace

Result<std::vector<bool>> GcSelection::choose(const GcPolicy& policy, std::int64_t now_ns) {
  const bool by_age = policy.keep_last || policy.keep_within_ns || policy.keep_daily;
  for (const auto& [key, stored] : m_.refs) {
    if (key.first == RefKind::setting || stored.commit == 0) continue;
    PEEL_TRY(const std::size_t i, revision_of(key.second, stored), "");
    keep_[i] = true;
    if (!by_age) {
      heads_.push_back(i);
    } else if (key.first == RefKind::branch) {
      PEEL_CHECK(keep_of_branch(i, policy, now_ns), "");
    }
  }
  if (!by_age) {
    PEEL_TRY(const auto reached, reachable(heads_), "");
    for (std::size_t i = 0; i < reached.size(); ++i)
      if (reached[i]) keep_[i] = true;
  }
  return std::move(keep_);
}

Status GcSelection::rescue(std::vector<bool>& keep) const {
  std::vector<char> wanted(rows_.size(), 0);
  for (const auto& [key, stored] : m_.refs) {
    if (key.first == RefKind::setting || stored.commit == 0) continue;
    PEEL_TRY(const std::size_t i, revision_of(key.second, stored), "");
    if (key.first == RefKind::tag) keep[i] = true;
    else wanted[i] = 1;
  }
  for (std::size_t i = rows_.size(); i-- > 0;) {
    const bool rescued = wanted[i] && !keep[i];
    if (rescued) keep[i] = true;
    if (rescued || m_.table.extra(i).commit > m_.gc_mark_at) PEEL_CHECK(reach_parents(i, wanted), "");
  }
  return {};
}

// What a ref names must be here, or it would be dropped.
Result<std::size_t> GcSelection::revision_of(const std::string& name, const StoredRef& stored) const {
  const auto i = m_.table.index_of_commit(stored.commit);
  if (!i) return fail(ErrorKind::corrupt, m_.path + ": " + name + " names a revision that is not here; nothing is collected");
  return *i;
}

Result<std::vector<char>> GcSelection::reachable(const std::vector<std::size_t>& from) const {
  std::vector<char> reached(rows_.size(), 0);
  for (const std::size_t i : from) reached[i] = 1;
  for (std::size_t i = rows_.size(); i-- > 0;)
    if (reached[i]) PEEL_CHECK(reach_parents(i, reached), "");
  return reached;
}

Status GcSelection::reach_parents(std::size_t i, std::vector<char>& reached) const {
  if (rows_[i].first_parent)
    if (const auto p = m_.table.index_of(*rows_[i].first_parent)) reached[*p] = 1;
  if (m_.table.extra(i).parents < 2) return {};
  PEEL_TRY(const auto commit, m_.read_commit(m_.table.extra(i).commit), "");
  for (const auto& parent : commit->parents)
    if (parent.commit != 0)
      if (const auto p = m_.table.index_of(parent.number)) reached[*p] = 1;
  return {};
}

// One pass from the newest down that marks what the head reaches, keeps what the policy wants, and stops when
// nothing older can be wanted.
Status GcSelection::keep_of_branch(std::size_t head, const GcPolicy& policy, std::int64_t now_ns) {
  std::vector<char> reached(head + 1, 0);
  reached[head] = 1;
  std::uint64_t newest_left = policy.keep_last.value_or(0), days_left = policy.keep_daily.value_or(0);
  std::optional<std::int64_t> last_day;
  for (std::size_t i = head + 1; i-- > 0;) {
    if (newest_left == 0 && days_left == 0 && !policy.keep_within_ns) break;
    if (!reached[i]) continue;
    PEEL_CHECK(reach_parents(i, reached), "");
    if (newest_left > 0) { --newest_left; keep_[i] = true; }
    if (policy.keep_within_ns && rows_[i].time_ns >= now_ns - *policy.keep_within_ns) keep_[i] = true;
    const std::int64_t day = rows_[i].time_ns / day_ns;
    if (days_left > 0 && day != last_day) { --days_left; last_day = day; keep_[i] = true; }
  }
  return {};
}

}  // namespace peel::onion
