// peel/onion.h - the history of one working file: every recorded state of it, in one append-only file.
//
// Words      docs/GLOSSARY.md. Offsets and sizes are bytes; times are nanoseconds since 1970 UTC.
// Contract   A commit is on stable storage before the call returns. Revisions never change; opening one
//            is O(1) and reading at any offset O(log size), at any depth of history. Every byte read is
//            verified against its digest before it is handed out.
// Errors     not_found (no such file, revision, ref) · corrupt (damage; the message names file, revision
//            and range) · conflict (a ref moved, another writer came first) · refused (unsafe) · io ·
//            unsupported (newer format) · usage · cancelled.
// Threads    const methods and Reader: any thread, any number. Other methods: one owner at a
//            time. Processes share a file freely: writers take turns on a lock held per operation,
//            readers never wait and never see half a commit.
// Memory     O(1) in file size and history except: 200 bytes per revision once history is listed, and
//            what gc states. Scans and exports use at most 64 MiB.
// Source     docs/FORMAT.md
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "peel/error.h"
#include "peel/types.h"

namespace peel {

class Cancel;
class FileSystem;

// Bytes a commit by scan reads: a file, a buffer, another revision. read_at must be callable from many
// threads at once.
class Source {
 public:
  virtual ~Source() = default;
  virtual std::uint64_t size() const = 0;
  // Fills `out`; fewer bytes only at the end.
  virtual Result<std::size_t> read_at(std::uint64_t offset, MutableBytes out) const = 0;
  // The first extent at or after `offset` that may hold data; everything before it reads as zeros.
  // {size(), size()} when only a hole is left. The default knows no holes.
  struct Extent { std::uint64_t begin, end; };
  virtual Result<Extent> next_data(std::uint64_t offset) const { return Extent{offset, size()}; }
};

// Labels are part of what a revision records about itself, hence of its id.
enum RevisionLabel : std::uint32_t {
  label_torn = 1u << 0,       // the working file changed while it was read
  label_unhealthy = 1u << 1,  // the file looked damaged or was open for writing; the note says how
  label_snapshot = 1u << 2,   // made by `peel snapshot`
  label_merge = 1u << 3,
  label_rollback = 1u << 4,
};

struct RevisionMeta {
  std::string author, host, note;  // each at most 65,535 bytes
  std::int64_t time_ns = 0;        // when it was recorded
  std::int64_t mtime_ns = 0;       // of the working file
  std::uint32_t mode = 0;          // permission bits of the working file
  std::uint32_t labels = 0;
};

// What a list shows without touching the disk again.
struct RevisionSummary {
  std::uint64_t number = 0;                        // local, for people: @N
  RevisionId id;
  std::uint64_t generation = 0;                    // 1 + the greatest generation of its parents
  std::uint64_t size = 0;
  std::int64_t time_ns = 0;
  std::optional<std::uint64_t> first_parent;       // absent: a root, or collected here
};

struct RevisionInfo : RevisionSummary {
  std::vector<RevisionId> parents;  // ids stay even where the parent was collected
  Digest content;                   // docs/FORMAT.md, Digests: depends on bytes and size alone
  RevisionMeta meta;
  std::uint64_t bytes_added = 0;    // what the onion grew by
};

struct Range {
  std::uint64_t offset = 0, length = 0;
  bool operator==(const Range&) const = default;
};

// One stored piece of content, named by its bytes.
struct ChunkName {
  Digest digest;
  std::uint32_t length = 0;
  auto operator<=>(const ChunkName&) const = default;
};

// `length` bytes at `offset` of a revision come from `chunk` at `chunk_offset`; a zero digest is a hole.
struct Piece {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  ChunkName chunk;
  std::uint32_t chunk_offset = 0;
  std::uint64_t locator = 0;  // where it lives in this onion; meaningless elsewhere
  bool is_hole() const { return chunk.length == 0; }
};

// A chunk as stored: what travels between machines.
struct StoredChunk {
  ChunkName name;
  std::uint8_t codec = 0, width = 1;  // codec/page_codec.h
  Buffer stored;
};

enum class RefKind : std::uint8_t {
  branch = 1,
  tag = 2,      // protects its revision from collection
  remote = 3,   // "NAME/BRANCH": a remote's branch as last seen
  setting = 4,  // local key and value (current branch, remote URLs, working-file stamp); no target
};

struct Ref {
  RefKind kind = RefKind::branch;
  std::string name;
  RevisionId target;   // zero for settings
  std::string value;   // a tag's note, a setting's value
};

// One compare-and-swap. All changes of a call happen together or not at all.
struct RefChange {
  RefKind kind = RefKind::branch;
  std::string name;
  std::optional<RevisionId> expected;  // the target it must have now; zero id: must not exist; absent: do not care
  std::optional<RevisionId> target;    // absent: delete (settings: delete when `value` is absent too)
  std::optional<std::string> value;
  std::string reason;                  // for the reflog: "commit", "push from alice", ...
};

struct ReflogEntry {
  RefKind kind = RefKind::branch;
  std::string name;
  RevisionId before, after;  // zero: did not exist
  std::int64_t time_ns = 0;
  std::string who, reason;
};

struct Damage {
  std::optional<std::uint64_t> revision;  // first revision seen to need it; absent: structure
  Range range;                            // within that revision; length 0 where unknown
  ChunkName chunk;                        // zero where it is no chunk
  std::uint64_t locator = 0;
  std::string what;
};

struct CreateOptions {
  std::uint32_t page_size = 0;                // 4096 .. 65536, power of two; 0: grows with the file
  std::string first_branch = "main";
  std::optional<std::array<std::byte, 32>> lineage;  // from a clone's origin: chunk borders match; else random
  unsigned permissions = 0666;                // of the new file, less the umask; a private file has a private history
  FileSystem* file_system = nullptr;          // default: the real one
};

enum class Access : std::uint8_t { read, write };

struct OpenOptions {
  Access access = Access::read;
  FileSystem* file_system = nullptr;
  // The lock is refused (NFS without lockd): `write` then fails unless the caller vouches to be alone.
  bool assume_alone = false;
  const Cancel* cancel = nullptr;             // ends waiting for other writers
  // Opens also where damage may have taken revisions or refs (else that is `corrupt`): what still checks can be read,
  // is_complete() is false, and nothing but verify() with repair_from writes.
  bool damaged_too = false;
};

struct Progress {
  std::uint64_t done = 0, total = 0;  // bytes
};
using ProgressFunction = std::function<void(const Progress&)>;

struct CommitOptions {
  std::string branch;                         // empty: the current branch
  RevisionMeta meta;
  std::vector<RevisionId> extra_parents;      // merges
  std::optional<RevisionId> expected_head;    // conflict when the branch is elsewhere
  std::optional<std::string> tag;             // tag the revision in the same step
  bool even_if_same = false;                  // a revision although nothing changed (snapshot, rollback)
  std::uint8_t element_width = 0;             // for the codecs; 0: guess
  bool check_kept = false;                    // a scan rereads what it keeps, and stores again what was lost there
  std::optional<std::uint8_t> codec;          // codec/page_codec.h, where it fits; absent: chosen for each chunk
  const Cancel* cancel = nullptr;
  ProgressFunction progress;
  std::function<std::int64_t()> clock;        // default: the system's
};

struct CommitResult {
  RevisionInfo revision;     // the new one, or the head when nothing was new
  bool added = false;
  std::uint64_t bytes_changed = 0;  // of the working file
};

struct Write {
  std::uint64_t offset = 0;
  Bytes data;
};

struct GcPolicy {
  std::optional<std::uint64_t> keep_last;     // per branch, along all parents of the head by number
  std::optional<std::int64_t> keep_within_ns;
  std::optional<std::uint64_t> keep_daily;    // newest revision of each of the last N days that have one
  bool defer = false;                         // mark now, compact at the next flush()
  bool dry_run = false;
  bool repack = false;                        // recompress what is kept, harder
  const Cancel* cancel = nullptr;
  ProgressFunction progress;
};  // no keep_* given: only what no branch, tag or remote ref reaches

struct GcReport {
  std::uint64_t revisions_before = 0, revisions_kept = 0;
  std::uint64_t bytes_before = 0, bytes_after = 0;  // of the onion file; after: expected when deferred or dry
  bool compacted = false;
  std::vector<std::uint64_t> removed;               // numbers
};

struct VerifyOptions {
  bool deep = false;         // decode and hash every chunk, not only its record checksum
  double sample = 1.0;       // share of chunks looked at
  const Cancel* cancel = nullptr;
  ProgressFunction progress;
  // Asked for each damaged chunk; what it returns is verified, then stored in place of the damage.
  std::function<Result<StoredChunk>(const ChunkName&)> repair_from;
};

struct VerifyReport {
  std::uint64_t revisions = 0, chunks = 0, bytes = 0;
  std::uint64_t unfinished = 0;  // bytes behind the last group: an interrupted write, which the next one overwrites
  std::vector<Damage> damage, repaired;
};

struct StorageReport {
  struct Row { std::string codec; std::uint64_t chunks = 0, plain_bytes = 0, stored_bytes = 0; };
  std::vector<Row> rows;        // of one revision
  std::uint64_t file_bytes = 0; // of the onion
};

class Reader;

class Onion {
 public:
  // A new, empty onion. `exists` when the name is taken.
  static Result<Onion> create(const std::string& path, const CreateOptions& options = {});
  static Result<Onion> open(const std::string& path, const OpenOptions& options = {});
  Onion(Onion&&) noexcept;
  Onion& operator=(Onion&&) noexcept;
  ~Onion();

