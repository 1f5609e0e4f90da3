// sync/push_rules.h - whether a ref may move as a push asks: the one place of the compare-and-swap and
// fast-forward rules. The server decides with it; the client uses it to save a trip that must fail.
//
// Errors     As the onion's reads.
// Threads    Free functions.
#pragma once

#include "peel/onion.h"
#include "proto/history_messages.h"
#include "sync/transfer.h"

namespace peel::sync {

// What is at stake, in words for `reason`: each says what is wrong and what to do.
std::string reason_moved(const std::string& name);
std::string reason_not_fast_forward(const std::string& name);
std::string reason_behind(const std::string& name);
std::string reason_tag_exists(const std::string& name);

// ok(true): may happen. ok(false): `result` says why not. `graph` may be null before the data came: then
// ancestry is not judged. Fills result.before and result.after.
Result<bool> judge(const Onion& onion, const ReceivedGraph* graph, const proto::RefUpdate& update,
                   proto::RefResult& result);
// The change that carries it out.
RefChange change_for(const proto::RefUpdate& update, const std::string& reason);
// Whether an update asks for more than adding to what is there.
bool needs_write(const proto::RefUpdate& update);

}  // namespace peel::sync
