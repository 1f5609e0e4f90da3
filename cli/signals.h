// cli/signals.h - Ctrl-C, SIGTERM and a terminal that hangs up become a request to stop.
//
// Contract   The first signal sets the token: what is running stops at the next safe place. A second one ends the
//            process at once, which loses nothing either (a crash at any instant leaves every file whole). SIGPIPE is
//            ignored: a closed pipe is an error of the write.
// Threads    Call once, before other threads exist.
#pragma once

#include "base/cancel.h"

namespace peel::cli {

void stop_on_signals(Cancel& cancel);
// Ends the process as SIGPIPE would have, for a reader that went away.
[[noreturn]] void die_of_closed_pipe();

}  // namespace peel::cli