  // --- looking -------------------------------------------------------------------------------
  const std::string& path() const;
  const std::array<std::byte, 32>& lineage() const;
  std::uint64_t revision_count() const;
  // Damage met while opening and listing; verify() looks at everything. Valid until the next non-const call.
  std::span<const Damage> damage() const;
  bool is_complete() const;  // false: revisions or refs may be missing
  // Oldest first. The span is valid until the next non-const call.
  Result<std::span<const RevisionSummary>> list() const;
  Result<RevisionInfo> revision(std::uint64_t number) const;
  // REV as on the command line: @N, =HEXID, hex prefix of >= 6 digits, branch, tag, remote/branch, REV~K,
  // BRANCH@{2026-11-01T12:00}; "" is the head of the current branch.
  Result<std::uint64_t> resolve(std::string_view rev) const;
  std::optional<std::uint64_t> find(const RevisionId& id) const;
  Result<bool> is_ancestor(std::uint64_t ancestor, std::uint64_t descendant) const;  // true when equal
  // Best common ancestor by generation; absent when histories share nothing.
  Result<std::optional<std::uint64_t>> merge_base(std::uint64_t a, std::uint64_t b) const;

  std::vector<Ref> refs() const;
  std::optional<Ref> ref(RefKind kind, const std::string& name) const;
  std::string current_branch() const;
  Result<std::vector<ReflogEntry>> reflog(std::size_t most = 1000) const;  // newest first

