// cli/completion.cpp - see completion.h.
#include "cli/completion.h"

#include <vector>

#include "base/hex.h"
#include "cli/command.h"

namespace peel::cli {
namespace {

std::vector<const Option*> options_of(const Command& command) {
  std::vector<const Option*> out;
  for (const Option& option : command.options) out.push_back(&option);
  if (!command.json.empty()) out.push_back(&json_option);
  if (command.names_onion) out.push_back(&onion_option);
  for (const Option& option : global_options()) out.push_back(&option);
  return out;
}

std::vector<const char*> names_of(const Command& command) {
  std::vector<const char*> out{command.name};
  for (const char* alias : {command.alias, command.alias2})
    if (alias != nullptr) out.push_back(alias);
  return out;
}

std::string all_command_names() {
  std::string out;
  for (const Command* command : all_commands())
    for (const char* name : names_of(*command)) out += (out.empty() ? "" : " ") + std::string(name);
  return out;
}

std::string help_words() {
  std::string out = all_command_names();
  for (const Topic& topic : topics()) out += std::string(" ") + topic.name;
  return out;
}

// The words a value may be, where they are known; empty for files and free text.
std::string words_for(Completes completes) {
  switch (completes) {
    case Completes::command:
    case Completes::topic:
      return help_words();
    case Completes::permission:
      return "read append write admin";
    case Completes::shell:
      return "bash zsh fish";
    case Completes::nothing:
    case Completes::file:
    case Completes::directory:
      return {};
  }
  return {};
}

// A single-quoted word for any POSIX-like shell.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// --- bash ---------------------------------------------------------------------------------------

std::string bash_reply(Completes completes) {
  const std::string words = words_for(completes);
  if (!words.empty()) return "mapfile -t COMPREPLY < <(compgen -W " + quoted(words) + " -- \"$word\")";
  if (completes == Completes::file) return "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$word\")";
  if (completes == Completes::directory)
    return "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$word\")";
  return "COMPREPLY=()";
}

std::string bash_value_cases(const Command& command) {
  std::string out;
  for (const Option* option : options_of(command)) {
    if (option->value == nullptr) continue;
    std::string pattern = std::string("--") + option->name;
    if (option->alias != nullptr) pattern += std::string("|--") + option->alias;
    if (option->letter != 0) pattern += std::string("|-") + option->letter;
    out += "        " + pattern + ") " + bash_reply(option->completes) + "; return;;\n";
  }
  return out;
}

std::string bash_script() {
  std::string out =
      "# bash completion for peel. Made by `peel help --completion bash`; do not edit.\n"
      "_peel() {\n"
      "  local IFS=$' \\t\\n' word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= i\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    if [[ ${COMP_WORDS[i]} != -* ]]; then command=${COMP_WORDS[i]}; break; fi\n"
      "  done\n"
      "  case $command in\n"
      "    '') mapfile -t COMPREPLY < <(compgen -W " +
      quoted(all_command_names() + " --help --version") + " -- \"$word\"); return;;\n";
  for (const Command* command : all_commands()) {
    std::string pattern;
    for (const char* name : names_of(*command)) pattern += (pattern.empty() ? "" : "|") + std::string(name);
    std::string options;
    for (const Option* option : options_of(*command))
      options += (options.empty() ? "--" : " --") + std::string(option->name);
    out += "    " + pattern + ")\n";
    if (const std::string cases = bash_value_cases(*command); !cases.empty())
      out += "      case $previous in\n" + cases + "      esac\n";
    out += "      if [[ $word == -* ]]; then mapfile -t COMPREPLY < <(compgen -W " + quoted(options) +
           " -- \"$word\"); return; fi\n";
    Completes operand = Completes::nothing;
    for (const Operand& o : command->operands)
      if (o.completes != Completes::nothing) operand = o.completes;
    out += "      " + bash_reply(operand) + ";;\n";
  }
  return out + "  esac\n}\ncomplete -F _peel peel\n";
}

// --- zsh ----------------------------------------------------------------------------------------

// Inside _arguments specifications ':' and ']' have a meaning.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(Completes completes) {
  if (completes == Completes::file) return "_files";
  if (completes == Completes::directory) return "_files -/";
  const std::string words = words_for(completes);
  return words.empty() ? " " : "(" + words + ")";
}

std::string zsh_option(const Option& option) {
  std::string value;
  if (option.value != nullptr) {
    std::string_view placeholders = option.value;
    while (!placeholders.empty()) {
      const std::size_t end = std::min(placeholders.find(' '), placeholders.size());
      value += ":" + zsh_text(placeholders.substr(0, end)) + ":" + zsh_action(option.completes);
      placeholders.remove_prefix(std::min(end + 1, placeholders.size()));
    }
  }
  const std::string help = "[" + zsh_text(option.help) + "]" + value;
  std::string out = " \\\n        " + quoted(std::string("*--") + option.name + help);
  if (option.alias != nullptr) out += " \\\n        " + quoted(std::string("*--") + option.alias + help);
  if (option.letter != 0) out += " \\\n        " + quoted(std::string("*-") + option.letter + help);
  return out;
}

std::string zsh_script() {
  std::string out =
      "#compdef peel\n"
      "# zsh completion for peel. Made by `peel help --completion zsh`; do not edit.\n"
      "_peel() {\n"
      "  local context state line\n"
      "  typeset -A opt_args\n"
      "  _arguments -C '1:command:->command' '*::argument:->argument'\n"
      "  case $state in\n"
      "    command)\n"
      "      local -a commands\n"
      "      commands=(\n";
  for (const Command* command : all_commands())
    for (const char* name : names_of(*command))
      out += "        " + quoted(std::string(name) + ":" + zsh_text(command->summary)) + "\n";
  out += "      )\n      _describe command commands;;\n    argument)\n      case $words[1] in\n";
  for (const Command* command : all_commands()) {
    std::string pattern;
    for (const char* name : names_of(*command)) pattern += (pattern.empty() ? "" : "|") + std::string(name);
    out += "      " + pattern + ") _arguments";
    for (const Option* option : options_of(*command)) out += zsh_option(*option);
    std::size_t place = 0;
    for (const Operand& operand : command->operands) {
      ++place;
      const std::string where = operand.repeats ? "*" : std::to_string(place);
      out += " \\\n        " + quoted(where + (operand.required || operand.repeats ? ":" : "::") +
                                      zsh_text(operand.name) + ":" + zsh_action(operand.completes));
    }
    out += ";;\n";
  }
  return out + "      esac;;\n  esac\n}\n_peel \"$@\"\n";
}

// --- fish ---------------------------------------------------------------------------------------

std::string fish_script() {
  std::string out =
      "# fish completion for peel. Made by `peel help --completion fish`; do not edit.\n"
      "complete -c peel -f\n";
  const std::string none = "not __fish_seen_subcommand_from " + all_command_names();
  for (const Command* command : all_commands()) {
    out += "complete -c peel -n " + quoted(none) + " -a " + command->name + " -d " + quoted(command->summary) + "\n";
    std::string names;
    for (const char* name : names_of(*command)) names += std::string(" ") + name;
    const std::string here = "complete -c peel -n " + quoted("__fish_seen_subcommand_from" + names);
    for (const Option* option : options_of(*command)) {
      out += here + " -l " + option->name;
      if (option->letter != 0) out += std::string(" -s ") + option->letter;
      if (option->value != nullptr) {
        const std::string words = words_for(option->completes);
        if (option->completes == Completes::file || option->completes == Completes::directory)
          out += " -r -F";
        else
          out += words.empty() ? " -x" : " -x -a " + quoted(words);
      }
      out += " -d " + quoted(option->help) + "\n";
    }
    for (const Operand& operand : command->operands) {
      const std::string words = words_for(operand.completes);
      if (operand.completes == Completes::file || operand.completes == Completes::directory) {
        out += here + " -F\n";
        break;
      }
      if (!words.empty()) out += here + " -a " + quoted(words) + "\n";
    }
  }
  return out;
}

}  // namespace

Result<std::string> completion_script(std::string_view shell) {
  if (shell == "bash") return bash_script();
  if (shell == "zsh") return zsh_script();
  if (shell == "fish") return fish_script();
  return fail(ErrorKind::usage, "no completion for " + escape_for_terminal(shell) + "; there are bash, zsh and fish");
}

}  // namespace peel::cli
