// cli/help_commands.cpp - help, version, bench.
#include <algorithm>
#include <filesystem>
#include <vector>

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/hex.h"
#include "cli/completion.h"
#include "cli/context.h"
#include "cli/handlers.h"
#include "cli/page.h"
#include "codec/blake3.h"
#include "peel/version.h"

namespace peel::cli {
namespace {

constexpr std::size_t width_default = 80, width_max = 100;

std::size_t text_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 40) return width_default;
  return std::min<std::size_t>(size.ws_col, width_max);
}

void write_option(JsonWriter& json, const Option& option) {
  json.begin_object().string("name", option.name);
  if (option.letter != 0) json.string("letter", std::string(1, option.letter));
  if (option.alias != nullptr) json.string("alias", option.alias);
  if (option.value != nullptr) json.string("value", option.value);
  json.string("help", option.help).end_object();
}

void write_command(JsonWriter& json, const Command& command) {
  json.begin_object().string("name", command.name).key("aliases").begin_array();
  for (const char* alias : {command.alias, command.alias2})
    if (alias != nullptr) json.string(alias);
  json.end_array().string("group", group_title(command.group)).string("summary", command.summary);
  json.string("synopsis", synopsis(command)).key("options").begin_array();
  for (const Option& option : command.options) write_option(json, option);
  if (!command.json.empty()) write_option(json, json_option);
  if (command.names_onion) write_option(json, onion_option);
  for (const Option& option : global_options()) write_option(json, option);
  json.end_array().key("keys").begin_array();
  for (const JsonKey& key : command.json)
    json.begin_object().string("path", key.path).string("type", key.type).string("help", key.help).end_object();
  json.end_array().end_object();
}

void write_table(JsonWriter& json, const Command* only) {
  json.begin_object().string("version", version_string).key("commands").begin_array();
  for (const Command* command : all_commands())
    if (only == nullptr || only == command) write_command(json, *command);
  json.end_array().key("objects").begin_array();
  for (const JsonObject& object : json_objects()) {
    json.begin_object().string("name", object.name).key("keys").begin_array();
    for (const JsonKey& key : object.keys)
      json.begin_object().string("path", key.path).string("type", key.type).string("help", key.help).end_object();
    json.end_array().end_object();
  }
  json.end_array().key("topics").begin_array();
  for (const Topic& topic : topics()) json.string(topic.name);
  json.end_array().key("exit_codes").begin_array();
  for (const ExitNote& note : exit_codes())
    json.begin_object()
        .integer("code", static_cast<std::uint64_t>(note.code))
        .string("meaning", note.meaning)
        .end_object();
  json.end_array().end_object();
}

Result<Page> page_for(const std::string& topic) {
  if (topic.empty()) return overview_page();
  if (const Command* command = find_command(topic)) return command_page(*command);
  if (const Topic* found = find_topic(topic)) return topic_page(*found);
  std::vector<std::string_view> known;
  for (const Command* command : all_commands()) known.emplace_back(command->name);
  for (const Topic& each : topics()) known.emplace_back(each.name);
  const std::string meant = nearest(topic, known);
  return fail(ErrorKind::usage, "no help about " + escape_for_terminal(topic) +
                                    (meant.empty() ? "" : "; did you mean " + meant + "?") + " (see: peel help)");
}

// build/bin/bench_* beside this program.
std::vector<std::string> benches_beside(const std::filesystem::path& folder) {
  std::vector<std::string> out;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("bench_", 0) == 0 && ::access(entry.path().c_str(), X_OK) == 0) out.push_back(name.substr(6));
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Result<int> run_help(Context& context) {
  const std::string topic = context.arguments.operand_or(0, "");
  if (const auto shell = context.arguments.value("completion")) {
    PEEL_TRY(const std::string script, completion_script(*shell), "");
    context.out.raw(script);
    return 0;
  }
  if (context.json) {
    const Command* only = topic.empty() ? nullptr : find_command(topic);
    if (!topic.empty() && only == nullptr)
      return fail(ErrorKind::usage, "no command " + escape_for_terminal(topic) + " (see: peel help)");
    JsonWriter json;
    write_table(json, only);
    context.document(std::move(json));
    return 0;
  }
  PEEL_TRY(const Page page, page_for(topic), "");
  context.out.raw(context.arguments.has("man") ? page_as_roff(page, version_string) : page_as_text(page, text_width()));
  return 0;
}

Result<int> run_version(Context& context) {
  if (context.json) {
    JsonWriter json;
    json.begin_object().string("version", version_string).string("blake3", codec::blake3_path()).end_object();
    context.document(std::move(json));
    return 0;
  }
  context.out.line(std::string("peel ") + version_string);
  if (context.messages.verbose()) context.out.line(std::string("BLAKE3: ") + codec::blake3_path());
  return 0;
}

Result<int> run_bench(Context& context) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::vector<std::string> benches = benches_beside(folder);
  const auto table = context.arguments.operand(0);
  if (!table) {
    for (const std::string& name : benches) context.out.line(name);
    if (benches.empty())
      return fail(ErrorKind::not_found, "no benches beside this program; build them from source with scripts/bench");
    return 0;
  }
  if (std::find(benches.begin(), benches.end(), *table) == benches.end())
    return fail(ErrorKind::usage, "no bench " + escape_for_terminal(*table) + " beside this program (see: peel bench)");
  PEEL_CHECK(context.out.flush(), "");
  const std::string program = (folder / ("bench_" + *table)).string();
  std::string check = "--check";
  char* const with_check[] = {const_cast<char*>(program.c_str()), check.data(), nullptr};
  char* const plain[] = {const_cast<char*>(program.c_str()), nullptr};
  ::execv(program.c_str(), context.arguments.has("check") ? with_check : plain);
  return Error::from_errno(errno, program);
}

}  // namespace peel::cli
