// sync/rollback.h - a server that goes backwards is noticed: the heads it showed last time must be ancestors of
// the ones it shows now.
//
// Errors     refused, naming the branch and both revisions, and what to do when it was meant.
// Threads    Free functions; the memory is locked by trust/remote_memory.
#pragma once

#include "proto/session_events.h"
#include "sync/graph.h"
#include "trust/remote_memory.h"

namespace peel::sync {

// Branch heads of a server as a map.
trust::RemoteHeads branch_heads(const std::vector<proto::SharedRef>& refs);

// `complete`: `graph` holds everything the new heads reach (after a fetch). Else (before a push) what is
// unknown here is not judged.
Status check_no_rollback(const trust::RemoteHeads& remembered, const trust::RemoteHeads& now,
                         const ReceivedGraph& graph, bool complete);

}  // namespace peel::sync
