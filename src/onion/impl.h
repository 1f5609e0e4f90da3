// onion/impl.h - the state behind an Onion handle and the steps every writing operation shares.
//
// Flow       take_lock (exclusive, rechecks the file, catches up, mends a torn tail) -> begin_group -> records ->
//            finish_group (checkpoint when due, END, fdatasync, then the new state becomes ours) or give_up.
// Invariants The in-memory state is exactly what the file held at `position`, unless `reload_needed`.
//            Nothing is written behind a group or under a name that may be in memory only (`synced_end`, `name_synced`).
//            A handle that met damage which may have taken commits (`broken`) writes nothing.
//            After a failed fdatasync nothing is written through this handle any more (`poisoned`), and the group that
//            could not be made durable is taken back, so that nobody builds on it.
// Threads    One owner for non-const; const members lock `history_mutex` for what they load lazily.
#pragma once

#include <map>
#include <mutex>

#include "base/cancel.h"
#include "base/pool.h"
#include "codec/page_codec.h"
#include "codec/vector_chunker.h"
#include "onion/chunk_index.h"
#include "onion/log.h"
#include "onion/revision_table.h"
#include "onion/tree_editor.h"

namespace peel {

struct Onion::Impl {
  using RefKey = std::pair<RefKind, std::string>;
  Impl() = default;
  ~Impl();  // acknowledges what this handle made durable

  std::string path;
  FileSystem* file_system = nullptr;
  Access access = Access::read;
  bool assume_alone = false, damaged_too = false;
  const Cancel* cancel = nullptr;

  std::shared_ptr<onion::Store> store;  // shared with Readers: they outlive a collection
  onion::Superblock super;
  onion::LogPosition position;
  std::uint64_t next_number = 1, revision_count = 0, last_commit = 0, last_ref = 0, gc_mark_at = 0;
  std::vector<std::uint64_t> gc_mark;   // numbers a deferred collection drops
  std::map<RefKey, onion::StoredRef> refs;
  mutable onion::ChunkIndex index;
  mutable onion::RevisionTable table;
  mutable std::mutex history_mutex;
  std::uint64_t groups_since_checkpoint = 0, bytes_since_checkpoint = 0;
  std::array<std::byte, 2 * onion::superblock_size> seen_superblocks{};  // as last decoded
  std::uint64_t acknowledged_twice = 0;  // by both slots
  bool bad_slot = false;
  mutable std::vector<Damage> damage;    // met while opening and listing; what verify finds is not here
  mutable bool broken = false;           // it may have taken commits or refs
  std::uint64_t synced_end = 0;         // groups up to here are on stable storage; later ones may be in memory only
  std::uint64_t dead_end = 0;           // leftovers up to here have epochs below next_epoch
  std::uint32_t next_epoch = 0;         // at least this for the next group
  bool name_synced = false;             // the file's name is on stable storage
  bool poisoned = false, reload_needed = false, locked = false;
  bool half_loaded = false;              // the last load_state failed on the way
  Buffer spare;                         // the group buffer, kept between commits
  mutable std::array<std::pair<std::uint64_t, std::shared_ptr<const onion::CommitRecord>>, 16> recent_commits;
  mutable std::size_t recent_commit_next = 0;
  mutable std::unique_ptr<Pool> pool_;

  // --- opening (open.cpp)
  static Result<std::unique_ptr<Impl>> open(const std::string& path, const OpenOptions& options);
  Status reopen();                                       // the path again, from the beginning
  Status load_state();                                   // superblock, checkpoint, groups after it
  Status load_checkpoint();                              // the state as it was at the end of that group
  Status catch_up();                                     // groups appended since
  void see(const onion::SuperblockSlots& slots);
  void note_damage(std::uint64_t at, std::string what) const;
  // Damage that may have taken commits: an error, unless the caller wants what is left.
  Status met_damage(std::uint64_t begin, const std::string& what) const;
  Result<bool> tail_is_there() const;                    // false: what was seen was never durable and is gone
  Status forget_tail();                                  // then: the state again, from what is durable on
  Status apply(onion::SeenGroup&& group);
  void apply_commit(std::uint64_t offset, onion::CommitRecord&& commit);
  void apply_ref(std::uint64_t offset, const onion::RefRecord& ref);

