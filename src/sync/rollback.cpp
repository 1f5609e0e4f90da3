#include "sync/rollback.h"

#include "base/hex.h"

namespace peel::sync {
namespace {

Error backwards(const std::string& branch, const RevisionId& before, const std::string& now) {
  return fail(ErrorKind::refused, "the server went backwards: its branch '" + escape_for_terminal(branch) +
                                      "' was at " + short_hex(before) + " and " + now +
                                      "; if that was meant, say --accept-rollback");
}

}  // namespace

trust::RemoteHeads branch_heads(const std::vector<proto::SharedRef>& refs) {
  trust::RemoteHeads out;
  for (const auto& ref : refs)
    if (ref.kind == RefKind::branch) out[ref.name] = ref.target;
  return out;
}

Status check_no_rollback(const trust::RemoteHeads& remembered, const trust::RemoteHeads& now,
                         const ReceivedGraph& graph, bool complete) {
  for (const auto& [branch, before] : remembered) {
    const auto found = now.find(branch);
    if (found == now.end()) return backwards(branch, before, "is gone");
    const RevisionId& head = found->second;
    if (head == before) continue;
    if (!complete && (!graph.knows(head) || !graph.knows(before))) continue;
    PEEL_TRY(const bool forward, graph.is_ancestor(before, head), "");
    if (!forward) return backwards(branch, before, "is at " + short_hex(head) + ", which does not contain that");
  }
  return {};
}

}  // namespace peel::sync
