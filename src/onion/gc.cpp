// Collection: choose what stays, then copy it forward into a new file and rename that over the old one.
//
// Crash      Before the rename the old file is untouched; after it the new one is complete and synced. Old readers
//            keep the file they have open; other writers notice the new inode when they get the lock.
// Memory     About 56 bytes a live record plus what a commit needs.
#include <algorithm>
#include <unordered_map>

#include "base/hex.h"
#include "base/random.h"
#include "codec/page_codec.h"
#include "onion/gc_selection.h"
#include "onion/impl.h"

namespace peel {

using namespace onion;

namespace {

constexpr std::size_t reflog_entries_max = 10'000;

// Walks everything some revisions need, each record once.
class LiveWalk {
 public:
  explicit LiveWalk(const Store& store) : store_(store) {}
  virtual ~LiveWalk() = default;

  // New offset of the node `ref` stands for (what visit_node returned).
  Result<std::uint64_t> node(std::uint64_t ref, unsigned below = tree_levels_max) {
    if (ref == 0) return std::uint64_t{0};
    if (const auto it = moved_.find(ref); it != moved_.end()) return it->second;
    PEEL_TRY(const auto shared, store_.node(ref), "");
    if (shared->level >= below)  // also what keeps a crafted file from sending this in circles
      return fail(ErrorKind::corrupt, store_.path() + ": node at offset " + std::to_string(ref) + " does not fit its place");
    Node copy = *shared;
    if (copy.level > 0) {
      for (unsigned i = 0; i < fanout; ++i)
        if (copy.has(i)) {
          PEEL_TRY(copy.child[i], node(copy.child[i], copy.level), "");
        }
    } else {
      for (Slice& s : copy.slices) PEEL_CHECK(chunk(s), "");
    }
    PEEL_TRY(const auto to, visit_node(copy), "");
    moved_.emplace(ref, to);
    return to;
  }

 protected:
  struct Place { std::uint64_t offset; std::uint32_t record_size; };
  virtual Result<std::uint64_t> visit_node(const Node& node) = 0;
  virtual Result<Place> visit_chunk(std::uint64_t offset, std::uint32_t record_size) = 0;
  const Store& store_;

 private:
  Status chunk(Slice& s) {
    auto it = chunks_.find(s.chunk);
    if (it == chunks_.end()) {
      PEEL_TRY(const auto place, visit_chunk(s.chunk, s.record_size), "");
      it = chunks_.emplace(s.chunk, place).first;
    }
    s.chunk = it->second.offset;
    s.record_size = it->second.record_size;
    return {};
  }
  std::unordered_map<std::uint64_t, std::uint64_t> moved_;
  std::unordered_map<std::uint64_t, Place> chunks_;
};

class LiveSize final : public LiveWalk {
 public:
  using LiveWalk::LiveWalk;
  std::uint64_t bytes = records_begin;

 private:
  Result<std::uint64_t> visit_node(const Node& node) override {
    scratch_.clear();
    encode(node, scratch_);
    bytes += record_size(scratch_.size());
    return std::uint64_t{1};
  }
  Result<Place> visit_chunk(std::uint64_t offset, std::uint32_t size) override {
    bytes += size;
    return Place{offset, size};
  }
  Buffer scratch_;
};

class LiveCopy final : public LiveWalk {
 public:
  LiveCopy(const Store& from, Onion::Impl& to, GroupWriter& writer, const GcPolicy& policy)
      : LiveWalk(from), to_(to), writer_(writer), policy_(policy) {}

 private:
  Result<std::uint64_t> visit_node(const Node& node) override {
    const auto ref = writer_.begin(RecordType::node);
    encode(node, writer_.payload());
    PEEL_CHECK(writer_.end(), "");
    return ref;
  }
  Result<Place> visit_chunk(std::uint64_t offset, std::uint32_t) override {
    if (policy_.cancel) PEEL_CHECK(policy_.cancel->check(), "");
    PEEL_TRY(const auto record, store_.read_record(offset, RecordType::chunk), "");
    PEEL_TRY(const auto header, decode_chunk_header(record.payload()), "");
    const Bytes stored = Bytes(record.payload()).subspan(chunk_header_size);
    if (policy_.repack) {
      PEEL_CHECK(store_.read_chunk(offset, 0, plain_), "");
      packed_.clear();
      const auto encoded = codec::encode(plain_, {0, codec::Effort::thorough}, packed_);
      check_.resize(plain_.size());
      const bool proven = codec::decode(encoded.codec, encoded.width, packed_, check_).ok() && check_ == plain_;
      if (proven && encoded.size < stored.size()) {  // it will be the only copy
        PEEL_TRY(const auto place, to_.append_stored(writer_, header.name, static_cast<std::uint8_t>(encoded.codec), encoded.width, packed_), "");
        return Place{place.offset, place.record_size};
      }
    }
    PEEL_TRY(const auto place, to_.append_stored(writer_, header.name, header.codec, header.width, stored), "");
    return Place{place.offset, place.record_size};
  }
  Onion::Impl& to_;
  GroupWriter& writer_;
  const GcPolicy& policy_;
  Buffer plain_, packed_, check_;
};

// Copies the kept revisions, the refs and the newest part of the reflog into `to`.
class Compaction {
 public:
  Compaction(const Onion::Impl& from, Onion::Impl& to, const std::vector<bool>& keep, const GcPolicy& policy)
      : from_(from), to_(to), keep_(keep), policy_(policy) {}

