// cli/command.cpp - looking things up in the table.
#include "cli/command.h"

#include <vector>

namespace peel::cli {

std::span<const Command* const> all_commands() {
  // Pointers into the constant tables; filled once, at the first question.
  static const std::vector<const Command*> all = [] {
    std::vector<const Command*> out;
    for (const auto part :
         {history_commands(), history_change_commands(), sharing_commands(), trust_commands(), help_commands()})
      for (const Command& command : part) out.push_back(&command);
    return out;
  }();
  return all;
}

const Command* find_command(std::string_view name) {
  for (const Command* command : all_commands())
    for (const char* known : {command->name, command->alias, command->alias2})
      if (known != nullptr && name == known) return command;
  return nullptr;
}

const Topic* find_topic(std::string_view name) {
  for (const Topic& topic : topics())
    if (name == topic.name) return &topic;
  return nullptr;
}

}  // namespace peel::cli
