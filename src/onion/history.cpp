// Looking at history: lists, revisions by name, ancestry, refs, reflog.
#include <algorithm>
#include <chrono>
#include <queue>
#include <unordered_set>

#include "onion/impl.h"

namespace peel {

using namespace onion;

Status Onion::Impl::load_history() const {
  std::lock_guard lock(history_mutex);
  if (half_loaded) return fail(ErrorKind::io, path + ": could not be read again after an error; open it again");  // half of it would be a lie
  auto loaded = table.load(*store);
  return loaded || loaded.error().kind() != ErrorKind::corrupt ? std::move(loaded) : salvage_rows(loaded.error());
}

Status Onion::Impl::salvage_rows(const Error& why) const {
  std::vector<RevisionRow> rows;
  RecordScanner scanner(store->file(), super.salt);
  for (std::uint64_t at = records_begin; at < position.end;) {
    PEEL_TRY(const auto record, scanner.at(at), path);
    if (!record) {
      PEEL_TRY(const auto next, scanner.find_header(at + 8, 0), path);
      at = next ? next->offset : position.end;
      continue;
    }
    at = record->end();
    if (record->header.type != RecordType::commit) continue;
    const auto commit = decode_commit(record->payload);
    if (commit && (rows.empty() || commit->number > rows.back().summary.number)) rows.push_back(row_of(*commit, record->offset));
  }
  table.take(std::move(rows));
  if (table.size() != revision_count) return met_damage(records_begin, "revisions are missing: " + why.message());
  note_damage(records_begin, "the list of revisions is damaged (" + why.message() + "); it was put together again from the revisions");
  return {};
}

Result<std::shared_ptr<const CommitRecord>> Onion::Impl::read_commit(std::uint64_t offset) const {
  {
    std::lock_guard lock(history_mutex);
    for (const auto& [at, commit] : recent_commits)
      if (at == offset && commit) return commit;
  }
  PEEL_TRY(const auto record, store->read_record(offset, RecordType::commit), "");
  PEEL_TRY(auto commit, decode_commit(record.payload()), path);
  auto shared = std::make_shared<const CommitRecord>(std::move(commit));
  std::lock_guard lock(history_mutex);
  recent_commits[recent_commit_next++ % recent_commits.size()] = {offset, shared};
  return shared;
}

Result<std::size_t> Onion::Impl::index_of_number(std::uint64_t number) const {
  PEEL_CHECK(load_history(), "");
  const auto index_found = table.index_of(number);
  if (!index_found && broken)
    return fail(ErrorKind::corrupt, path + ": revision @" + std::to_string(number) + " is not among what can be read of this damaged history");
  if (!index_found) return fail(ErrorKind::not_found, path + ": no revision @" + std::to_string(number));
  return *index_found;
}

Result<Tree> Onion::Impl::tree_of(std::uint64_t number) const {
  PEEL_TRY(const auto i, index_of_number(number), "");
  return Tree{table.extra(i).root, table.summaries()[i].size, table.extra(i).page_log2};
}

RevisionInfo Onion::Impl::info_of(const CommitRecord& c) const {
  RevisionInfo info;
  info.number = c.number;
  info.id = c.id;
  info.generation = c.generation;
  info.size = c.size;
  info.time_ns = c.meta.time_ns;
  if (!c.parents.empty() && c.parents[0].commit != 0) info.first_parent = c.parents[0].number;
  for (const auto& p : c.parents) info.parents.push_back(p.id);
  info.content = c.content;
  info.meta = c.meta;
  info.bytes_added = c.bytes_added;
  return info;
}

const StoredRef* Onion::Impl::find_ref(RefKind kind, const std::string& name) const {
  const auto it = refs.find({kind, name});
  return it == refs.end() ? nullptr : &it->second;
}

std::string Onion::Impl::current_branch() const {
  const auto* head = find_ref(RefKind::setting, "branch");
  return head && !head->ref.value.empty() ? head->ref.value : "main";
}

std::int64_t Onion::Impl::now_ns(const std::function<std::int64_t()>& clock) const {
  if (clock) return clock();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Pool& Onion::Impl::pool() const {
  if (!pool_) pool_ = std::make_unique<Pool>(Pool::default_threads());
  return *pool_;
}

Result<RefRecord> Onion::Impl::ref_record(const RefChange& change, const std::map<RevisionId, std::uint64_t>& coming) const {
  if (change.name.empty() || change.name.size() > 1024) return fail(ErrorKind::usage, "a ref name has 1 to 1024 bytes");
  const StoredRef* now = find_ref(change.kind, change.name);
  RefRecord r;
  r.kind = change.kind;
  r.name = change.name;
  r.before = now ? now->ref.target : RevisionId{};
  if (change.expected) {
    const bool must_be_absent = change.expected->is_zero();
    if (must_be_absent ? now != nullptr : r.before != *change.expected)
      return fail(ErrorKind::conflict, change.name + (must_be_absent ? " exists already" : " moved in the meantime"));
  }
  r.reason = change.reason;
  r.time_ns = now_ns({});
  if (change.kind == RefKind::setting) {
    r.removed = !change.value;
    if (change.value) r.value = *change.value;
    if (r.removed && !now) return fail(ErrorKind::not_found, "no setting " + change.name);
    return r;
  }
  if (!change.target) {
    if (!now) return fail(ErrorKind::not_found, path + ": no ref named " + change.name);
    r.removed = true;
    return r;
  }
  r.after = *change.target;
  r.value = change.value ? *change.value : now ? now->ref.value : std::string();
  if (const auto it = coming.find(r.after); it != coming.end()) {
    r.after_commit = it->second;
    return r;
  }
  // Most changes name a revision some ref points at already: no need to load history for those.
  for (const auto& [key, stored] : refs)
    if (stored.commit != 0 && stored.ref.target == r.after) {
      r.after_commit = stored.commit;
      return r;
    }
  PEEL_CHECK(load_history(), "");
  std::lock_guard lock(history_mutex);
  const auto i = table.index_of(r.after);
  if (!i) return fail(ErrorKind::not_found, path + ": the revision " + change.name + " should point at is not here");
  r.after_commit = table.extra(*i).commit;
  return r;
}

const std::string& Onion::path() const { return impl_->path; }
const std::array<std::byte, 32>& Onion::lineage() const { return impl_->super.lineage; }
std::uint64_t Onion::revision_count() const { return impl_->revision_count; }
std::string Onion::current_branch() const { return impl_->current_branch(); }

Result<std::span<const RevisionSummary>> Onion::list() const {
  PEEL_CHECK(impl_->load_history(), "");
  return impl_->table.summaries();
}

Result<RevisionInfo> Onion::revision(std::uint64_t number) const {
  PEEL_TRY(const auto i, impl_->index_of_number(number), "");
  PEEL_TRY(const auto commit, impl_->read_commit(impl_->table.extra(i).commit), "");
  return impl_->info_of(*commit);
}

std::optional<std::uint64_t> Onion::find(const RevisionId& id) const {
  if (!impl_->load_history()) return std::nullopt;
  std::lock_guard lock(impl_->history_mutex);
  const auto i = impl_->table.index_of(id);
  if (!i) return std::nullopt;
  return impl_->table.summaries()[*i].number;
}

std::vector<Ref> Onion::refs() const {
  std::vector<Ref> out;
  for (const auto& [key, stored] : impl_->refs) out.push_back(stored.ref);
  return out;
}

std::optional<Ref> Onion::ref(RefKind kind, const std::string& name) const {
  const auto* stored = impl_->find_ref(kind, name);
  return stored ? std::optional(stored->ref) : std::nullopt;
}

Result<std::vector<ReflogEntry>> Onion::reflog(std::size_t most) const {
  std::vector<ReflogEntry> entries;
  for (std::uint64_t at = impl_->last_ref; at != 0 && entries.size() < most;) {
    PEEL_TRY(const auto record, impl_->store->read_record(at, RecordType::ref), "");
    PEEL_TRY(auto r, decode_ref(record.payload()), impl_->path);
    if (r.previous_ref >= at) return fail(ErrorKind::corrupt, impl_->path + ": reflog runs in a circle");
    at = r.previous_ref;
    entries.push_back({r.kind, std::move(r.name), r.before, r.after, r.time_ns, std::move(r.who), std::move(r.reason)});
  }
  return entries;
}

namespace {

// All parents of a revision that are here, as indexes into the table.
Result<std::vector<std::size_t>> parents_of(const Onion::Impl& m, std::size_t i) {
  std::vector<std::size_t> out;
  // The row knows the first parent; only a merge needs its record.
  if (m.table.extra(i).parents <= 1) {
    if (const auto first = m.table.summaries()[i].first_parent)
      if (const auto index = m.table.index_of(*first)) out.push_back(*index);
    return out;
  }
  PEEL_TRY(const auto commit, m.read_commit(m.table.extra(i).commit), "");
  for (const auto& p : commit->parents)
    if (p.commit != 0)
      if (const auto index = m.table.index_of(p.number)) out.push_back(*index);
  return out;
}

}  // namespace

Result<bool> Onion::is_ancestor(std::uint64_t ancestor, std::uint64_t descendant) const {
  PEEL_TRY(const auto from, impl_->index_of_number(descendant), "");
  PEEL_TRY(const auto to, impl_->index_of_number(ancestor), "");
  const auto rows = impl_->table.summaries();
  std::vector<std::size_t> open{from};
  std::unordered_set<std::size_t> seen{from};
  while (!open.empty()) {
    const std::size_t i = open.back();
    open.pop_back();
    if (i == to) return true;
    if (rows[i].generation <= rows[to].generation) continue;  // generations only fall towards the roots
    PEEL_TRY(const auto parents, parents_of(*impl_, i), "");
    for (const std::size_t p : parents)
      if (seen.insert(p).second) open.push_back(p);
  }
  return false;
}

Result<std::optional<std::uint64_t>> Onion::merge_base(std::uint64_t a, std::uint64_t b) const {
  PEEL_TRY(const auto ia, impl_->index_of_number(a), "");
  PEEL_TRY(const auto ib, impl_->index_of_number(b), "");
  const auto rows = impl_->table.summaries();
  // Highest generation first: the first revision both sides reach is a best common ancestor.
  const auto lower = [&](std::size_t x, std::size_t y) {
    return std::pair(rows[x].generation, x) < std::pair(rows[y].generation, y);
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(lower)> open(lower);
  std::unordered_map<std::size_t, unsigned> side;
  const auto reach = [&](std::size_t i, unsigned bits) {
    unsigned& have = side[i];
    if ((have | bits) == have) return;
    have |= bits;
    open.push(i);
  };
  reach(ia, 1);
  reach(ib, 2);
  while (!open.empty()) {
    const std::size_t i = open.top();
    open.pop();
    const unsigned bits = side[i];
    if (bits == 3) return std::optional(rows[i].number);
    PEEL_TRY(const auto parents, parents_of(*impl_, i), "");
    for (const std::size_t p : parents) reach(p, bits);
  }
  return std::optional<std::uint64_t>();
}

}  // namespace peel