  // --- reading -------------------------------------------------------------------------------
  Result<Reader> open_revision(std::uint64_t number) const;
  // Ranges that differ, merged, on page borders cut to the larger size. Costs what differs.
  Result<std::vector<Range>> diff(std::uint64_t a, std::uint64_t b) const;
  Result<StorageReport> storage(std::uint64_t number) const;
  Result<StoredChunk> stored_chunk(std::uint64_t locator) const;
  std::optional<std::uint64_t> find_chunk(const ChunkName& name) const;  // locator

  // --- writing -------------------------------------------------------------------------------
  // Sees what other processes did since.
  Status refresh();
  // Content of the branch's head with `writes` applied and the size set to `new_size`. Costs what is dirty.
  Result<CommitResult> commit_writes(std::span<const Write> writes, std::uint64_t new_size, const CommitOptions& options);
  // Content of `source`, read once. Finds what changed by itself.
  Result<CommitResult> commit_scan(const Source& source, const CommitOptions& options);
  // A new revision on the branch with the content of an existing one.
  Result<CommitResult> commit_copy(std::uint64_t number, const CommitOptions& options);
  Status update_refs(std::span<const RefChange> changes);
  Result<GcReport> gc(const GcPolicy& policy);
  // Runs a deferred collection, writes indexes, acknowledges everything in the superblock.
  Status flush();
  Result<VerifyReport> verify(const VerifyOptions& options);

  struct Impl;
  Impl& impl() { return *impl_; }  // for peel's own layers (onion/importer.h)
  const Impl& impl() const { return *impl_; }

 private:
  explicit Onion(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// One revision, open. Keeps what it needs alive: valid after the Onion is gone, and while gc replaces the file.
class Reader {
 public:
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  ~Reader();

  std::uint64_t size() const;
  const Digest& content() const;
  // Fills `out` from `offset`; fewer bytes only at the end.
  Result<std::size_t> read(std::uint64_t offset, MutableBytes out) const;
  // Calls `sink` with consecutive verified bytes of [offset, offset + length) and with holes (empty bytes, a
  // length). Stops at the first error, its own or the sink's. Reads ahead on the pool.
  using Sink = std::function<Status(std::uint64_t offset, Bytes data, std::uint64_t hole_length)>;
  Status stream(std::uint64_t offset, std::uint64_t length, const Sink& sink) const;
  // Pieces covering [offset, offset + length) in order, holes included.
  Result<std::vector<Piece>> pieces(std::uint64_t offset, std::uint64_t length) const;
  // Rehashes everything and compares with content().
  Status verify() const;

 private:
  friend class Onion;
  struct Impl;
  explicit Reader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace peel
