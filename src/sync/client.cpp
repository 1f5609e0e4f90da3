// clone, fetch, pull.
#include "sync/client.h"

#include "base/file.h"
#include "base/hex.h"
#include "sync/connection.h"
#include "sync/remotes.h"
#include "sync/rollback.h"
#include "sync/transfer.h"
#include "sync/unpublished.h"

namespace peel::sync {
namespace {

// One fetch going on: what the server said, and what came.
struct Incoming {
  proto::PeerState state;
  std::optional<Importer> importer;
  std::optional<LayerSink> sink;
};

Status begin_import(Connection& connection, Onion& onion, const Cancel* cancel, Incoming& in) {
  PEEL_TRY(auto importer, Importer::begin(onion, {connection.staging_key(), ~0ull, cancel}), "");
  in.importer.emplace(std::move(importer));
  in.sink.emplace(onion, *in.importer, connection.stats());
  return {};
}

Status check_state(const proto::PeerState& state) {
  for (const auto& ref : state.refs) PEEL_CHECK(check_shared_ref_name(ref.name), "the server");
  return {};
}

// Takes in everything up to AllArrived. `on_state` runs once, before any layer, and must fill in.sink.
Status receive(Connection& connection, Incoming& in, const std::function<Status()>& on_state) {
  while (true) {
    PEEL_TRY(auto event, connection.next(), "");
    Status status;
    if (auto* e = std::get_if<proto::StateArrived>(&event)) {
      in.state = std::move(e->state);
      status = check_state(in.state);
      if (status) status = on_state();
    } else if (auto* check = std::get_if<proto::CheckChunks>(&event)) {
      status = in.sink->answer(*check, connection.session());
    } else if (auto* chunk = std::get_if<proto::ChunkArrived>(&event)) {
      status = in.sink->answer(*chunk);
    } else if (auto* layer = std::get_if<proto::LayerArrived>(&event)) {
      status = in.sink->answer(*layer);
    } else if (std::holds_alternative<proto::AllArrived>(event)) {
      return {};
    }
    if (!status) return status;
  }
}

Status check_complete(const Incoming& in) {
  for (const auto& ref : in.state.refs)
    if (!in.sink->graph().knows(ref.target))
      return fail(ErrorKind::corrupt,
                  "the server names " + escape_for_terminal(ref.name) + " but did not send its revision");
  return {};
}

Status check_memory(Connection& connection, const Incoming& in, const ConnectOptions& options) {
  if (!connection.server_key() || options.accept_rollback) return {};
  PEEL_TRY(const auto remembered,
           trust::RemoteMemory(*connection.config()).load(*connection.server_key(), connection.onion_name()), "");
  return check_no_rollback(remembered, branch_heads(in.state.refs), in.sink->graph(), true);
}

Status remember(Connection& connection, const Incoming& in) {
  if (!connection.server_key()) return {};
  return trust::RemoteMemory(*connection.config())
      .save(*connection.server_key(), connection.onion_name(), branch_heads(in.state.refs));
}

RefChange change_of(RefKind kind, std::string name, const std::string& reason) {
  RefChange change;
  change.kind = kind;
  change.name = std::move(name);
  change.reason = reason;
  return change;
}

// Remote refs as the server has them now, and tags that are not here. Fills the reports that need no ancestry.
std::vector<RefChange> plan_refs(const Onion& onion, const std::string& remote, const Incoming& in,
                                 const std::string& reason, FetchResult& result) {
  std::vector<RefChange> changes;
  for (const auto& ref : in.state.refs) {
    if (ref.kind == RefKind::tag) {
      const auto local = onion.ref(RefKind::tag, ref.name);
      if (local && local->target == ref.target) continue;
      result.tags.push_back({local ? TagReport::State::differs : TagReport::State::added, ref.name,
                             local ? local->target : RevisionId{}, ref.target});
      if (local) continue;
      RefChange change = change_of(RefKind::tag, ref.name, reason);
      change.expected = RevisionId{};
      change.target = ref.target;
      change.value = ref.value;
      changes.push_back(std::move(change));
      continue;
    }
    BranchReport report;
    report.branch = ref.name;
    report.remote = ref.target;
    if (const auto before = onion.ref(RefKind::remote, remote + "/" + ref.name)) report.remote_before = before->target;
    if (report.remote_before != ref.target) {
      RefChange change = change_of(RefKind::remote, remote + "/" + ref.name, reason);
      change.target = ref.target;
      changes.push_back(std::move(change));
    }
    result.branches.push_back(std::move(report));
  }
  const auto now = branch_heads(in.state.refs);
  for (const Ref& ref : onion.refs()) {
    if (ref.kind != RefKind::remote || !ref.name.starts_with(remote + "/")) continue;
    const std::string branch = ref.name.substr(remote.size() + 1);
    if (now.contains(branch)) continue;
    BranchReport report;
    report.branch = branch;
    report.remote_before = ref.target;
    report.state = BranchState::remote_gone;
    result.branches.push_back(std::move(report));
    changes.push_back(change_of(RefKind::remote, ref.name, reason));
  }
  return changes;
}

// How local branches stand to the remote's, once everything is here.
Status compare_branches(const Onion& onion, std::vector<BranchReport>& reports) {
  for (BranchReport& report : reports) {
    if (const auto local = onion.ref(RefKind::branch, report.branch)) report.local = local->target;
    if (report.state == BranchState::remote_gone) continue;
    if (report.local.is_zero()) {
      report.state = BranchState::local_missing;
      continue;
    }
    const auto local = known_numbers(onion, {report.local}), remote = known_numbers(onion, {report.remote});
    PEEL_TRY(const auto ahead, difference(onion, local, remote), "");
    PEEL_TRY(const auto behind, difference(onion, remote, local), "");
    report.ahead = ahead.size();
    report.behind = behind.size();
    report.state = report.ahead == 0 ? (report.behind == 0 ? BranchState::same : BranchState::behind)
                                     : (report.behind == 0 ? BranchState::ahead : BranchState::diverged);
  }
  return {};
}

// After a failure: keeps what came for the next try, and says so.
Error keep_staged(Incoming& in, const std::string& onion_path, Error error) {
  const std::size_t chunks = in.importer ? in.importer->staged_chunks() : 0;
  if (chunks == 0) return error;
  (void)in.importer->sync_staged().ok();
  return std::move(error).advise("what came, " + std::to_string(chunks) + (chunks == 1 ? " chunk" : " chunks") +
                                 ", is kept beside " + escape_for_terminal(onion_path) +
                                 ": the same command continues from there");
}

Status finish_import(Connection& connection, Incoming& in, const std::vector<RefChange>& changes) {
  PEEL_CHECK(connection.pump().run_busy([&] { return in.importer->finish(changes); }), "");
  connection.session().finish_fetch();
  (void)connection.pump().flush().ok();  // the server learns that we are done; nothing of ours depends on it
  return {};
}

Status need_name(const Url& url) {
  if (url.kind != Url::Kind::file && url.name.empty())
    return fail(ErrorKind::usage, url.text() + " names no onion: peel ls " + url.text() + " lists what is there");
  return {};
}

}  // namespace

Result<FetchResult> fetch(Onion& onion, const std::string& remote, const Url& url, const ConnectOptions& options) {
  PEEL_CHECK(need_name(url), "");
  PEEL_CHECK(check_remote_name(remote), "");
  PEEL_CHECK(onion.refresh(), "");
  PEEL_TRY(const auto haves, haves_of(onion), "");
  PEEL_TRY(const auto connection, Connection::open(url, options), "");
  Incoming in;
  connection->session().fetch({connection->onion_name(), true}, haves.ids, haves.shallow);
  FetchResult result;
  const auto run = [&]() -> Status {
    PEEL_CHECK(receive(*connection, in, [&] { return begin_import(*connection, onion, options.cancel, in); }), "");
    PEEL_CHECK(check_complete(in), "");
    PEEL_CHECK(check_memory(*connection, in, options), "");
    result.remote_branch = in.state.onion.current_branch;
    const auto changes = plan_refs(onion, remote, in, "fetch from " + url.text(), result);
    return finish_import(*connection, in, changes);
  };
  if (auto done = run(); !done) return keep_staged(in, onion.path(), connection->pump().abort(std::move(done.error())));
  PEEL_CHECK(remember(*connection, in), "");
  PEEL_CHECK(compare_branches(onion, result.branches), "");
  connection->finish();
  result.stats = connection->stats();
  return result;
}

namespace {

// The local branch to begin on: the remote's current one, or else its first.
std::string branch_to_check_out(const proto::PeerState& state) {
  std::string first;
  for (const auto& ref : state.refs) {
    if (ref.kind != RefKind::branch) continue;
    if (ref.name == state.onion.current_branch) return ref.name;
    if (first.empty()) first = ref.name;
  }
  return first.empty() ? state.onion.current_branch : first;
}

void add_clone_refs(const proto::PeerState& state, const Url& url, const std::string& reason,
                    std::vector<RefChange>& changes) {
  const std::string branch = branch_to_check_out(state);
  for (const auto& ref : state.refs) {
    if (ref.kind != RefKind::branch || ref.name != branch) continue;
    RefChange change = change_of(RefKind::branch, branch, reason);
    change.target = ref.target;
    changes.push_back(std::move(change));
  }
  RefChange current = change_of(RefKind::setting, "branch", reason);
  current.value = branch.empty() ? "main" : branch;
  changes.push_back(std::move(current));
  RefChange origin = change_of(RefKind::setting, "remote.origin.url", reason);
  origin.value = url.text();
  changes.push_back(std::move(origin));
}

}  // namespace

namespace {

Error made_meanwhile(const std::string& onion_path) {
  return fail(ErrorKind::exists, escape_for_terminal(onion_path) + ": another process made it meanwhile");
}

}  // namespace

Result<FetchResult> clone(const Url& url, const std::string& onion_path, const ConnectOptions& options) {
  PEEL_CHECK(need_name(url), "");
  FileSystem& files = posix_file_system();
  if (files.identify(onion_path)) return fail(ErrorKind::exists, escape_for_terminal(onion_path) + " exists already");
  PEEL_TRY(const auto connection, Connection::open(url, options), "");
  const std::string& key = connection->staging_key();
  std::unique_ptr<Onion> onion;
  Incoming in;
  FetchResult result;
  // What an interrupted clone has of chunks lies in its staging; revisions come in one step at the end.
  connection->session().fetch({connection->onion_name(), true}, {}, {});
  const auto run = [&]() -> Status {
    PEEL_CHECK(receive(*connection, in,
                       [&]() -> Status {
                         PEEL_TRY(auto fresh,
                                  open_or_create_unpublished(files, onion_path, key, in.state.onion.lineage), "");
                         onion = std::make_unique<Onion>(std::move(fresh));
                         auto begun = begin_import(*connection, *onion, options.cancel, in);
                         if (!begun && begun.error().kind() == ErrorKind::conflict)
                           return fail(ErrorKind::exists,
                                       escape_for_terminal(onion_path) + ": another process is making it this moment");
                         return begun;
                       }),
               "");
    PEEL_CHECK(check_complete(in), "");
    PEEL_CHECK(check_memory(*connection, in, options), "");
    result.remote_branch = in.state.onion.current_branch;
    const std::string reason = "clone of " + url.text();
    auto changes = plan_refs(*onion, "origin", in, reason, result);
    add_clone_refs(in.state, url, reason, changes);
    PEEL_CHECK(finish_import(*connection, in, changes), "");
    return publish_onion(files, onion_path, key);
  };
  if (auto done = run(); !done) {
    Error error = connection->pump().abort(std::move(done.error()));
    if (error.kind() != ErrorKind::cancelled && files.identify(onion_path)) {
      (void)files.remove(unpublished_path(onion_path, key)).ok();  // whoever made it can never take that name any more
      return made_meanwhile(onion_path);
    }
    // Ours as long as we hold its staging; without a chunk in it there is nothing to continue.
    if (in.importer && in.importer->staged_chunks() == 0 && onion->revision_count() == 0)
      (void)files.remove(unpublished_path(onion_path, key)).ok();
    return keep_staged(in, onion_path, std::move(error));
  }
  PEEL_CHECK(remember(*connection, in), "");
  PEEL_CHECK(compare_branches(*onion, result.branches), "");
  connection->finish();
  result.stats = connection->stats();
  return result;
}

Result<PullResult> pull(Onion& onion, const std::string& remote, const Url& url, const ConnectOptions& options) {
  PullResult result;
  PEEL_TRY(result.fetched, fetch(onion, remote, url, options), "");
  result.branch = onion.current_branch();
  const auto local = onion.ref(RefKind::branch, result.branch);
  if (local) result.before = result.after = local->target;
  const auto theirs = onion.ref(RefKind::remote, remote + "/" + result.branch);
  if (!theirs) return result;
  for (const BranchReport& report : result.fetched.branches) {
    if (report.branch != result.branch) continue;
    if (report.state != BranchState::behind && report.state != BranchState::local_missing) return result;
  }
  RefChange change = change_of(RefKind::branch, result.branch, "pull from " + url.text());
  change.expected = result.before;  // zero: must not exist
  change.target = theirs->target;
  PEEL_CHECK(onion.update_refs(std::span(&change, 1)), "");
  result.after = theirs->target;
  result.moved = true;
  return result;
}

}  // namespace peel::sync