  Status run() {
    auto writer = to_.begin_group();
    LiveCopy copy(*from_.store, to_, writer, policy_);
    PEEL_CHECK(copy_revisions(writer, copy), "");
    PEEL_CHECK(copy_refs(writer), "");
    to_.next_number = from_.next_number;
    PEEL_CHECK(to_.finish_group(writer, std::move(outcome_), true), "");
    PEEL_CHECK(to_.acknowledge_twice(), "");
    return to_.store->file().sync_data();
  }

 private:
  Status copy_revisions(GroupWriter& writer, LiveCopy& copy) {
    const auto rows = from_.table.summaries();
    std::uint64_t previous = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!keep_[i]) continue;
      if (policy_.progress) policy_.progress({i, rows.size()});
      PEEL_TRY(const auto old, from_.read_commit(from_.table.extra(i).commit), "");
      CommitRecord record = *old;
      PEEL_TRY(record.root, copy.node(old->root), "");
      for (auto& parent : record.parents) {
        const auto it = moved_.find(parent.commit);
        parent.commit = it == moved_.end() ? 0 : it->second;
      }
      record.previous_commit = previous;
      const auto at = writer.begin(RecordType::commit);
      encode(record, writer.payload());
      PEEL_CHECK(writer.end(), "");
      moved_[from_.table.extra(i).commit] = previous = at;
      outcome_.commits.emplace_back(at, std::move(record));
    }
    return {};
  }

  Status copy_refs(GroupWriter& writer) {
    std::vector<RefRecord> log;
    for (std::uint64_t at = from_.last_ref; at != 0 && log.size() < reflog_entries_max;) {
      PEEL_TRY(const auto record, from_.store->read_record(at, RecordType::ref), "");
      PEEL_TRY(auto ref, decode_ref(record.payload()), from_.path);
      at = ref.previous_ref;
      log.push_back(std::move(ref));
    }
    std::reverse(log.begin(), log.end());
    std::map<Onion::Impl::RefKey, std::size_t> last;
    for (std::size_t i = 0; i < log.size(); ++i) last[{log[i].kind, log[i].name}] = i;
    // Refs whose last change fell off the reflog are stated again, so that the log alone rebuilds them.
    for (const auto& [key, stored] : from_.refs) {
      if (last.count(key)) continue;
      RefRecord ref;
      ref.kind = key.first;
      ref.name = key.second;
      ref.before = ref.after = stored.ref.target;
      ref.after_commit = stored.commit;
      ref.value = stored.ref.value;
      ref.reason = "kept";
      PEEL_CHECK(put(writer, std::move(ref)), "");
    }
    for (auto& ref : log) PEEL_CHECK(put(writer, std::move(ref)), "");
    return {};
  }

  Status put(GroupWriter& writer, RefRecord ref) {
    const auto it = moved_.find(ref.after_commit);
    ref.after_commit = it == moved_.end() ? 0 : it->second;
    PEEL_CHECK(to_.append_ref(writer, std::move(ref), outcome_), "");
    return {};
  }

  const Onion::Impl& from_;
  Onion::Impl& to_;
  const std::vector<bool>& keep_;
  const GcPolicy& policy_;
  Onion::Impl::Outcome outcome_;
  std::unordered_map<std::uint64_t, std::uint64_t> moved_;  // COMMIT offsets
};

