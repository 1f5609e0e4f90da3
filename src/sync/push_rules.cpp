#include "sync/push_rules.h"

#include "base/hex.h"

namespace peel::sync {
namespace {

bool reject(proto::RefResult& result, std::string reason) {
  result.state = proto::RefResult::State::rejected;
  result.reason = std::move(reason);
  return false;
}

}  // namespace

std::string reason_moved(const std::string& name) {
  return escape_for_terminal(name) + " moved on the server in the meantime: fetch, look, then push again";
}

std::string reason_not_fast_forward(const std::string& name) {
  return escape_for_terminal(name) + " has revisions on the server that are not in yours: fetch, then merge, then push";
}

std::string reason_behind(const std::string& name) {
  return escape_for_terminal(name) + " is behind the server's: pull";
}

std::string reason_tag_exists(const std::string& name) {
  return "the tag " + escape_for_terminal(name) + " exists on the server and names another revision; tags do not move";
}

Result<bool> judge(const Onion& onion, const ReceivedGraph* graph, const proto::RefUpdate& update,
                   proto::RefResult& result) {
  result.kind = update.kind;
  result.name = update.name;
  const auto now = onion.ref(update.kind, update.name);
  result.before = now ? now->target : RevisionId{};
  result.after = result.before;
  if (auto safe = check_shared_ref_name(update.name); !safe) return reject(result, safe.error().message());
  if (update.target && result.before == *update.target) {
    result.state = proto::RefResult::State::up_to_date;
    return false;
  }
  if (result.before != update.expected)
    return reject(result, update.kind == RefKind::tag ? reason_tag_exists(update.name) : reason_moved(update.name));
  if (!update.target) {
    if (!now) return reject(result, "there is no " + escape_for_terminal(update.name) + " on the server");
    if (update.kind == RefKind::branch && onion.current_branch() == update.name)
      return reject(result, escape_for_terminal(update.name) + " is the server's current branch and stays");
    result.state = proto::RefResult::State::deleted;
    result.after = RevisionId{};
    return true;
  }
  result.state = proto::RefResult::State::moved;
  result.after = *update.target;
  if (!graph) return true;
  if (!graph->knows(*update.target))
    return reject(result, "the revision for " + escape_for_terminal(update.name) + " was not sent");
  if (!now || update.force) return true;
  if (update.kind == RefKind::tag) return reject(result, reason_tag_exists(update.name));
  PEEL_TRY(const bool forward, graph->is_ancestor(result.before, *update.target), "");
  if (!forward) return reject(result, reason_not_fast_forward(update.name));
  return true;
}

RefChange change_for(const proto::RefUpdate& update, const std::string& reason) {
  RefChange change;
  change.kind = update.kind;
  change.name = update.name;
  change.expected = update.expected;
  change.target = update.target;
  if (update.kind == RefKind::tag) change.value = update.value;
  change.reason = reason;
  return change;
}

bool needs_write(const proto::RefUpdate& update) {
  if (!update.target || update.force) return true;
  return update.kind == RefKind::branch && update.expected.is_zero();  // a new branch
}

}  // namespace peel::sync
