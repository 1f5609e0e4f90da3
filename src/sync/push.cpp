// push: what to ask for, what to send, what it came to.
#include <algorithm>
#include <set>

#include "base/hex.h"
#include "sync/client.h"
#include "sync/connection.h"
#include "sync/push_rules.h"
#include "sync/remotes.h"
#include "sync/rollback.h"

namespace peel::sync {
namespace {

using State = PushedRef::State;

// Refs of a push: those decided here, and those the server decides.
struct Plan {
  std::vector<PushedRef> decided;
  std::vector<proto::RefUpdate> asked;

  void reject(RefKind kind, const std::string& name, const RevisionId& there, std::string reason) {
    decided.push_back({State::rejected, kind, name, there, there, std::move(reason)});
  }
};

class Planner {
public:
  Planner(const Onion& onion, const std::string& remote, const proto::PeerState& state, bool force)
      : onion_(onion), remote_(remote), graph_(onion), force_(force) {
    for (const auto& ref : state.refs) there_[{ref.kind, ref.name}] = ref.target;
  }

  Status branch(const std::string& name, Plan& plan) {
    const auto local = onion_.ref(RefKind::branch, name);
    if (!local) return fail(ErrorKind::not_found, "no branch '" + escape_for_terminal(name) + "' here");
    const RevisionId now = at(RefKind::branch, name);
    if (now == local->target) {
      plan.decided.push_back({State::up_to_date, RefKind::branch, name, now, now, ""});
      return {};
    }
    proto::RefUpdate update{RefKind::branch, name, now, local->target, false, ""};
    if (!now.is_zero()) {
      PEEL_TRY(const bool forward, graph_.is_ancestor(now, local->target), "");
      PEEL_TRY(const bool behind, graph_.is_ancestor(local->target, now), "");
      if (!forward && force_) {
        if (!lease_holds(name, now)) {
          plan.reject(RefKind::branch, name, now, reason_moved(name));
          return {};
        }
        update.force = true;
      } else if (!forward) {
        plan.reject(
            RefKind::branch, name, now,
            behind ? reason_behind(name) : reason_not_fast_forward(name));
        return {};
      }
    }
    plan.asked.push_back(std::move(update));
    return {};
  }

  void tag(const Ref& tag, Plan& plan) {
    const RevisionId now = at(RefKind::tag, tag.name);
    if (now == tag.target) return;
    if (tag.value.size() > shared_value_size_max)
      return plan.reject(RefKind::tag, tag.name, now,
                         "the note of the tag " + escape_for_terminal(tag.name) + " is too long to send");
    if (!now.is_zero()) return plan.reject(RefKind::tag, tag.name, now, reason_tag_exists(tag.name));
    plan.asked.push_back({RefKind::tag, tag.name, {}, tag.target, false, tag.value});
  }

  void remove(const std::string& name, Plan& plan) {
    const RevisionId now = at(RefKind::branch, name);
    if (now.is_zero())
      return plan.reject(RefKind::branch, name, now, "the server has no branch " + escape_for_terminal(name));
    if (onion_.ref(RefKind::remote, remote_ + "/" + name) && !lease_holds(name, now))
      return plan.reject(RefKind::branch, name, now, reason_moved(name));
    plan.asked.push_back({RefKind::branch, name, now, std::nullopt, false, ""});
  }

private:
  RevisionId at(RefKind kind, const std::string& name) const {
    const auto it = there_.find({kind, name});
    return it == there_.end() ? RevisionId{} : it->second;
  }
  // The branch is where this onion last saw it.
  bool lease_holds(const std::string& name, const RevisionId& now) const {
    const auto seen = onion_.ref(RefKind::remote, remote_ + "/" + name);
    return seen && seen->target == now;
  }