// The caller holds the lock.
Status compact(Onion::Impl& m, const std::vector<bool>& keep, const GcPolicy& policy) {
  FileSystem& fs = *m.file_system;
  PEEL_TRY(const auto before, m.store->file().size(), m.path);
  PEEL_TRY(const auto room, fs.free_space(m.path), "");
  if (room < before) {
    LiveSize live(*m.store);
    for (std::size_t i = 0; i < keep.size(); ++i)
      if (keep[i]) {
        PEEL_TRY([[maybe_unused]] const auto node, live.node(m.table.extra(i).root), "");
      }
    if (room < live.bytes + (live.bytes >> 4))
      return fail(ErrorKind::io, m.path + ": a collection needs about " + std::to_string(live.bytes) + " bytes beside the old file, but only " +
                                     std::to_string(room) + " are free; make room or keep less");
  }
  // One name: the lock admits one collection at a time, so what is there was left by one that died.
  const std::string temporary = name_beside(directory_of(m.path) + "/." + base_name_of(m.path), ".gc");
  if (auto removed = fs.remove(temporary); !removed && removed.error().kind() != ErrorKind::not_found) return removed;
  // Locked before it has the name others know, and until that name is durable: a writer that finds it there waits.
  Onion::Impl to;
  const auto build = [&]() -> Status {
    PEEL_TRY(auto file, fs.open(temporary, OpenMode::create_new, 0600), "");
    PEEL_CHECK(file->adopt_access_of(m.store->file()), temporary);
    PEEL_CHECK(file->write_at(0, Buffer(records_begin)), "");
    (void)file->lock(false).ok();
    to.path = temporary;
    to.file_system = &fs;
    to.access = Access::write;
    to.super = m.super;
    to.super.salt = random_array<16>();
    to.super.epoch = 1;
    to.super.tail = to.super.acknowledged = records_begin;
    to.super.group = to.super.checkpoint = 0;
    to.super.sequence = 0;
    PEEL_CHECK(write_superblock(*file, to.super), "");
    to.store = std::make_shared<Store>(temporary, std::move(file), to.super.salt);
    to.table.reset({});
    return Compaction(m, to, keep, policy).run();
  };
  auto built = build();
  if (built) built = fs.rename(temporary, m.path, true);
  if (!built) {
    (void)fs.remove(temporary).ok();
    return std::move(built.error()).in(m.path + ": collection stopped, nothing changed");
  }
  return fs.sync_directory_of(m.path);
}

}  // namespace

Result<GcReport> Onion::gc(const GcPolicy& policy) {
  Impl& m = *impl_;
  GcReport report;
  {
    std::optional<Impl::Lock> lock;
    if (!policy.dry_run) {
      PEEL_TRY(auto taken, m.take_lock(policy.cancel), "");
      lock.emplace(std::move(taken));
    }
    PEEL_CHECK(m.load_history(), "");
    PEEL_TRY(report.bytes_before, m.store->file().size(), m.path);
    GcSelection selection(m);
    PEEL_TRY(const auto keep, selection.choose(policy, m.now_ns({})), "");
    const auto rows = m.table.summaries();
    report.revisions_before = rows.size();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (keep[i]) ++report.revisions_kept;
      else report.removed.push_back(rows[i].number);
    }
    report.bytes_after = report.bytes_before;
    if (policy.dry_run) {
      LiveSize live(*m.store);
      for (std::size_t i = 0; i < keep.size(); ++i)
        if (keep[i]) {
          PEEL_TRY([[maybe_unused]] const auto node, live.node(m.table.extra(i).root), "");
          live.bytes += 512;  // its COMMIT, row and ref records
        }
      report.bytes_after = std::min(report.bytes_before, live.bytes);
      return report;
    }
    if (policy.defer) {
      auto writer = m.begin_group();
      Impl::Outcome outcome;
      const auto at = writer.begin(RecordType::gc_mark);
      encode_gc_mark(report.removed, writer.payload());
      PEEL_CHECK(writer.end(), m.path);
      outcome.gc_mark.emplace(at, report.removed);
      PEEL_CHECK(m.finish_group(writer, std::move(outcome)), "");
      return report;
    }
    PEEL_CHECK(compact(m, keep, policy), "");
  }
  PEEL_CHECK(m.reopen(), "");
  PEEL_TRY(report.bytes_after, m.store->file().size(), m.path);
  report.compacted = true;
  return report;
}

Status Onion::flush() {
  Impl& m = *impl_;
  bool compacted = false;
  {
    PEEL_TRY(const auto lock, m.take_lock(), "");
    if (!m.gc_mark.empty()) {
      PEEL_CHECK(m.load_history(), "");
      std::vector<bool> keep(m.table.size(), true);
      for (const std::uint64_t number : m.gc_mark)
        if (const auto i = m.table.index_of(number)) keep[*i] = false;
      PEEL_CHECK(GcSelection(m).rescue(keep), "");
      PEEL_CHECK(compact(m, keep, {}), "");
      compacted = true;
    } else if (m.groups_since_checkpoint > 0) {
      auto writer = m.begin_group();
      PEEL_CHECK(m.finish_group(writer, {}, true), "");
      PEEL_CHECK(m.store->file().sync_data(), m.path);
    }
  }
  return compacted ? m.reopen() : Status();
}

}  // namespace peel
