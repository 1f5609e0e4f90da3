// tests/cli/arguments_test.cpp - argv against the table.
#include "cli/arguments.h"

#include <gtest/gtest.h>

#include <set>

namespace peel::cli {
namespace {

Result<Arguments> parsed(std::vector<std::string> words) { return parse(words); }

std::string usage_error(std::vector<std::string> words) {
  const auto result = parse(words);
  if (result) return "accepted";
  EXPECT_EQ(result.error().kind(), ErrorKind::usage);
  return result.error().message();
}

TEST(Arguments, OperandsAndOptionsInAnyOrder) {
  const auto a = parsed({"diff", "--pages", "f", "@1", "--onion", "o", "@2"});
  ASSERT_TRUE(a);
  EXPECT_STREQ(a->command().name, "diff");
  EXPECT_EQ(a->operands(), (std::vector<std::string>{"f", "@1", "@2"}));
  EXPECT_TRUE(a->has("pages"));
  EXPECT_FALSE(a->has("stat"));
  EXPECT_EQ(a->value("onion"), "o");
  EXPECT_EQ(a->operand(3), std::nullopt);
  EXPECT_EQ(a->operand_or(3, "x"), "x");
}

TEST(Arguments, EveryWayToWriteAValue) {
  for (const auto& words : std::vector<std::vector<std::string>>{{"commit", "f", "-m", "note"},
                                                                 {"commit", "f", "-mnote"},
                                                                 {"commit", "f", "--message", "note"},
                                                                 {"commit", "f", "--message=note"},
                                                                 {"commit", "-qvm", "note", "f"},
                                                                 {"-q", "commit", "-mnote", "f"}}) {
    const auto a = parse(words);
    ASSERT_TRUE(a) << a.error().message();
    EXPECT_EQ(a->value("message"), "note");
    EXPECT_EQ(a->operands(), std::vector<std::string>{"f"});
  }
  const auto empty = parsed({"commit", "f", "--message="});
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->value("message"), "");
}

TEST(Arguments, OptionsWithTwoValues) {
  const auto a = parsed({"branch", "f", "--rename", "old", "new"});
  ASSERT_TRUE(a);
  EXPECT_EQ(a->values("rename"), (std::vector<std::string>{"old", "new"}));
  EXPECT_NE(usage_error({"branch", "f", "--rename", "old"}).find("needs OLD NEW"), std::string::npos);
}

TEST(Arguments, DashesAndDoubleDash) {
  const auto a = parsed({"digest", "-", "--", "-q", "--json"});
  ASSERT_TRUE(a);
  EXPECT_EQ(a->operands(), (std::vector<std::string>{"-", "-q", "--json"}));
  EXPECT_FALSE(a->has("json"));
}

TEST(Arguments, Aliases) {
  for (const auto& [alias, name] : std::vector<std::pair<std::string, std::string>>{
           {"list-revisions", "log"}, {"export-revision", "export"}, {"checkout", "restore"}}) {
    const auto a = parsed({alias, "f"});
    ASSERT_TRUE(a) << alias;
    EXPECT_EQ(a->command().name, name);
  }
  const auto gc = parsed({"gc", "f", "--epoch"});
  ASSERT_TRUE(gc);
  EXPECT_TRUE(gc->has("defer"));
}

TEST(Arguments, WrongUsageNamesTheWordAndTheHelp) {
  EXPECT_NE(usage_error({"comit"}).find("did you mean commit?"), std::string::npos);
  EXPECT_NE(usage_error({"log", "--jsn"}).find("did you mean --json?"), std::string::npos);
  EXPECT_NE(usage_error({"log", "--jsn"}).find("peel log --help"), std::string::npos);
  EXPECT_NE(usage_error({"commit"}).find("needs FILE"), std::string::npos);
  EXPECT_NE(usage_error({"commit", "f", "-m"}).find("needs TEXT"), std::string::npos);
  EXPECT_NE(usage_error({"move", "a", "b", "c"}).find("unexpected argument c"), std::string::npos);
  EXPECT_NE(usage_error({"merge", "f", "b", "--ours", "--theirs"}).find("exclude each other"), std::string::npos);
  EXPECT_NE(usage_error({"commit", "f", "-ma", "-mb"}).find("given twice"), std::string::npos);
  EXPECT_NE(usage_error({"commit", "f", "--quiet=yes"}).find("takes no value"), std::string::npos);
  EXPECT_NE(usage_error({"restore", "f", "--json"}).find("unknown option"), std::string::npos);
  EXPECT_NE(usage_error({}).find("no command"), std::string::npos);
  EXPECT_NE(usage_error({"\x1b[2J"}).find("\\x1b"), std::string::npos);
}

TEST(Arguments, CommandsOfLaterVersionsDoNotExist) {
  for (const char* name : {"copy", "bisync", "send", "receive", "node", "sz", "rz", "bundle", "apply"})
    EXPECT_NE(usage_error({name}).find("unknown command"), std::string::npos) << name;
}

TEST(Arguments, HelpAndVersionAreCommands) {
  const auto help = parsed({"commit", "--help"});
  ASSERT_TRUE(help);  // although FILE is missing
  EXPECT_STREQ(help->command().name, "help");
  EXPECT_EQ(help->operands(), std::vector<std::string>{"commit"});
  EXPECT_STREQ(parsed({"-h"})->command().name, "help");
  EXPECT_STREQ(parsed({"--version"})->command().name, "version");
}

TEST(Arguments, Numbers) {
  const auto size = [](const char* text) { return parsed({"cat", "f", "--offset", text})->size("offset"); };
  EXPECT_EQ(*size("4096"), 4096u);
  EXPECT_EQ(*size("64K"), 65536u);
  EXPECT_EQ(*size("1.5M"), 1572864u);
  EXPECT_EQ(*size("18446744073709551614"), 18446744073709551614ull);
  for (const char* bad : {"", "-1", "K", "1X", "1KK", "nan", "1e", "99999999999999999999"})
    EXPECT_FALSE(size(bad)) << bad;

  const auto age = [](const char* text) {
    return parsed({"gc", "f", "--keep-within", text})->duration_ns("keep-within");
  };
  EXPECT_EQ(*age("90s"), 90'000'000'000);
  EXPECT_EQ(*age("2d"), 2ll * 86400 * 1'000'000'000);
  for (const char* bad : {"90", "d", "-2d", "1y", "1e300d"}) EXPECT_FALSE(age(bad)) << bad;

  const auto count = [](const char* text) { return parsed({"log", "f", "-n", text})->count("number"); };
  EXPECT_EQ(*count("0"), 0u);
  for (const char* bad : {"", "-1", "1.5", "x", "99999999999999999999999"}) EXPECT_FALSE(count(bad)) << bad;
  EXPECT_EQ(*parsed({"log", "f"})->count("number"), std::nullopt);
}

// The table itself: nothing in it may contradict something else in it.
TEST(Table, NamesAreUnique) {
  std::set<std::string> names;
  for (const Command* command : all_commands()) {
    for (const char* name : {command->name, command->alias, command->alias2})
      if (name != nullptr) {
        EXPECT_TRUE(names.insert(name).second) << name;
      }
    std::set<std::string> options;
    std::set<char> letters;
    const auto add = [&](const Option& option) {
      EXPECT_TRUE(options.insert(option.name).second) << command->name << " --" << option.name;
      if (option.alias != nullptr) {
        EXPECT_TRUE(options.insert(option.alias).second) << option.alias;
      }
      if (option.letter != 0) {
        EXPECT_TRUE(letters.insert(option.letter).second) << command->name << " -" << option.letter;
      }
    };
    for (const Option& option : command->options) add(option);
    for (const Option& option : global_options()) add(option);
    add(json_option);
    add(onion_option);
  }
  for (const Topic& topic : topics()) EXPECT_TRUE(names.insert(topic.name).second) << topic.name;
}

TEST(Table, OnlyTheLastOperandRepeatsAndRequiredOnesComeFirst) {
  for (const Command* command : all_commands()) {
    bool optional_seen = false;
    for (std::size_t i = 0; i < command->operands.size(); ++i) {
      const Operand& operand = command->operands[i];
      EXPECT_TRUE(!operand.repeats || i + 1 == command->operands.size()) << command->name;
      EXPECT_FALSE(operand.required && optional_seen) << command->name;
      optional_seen = optional_seen || !operand.required;
    }
    EXPECT_NE(command->run, nullptr);
    EXPECT_FALSE(command->examples.empty()) << command->name;
  }
}

TEST(Table, JsonTypesAreKnown) {
  std::set<std::string> types{"string", "integer", "number", "boolean", "object", "array"};
  for (const JsonObject& object : json_objects()) {
    types.insert(object.name);
    types.insert(std::string(object.name) + "[]");
  }
  const auto check = [&](const JsonKey& key) {
    std::string type = key.type;
    if (type.back() == '?') type.pop_back();
    EXPECT_TRUE(types.count(type)) << key.path << ": " << key.type;
  };
  for (const Command* command : all_commands())
    for (const JsonKey& key : command->json) check(key);
  for (const JsonObject& object : json_objects())
    for (const JsonKey& key : object.keys) check(key);
}

TEST(Nearest, SuggestsOnlyWhatIsNear) {
  EXPECT_EQ(nearest("statsu", {"status", "log"}), "status");
  EXPECT_EQ(nearest("xyz", {"status", "log"}), "");
  EXPECT_EQ(nearest(std::string(100, 'x'), {"status"}), "");
}

}  // namespace
}  // namespace peel::cli
