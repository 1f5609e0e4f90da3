// cli/history_change_table.cpp - the history commands from restore to move, as help, man pages, completion and the
// parser see them.
#include "cli/command.h"
#include "cli/handlers.h"

namespace peel::cli {
namespace {

constexpr Operand file{"FILE", "the working file, or its .onion", true, false, Completes::file};
constexpr Operand optional_rev{"REV", "a revision (peel help revisions); default: the head", false};
constexpr Option message{"message", 'm', "TEXT", "the note to record"};
constexpr Option author{"author", 0, "NAME", "who made the change; default: $PEEL_AUTHOR, else your user name"};
constexpr Option discard{"discard", 0, nullptr, "let unsaved changes of the working file go"};
constexpr Option assume_closed{"assume-closed", 0, nullptr,
                               "you vouch that no program has the file open, where peel cannot find out"};
constexpr Option no_hdf5{"no-hdf5", 0, nullptr, "do not look inside the file as HDF5"};
constexpr Option read_all{"full", 0, nullptr, "read the whole file even when its times say that nothing changed, and store again what the history can no longer give back"};
constexpr Option at_most{"number", 'n', "N", "at most N entries"};
constexpr JsonKey file_keys[] = {
    {"file", "string", "the working file"},
    {"onion", "string", "its history"},
};

// --- restore, rollback, switch ------------------------------------------------------------------
constexpr Operand restore_operands[] = {file, optional_rev};
constexpr Option replace_options[] = {discard, assume_closed};
constexpr Example restore_examples[] = {
    {"peel restore data.h5 @2", "the working file becomes revision 2; the history stays as it is"},
    {"peel restore data.h5 --discard", "throw away unsaved changes"},
};
constexpr ExitNote replace_exits[] = {
    {7, "unsaved changes, a symlink or hard link, or another program has the file open for writing"}};

constexpr Operand rollback_operands[] = {file, {"REV", "the revision to go back to", true}};
constexpr Option rollback_options[] = {message, author, discard, assume_closed};
constexpr Example rollback_examples[] = {
    {"peel rollback data.h5 @2", "add a revision equal to revision 2; what came between stays in the history"}};

constexpr Operand switch_operands[] = {file, {"BRANCH", "the branch to work on", true}};
constexpr Example switch_examples[] = {
    {"peel switch data.h5 experiment", "the working file becomes the head of that branch"}};

// --- export, cat --------------------------------------------------------------------------------
constexpr Operand export_operands[] = {file, optional_rev};
constexpr Option export_options[] = {
    {"output", 'o', "OUT", "where to write; - for standard output", Completes::file},
    {"force", 0, nullptr, "replace OUT when it exists"},
    {"history", 0, nullptr, "write a consistent copy of the onion itself, also while others use it"},
};
constexpr Example export_examples[] = {
    {"peel export data.h5 @2 -o old.h5", "a verified copy of revision 2, holes kept"},
    {"peel export data.h5 --history -o backup.onion", "the whole history"},
};

constexpr Operand cat_operands[] = {file, optional_rev};
constexpr Option cat_options[] = {
    {"offset", 0, "N", "begin at this byte; 64K, 1M, 2G are understood"},
    {"length", 0, "N", "at most so many bytes"},
};
constexpr Example cat_examples[] = {{"peel cat data.h5 @2 | sha256sum", "a revision's bytes on standard output"}};

// --- branch, merge, tag, snapshot, reflog -------------------------------------------------------
constexpr Operand branch_operands[] = {
    file, {"NAME", "a new branch; without it the branches are listed", false}, optional_rev};
constexpr Option branch_options[] = {
    {"delete", 0, "NAME", "remove a branch; its revisions stay until a collection", Completes::nothing, 1},
    {"rename", 0, "OLD NEW", "give a branch another name", Completes::nothing, 1},
};
constexpr JsonKey branch_json[] = {
    file_keys[0],
    file_keys[1],
    {"current", "string", "the current branch"},
    {"branches", "array", "the branches, and what is remembered of remotes"},
    {"branches[].name", "string", "BRANCH, or REMOTE/BRANCH"},
    {"branches[].remote", "boolean", "a remote's branch as last seen"},
    {"branches[].current", "boolean", "the current branch"},
    {"branches[].revision", "revision?", "its head; absent: not in this onion"},
};
constexpr Example branch_examples[] = {
    {"peel branch data.h5", "list the branches"},
    {"peel branch data.h5 experiment @3", "a branch that begins at revision 3"},
};

constexpr Operand merge_operands[] = {file, {"BRANCH", "a branch, or any revision", true}};
constexpr Option merge_options[] = {
    {"ours", 0, nullptr, "in every conflict keep ours", Completes::nothing, 1},
    {"theirs", 0, nullptr, "in every conflict take theirs", Completes::nothing, 1},
    {"force", 0, nullptr, "record the result though it is no sound HDF5 file, labelled unhealthy"},
    message,
    author,
    assume_closed,
};
constexpr Example merge_examples[] = {
    {"peel merge data.h5 experiment", "take over the changes of a branch where they touch other bytes than ours"},
    {"peel merge data.h5 origin/main", "after `peel fetch` said that both sides moved on"},
};
constexpr ExitNote merge_exits[] = {
    {1, "both sides changed the same words, or the result would be no sound HDF5 file; nothing was changed"}};

constexpr Operand tag_operands[] = {file, {"NAME", "a new tag; without it the tags are listed", false}, optional_rev};
constexpr Option tag_options[] = {
    {"delete", 0, "NAME", "remove a tag"},
    {"message", 'm', "TEXT", "a note to keep with the tag"},
};
constexpr JsonKey tag_json[] = {
    file_keys[0],
    file_keys[1],
    {"tags", "array", "the tags, by name"},
    {"tags[].name", "string", "the tag"},
    {"tags[].note", "string", "its note"},
    {"tags[].revision", "revision?", "what it marks; absent: not in this onion"},
};
constexpr Example tag_examples[] = {
    {"peel tag data.h5 published @4 -m 'as in the paper'", "keep revision 4 for ever, under a name"}};

constexpr Operand snapshot_operands[] = {file, {"NAME", "the tag; default: snapshot-TIME", false}};
constexpr Option snapshot_options[] = {message, author, read_all, no_hdf5};
constexpr Example snapshot_examples[] = {
    {"peel snapshot data.h5 before-cleanup -m 'all good'", "record and tag in one step"}};

constexpr Operand reflog_operands[] = {file};
constexpr Option reflog_options[] = {at_most};
constexpr JsonKey reflog_json[] = {
    file_keys[0],
    file_keys[1],
    {"entries", "array", "newest first"},
    {"entries[].kind", "string", "branch, tag, remote or setting"},
    {"entries[].name", "string", "the ref that moved"},
    {"entries[].before", "string?", "revision id before; absent: it did not exist"},
    {"entries[].after", "string?", "revision id after; absent: it was removed"},
    {"entries[].time", "string", "when, UTC"},
    {"entries[].who", "string", "who moved it"},
    {"entries[].reason", "string", "why"},
};
constexpr Example reflog_examples[] = {{"peel reflog data.h5 -n 5", "the last five moves of branches and tags"}};

// --- gc, verify, digest, move -------------------------------------------------------------------
constexpr Operand gc_operands[] = {file};
constexpr Option gc_options[] = {
    {"keep-last", 0, "N", "keep the newest N revisions of every branch"},
    {"keep-within", 0, "TIME", "keep what is younger than TIME: 12h, 30d, 8w"},
    {"keep-daily", 0, "N", "keep the newest revision of each of the last N days that have one"},
    {"defer", 0, nullptr, "only mark what goes; --flush rewrites the file", Completes::nothing, 1, "epoch"},
    {"flush", 0, nullptr, "finish what --defer marked", Completes::nothing, 1},
    {"dry-run", 'n', nullptr, "say what would go, change nothing", Completes::nothing, 1},
    {"repack", 0, nullptr, "compress again what is kept, harder"},
};
constexpr JsonKey gc_json[] = {
    file_keys[0],
    file_keys[1],
    {"dry_run", "boolean", "nothing was changed"},
    {"compacted", "boolean", "the onion was rewritten"},
    {"revisions_before", "integer", ""},
    {"revisions_kept", "integer", ""},
    {"bytes_before", "integer", "size of the onion"},
    {"bytes_after", "integer", "size afterwards; the expected one with --defer and --dry-run"},
    {"removed", "array", "numbers of the revisions that go"},
};
constexpr Example gc_examples[] = {
    {"peel gc data.h5", "remove only what no branch, tag or remote reaches"},
    {"peel gc data.h5 --keep-last 100 --dry-run", "what would go?"},
    {"peel gc data.h5 --keep-within 30d --keep-daily 365", "a month in full, then one a day for a year"},
};

constexpr Operand verify_operands[] = {file};
constexpr Option verify_options[] = {
    {"deep", 0, nullptr, "decode and hash every chunk, not only its checksum"},
    {"sample", 0, "P", "look at P percent of the chunks, chosen at random"},
    {"repair-from", 0, "URL", "fetch damaged chunks from another copy of this history (peel help urls)",
     Completes::file},
};
constexpr JsonKey verify_json[] = {
    file_keys[0],
    file_keys[1],
    {"revisions", "integer", "revisions looked at"},
    {"chunks", "integer", "chunks looked at"},
    {"bytes", "integer", "their stored bytes"},
    {"unfinished", "integer", "bytes behind the last revision that an interrupted write left"},
    {"damage", "damage[]", "what is wrong and still there"},
    {"repaired", "damage[]", "what was wrong and has been replaced"},
};
constexpr Example verify_examples[] = {
    {"peel verify data.h5 --deep", "prove every byte of every revision"},
    {"peel verify data.h5 --sample 5", "a quick look"},
    {"peel verify data.h5 --repair-from /backup/data.h5.onion", "mend from a copy"},
};
constexpr ExitNote verify_exits[] = {{4, "damage was found and not repaired; each place is named"}};

constexpr Operand digest_operands[] = {{"FILE", "any files", true, true, Completes::file}};
constexpr JsonKey digest_json[] = {
    {"files", "array", "one object for each FILE"},
    {"files[].file", "string", ""},
    {"files[].size", "integer", "bytes"},
    {"files[].content", "string", "peel1: and 64 hexadecimal digits"},
};
constexpr Example digest_examples[] = {
    {"peel digest data.h5 copy.h5", "equal lines: equal files; compare with the content line of `peel show`"}};

constexpr Operand move_operands[] = {file, {"NEWNAME", "the new name, or a directory", true, false, Completes::file}};
constexpr Example move_examples[] = {{"peel move data.h5 archive/run7.h5", "file and history together"}};

// clang-format off: fields that belong together share a line
constexpr Command table[] = {
    {.name = "restore",
     .group = Group::history,
     .summary = "rewrite the working file to a revision",
     .description =
         "The working file becomes REV; the history does not change and no revision is added. Unless --discard is "
         "given, the file is first read and must be equal to some revision, so that nothing can be lost. The new "
         "content is complete and on disk before it takes the file's place; owner, mode, ACL and attributes stay.",
     .operands = restore_operands,
     .options = replace_options,
     .json = {},
     .examples = restore_examples,
     .exits = replace_exits,
     .names_onion = true,
     .alias = "checkout",
     .run = run_restore},
    {.name = "rollback",
     .group = Group::history,
     .summary = "add a revision equal to an earlier one",
     .description =
         "Adds a revision with the content of REV to the current branch and rewrites the working file to it. Nothing "
         "is lost: the revisions between stay in the history.",
     .operands = rollback_operands,
     .options = rollback_options,
     .json = {},
     .examples = rollback_examples,
     .exits = replace_exits,
     .names_onion = true,
     .run = run_rollback},
    {.name = "export",
     .group = Group::history,
     .summary = "write a revision to another file",
     .description = "Writes a verified, sparse copy of REV to OUT. OUT appears under its name only when it is complete "
                    "and on disk.",
     .operands = export_operands,
     .options = export_options,
     .json = {},
     .examples = export_examples,
     .exits = {},
     .names_onion = true,
     .alias = "export-revision",
     .run = run_export},
    {.name = "cat",
     .group = Group::history,
     .summary = "write a revision's bytes to standard output",
     .description = "Every byte is verified before it is written. Costs what is read, at any depth of history.",
     .operands = cat_operands,
     .options = cat_options,
     .json = {},
     .examples = cat_examples,
     .exits = {},
     .names_onion = true,
     .run = run_cat},
    {.name = "branch",
     .group = Group::history,
     .summary = "list, create, rename or delete branches",
     .description =
         "Without NAME, lists the branches and what is remembered of remote ones. A new branch begins at REV (default: "
         "the head) and does not become the current one; use `peel switch`.",
     .operands = branch_operands,
     .options = branch_options,
     .json = branch_json,
     .examples = branch_examples,
     .exits = {},
     .names_onion = true,
     .run = run_branch},
    {.name = "switch",
     .group = Group::history,
     .summary = "make another branch the current one",
     .description =
         "The working file becomes the head of BRANCH. Unsaved changes are carried over when both heads have the same "
         "content, else the command is refused unless --discard is given.",
     .operands = switch_operands,
     .options = replace_options,
     .json = {},
     .examples = switch_examples,
     .exits = replace_exits,
     .names_onion = true,
     .run = run_switch},
    {.name = "merge",
     .group = Group::history,
     .summary = "take over the changes of another branch",
     .description =
         "Takes the changes BRANCH made since both lines parted, where they touch other bytes than ours did, and "
         "records the result with both as parents. Files are merged by bytes, in words of 8 bytes, aligned in the "
         "file: a word that both sides changed, to different contents, is a conflict. Conflicts are listed, and "
         "nothing is changed, unless --ours or --theirs decides each of them; neither takes a side as a whole, which "
         "`peel rollback FILE BRANCH` does. Where a side is an HDF5 file, the result is looked at before it is recorded: "
         "it must open, what was readable must be readable, what one side alone changed must be as that side has it, "
         "elements that differ must be whole elements of one side, no side may have changed what the other removed, "
         "and not both may have made the file longer. "
         "Else nothing is changed, unless --force. Not checked: elements of a dataset that both sides gave another "
         "shape, type or storage; data in other files, behind filters peel lacks, or in free space the file keeps "
         "track of. What other formats make of the bytes is not looked at.",
     .operands = merge_operands,
     .options = merge_options,
     .json = {},
     .examples = merge_examples,
     .exits = merge_exits,
     .names_onion = true,
     .run = run_merge},
    {.name = "tag",
     .group = Group::history,
     .summary = "list, create or delete tags",
     .description = "A tag is a name that stays on its revision and protects it from collection.",
     .operands = tag_operands,
     .options = tag_options,
     .json = tag_json,
     .examples = tag_examples,
     .exits = {},
     .names_onion = true,
     .run = run_tag},
    {.name = "snapshot",
     .group = Group::history,
     .summary = "commit and tag in one step",
     .description = "Records the working file, also when nothing changed, and tags the revision.",
     .operands = snapshot_operands,
     .options = snapshot_options,
     .json = {},
     .examples = snapshot_examples,
     .exits = {},
     .names_onion = true,
     .run = run_snapshot},
    {.name = "reflog",
     .group = Group::history,
     .summary = "show how branches and tags moved",
     .description = "Every move of a branch, tag or remembered remote head: when, who, why, from where to where.",
     .operands = reflog_operands,
     .options = reflog_options,
     .json = reflog_json,
     .examples = reflog_examples,
     .exits = {},
     .names_onion = true,
     .run = run_reflog},
    {.name = "gc",
     .group = Group::history,
     .summary = "remove revisions and give their space back",
     .description =
         "Without a --keep option only what no branch, tag or remembered remote head reaches is removed. With one or "
         "more, a revision stays when any of them keeps it. Tagged revisions and the heads of branches always stay.\n\n"
         "The onion is rewritten beside itself and takes its own place when complete; readers go on undisturbed.",
     .operands = gc_operands,
     .options = gc_options,
     .json = gc_json,
     .examples = gc_examples,
     .exits = {},
     .names_onion = true,
     .run = run_gc},
    {.name = "verify",
     .group = Group::history,
     .summary = "check a history for damage",
     .description =
         "Checks every record of the onion; with --deep every chunk is decoded and compared with its digest. Damage is "
         "named by revision and byte range, and repaired where another copy of the history is given.",
     .operands = verify_operands,
     .options = verify_options,
     .json = verify_json,
     .examples = verify_examples,
     .exits = verify_exits,
     .names_onion = true,
     .run = run_verify},
    {.name = "digest",
     .group = Group::history,
     .summary = "print the content digest of files",
     .description = "The digest depends on the bytes and the size alone, so two machines compare files by 64 "
                    "characters. It is the "
                    "one recorded with every revision.",
     .operands = digest_operands,
     .options = {},
     .json = digest_json,
     .examples = digest_examples,
     .exits = {},
     .run = run_digest},
    {.name = "move",
     .group = Group::history,
     .summary = "rename a file and its history together",
     .description = "Never replaces anything.",
     .operands = move_operands,
     .options = {},
     .json = {},
     .examples = move_examples,
     .exits = {},
     .names_onion = true,
     .run = run_move},
};
// clang-format on

}  // namespace

std::span<const Command> history_change_commands() { return table; }

}  // namespace peel::cli
