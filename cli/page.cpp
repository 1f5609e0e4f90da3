// cli/page.cpp - pages from the table.
#include "cli/page.h"

#include <algorithm>

namespace peel::cli {

namespace {

std::string option_in_synopsis(const Option& option) {
  std::string out = option.letter != 0 ? std::string("-") + option.letter : std::string("--") + option.name;
  if (option.value != nullptr) out += std::string(" ") + option.value;
  return out;
}

// "[--ours|--theirs]": options that exclude each other stand in one pair of brackets.
std::string options_in_synopsis(std::span<const Option> options) {
  std::string out;
  std::vector<std::uint8_t> groups_done;
  for (const Option& option : options) {
    if (option.exclusive == 0) {
      out += " [" + option_in_synopsis(option) + "]" + (option.repeats ? "..." : "");
      continue;
    }
    if (std::find(groups_done.begin(), groups_done.end(), option.exclusive) != groups_done.end()) continue;
    groups_done.push_back(option.exclusive);
    std::string alternatives;
    for (const Option& other : options)
      if (other.exclusive == option.exclusive)
        alternatives += (alternatives.empty() ? "" : "|") + option_in_synopsis(other);
    out += " [" + alternatives + "]";
  }
  return out;
}

Block definition(std::string term, std::string text) { return {Block::Kind::term, std::move(text), std::move(term)}; }

std::string json_key_text(const JsonKey& key) {
  const std::string type = key.type;
  const bool optional = type.back() == '?';
  std::string out = optional ? type.substr(0, type.size() - 1) + ", may be absent" : type;
  if (key.help[0] != '\0') out += ": " + std::string(key.help);
  return out;
}

Section json_section(std::string title, std::span<const JsonKey> keys) {
  Section out{std::move(title), {}};
  for (const JsonKey& key : keys) out.blocks.push_back(definition(key.path, json_key_text(key)));
  return out;
}

Section options_section(const Command& command) {
  Section out{"OPTIONS", {}};
  auto add = [&](const Option& option) {
    std::string help = option.help;
    if (option.alias != nullptr) help += std::string("; also accepted as --") + option.alias;
    out.blocks.push_back(definition(option_term(option), std::move(help)));
  };
  for (const Option& option : command.options) add(option);
  if (!command.json.empty()) add(json_option);
  if (command.names_onion) add(onion_option);
  for (const Option& option : global_options()) add(option);
  return out;
}

std::string aliases_sentence(const Command& command) {
  std::string out;
  for (const char* alias : {command.alias, command.alias2})
    if (alias != nullptr) out += (out.empty() ? "" : ", ") + std::string("peel ") + alias;
  return out.empty() ? out : "Also accepted: " + out + ".";
}

}  // namespace

std::string synopsis(const Command& command) {
  std::string out = std::string("peel ") + command.name;
  std::size_t open = 0;
  for (const Operand& operand : command.operands) {
    out += operand.required ? " " : " [";
    out += operand.name;
    out += operand.repeats ? "..." : "";
    if (!operand.required) ++open;
  }
  out.append(open, ']');
  return out + options_in_synopsis(command.options);
}

std::string option_term(const Option& option) {
  std::string out = option.letter != 0 ? std::string("-") + option.letter + ", " : "";
  out += std::string("--") + option.name;
  if (option.value != nullptr) out += std::string(" ") + option.value;
  return out;
}

std::vector<Block> blocks_of(std::string_view text) {
  std::vector<Block> out;
  while (!text.empty()) {
    const std::size_t gap = text.find("\n\n");
    const std::string_view part = text.substr(0, gap);
    out.push_back({part.front() == ' ' ? Block::Kind::verbatim : Block::Kind::paragraph, std::string(part), {}});
    text.remove_prefix(gap == std::string_view::npos ? text.size() : gap + 2);
  }
  return out;
}

Page command_page(const Command& command) {
  Page page{std::string("peel-") + command.name, command.summary, {}};
  page.sections.push_back({"SYNOPSIS", {{Block::Kind::verbatim, synopsis(command), {}}}});

  Section description{"DESCRIPTION", blocks_of(command.description)};
  if (const std::string also = aliases_sentence(command); !also.empty())
    description.blocks.push_back({Block::Kind::paragraph, also, {}});
  page.sections.push_back(std::move(description));

  if (!command.operands.empty()) {
    Section operands{"ARGUMENTS", {}};
    for (const Operand& operand : command.operands) operands.blocks.push_back(definition(operand.name, operand.help));
    page.sections.push_back(std::move(operands));
  }
  page.sections.push_back(options_section(command));

  if (!command.examples.empty()) {
    Section examples{"EXAMPLES", {}};
    for (const Example& example : command.examples) examples.blocks.push_back(definition(example.line, example.what));
    page.sections.push_back(std::move(examples));
  }
  if (!command.exits.empty()) {
    Section exits{"EXIT STATUS", {}};
    for (const ExitNote& note : command.exits)
      exits.blocks.push_back(definition(std::to_string(note.code), note.meaning));
    exits.blocks.push_back({Block::Kind::paragraph, "Others: see `peel help exit-codes`.", {}});
    page.sections.push_back(std::move(exits));
  }
  if (!command.json.empty()) page.sections.push_back(json_section("JSON", command.json));
  return page;
}

Page topic_page(const Topic& topic) {
  Page page{std::string("peel-") + topic.name, topic.summary, {{"DESCRIPTION", blocks_of(topic.text)}}};
  const std::string_view name = topic.name;
  if (name == "exit-codes")
    for (const ExitNote& note : exit_codes())
      page.sections[0].blocks.push_back(definition(std::to_string(note.code), note.meaning));
  if (name == "json")
    for (const JsonObject& object : json_objects()) page.sections.push_back(json_section(object.name, object.keys));
  return page;
}

Page overview_page() {
  Page page{"peel", "keep every version of data files and move them between machines", {}};
  page.sections.push_back({"SYNOPSIS", {{Block::Kind::verbatim, "peel COMMAND [ARGUMENT]... [OPTION]...", {}}}});
  page.sections.push_back(
      {"DESCRIPTION",
       blocks_of("Peel records every state of a working file, such as data.h5, in its onion data.h5.onion: each commit "
                 "adds what changed. Any revision can be read, compared and restored at any time, and histories travel "
                 "to other machines over encrypted connections, verified at both ends.")});
  for (const Group group : {Group::history, Group::sharing, Group::trust, Group::server, Group::help}) {
    Section section{group_title(group), {}};
    for (const Command* command : all_commands())
      if (command->group == group) section.blocks.push_back(definition(command->name, command->summary));
    page.sections.push_back(std::move(section));
  }
  Section more{"Topics (peel help TOPIC)", {}};
  for (const Topic& topic : topics()) more.blocks.push_back(definition(topic.name, topic.summary));
  page.sections.push_back(std::move(more));
  Section options{"Options of every command", {}};
  for (const Option& option : global_options()) options.blocks.push_back(definition(option_term(option), option.help));
  page.sections.push_back(std::move(options));
  return page;
}

}  // namespace peel::cli
