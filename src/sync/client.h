// sync/client.h - moving histories: clone, fetch, pull, push, ls, join, as one call each.
//
// Contract   Every call connects, does its work, says goodbye and returns. Nothing is visible in the local
//            onion before everything of the call is verified and durable; then all of it is. A call that
//            fails leaves verified chunks in a staging file, and the next call does not fetch (or send)
//            those again. The server's key is pinned: a key that is not trusted for the address is refused.
// Errors     network, timeout (retry later) · refused (untrusted key, a server that went backwards, no
//            permission, no fast-forward) · not_found (no such onion or branch there) · conflict (a ref moved
//            in between) · corrupt (bytes from the peer fail verification) · usage (URL) · cancelled · as
//            peel/onion.h says for the local onion. Text that came from a peer is escaped already.
// Threads    Calls block; any thread, one onion at a time. Callbacks come from the calling thread.
// Memory     One chunk, 8 MiB of layers, 8 bytes per revision sent; plus what Importer states.
// Source     docs/PROTOCOL.md
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "peel/onion.h"
#include "sync/url.h"

namespace peel {
class Cancel;
}

namespace peel::sync {

struct TransferStats {
  std::uint64_t revisions = 0;                       // moved (sent or received)
  std::uint64_t chunks = 0;                          // that travelled
  std::uint64_t chunks_reused = 0;                   // needed by moved revisions, but here already (onion or staging)
  std::uint64_t bytes_sent = 0, bytes_received = 0;  // on the channel, framing included
};
using TransferProgress = std::function<void(const TransferStats&)>;

struct ConnectOptions {
  std::string config_folder;     // identity, peers, remembered heads; empty: the user's own
  bool insecure = false;         // plain TCP without keys; the server must have been told the same
  bool accept_rollback = false;  // take a server's branches although they went backwards
  std::chrono::milliseconds connect_timeout{15'000};
  std::chrono::milliseconds idle_timeout{120'000};  // silence of the peer
  const Cancel* cancel = nullptr;
  TransferProgress progress;  // at most ten calls a second
};

// --- fetch, clone, pull ------------------------------------------------------------------------

// How a local branch stands to the remote's branch of the same name after the call.
enum class BranchState : std::uint8_t {
  same,
  local_missing,  // no local branch of that name
  behind,         // the remote's has more: a fast-forward is possible
  ahead,          // the local one has more: a push is possible
  diverged,       // both have more; both heads are kept: merge REMOTE/BRANCH
  remote_gone,    // the server no longer has it
};

struct BranchReport {
  std::string branch;
  RevisionId local;          // zero: no such local branch
  RevisionId remote;         // now; zero: gone
  RevisionId remote_before;  // as last seen here; zero: new
  BranchState state = BranchState::same;
  std::uint64_t ahead = 0, behind = 0;  // revisions only here / only there
};

struct TagReport {
  enum class State : std::uint8_t { added, same, differs } state = State::same;
  std::string tag;
  RevisionId local, remote;  // differs: both; the local one was kept
};

struct FetchResult {
  std::string remote_branch;  // the remote's current branch
  std::vector<BranchReport> branches;
  std::vector<TagReport> tags;  // not `same`
  TransferStats stats;
};

// Brings everything the remote has and updates the refs "REMOTE/BRANCH" and missing tags.
Result<FetchResult> fetch(Onion& onion, const std::string& remote, const Url& url, const ConnectOptions& options);

// A new onion at `onion_path` (`exists` when taken) with remote "origin", the remote's current branch checked
// out as the local current branch, and all its tags. Interrupted, it continues from "PATH.incomplete".
Result<FetchResult> clone(const Url& url, const std::string& onion_path, const ConnectOptions& options);

struct PullResult {
  FetchResult fetched;
  std::string branch;        // the local current branch
  RevisionId before, after;  // its head; equal: nothing to do (see fetched.branches for ahead/diverged)
  bool moved = false;        // fast-forwarded: the caller now updates the working file (workspace)
};
// fetch, then fast-forward of the current branch to "REMOTE/BRANCH" where that is possible. Diverged is not
// an error: moved is false and the branch's report says so.
Result<PullResult> pull(Onion& onion, const std::string& remote, const Url& url, const ConnectOptions& options);

// --- push --------------------------------------------------------------------------------------

struct PushOptions {
  std::vector<std::string> branches;  // empty: the current branch (unless only deleting)
  bool all = false;                   // every local branch
  bool tags = false;                  // and every tag the server lacks
  std::vector<std::string> delete_branches;
  bool force_with_lease = false;  // a branch may be replaced if it still is where it was last seen
  bool atomic = false;            // all refs or none
  bool create = true;             // ask the server for a new onion when it has none of that name
};

struct PushedRef {
  enum class State : std::uint8_t {
    up_to_date,
    moved,  // created, fast-forwarded or (forced) replaced
    deleted,
    rejected,  // `reason` says why and what to do
  } state = State::up_to_date;
  RefKind kind = RefKind::branch;
  std::string name;
  RevisionId before, after;  // on the server
  std::string reason;
};

struct PushResult {
  std::vector<PushedRef> refs;
  bool created = false;  // the server made a new onion
  TransferStats stats;
  // refused (or conflict) with the first rejection's reason when any ref was rejected; else success.
  Status outcome() const;
};
Result<PushResult> push(Onion& onion, const std::string& remote, const Url& url, const PushOptions& push_options,
                        const ConnectOptions& options);

// --- the rest ----------------------------------------------------------------------------------

struct ListedOnion {
  std::string name;
  std::string current_branch;
  struct Branch {
    std::string name;
    RevisionId head;
  };
  std::vector<Branch> branches;
};
// The onions under url.name (a name prefix on component borders; empty: all this peer may read).
Result<std::vector<ListedOnion>> ls(const Url& url, const ConnectOptions& options);

struct JoinResult {
  std::string peer;     // the name the server is known by here now
  std::string address;  // HOST:PORT
  Digest server_key;
  std::vector<std::string> grants;  // "append below lab/" and the like, for people
};
// Redeems an invite: pins the server under `name` (empty: from its address) and is pinned by it, there under
// the name of this machine.
Result<JoinResult> join(const std::string& invite, const std::string& name, const ConnectOptions& options);

// Chunks by name from another copy of the onion, for VerifyOptions::repair_from. Keeps its connection.
class RepairSource {
public:
  static Result<RepairSource> open(const Url& url, const ConnectOptions& options);
  RepairSource(RepairSource&&) noexcept;
  RepairSource& operator=(RepairSource&&) noexcept;
  ~RepairSource();
  // As stored there, unverified. not_found: the remote does not have it either.
  Result<StoredChunk> chunk(const ChunkName& name);

private:
  struct Impl;
  explicit RepairSource(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace peel::sync
