// cli/help_table.cpp - help, version and bench; the options every command has; exit codes; help topics.
#include "cli/command.h"
#include "cli/handlers.h"

namespace peel::cli {
namespace {

constexpr Operand help_operands[] = {{"TOPIC", "a command or a topic", false, false, Completes::command}};
constexpr Option help_options[] = {
    {"man", 0, nullptr, "the page as roff, for man(1)", Completes::nothing, 1},
    {"completion", 0, "SHELL", "a completion script: bash, zsh or fish", Completes::shell, 1},
};
constexpr JsonKey help_json[] = {
    {"version", "string", ""},
    {"commands", "array", "the whole table, or the one command asked for"},
    {"commands[].name", "string", ""},
    {"commands[].aliases", "array", "other accepted names"},
    {"commands[].group", "string", ""},
    {"commands[].summary", "string", ""},
    {"commands[].synopsis", "string", ""},
    {"commands[].options", "array", "global ones too"},
    {"commands[].options[].name", "string", "without dashes"},
    {"commands[].options[].letter", "string?", ""},
    {"commands[].options[].alias", "string?", ""},
    {"commands[].options[].value", "string?", "placeholder; absent: a flag"},
    {"commands[].options[].help", "string", ""},
    {"commands[].keys", "array", "keys of the --json document"},
    {"commands[].keys[].path", "string", ""},
    {"commands[].keys[].type", "string", ""},
    {"commands[].keys[].help", "string", ""},
    {"objects", "array", "objects that several documents share"},
    {"objects[].name", "string", "as keys[].type names it"},
    {"objects[].keys", "array", "like commands[].keys"},
    {"objects[].keys[].path", "string", ""},
    {"objects[].keys[].type", "string", ""},
    {"objects[].keys[].help", "string", ""},
    {"topics", "array", "names of the help topics"},
    {"exit_codes", "array", ""},
    {"exit_codes[].code", "integer", ""},
    {"exit_codes[].meaning", "string", ""},
};
constexpr Example help_examples[] = {
    {"peel help", "all commands"},
    {"peel help revisions", "how to name a revision"},
    {"peel help --completion bash > ~/.local/share/bash-completion/completions/peel", "completion for bash"},
};

constexpr JsonKey version_json[] = {
    {"version", "string", "major.minor.patch"},
    {"blake3", "string", "the code path this processor runs"},
};
constexpr Example version_examples[] = {{"peel version", ""}};

constexpr Operand bench_operands[] = {{"TABLE", "a table of docs/BENCHMARKS.md; without it they are listed", false}};
constexpr Option bench_options[] = {{"check", 0, nullptr, "run every row once for correctness, without timing"}};
constexpr Example bench_examples[] = {{"peel bench write", "run the bench that makes the table \"write\""}};
constexpr ExitNote bench_exits[] = {
    {3, "no such bench beside this program: they are built from source, not installed"}};

// clang-format off: fields that belong together share a line
constexpr Command table[] = {
    {.name = "help",
     .group = Group::help,
     .summary = "explain a command or a topic",
     .description =
         "Without TOPIC lists the commands. The man pages, the completion scripts and this help are made from the same "
         "table.",
     .operands = help_operands,
     .options = help_options,
     .json = help_json,
     .examples = help_examples,
     .exits = {},
     .run = run_help},
    {.name = "version",
     .group = Group::help,
     .summary = "print the version",
     .description = "With -v also what this processor runs.",
     .operands = {},
     .options = {},
     .json = version_json,
     .examples = version_examples,
     .exits = {},
     .run = run_version},
    {.name = "bench",
     .group = Group::help,
     .summary = "run a bench, or list them",
     .description = "Benches are programs beside this one in a build directory.",
     .operands = bench_operands,
     .options = bench_options,
     .json = {},
     .examples = bench_examples,
     .exits = bench_exits,
     .run = run_bench},
};
// clang-format on

constexpr Option globals[] = {
    {"quiet", 'q', nullptr, "only errors and what was asked for"},
    {"verbose", 'v', nullptr, "more words"},
    {"trace", 0, nullptr, "say on standard error what is done and how long it takes"},
    {"help", 'h', nullptr, "explain the command"},
    {"version", 0, nullptr, "print the version"},
};

constexpr ExitNote codes[] = {
    {0, "done; also a commit with nothing new"},
    {1, "differences (diff, status --exit-code) or conflicts (merge, diverged branches)"},
    {2, "wrong usage"},
    {3, "not found"},
    {4, "damage, or failed verification"},
    {5, "input/output, disk full, permission"},
    {6, "network, peer, time-out"},
    {7, "refused for safety: unsaved changes, untrusted or backward-going peer, unsafe name, open file"},
    {8, "partial: done except what was named"},
    {130, "interrupted"},
};

constexpr Topic topic_table[] = {
    {"revisions", "how to name a revision (REV)",
     "Wherever a command takes REV, these are understood:\n\n"
     " @7                      revision number 7 of this onion (numbers are local)\n"
     " 3f2a9c                  the id, or its first digits (at least 6)\n"
     " =3f2a9c...              the same, also when a branch has such a name\n"
     " main                    the head of a branch\n"
     " published               a tag\n"
     " origin/main             a remote's branch as last seen\n"
     " HEAD                    the head of the current branch\n"
     " main~2                  two revisions before, along first parents; any REV may stand before ~\n"
     " HEAD~                   one before the head\n"
     " main@{2026-11-01T12:00} the newest revision of main by that time\n\n"
     "Without REV the head of the current branch is meant."},
    {"urls", "how to name another machine (URL)",
     "A history elsewhere is named by one of:\n\n"
     " NAME:PATH               PATH on the peer you call NAME (peel join, peel trust)\n"
     " peel://HOST[:PORT]/PATH by address; the key must be trusted all the same\n"
     " file:///PATH, /PATH     an onion on this machine, or the working file beside one\n"
     " PATH, ./PATH            the same, from the current directory; remembered as a whole path\n\n"
     "What has no \":\" is a path, unless a remote of the file has that name. One word that names nothing here is "
     "refused as a slip: write ./WORD to make a file of that name. A path with \":\" is written ./PATH too. "
     "The port is 7731 unless given. `peel remote FILE NAME URL` gives a URL a short name for one file."},
    {"pairing", "how two machines come to trust each other",
     "Every connection is encrypted, and both ends must know each other's key.\n\n"
     "The short way: on the server, `peel invite --address HOST:PORT --allow write` prints one line. Whoever runs "
     "`peel join LINE --name lab` on another machine is in; both keys are pinned.\n\n"
     "The long way: `peel id` on each machine prints its fingerprint; `peel trust FINGERPRINT --name NAME --allow "
     "write` "
     "on the other one accepts it.\n\n"
     "Rights are read, append (fast-forward pushes), write (also new histories and branch changes) and admin, each for "
     "a prefix of names. `peel untrust NAME` ends all of it at once. Keys and trust live in $PEEL_CONFIG_DIR, else "
     "$XDG_CONFIG_HOME/peel, else ~/.config/peel."},
    {"json", "the --json documents",
     "A reading command with --json prints exactly one JSON document on standard output. Keys never change their "
     "meaning; new ones may come. The keys of a command are listed in its help; a key that is "
     "left out where it has nothing to say is marked \"may be absent\" there, and with \"?\" behind its type in `peel "
     "help --json`. Keys within an object or array are meant for each one that is there. Errors go to standard error, "
     "and the exit code tells.\n\n"
     "Times are UTC with nanoseconds; sizes are bytes. Ids are 64 hexadecimal digits. Bytes of a name that are not "
     "UTF-8 appear as the lone surrogates U+DC80 to U+DCFF, as in Python's surrogateescape.\n\n"
     "Objects that several commands share:"},
    {"exit-codes", "what the exit code says", "Every command uses the same exit codes:"},
    {"cost", "what a history costs, and how chunks are packed",
     "The first commit stores the whole file once, compressed. Later ones store what changed: pages edited in place, "
     "and where bytes moved, only what is new. `peel status` shows the size of the file and of its history; `peel gc` "
     "gives space back.\n\n"
     "A commit packs each chunk with what is fast and still packs it well: smooth numbers with dbp, others with planes "
     "or "
     "shuf+lz4, all else with lz4. `peel gc FILE --repack` tries harder and makes a history smaller; `peel show FILE "
     "--storage` says what was used. The names:\n\n"
     " raw                     as it is\n"
     " const                   one value all over\n"
     " lz4, zstd               LZ4, Zstandard\n"
     " shuf+lz4, shuf+zstd     the same after like bytes of all numbers were put together\n"
     " dbp                     differences of neighbouring numbers, in as few bits as they need\n"
     " delta+shuf+zstd         differences, shuffled, Zstandard\n"
     " planes                  each byte of the numbers packed by itself\n\n"
     "Opening any revision costs the same, however long the history is."},
    {"files", "which files peel makes, and where",
     "Beside the working file data.h5:\n\n"
     " data.h5.onion                the history; copy it and you have everything\n"
     " data.h5.onion.staging-*      verified pieces of an unfinished transfer\n"
     " data.h5.onion.incomplete-*   a history that is cloned, or pushed here, for the first time\n"
     " .data.h5.peel-new-*          what will become data.h5, while it is written\n"
     " .data.h5.peel-swap-*         the data.h5 that was, while it is replaced\n"
     " .data.h5.peel-run-*          says that a command is at it\n"
     " data.h5.peel-kept-*          what could not be put back; an error named it\n\n"
     "A staging-* or incomplete-* is continued by the same command and removed at its end; you may remove it and begin "
     "anew. What a killed command leaves of the hidden ones is removed by the next; `peel status` names one that holds "
     "what no "
     "revision has.\n\n"
     "Below $PEEL_CONFIG_DIR, $XDG_CONFIG_HOME/peel or ~/.config/peel (readable by you alone): the identity key, the "
     "trusted peers and invites, and the heads remotes showed last time.\n\n"
     "--onion PATH keeps the history elsewhere; then every command needs it."},
};

}  // namespace

constexpr Option json_option{"json", 0, nullptr, "print one JSON document with stable keys (peel help json)"};
constexpr Option onion_option{"onion", 0, "PATH", "the history is at PATH, not at FILE.onion", Completes::file};

std::span<const Command> help_commands() { return table; }
std::span<const Option> global_options() { return globals; }
std::span<const ExitNote> exit_codes() { return codes; }
std::span<const Topic> topics() { return topic_table; }

const char* group_title(Group group) {
  switch (group) {
    case Group::history:
      return "History of a file";
    case Group::sharing:
      return "Sharing";
    case Group::trust:
      return "Trust";
    case Group::server:
      return "Server";
    case Group::help:
      return "Help";
  }
  return "";
}

}  // namespace peel::cli
