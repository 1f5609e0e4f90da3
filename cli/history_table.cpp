// cli/history_table.cpp - commit, status, log, show, diff, as help, man pages, completion and the parser see them.
#include "cli/command.h"
#include "cli/handlers.h"

namespace peel::cli {
namespace {

constexpr Operand file{"FILE", "the working file, or its .onion", true, false, Completes::file};
constexpr Operand optional_file{"FILE", "the working file, its .onion, or a directory; default: the current directory",
                                false, false, Completes::file};
constexpr Operand optional_rev{"REV", "a revision (peel help revisions); default: the head", false};
constexpr Option message{"message", 'm', "TEXT", "the note to record"};
constexpr Option author{"author", 0, "NAME", "who made the change; default: $PEEL_AUTHOR, else your user name"};
constexpr Option no_hdf5{"no-hdf5", 0, nullptr, "do not look inside the file as HDF5"};
constexpr Option read_all{"full", 0, nullptr, "read the whole file even when its times say that nothing changed, and store again what the history can no longer give back"};
constexpr Option at_most{"number", 'n', "N", "at most N entries"};
constexpr JsonKey file_keys[] = {
    {"file", "string", "the working file"},
    {"onion", "string", "its history"},
};

// --- commit -------------------------------------------------------------------------------------
constexpr Operand commit_operands[] = {{"FILE", "working files, or their .onion", true, true, Completes::file}};
constexpr Option codec_option{"codec", 0, "NAME", "store new chunks with this codec where it fits; default: for each chunk one that is fast and good (peel help cost explains the names; peel gc --repack makes it smaller): raw, const, lz4, zstd, shuf+zstd, shuf+lz4, dbp, delta+shuf+zstd or planes"};
constexpr Option commit_options[] = {message, author, codec_option, read_all, no_hdf5};
constexpr JsonKey commit_json[] = {
    {"files", "array", "one object for each FILE that was recorded, in order"},
    {"files[].file", "string", "the working file"},
    {"files[].onion", "string", "its history"},
    {"files[].added", "boolean", "a revision was added; false: nothing had changed"},
    {"files[].created", "boolean", "the history was begun by this commit"},
    {"files[].bytes_changed", "integer", "bytes of the working file that differ from the revision before"},
    {"files[].onion_bytes", "integer", "size of the history afterwards"},
    {"files[].revision", "revision", "the new revision, or the head when nothing was new"},
    {"files[].unhealthy", "string?", "what is wrong with the file as HDF5"},
};
constexpr Example commit_examples[] = {
    {"peel commit data.h5 -m 'calibrated'", "record the file as it is now; the first time this begins its history"},
    {"peel commit *.h5", "record several files"},
};
constexpr ExitNote commit_exits[] = {
    {0, "recorded, or nothing was new"},
    {8, "some of several files could not be recorded; each is named"},
};

// --- status -------------------------------------------------------------------------------------
constexpr Operand status_operands[] = {optional_file};
constexpr Option status_options[] = {{"exit-code", 0, nullptr, "exit 1 when a file differs from its head"}, read_all};
constexpr JsonKey status_json[] = {
    {"files", "array", "one object for each file looked at"},
    {"files[].file", "string", "the working file"},
    {"files[].onion", "string", "its history"},
    {"files[].state", "string", "unmodified, modified, missing, untracked or unknown"},
    {"files[].why", "string?", "more about missing and unknown"},
    {"files[].hashed", "boolean", "the file was read; false: its times were proof enough"},
    {"files[].open_for_writing", "string", "yes, no or unknown: whether another process has it open for writing"},
    {"files[].size", "integer?", "bytes of the working file"},
    {"files[].allocated", "integer?", "bytes it takes on disk"},
    {"files[].onion_bytes", "integer", "bytes of its history"},
    {"files[].revisions", "integer", "revisions in the history"},
    {"files[].branch", "string?", "the current branch"},
    {"files[].head", "revision?", "the newest revision of the current branch"},
    {"files[].same_as", "integer?", "number of the newest revision equal to the working file"},
    {"files[].based_on", "integer?", "number of the revision the working file came from"},
    {"files[].diverged", "array", "remembered remote heads that are no ancestors of the head, as REMOTE/BRANCH"},
    {"left_behind", "array", "hidden files of killed runs that hold what no revision has"},
    {"left_behind[].file", "string", "the working file they were made for"},
    {"left_behind[].path", "string", "the hidden file"},
    {"left_behind[].size", "integer", "its size, bytes"},
};
constexpr Example status_examples[] = {
    {"peel status", "all histories of this directory"},
    {"peel status data.h5 --exit-code", "for scripts: 0 unchanged, 1 changed"},
};
constexpr ExitNote status_exits[] = {{1, "with --exit-code: a file differs from its head, or is missing"}};

// --- log ----------------------------------------------------------------------------------------
constexpr Operand log_operands[] = {optional_file, optional_rev};
constexpr Option log_options[] = {
    at_most,
    {"all", 0, nullptr, "every revision of the onion, not only the ancestors of REV"},
    {"dataset", 0, "PATH", "only revisions that changed this HDF5 dataset, group or attribute"},
    no_hdf5,
};
constexpr JsonKey log_json[] = {
    {"files", "array?", "without FILE: one object for each history of the directory"},
    {"files[].file", "string", "the working file"},
    {"files[].onion", "string", "its history"},
    {"files[].revisions", "integer", "revisions in the history"},
    {"files[].onion_bytes", "integer", "bytes of the history"},
    {"files[].head", "revision?", "the newest revision of the current branch"},
    {"file", "string?", "the working file"},
    {"onion", "string?", "its history"},
    {"branch", "string?", "the current branch"},
    {"revisions", "revision[]?", "newest first"},
    {"revisions[].changes", "change[]?", "HDF5 objects that differ from the first parent"},
};
constexpr Example log_examples[] = {
    {"peel log data.h5", "the history of the current branch, newest first"},
    {"peel log data.h5 --dataset /run1/temperature", "when did this dataset change?"},
    {"peel log", "all histories of this directory"},
};

// --- show ---------------------------------------------------------------------------------------
constexpr Operand show_operands[] = {file, optional_rev};
constexpr Option show_options[] = {
    {"storage", 0, nullptr, "how the content is stored: codecs, chunks, bytes"},
    {"b3sum", 0, nullptr, "the plain BLAKE3 of the whole content, as b3sum prints it"},
    no_hdf5,
};
constexpr JsonKey show_json[] = {
    file_keys[0],
    file_keys[1],
    {"revision", "revision", "the revision"},
    {"changes", "change[]?", "HDF5 objects that differ from the first parent"},
    {"b3sum", "string?", "with --b3sum: BLAKE3 of the content"},
    {"storage", "object?", "with --storage"},
    {"storage.onion_bytes", "integer", "bytes of the whole history"},
    {"storage.codecs", "array", "how this revision's chunks are stored"},
    {"storage.codecs[].codec", "string", "raw, const, lz4, zstd, shuf+zstd, shuf+lz4, dbp, delta+shuf+zstd or planes"},
    {"storage.codecs[].chunks", "integer", "chunks stored so"},
    {"storage.codecs[].plain_bytes", "integer", "their bytes as read"},
    {"storage.codecs[].stored_bytes", "integer", "their bytes as stored"},
};
constexpr Example show_examples[] = {
    {"peel show data.h5", "the head: who, when, what changed"},
    {"peel show data.h5 @3 --storage", "how revision 3 is stored"},
};

// --- diff ---------------------------------------------------------------------------------------
constexpr Operand diff_operands[] = {
    file,
    {"REV", "the older side; default: the head", false},
    {"REV2", "the newer side; default: the working file", false},
};
constexpr Option diff_options[] = {
    {"pages", 0, nullptr, "list the byte ranges that differ"},
    {"stat", 0, nullptr, "only the sums: how many objects, ranges and bytes differ"},
    no_hdf5,
};
constexpr JsonKey diff_json[] = {
    file_keys[0],
    file_keys[1],
    {"a", "revision", "the older side"},
    {"b", "revision?", "the newer side; absent: the working file"},
    {"same", "boolean", "no byte differs"},
    {"size_a", "integer", "bytes of the older side"},
    {"size_b", "integer", "bytes of the newer side"},
    {"bytes_changed", "integer", "sum of the ranges"},
    {"range_count", "integer", "number of ranges that differ"},
    {"ranges", "array?", "with --pages: the ranges, rounded out to 4 KiB"},
    {"ranges[].offset", "integer", "where it begins"},
    {"ranges[].length", "integer", "bytes"},
    {"hdf5", "string", "compared, off (--no-hdf5), none (no HDF5 file), or why it could not be compared"},
    {"changes_complete", "boolean?", "false: there are more changes than the list holds"},
    {"changes", "change[]?", "HDF5 objects that differ"},
};
constexpr Example diff_examples[] = {
    {"peel diff data.h5", "what changed since the last commit"},
    {"peel diff data.h5 @2 @5", "between two revisions"},
    {"peel diff data.h5 @2 --pages", "which bytes"},
};
constexpr ExitNote diff_exits[] = {{0, "no difference"}, {1, "there are differences"}};

// clang-format off: fields that belong together share a line
constexpr Command table[] = {
    {.name = "commit",
     .group = Group::history,
     .summary = "record the working file as it is now",
     .description =
         "Adds a revision to the file's history, FILE.onion beside it. The first commit stores the whole file once, "
         "compressed; later ones store what changed. When nothing changed nothing is added. The revision is on disk "
         "when peel returns.\n\n"
         "An HDF5 file that looks damaged, or that a program has open for writing, is recorded all the same, labelled, "
         "and named in a warning. A file that changes while it is read is read again, and labelled torn when it keeps "
         "changing. From 1 GiB on peel first says what the commit may cost, and refuses when space is short.",
     .operands = commit_operands,
     .options = commit_options,
     .json = commit_json,
     .examples = commit_examples,
     .exits = commit_exits,
     .names_onion = true,
     .run = run_commit},
    {.name = "status",
     .group = Group::history,
     .summary = "say whether the working file differs from its head",
     .description =
         "Shows the state of a file or of every history of a directory: what it is based on, both sizes, the current "
         "branch, whether a program has the file open for writing, and remembered remote heads that went another "
         "way.\n\n"
         "Times and size are believed only where that is safe; otherwise the file is read and hashed.",
     .operands = status_operands,
     .options = status_options,
     .json = status_json,
     .examples = status_examples,
     .exits = status_exits,
     .names_onion = true,
     .run = run_status},
    {.name = "log",
     .group = Group::history,
     .summary = "list revisions, newest first",
     .description =
         "Lists REV (default: the head) and its ancestors with number, id, time, size, author and note, and below each "
         "the HDF5 objects it changed. Looking inside HDF5 is done for the revisions shown when they are at most 20, "
         "or when --dataset asks for it.",
     .operands = log_operands,
     .options = log_options,
     .json = log_json,
     .examples = log_examples,
     .exits = {},
     .names_onion = true,
     .alias = "list-revisions",
     .run = run_log},
    {.name = "show",
     .group = Group::history,
     .summary = "describe one revision",
     .description = "Who recorded it, when, what the content digest is, and which HDF5 datasets, groups and attributes "
                    "it changed.",
     .operands = show_operands,
     .options = show_options,
     .json = show_json,
     .examples = show_examples,
     .exits = {},
     .names_onion = true,
     .run = run_show},
    {.name = "diff",
     .group = Group::history,
     .summary = "say what changed, by dataset and by bytes",
     .description =
         "Compares two revisions, or a revision with the working file. For HDF5 files it names the datasets, groups "
         "and attributes that were added, removed, reshaped, changed in type or in value, with the number of changed "
         "elements and the greatest difference; then the bytes. HDF5 is read in a confined helper process; a file it "
         "cannot read costs a word of warning and leaves the comparison of bytes.",
     .operands = diff_operands,
     .options = diff_options,
     .json = diff_json,
     .examples = diff_examples,
     .exits = diff_exits,
     .names_onion = true,
     .run = run_diff},
};
// clang-format on

}  // namespace

std::span<const Command> history_commands() { return table; }

}  // namespace peel::cli