  const Onion& onion_;
  const std::string& remote_;
  ReceivedGraph graph_;
  bool force_;
  std::map<std::pair<RefKind, std::string>, RevisionId> there_;
};

Result<Plan> make_plan(const Onion& onion, const std::string& remote, const proto::PeerState& state,
                       const PushOptions& options) {
  Plan plan;
  Planner planner(onion, remote, state, options.force_with_lease);
  std::set<std::string> branches(options.branches.begin(), options.branches.end());
  if (options.all)
    for (const Ref& ref : onion.refs())
      if (ref.kind == RefKind::branch) branches.insert(ref.name);
  if (branches.empty() && options.delete_branches.empty()) branches.insert(onion.current_branch());
  for (const auto& name : options.delete_branches) {
    if (branches.contains(name))
      return fail(ErrorKind::usage, "'" + escape_for_terminal(name) + "' cannot be pushed and deleted at once");
    planner.remove(name, plan);
  }
  for (const auto& name : branches) PEEL_CHECK(planner.branch(name, plan), "");
  if (options.tags)
    for (const Ref& ref : onion.refs())
      if (ref.kind == RefKind::tag) planner.tag(ref, plan);
  const bool rejected = std::any_of(plan.decided.begin(), plan.decided.end(),
                                    [](const PushedRef& r) { return r.state == State::rejected; });
  if (options.atomic && rejected) {
    for (const auto& update : plan.asked)
      plan.reject(update.kind, update.name, update.expected,
                  "not done, because another ref of this atomic push was rejected");
    plan.asked.clear();
  }
  return plan;
}

PushedRef pushed(const proto::RefResult& result) {
  PushedRef out{State::rejected, result.kind,  result.name,
                result.before,   result.after, escape_for_terminal(result.reason)};
  switch (result.state) {
    case proto::RefResult::State::up_to_date:
      out.state = State::up_to_date;
      break;
    case proto::RefResult::State::moved:
      out.state = State::moved;
      break;
    case proto::RefResult::State::deleted:
      out.state = State::deleted;
      break;
    case proto::RefResult::State::rejected:
      break;
  }
  return out;
}

// The server answers exactly what it was asked, in order; anything else would let it invent results.
Status take_results(const Plan& plan, const std::vector<proto::RefResult>& results, PushResult& out) {
  if (results.size() != plan.asked.size()) return fail(ErrorKind::corrupt, "the server answered another question");
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& update = plan.asked[i];
    const auto& result = results[i];
    if (result.kind != update.kind || result.name != update.name ||
        (result.state == proto::RefResult::State::moved && (!update.target || result.after != *update.target)) ||
        (result.state == proto::RefResult::State::deleted && update.target))
      return fail(ErrorKind::corrupt, "the server answered another question");
    out.refs.push_back(pushed(result));
  }
  return {};
}

Status send_everything(Connection& connection, const Onion& onion, const proto::PeerState& state, const Plan& plan,
                       PushResult& out) {
  std::vector<RevisionId> targets;
  for (const auto& update : plan.asked)
    if (update.target) targets.push_back(*update.target);
  const auto shallow = known_numbers(onion, state.shallow);
  PEEL_TRY(auto revisions,
           difference(onion, known_numbers(onion, targets), known_numbers(onion, state.haves),
                      {shallow.begin(), shallow.end()}),
           "");
  LayerSource source(onion, std::move(revisions), connection.stats());
  while (true) {
    PEEL_TRY(auto event, connection.next(), "");
    Status status;
    if (auto* layer = std::get_if<proto::NeedLayer>(&event)) status = source.answer(*layer, connection.session());
    if (auto* chunk = std::get_if<proto::NeedChunk>(&event)) status = source.answer(*chunk, connection.session());
    if (auto* results = std::get_if<proto::ResultsArrived>(&event)) status = take_results(plan, results->results, out);
    if (!status) return status;
    if (std::holds_alternative<proto::OperationDone>(event)) return {};
  }
}

// Remote refs here, and what is remembered of the server, follow what the server now has.
Status record_heads(Connection& connection, Onion& onion, const std::string& remote, const proto::PeerState& state,
                    const PushResult& result) {
  auto heads = branch_heads(state.refs);
  std::vector<RefChange> changes;
  std::set<std::string> deleted;
  for (const PushedRef& ref : result.refs) {
    if (ref.kind != RefKind::branch || ref.state == State::rejected) continue;
    if (ref.state == State::deleted) {
      heads.erase(ref.name);
      deleted.insert(ref.name);
    } else {
      heads[ref.name] = ref.after;
    }
    if (remote.empty()) continue;
    const auto seen = onion.ref(RefKind::remote, remote + "/" + ref.name);
    if (seen ? (ref.state != State::deleted && seen->target == ref.after) : ref.state == State::deleted) continue;
    RefChange change;
    change.kind = RefKind::remote;
    change.name = remote + "/" + ref.name;
    if (ref.state != State::deleted) change.target = ref.after;
    change.reason = "push";
    changes.push_back(std::move(change));
  }
  if (connection.server_key()) {
    const trust::RemoteMemory memory(*connection.config());
    PEEL_TRY(const auto remembered, memory.load(*connection.server_key(), connection.onion_name()), "");
    // A head that cannot be proven to come after the remembered one changes nothing: the next fetch judges it.
    for (const auto& [branch, before] : remembered) {
      if (deleted.contains(branch)) continue;
      const auto now = heads.find(branch);
      PEEL_TRY(const bool proven, now == heads.end() ? Result<bool>(false) : ReceivedGraph(onion).is_ancestor(before, now->second), "");
      if (!proven) heads[branch] = before;
    }
    PEEL_CHECK(memory.save(*connection.server_key(), connection.onion_name(), heads), "");
  }
  return changes.empty() ? Status() : onion.update_refs(changes);
}

Status check_memory(Connection& connection, const Onion& onion, const proto::PeerState& state) {
  if (!connection.server_key()) return {};
  PEEL_TRY(const auto remembered,
           trust::RemoteMemory(*connection.config()).load(*connection.server_key(), connection.onion_name()), "");
  return check_no_rollback(remembered, branch_heads(state.refs), ReceivedGraph(onion), false);
}

}  // namespace

