// cli/command.h - what a command is: the one table behind parsing, help, man pages and completion.
//
// Contract   Everything a person or a script may rely on is in this table: names, operands, options, JSON
//            keys, exit codes, examples. A command that is not here does not exist; an option that is not
//            here is a usage error. Nothing else in cli/ repeats what stands here.
// Memory     Constant data, laid out at compile time: starting the command initialises nothing.
// Threads    Read-only.
#pragma once

#include <span>
#include <string_view>

#include "peel/error.h"

namespace peel::cli {

class Context;

// What a shell may offer while the value is typed.
enum class Completes : std::uint8_t { nothing, file, directory, command, topic, permission, shell };

struct Operand {
  const char* name;  // "FILE"
  const char* help;
  bool required = true;
  bool repeats = false;  // only the last operand may
  Completes completes = Completes::nothing;
};

struct Option {
  const char* name;             // long name, without dashes
  char letter = 0;              // short name; 0: none
  const char* value = nullptr;  // placeholder, "TEXT"; two words take two values; null: a flag
  const char* help = "";
  Completes completes = Completes::nothing;
  // Options of one command with the same non-zero group exclude each other.
  std::uint8_t exclusive = 0;
  const char* alias = nullptr;  // another accepted long name
  bool repeats = false;
};

// A key of the --json document: "revisions[].id".
struct JsonKey {
  const char* path;
  const char* type;  // string, integer, number, boolean, object, array, a JsonObject's name or "NAME[]";
                     // with "?" behind it the key may be absent
  const char* help;
};

// An object that several documents hold under one form; JsonKey::type names it.
struct JsonObject {
  const char* name;
  const char* help;
  std::span<const JsonKey> keys;
};
std::span<const JsonObject> json_objects();

struct Example {
  const char* line;
  const char* what;
};

// What an exit code means for this command beyond the general table.
struct ExitNote {
  int code;
  const char* meaning;
};

enum class Group : std::uint8_t { history, sharing, trust, server, help };

struct Command {
  const char* name;
  Group group;
  const char* summary;      // one line, no full stop
  const char* description;  // paragraphs, separated by an empty line
  std::span<const Operand> operands;
  std::span<const Option> options;
  std::span<const JsonKey> json;  // empty: the command has no --json
  std::span<const Example> examples;
  std::span<const ExitNote> exits;
  bool names_onion = false;     // accepts --onion PATH
  const char* alias = nullptr;  // another accepted name
  const char* alias2 = nullptr;
  Result<int> (*run)(Context&);  // the exit code, or an error that has one
};

// In the order help shows them.
std::span<const Command* const> all_commands();
// By name or alias; null when there is none.
const Command* find_command(std::string_view name);

std::span<const Command> history_commands();
std::span<const Command> history_change_commands();
std::span<const Command> sharing_commands();
std::span<const Command> trust_commands();  // groups trust and server
std::span<const Command> help_commands();

const char* group_title(Group group);

// Accepted by every command; --json and --onion only where the table says so.
std::span<const Option> global_options();
extern const Option json_option;
extern const Option onion_option;

// Every exit code with its meaning, in order.
std::span<const ExitNote> exit_codes();

// Longer texts that belong to no single command.
struct Topic {
  const char* name;
  const char* summary;
  const char* text;  // paragraphs; a line that starts with a blank is kept as it is
};
std::span<const Topic> topics();
const Topic* find_topic(std::string_view name);

}  // namespace peel::cli
