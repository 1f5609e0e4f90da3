// cli/arguments.h - argv against the command table.
//
// Contract   parse() knows no command by name: all it knows stands in command.h's table. Long options may be
//            written --name VALUE or --name=VALUE, short ones -nVALUE, -n VALUE and bundled (-qv); "--" ends
//            options; "-" is an operand. Options may stand anywhere after the command; -q, -v and --trace
//            before it too.
// Errors     usage, with a message that names the word and the command to ask for help.
// Threads    Value types.
// Memory     The strings of argv, copied.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"

namespace peel::cli {

class Arguments {
public:
  const Command& command() const { return *command_; }
  // The flag or option was given. Never true for one that the command does not have.
  bool has(std::string_view name) const;
  // The value of an option (the last one given); absent when it was not given.
  std::optional<std::string> value(std::string_view name) const;
  // All values in order: of a repeated option, or of one that takes two.
  std::vector<std::string> values(std::string_view name) const;
  // The i-th operand, or nothing.
  std::optional<std::string> operand(std::size_t i) const;
  std::string operand_or(std::size_t i, std::string fallback) const;
  const std::vector<std::string>& operands() const { return operands_; }

  // usage when the value is no number. 4096, 64K, 1.5M, 2G (powers of 1024).
  Result<std::optional<std::uint64_t>> size(std::string_view name) const;
  Result<std::optional<std::uint64_t>> count(std::string_view name) const;
  // 90s, 15m, 12h, 30d, 2w as nanoseconds.
  Result<std::optional<std::int64_t>> duration_ns(std::string_view name) const;

private:
  friend class Parser;
  struct Given {
    const Option* option;
    std::vector<std::string> values;
  };
  const Command* command_ = nullptr;
  std::vector<Given> given_;
  std::vector<std::string> operands_;
};

// `arguments` is argv without the program's name. "--help" and "--version" become the commands help and version.
Result<Arguments> parse(const std::vector<std::string>& arguments);

// The known word nearest to `word` when it is near enough to be meant; else empty.
std::string nearest(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace peel::cli
