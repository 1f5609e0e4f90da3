// cli/handlers.h - one function for each command of the table.
//
// Contract   Reads the arguments, calls the library, prints. The value is the exit code; an error has one itself.
// Threads    Called from main's thread.
#pragma once

#include "peel/error.h"

namespace peel::cli {

class Context;

// history_record.cpp
Result<int> run_commit(Context& context);
Result<int> run_snapshot(Context& context);
Result<int> run_status(Context& context);

// history_log.cpp
Result<int> run_log(Context& context);

// history_look.cpp
Result<int> run_show(Context& context);
Result<int> run_reflog(Context& context);

// history_diff.cpp
Result<int> run_diff(Context& context);

// history_read.cpp
Result<int> run_export(Context& context);
Result<int> run_cat(Context& context);
Result<int> run_digest(Context& context);

// history_replace.cpp
Result<int> run_restore(Context& context);
Result<int> run_rollback(Context& context);
Result<int> run_switch(Context& context);
Result<int> run_merge(Context& context);
Result<int> run_move(Context& context);

// history_names.cpp
Result<int> run_branch(Context& context);
Result<int> run_tag(Context& context);

// history_care.cpp
Result<int> run_gc(Context& context);
Result<int> run_verify(Context& context);

// sharing_fetch.cpp
Result<int> run_clone(Context& context);
Result<int> run_fetch(Context& context);
Result<int> run_pull(Context& context);

// sharing_push.cpp
Result<int> run_push(Context& context);
Result<int> run_remote(Context& context);
Result<int> run_ls(Context& context);

// trust_commands.cpp
Result<int> run_id(Context& context);
Result<int> run_invite(Context& context);
Result<int> run_join(Context& context);
Result<int> run_trust(Context& context);
Result<int> run_untrust(Context& context);
Result<int> run_peers(Context& context);

// serve_command.cpp
Result<int> run_serve(Context& context);

// help_commands.cpp
Result<int> run_help(Context& context);
Result<int> run_version(Context& context);
Result<int> run_bench(Context& context);

}  // namespace peel::cli
