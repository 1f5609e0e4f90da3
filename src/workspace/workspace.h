// workspace/workspace.h - the working file and its onion: what the history commands do.
//
// Contract   Nothing here destroys the only copy of a state. Anything that replaces the working file
//            first rehashes it (times and sizes are never trusted for that) and refuses unless some
//            revision holds exactly those bytes; the new content is complete and synced before one
//            atomic exchange; the displaced file is hashed again and put back if it moved meanwhile.
//            Peel opens the working file read-only and takes no lock on it.
// Errors     not_found (no onion, no file, no such REV) · refused (unsaved changes, a symlink, hard
//            links, no regular file, open for writing) · conflict (a branch moved or diverged) · exists
//            · io (disk full: the old file is untouched, no temporary stays) · corrupt · cancelled.
//            Messages name the file and what to do next.
// Threads    Free functions without shared state; any number at once, on one file too (then one is
//            refused). Callbacks and sinks run one at a time, on the calling thread or one of the onion's.
// Memory     At most 64 MiB each, besides what the onion states for itself, plus 16 bytes per
//            reported range (at most ranges_max; beyond that near ranges are joined).
// Source     docs/adr/0005-replacing-a-working-file.md
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "peel/onion.h"

namespace peel {
class Cancel;
}

namespace peel::workspace {

inline constexpr std::size_t ranges_max = 1u << 20;
inline constexpr std::uint64_t large_file_size_min = 1ull << 30;  // from here a commit says what it will cost

// --- names --------------------------------------------------------------------------------------

struct Paths {
  std::string file;   // data.h5; need not exist
  std::string onion;  // data.h5.onion, or what --onion said
  bool onion_elsewhere = false;  // --onion was given: `move` leaves the onion where it is
};

// What a user typed -> both names. "data.h5.onion" means data.h5 (unless data.h5.onion.onion exists:
// then the history of a file that ends in .onion is meant). usage: an empty name, or a directory; not_found: a directory that is none.
Result<Paths> locate(const std::string& name, const std::optional<std::string>& onion = {});

// Every *.onion of a directory, sorted by name: what `peel log` and `peel status` without FILE list.
Result<std::vector<Paths>> onions_in(const std::string& directory);
// not_found, naming the directory, when nothing can be made at `path` because that is missing.
Status require_directory_of(const std::string& path);

// not_found says how to start a history. `readable`: also one where damage may have taken revisions (Onion::is_complete).
enum class Damaged : std::uint8_t { refused, readable };
// `cancel` ends waiting for other writers.
Result<Onion> open_onion(const Paths& paths, Access access = Access::read, Damaged damaged = Damaged::refused,
                         const Cancel* cancel = nullptr);

// --- the working file as a Source ---------------------------------------------------------------

struct FileTimes {
  std::uint64_t size = 0, allocated = 0;  // bytes
  std::int64_t mtime_ns = 0, ctime_ns = 0;
  std::uint64_t device = 0, inode = 0;
  std::uint32_t mode = 0;                 // permission bits
  std::uint64_t links = 0;
  bool operator==(const FileTimes&) const = default;
};

struct FileDigest {
  Digest content;
  std::uint64_t size = 0;
};

struct Run {  // what every long operation takes
  const Cancel* cancel = nullptr;
  ProgressFunction progress;
};

// The content digest of any regular file; holes cost nothing.
Result<FileDigest> digest_file(const std::string& path, const Run& run = {});

// --- commit, snapshot ---------------------------------------------------------------------------

struct SpaceNeed {
  std::uint64_t file_bytes = 0;      // data to read, holes not counted
  std::uint64_t expected_bytes = 0;  // what the onion may grow by, at most
  std::uint64_t free_bytes = 0;
  bool first = false;                // no history yet
};

struct CommitRequest {
  std::string note;
  std::optional<std::string> author;        // else $PEEL_AUTHOR, else the user's name
  std::string branch;                       // empty: the current one
  std::optional<std::string> tag;           // tag it in the same step
  bool even_if_same = false;
  std::uint32_t labels = 0;                 // besides torn and unhealthy
  std::uint8_t element_width = 0;
  std::optional<std::uint8_t> codec;        // codec/page_codec.h; absent: chosen for each chunk
  unsigned attempts_max = 3;                // when the file moves while it is read; then labelled torn
  // Says what is wrong with the file, or nothing. Whatever it says, the commit happens: the revision
  // is labelled unhealthy and the note ends in a line "[unhealthy: ...]".
  std::function<std::optional<std::string>(const Source&)> health_check;
  std::function<void(const SpaceNeed&)> on_large;  // called before a commit of so much data begins:
  std::uint64_t large_bytes_min = large_file_size_min;
  bool always_scan = false;                 // never trust times, even where that is safe
  std::int64_t (*clock)() = nullptr;        // nanoseconds; default: the system's
  Run run;
};

struct CommitReport {
  CommitResult result;
  bool created = false;       // this commit made the onion
  bool torn = false;
  unsigned attempts = 1;      // 0: the times alone said that nothing changed
  std::optional<std::string> unhealthy;
  std::uint64_t onion_bytes = 0;
};

Result<CommitReport> commit(const Paths& paths, const CommitRequest& request);

// A commit and a tag in one step, also when nothing changed. An empty name becomes
// "snapshot-20261101T120000Z" (and -2, -3 ... when taken).
struct SnapshotReport : CommitReport {
  std::string tag;
};
Result<SnapshotReport> snapshot(const Paths& paths, const std::string& name, CommitRequest request);

// --- status -------------------------------------------------------------------------------------

enum class State : std::uint8_t {
  unmodified,  // equal to the head of the current branch
  modified,    // differs from it (`same_as` may name another revision it equals)
  missing,     // no working file, or something else under its name
  untracked,   // a file without an onion
  unknown,     // could not be read; `why` says what happened
};
const char* state_name(State state);

enum class Writer : std::uint8_t { no, yes, unknown };  // another process has it open for writing

struct StatusRequest {
  bool always_hash = false;  // never trust times
  Run run;
};

struct StatusReport {
  Paths paths;
  State state = State::unknown;
  bool hashed = false;                     // the file was read; otherwise its times were proof enough
  std::string why;                         // for unknown and missing
  std::optional<FileTimes> file;
  Writer writer = Writer::unknown;
  std::uint64_t onion_bytes = 0;
  std::uint64_t revisions = 0;
  std::string branch;
  std::optional<RevisionInfo> head;        // of the current branch
  std::optional<std::uint64_t> same_as;    // newest revision with the file's content
  std::optional<std::uint64_t> based_on;   // what peel last put there or recorded from there
  std::vector<Damage> damage;              // of the history, met on the way
};

Result<StatusReport> status(const Paths& paths, const StatusRequest& request = {});

// --- diff ---------------------------------------------------------------------------------------

struct DiffRequest {
  std::uint32_t grain = 4096;  // ranges are rounded out to this; 1: exact bytes
  Run run;
};

struct DiffReport {
  std::uint64_t size_a = 0, size_b = 0;
  std::vector<Range> ranges;       // ascending, disjoint, not touching; cut to the larger size
  std::uint64_t bytes_changed = 0; // sum of ranges
  bool same() const { return ranges.empty() && size_a == size_b; }
};

// The bytes one side has and the other has not (a tail) count as changed.
Result<DiffReport> diff_revisions(const Onion& onion, std::uint64_t a, std::uint64_t b, const DiffRequest& request = {});
// Revision `a` against the working file as it is now.
Result<DiffReport> diff_working(const Onion& onion, std::uint64_t a, const Paths& paths, const DiffRequest& request = {});
Result<DiffReport> diff_source(const Onion& onion, std::uint64_t a, const Source& b, const DiffRequest& request = {});

// --- replacing the working file -----------------------------------------------------------------

struct ReplaceRequest {
  bool discard = false;        // unsaved changes may go
  bool assume_closed = false;  // the caller vouches that nobody writes, where that cannot be known
  std::string note;            // rollback: the revision's note; default "rollback to @N"
  std::optional<std::string> author;
  Run run;
};

struct ReplaceReport {
  RevisionInfo revision;       // whose content the working file now has
  bool file_changed = false;   // false: it had that content already
  bool file_created = false;   // there was no working file
  bool revision_added = false; // rollback
  // Hidden files of a run that was killed in mid-exchange, whose content is in no revision: not touched.
  std::vector<std::string> left_behind;
};

// Rewrites the working file to REV ("" is the head); adds no revision. mtime becomes the recorded one.
Result<ReplaceReport> restore(const Paths& paths, std::string_view rev, const ReplaceRequest& request);
// Makes `branch` the current one and rewrites the working file to its head. Unsaved changes are carried
// over when both heads have the same content.
Result<ReplaceReport> switch_branch(const Paths& paths, const std::string& branch, const ReplaceRequest& request);
// Adds a revision equal to REV on the current branch and rewrites the working file to it.
Result<ReplaceReport> rollback(const Paths& paths, std::string_view rev, const ReplaceRequest& request);

struct FastForwardRequest : ReplaceRequest {
  // The working file has unsaved changes: by default nothing moves (refused), because a later commit
  // would undo what was pulled. With this, the branch moves and the file stays as it is.
  bool leave_modified_file = false;
  std::string reason = "pull";  // for the reflog
};
struct FastForwardReport {
  std::uint64_t before = 0, after = 0;  // revision numbers; equal: nothing to do
  bool file_changed = false;
  bool file_created = false;
  bool file_left = false;               // it has unsaved changes, or another revision's content, and stays as it is
  bool file_is_older = false;           // the latter
};
// Moves the current branch to `target`, which must descend from it (else conflict: diverged), and the
// working file with it. A missing working file is created only by `create_missing`.
Result<FastForwardReport> pull_fast_forward(const Paths& paths, const RevisionId& target,
                                            const FastForwardRequest& request, bool create_missing = false);
// For a branch that somebody else has moved already: brings a working file that still is what the branch's
// head was (`before`) to what it is now. A file with other content is left (file_left), never refused.
Result<FastForwardReport> follow_branch(const Paths& paths, const RevisionId& before, const ReplaceRequest& request,
                                        bool create_missing = false);

// --- what killed runs left ----------------------------------------------------------------------

// A hidden file beside a working file, complete, left by a run that was killed while it exchanged the two.
struct Leftover {
  Paths paths;
  std::string path;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
};
// Those beside `files` whose content is in no revision of theirs. Reads each directory once; changes nothing.
std::vector<Leftover> unsaved_leftovers(const std::vector<Paths>& files);

// --- export, cat --------------------------------------------------------------------------------

struct ExportRequest {
  bool force = false;  // an existing OUT may be replaced
  Run run;
};
struct ExportReport {
  std::uint64_t number = 0;
  std::uint64_t size = 0;      // of what was written
  Digest content;              // of the revision; zero for an onion
};

// A sparse copy of REV at `out`, verified, synced, under its name only when complete.
Result<ExportReport> export_revision(const Onion& onion, std::string_view rev, const std::string& out, const ExportRequest& request);
// The onion itself, a consistent copy while others use it.
Result<ExportReport> export_onion(const Paths& paths, const std::string& out, const ExportRequest& request);

// Verified bytes [offset, offset + length) of REV in order, holes as zeros. Reading past the end gives less.
using ByteSink = std::function<Status(Bytes)>;
Result<std::uint64_t> cat(const Onion& onion, std::string_view rev, std::uint64_t offset, std::uint64_t length,
                          const ByteSink& sink, const Run& run = {});
// A ByteSink over a descriptor ("-": standard output); a closed pipe is an io error with EPIPE.
ByteSink descriptor_sink(int fd);

// --- merge --------------------------------------------------------------------------------------

// Merging is by bytes, in words of 8 aligned in the file: a word that both sides changed, to different
// contents, is a conflict, so that no number of up to 8 bytes is put together from two. What a program makes
// of the joined bytes only `check` can know.
enum class Side : std::uint8_t { neither, ours, theirs };

// What a check of a merge sees. The ranges say where two of them may differ; elsewhere they are equal.
struct MergeParts {
  const Source& base;
  const Source& ours;
  const Source& theirs;
  const Source& merged;
  std::vector<Range> base_ours, base_theirs, ours_merged, theirs_merged;
};

struct MergeRequest {
  std::string other;              // a branch, or any REV
  Side on_conflict = Side::neither;
  std::string note;               // default "merge OTHER"
  std::optional<std::string> author;
  bool assume_closed = false;
  // Says why the joined bytes are not sound, or nothing. Asked before anything is recorded or replaced, and
  // only where the result is neither ours nor theirs as a whole. An error ends the merge.
  std::function<Result<std::optional<std::string>>(const MergeParts&)> check;
  bool even_if_unsound = false;  // then it is recorded all the same, labelled unhealthy, the reason in the note
  Run run;
};

enum class MergeOutcome : std::uint8_t {
  up_to_date,
  fast_forward,
  merged,
  conflict,  // nothing changed
  unsound,   // the check said so; nothing changed
};

struct MergeReport {
  MergeOutcome outcome = MergeOutcome::up_to_date;
  std::vector<Range> conflicts;     // words both sides changed, differently; also those a preference settled
  bool size_conflict = false;       // both sides changed the size, to different ones
  std::uint64_t base = 0, ours = 0, theirs = 0;  // what was merged
  Side whole = Side::neither;                    // the result is that side, byte for byte
  std::optional<std::string> unsound;            // also when it was recorded all the same
  std::optional<RevisionInfo> revision;
  std::uint64_t bytes_taken = 0;    // from theirs
  bool file_changed = false;
};

// Into the current branch, and into the working file, which must be unmodified or missing (else refused).
Result<MergeReport> merge(const Paths& paths, const MergeRequest& request);

// --- move, branches, tags -----------------------------------------------------------------------

// File and onion get a new name together; never replaces anything. A directory as `new_name` keeps the
// last component. At every instant of a crash the file has its onion beside it; run it again to finish.
Result<Paths> move(const Paths& paths, const std::string& new_name);

// usage: a name that REV could mean otherwise (@..., =..., -..., ~, hex digits alone ...), or unprintable.
Status check_ref_name(std::string_view name);
Status create_branch(Onion& onion, const std::string& name, std::string_view rev);
Status delete_branch(Onion& onion, const std::string& name);  // refused: the current one
Status rename_branch(Onion& onion, const std::string& from, const std::string& to);
Status create_tag(Onion& onion, const std::string& name, std::string_view rev, const std::string& note);
Status delete_tag(Onion& onion, const std::string& name);

}  // namespace peel::workspace