Status PushResult::outcome() const {
  for (const PushedRef& ref : refs)
    if (ref.state == State::rejected) return fail(ErrorKind::refused, ref.reason);
  return {};
}

Result<PushResult> push(Onion& onion, const std::string& remote, const Url& url, const PushOptions& push_options,
                        const ConnectOptions& options) {
  if (url.kind != Url::Kind::file && url.name.empty()) return fail(ErrorKind::usage, url.text() + " names no onion");
  if (!remote.empty()) PEEL_CHECK(check_remote_name(remote), "");
  PEEL_CHECK(onion.refresh(), "");
  PEEL_TRY(const auto connection, Connection::open(url, options), "");
  connection->session().push({connection->onion_name(), push_options.create, onion.lineage()});
  proto::PeerState state;
  while (true) {
    PEEL_TRY(auto event, connection->next(), "");
    auto* arrived = std::get_if<proto::StateArrived>(&event);
    if (!arrived) continue;
    state = std::move(arrived->state);
    break;
  }
  PushResult result;
  const auto run = [&]() -> Status {
    if (!options.accept_rollback) PEEL_CHECK(check_memory(*connection, onion, state), "");
    PEEL_TRY(auto plan, make_plan(onion, remote, state, push_options), "");
    connection->session().send_updates(push_options.atomic, plan.asked);
    PEEL_CHECK(send_everything(*connection, onion, state, plan, result), "");
    result.refs.insert(result.refs.begin(), plan.decided.begin(), plan.decided.end());
    return {};
  };
  if (auto status = run(); !status) {
    Error error = connection->pump().abort(std::move(status.error()));
    if (connection->stats().chunks == 0 || !error.advice().empty()) return error;
    return std::move(error).advise("what the server has got so far is kept there: the same command continues");
  }
  PEEL_CHECK(connection->pump().flush(), "");
  const bool any_moved =
      std::any_of(result.refs.begin(), result.refs.end(), [](const PushedRef& r) { return r.state == State::moved; });
  result.created = !state.onion.exists && any_moved;
  if (state.onion.exists || any_moved) PEEL_CHECK(record_heads(*connection, onion, remote, state, result), "");
  connection->finish();
  result.stats = connection->stats();
  return result;
}

}  // namespace peel::sync