  // --- writing (write.cpp)
  class Lock {
   public:
    explicit Lock(Impl* impl) : impl_(impl) {}
    Lock(Lock&& o) noexcept : impl_(std::exchange(o.impl_, nullptr)) {}
    Lock& operator=(Lock&&) = delete;
    ~Lock();

   private:
    Impl* impl_;
  };
  enum class Purpose : std::uint8_t { write, repair };      // only repair touches a broken file
  Result<Lock> take_lock(const Cancel* cancel = nullptr, Purpose purpose = Purpose::write);  // cancel ends the wait; default: the handle's
  Status wait_for_lock(const Cancel* stop);
  Status settle_tail();
  Status mend_tail();
  onion::GroupWriter begin_group();
  void give_up(onion::GroupWriter& writer);
  // What a finished group brings, applied to the state once it is durable.
  struct Outcome {
    std::vector<std::pair<std::uint64_t, onion::CommitRecord>> commits;
    std::vector<std::pair<std::uint64_t, onion::RefRecord>> refs;
    std::optional<std::pair<std::uint64_t, std::vector<std::uint64_t>>> gc_mark;
  };
  Status finish_group(onion::GroupWriter& writer, Outcome&& outcome, bool force_checkpoint = false);
  Status write_checkpoint(onion::GroupWriter& writer, std::uint64_t& offset);
  Status acknowledge(std::uint64_t checkpoint_offset);
  Status acknowledge_twice();  // in both slots, with a sync between
  // Checks a change against the refs as they are (and `coming`, revisions of the same group) and says what to append.
  Result<onion::RefRecord> ref_record(const RefChange& change, const std::map<RevisionId, std::uint64_t>& coming) const;
  Status append_ref(onion::GroupWriter& writer, onion::RefRecord ref, Outcome& outcome);

  // --- chunks (write.cpp)
  struct Place {
    std::uint64_t offset = 0;
    std::uint32_t record_size = 0;
  };
  std::optional<Place> find_place(const ChunkName& name, const onion::GroupWriter* writer) const;
  Result<Place> append_chunk(onion::GroupWriter& writer, const ChunkName& name, Bytes plain, const codec::EncodeHint& hint);
  Result<Place> append_stored(onion::GroupWriter& writer, const ChunkName& name, std::uint8_t codec, std::uint8_t width, Bytes stored);
  Result<Place> store_chunk(onion::GroupWriter& writer, const ChunkName& name, Bytes plain, const codec::EncodeHint& hint);

  // --- committing (commit.cpp)
  // How bytes that moved are cut, and into which average size: fixed by the first commit of an onion, because moved
  // bytes are only found again when they are cut alike, also after the pages have grown.
  struct CutRule {
    bool gear;  // codec/chunker.h, else codec/vector_chunker.h
    std::uint32_t average;
  };
  CutRule cut_rule(const onion::Tree& tree) const;
  using BuildTree = std::function<Result<onion::TreeEditor::Finished>(onion::GroupWriter&, const onion::Tree& parent)>;
  Status tag_only(const std::string& name, const RevisionId& target, const std::string& note);
  Result<CommitResult> commit(const CommitOptions& options, std::uint64_t new_size, const BuildTree& build);
  unsigned wanted_page_log2(std::uint64_t size, unsigned at_least) const;

  // --- history (history.cpp)
  Status load_history() const;
  Status salvage_rows(const Error& why) const;  // from the COMMIT records, when a run is damaged; the caller locks
  Result<std::shared_ptr<const onion::CommitRecord>> read_commit(std::uint64_t offset) const;
  Result<std::size_t> index_of_number(std::uint64_t number) const;
  Result<onion::Tree> tree_of(std::uint64_t number) const;
  RevisionInfo info_of(const onion::CommitRecord& commit) const;
  std::string current_branch() const;
  const onion::StoredRef* find_ref(RefKind kind, const std::string& name) const;
  std::int64_t now_ns(const std::function<std::int64_t()>& clock) const;

  Pool& pool() const;
};

inline codec::EncodeHint encode_hint(const CommitOptions& o) {
  return {o.element_width, codec::Effort::fast, o.codec ? std::optional(static_cast<codec::Codec>(*o.codec)) : std::nullopt};
}

// Tree of a commit record.
inline onion::Tree tree_of(const onion::CommitRecord& c) { return {c.root, c.size, c.page_log2}; }

}  // namespace peel
