// cli/sharing_table.cpp - the commands that move histories between machines.
#include "cli/command.h"
#include "cli/handlers.h"

namespace peel::cli {
namespace {

constexpr Operand file{"FILE", "the working file, or its .onion", true, false, Completes::file};
constexpr Operand remote{"REMOTE", "a remote of this file, or a URL; default: origin", false};
constexpr Option accept_rollback{"accept-rollback", 0, nullptr,
                                 "accept a remote whose branches went back since they were last seen"};
constexpr Option insecure{"insecure", 0, nullptr, "no encryption and no pinned key; only on a network you trust"};

constexpr JsonKey file_keys[] = {
    {"file", "string", "the working file"},
    {"onion", "string", "its history"},
};

constexpr ExitNote network_exits[] = {
    {3, "no such history there, or none that you may read"},
    {6, "the server or the path to it failed; run it again: verified data is not sent twice"},
    {7, "an untrusted or changed key, a remote that goes backwards, or unsaved changes in the way"},
};

// --- clone --------------------------------------------------------------------------------------
constexpr Operand clone_operands[] = {
    {"URL", "where the history is (peel help urls)", true},
    {"FILE", "the working file to make; default: the last part of the URL", false, false, Completes::file},
};
constexpr Option clone_options[] = {accept_rollback, insecure};
constexpr Example clone_examples[] = {
    {"peel clone lab:runs/data.h5", "from the peer named lab"},
    {"peel clone peel://hub.example.org/runs/data.h5 mine.h5", "by address"},
};

// --- fetch, pull, push --------------------------------------------------------------------------
constexpr Operand remote_operands[] = {file, remote};
constexpr Option fetch_options[] = {accept_rollback, insecure};
constexpr JsonKey fetch_json[] = {
    file_keys[0],
    file_keys[1],
    {"url", "string", "where it came from"},
    {"remote", "string", "the remote's name here"},
    {"transfer", "transfer", "what travelled"},
    {"branches", "array", "the remote's branches, and local ones of the same names"},
    {"branches[].name", "string", ""},
    {"branches[].state", "string",
     "how the local branch stands to the remote's: same, local_missing, behind, ahead, diverged or remote_gone"},
    {"branches[].local", "string?", "revision id here; absent: no such local branch"},
    {"branches[].remote", "string?", "revision id there; absent: gone"},
    {"branches[].remote_before", "string?", "revision id there as last seen; absent: new"},
    {"branches[].ahead", "integer", "revisions only here"},
    {"branches[].behind", "integer", "revisions only there"},
    {"tags", "array", "tags that were added, or that differ (the local one is kept)"},
    {"tags[].name", "string", ""},
    {"tags[].state", "string", "added or differs"},
    {"pulled", "object?", "peel pull alone"},
    {"pulled.branch", "string", "the current branch"},
    {"pulled.moved", "boolean", "it was fast-forwarded"},
    {"pulled.file_changed", "boolean", "the working file was rewritten"},
    {"pulled.file_left", "boolean", "the working file has unsaved changes, or another revision's content, and was left alone"},
};
constexpr Example fetch_examples[] = {
    {"peel fetch data.h5", "bring what origin has; branches and file stay as they are"}};
constexpr ExitNote pull_exits[] = {
    {1, "the branch diverged; both heads are here: `peel merge FILE REMOTE/BRANCH`"},
    network_exits[1],
    network_exits[2],
};
constexpr Option pull_options[] = {
    {"keep-changes", 0, nullptr, "with unsaved changes: move the branch and leave the file as it is"},
    accept_rollback,
    insecure};
constexpr Example pull_examples[] = {{"peel pull data.h5", "fetch, then fast-forward the branch and the file"}};

constexpr Option push_options[] = {
    {"all", 0, nullptr, "every branch, not only the current one"},
    {"tags", 0, nullptr, "tags too"},
    {"delete", 0, "BRANCH", "remove a branch at the remote"},
    {"force-with-lease", 0, nullptr, "move remote branches back or aside, if they are where we last saw them"},
    {"atomic", 0, nullptr, "all branches or none"},
    accept_rollback,
    insecure,
};
constexpr JsonKey push_json[] = {
    file_keys[0],
    file_keys[1],
    {"url", "string", "where it went"},
    {"remote", "string", "the remote's name here"},
    {"created", "boolean", "the server made a new history"},
    {"transfer", "transfer", "what travelled"},
    {"refs", "array", "one object for each branch or tag"},
    {"refs[].kind", "string", "branch or tag"},
    {"refs[].name", "string", ""},
    {"refs[].state", "string", "up_to_date, moved, deleted or rejected"},
    {"refs[].before", "string?", "revision id there before"},
    {"refs[].after", "string?", "revision id there now"},
    {"refs[].reason", "string?", "why it was rejected, and what to do"},
};
constexpr Example push_examples[] = {
    {"peel push data.h5", "send the current branch to origin"},
    {"peel push data.h5 lab:runs/data.h5", "to a place, without naming it first"},
    {"peel push data.h5 /backup/data.h5", "to a history on another disk"},
};
constexpr ExitNote push_exits[] = {
    {1, "somebody else moved the branch in the same moment; run it again"},
    network_exits[1],
    {7, "the remote has moved on (`peel pull` first), or you may not write there"},
};

// --- remote, ls ---------------------------------------------------------------------------------
constexpr Operand remote_command_operands[] = {
    file, {"NAME", "a name of yours, such as origin", false}, {"URL", "where it is (peel help urls)", false}};
constexpr Option remote_options[] = {{"delete", 0, "NAME", "forget a remote and its remembered branches"}};
constexpr JsonKey remote_json[] = {
    file_keys[0],
    file_keys[1],
    {"remotes", "array", "by name"},
    {"remotes[].name", "string", ""},
    {"remotes[].url", "string", ""},
};
constexpr Example remote_examples[] = {
    {"peel remote data.h5", "list the remotes"},
    {"peel remote data.h5 origin lab:runs/data.h5", "where `peel push` goes from now on"},
};

constexpr Operand ls_operands[] = {
    {"URL", "a server, a directory on it, or one of this machine", true, false, Completes::directory}};
constexpr Option ls_options[] = {insecure};
constexpr JsonKey ls_json[] = {
    {"url", "string", ""},
    {"onions", "array", "what this peer may read, by name"},
    {"onions[].name", "string", ""},
    {"onions[].current_branch", "string", ""},
    {"onions[].branches", "array", ""},
    {"onions[].branches[].name", "string", ""},
    {"onions[].branches[].head", "string", "revision id"},
};
constexpr Example ls_examples[] = {
    {"peel ls lab:", "every history on the server that you may read"},
    {"peel ls lab:runs", "those below runs"},
    {"peel ls .", "those in this directory and below it"},
};

// clang-format off: fields that belong together share a line
constexpr Command table[] = {
    {.name = "clone",
     .group = Group::sharing,
     .summary = "copy a history from a server and make its working file",
     .description =
         "Fetches every branch and tag, remembers URL as the remote origin, and makes the working file from the head. "
         "Every chunk and revision is verified. An interrupted clone is continued by the same command.",
     .operands = clone_operands,
     .options = clone_options,
     .json = {},
     .examples = clone_examples,
     .exits = network_exits,
     .names_onion = true,
     .run = run_clone},
    {.name = "fetch",
     .group = Group::sharing,
     .summary = "bring a remote's new revisions, change nothing else",
     .description =
         "Afterwards REMOTE/BRANCH names each branch as the remote has it. Says which branches are ahead, behind or "
         "diverged.",
     .operands = remote_operands,
     .options = fetch_options,
     .json = fetch_json,
     .examples = fetch_examples,
     .exits = network_exits,
     .names_onion = true,
     .run = run_fetch},
    {.name = "pull",
     .group = Group::sharing,
     .summary = "fetch, and move the current branch and the file forward",
     .description =
         "Fast-forwards the current branch to the remote's, and the working file when it has no unsaved changes. A "
         "diverged branch is not touched: both heads are kept, and peel says how to merge them.",
     .operands = remote_operands,
     .options = pull_options,
     .json = fetch_json,
     .examples = pull_examples,
     .exits = pull_exits,
     .names_onion = true,
     .run = run_pull},
    {.name = "push",
     .group = Group::sharing,
     .summary = "send the current branch to a remote",
     .description =
         "Sends the revisions the remote does not have; exit 0 means they are verified and on disk there. Only "
         "fast-forwards are made unless you ask for more. Warns when the working file has unsaved changes. An "
         "interrupted push leaves nothing visible and is continued by the same command.",
     .operands = remote_operands,
     .options = push_options,
     .json = push_json,
     .examples = push_examples,
     .exits = push_exits,
     .names_onion = true,
     .run = run_push},
    {.name = "remote",
     .group = Group::sharing,
     .summary = "list, add, change or remove remotes of a file",
     .description = "A remote is a name for a URL. Setting one touches no network.",
     .operands = remote_command_operands,
     .options = remote_options,
     .json = remote_json,
     .examples = remote_examples,
     .exits = {},
     .names_onion = true,
     .run = run_remote},
    {.name = "ls",
     .group = Group::sharing,
     .summary = "list the histories of a server or directory",
     .description =
         "Shows only what you may read there, also what lies in folders; names that begin with a dot are left out.",
     .operands = ls_operands,
     .options = ls_options,
     .json = ls_json,
     .examples = ls_examples,
     .exits = network_exits,
     .run = run_ls},
};
// clang-format on

}  // namespace

std::span<const Command> sharing_commands() { return table; }

}  // namespace peel::cli
