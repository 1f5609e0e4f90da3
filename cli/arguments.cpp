// cli/arguments.cpp - see arguments.h.
#include "cli/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/hex.h"

namespace peel::cli {

namespace {

constexpr std::size_t word_size_max = 64;  // longer words are not worth a suggestion

std::size_t words_in(const char* placeholder) {
  if (placeholder == nullptr) return 0;
  return 1 + static_cast<std::size_t>(std::count(placeholder, placeholder + std::string_view(placeholder).size(), ' '));
}

bool is_option_name(const Option& option, std::string_view name) {
  return name == option.name || (option.alias != nullptr && name == option.alias);
}

// The options of a command in the order help shows them, the global ones last.
std::vector<const Option*> options_of(const Command* command) {
  std::vector<const Option*> out;
  if (command != nullptr) {
    for (const Option& option : command->options) out.push_back(&option);
    if (!command->json.empty()) out.push_back(&json_option);
    if (command->names_onion) out.push_back(&onion_option);
  }
  for (const Option& option : global_options()) out.push_back(&option);
  return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string_view>& known) {
  if (word.empty() || word.size() > word_size_max) return {};
  std::string_view best;
  std::size_t best_distance = 3;  // two wrong letters at most, and never more than a third of the word
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance * 3 <= std::max(word.size(), candidate.size()) + 1) {
      best = candidate;
      best_distance = distance;
    }
  }
  return std::string(best);
}

// One pass over argv.
class Parser {
public:
  explicit Parser(const std::vector<std::string>& words) : words_(words) {}

  Result<Arguments> run() {
    while (position_ < words_.size()) {
      const std::string& word = words_[position_++];
      if (only_operands_ || word == "-" || word.empty() || word[0] != '-') {
        PEEL_CHECK(take_word(word), "");
      } else if (word == "--") {
        only_operands_ = true;
      } else if (word.rfind("--", 0) == 0) {
        PEEL_CHECK(take_long(word), "");
      } else {
        PEEL_CHECK(take_short(word), "");
      }
    }
    return finish();
  }

private:
  Error wrong(const std::string& what) const {
    const std::string ask =
        out_.command_ == nullptr ? "peel help" : std::string("peel ") + out_.command_->name + " --help";
    return fail(ErrorKind::usage, what + " (see: " + ask + ")");
  }

  Status take_word(const std::string& word) {
    if (out_.command_ != nullptr) {
      out_.operands_.push_back(word);
      return {};
    }
    out_.command_ = find_command(word);
    if (out_.command_ != nullptr) return {};
    std::vector<std::string_view> names;
    for (const Command* command : all_commands()) names.emplace_back(command->name);
    const std::string meant = nearest(word, names);
    return wrong("unknown command " + escape_for_terminal(word) +
                 (meant.empty() ? "" : "; did you mean " + meant + "?"));
  }

  Status take_long(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(2, equals == std::string::npos ? std::string::npos : equals - 2);
    const std::vector<const Option*> options = options_of(out_.command_);
    const auto found =
        std::find_if(options.begin(), options.end(), [&](const Option* o) { return is_option_name(*o, name); });
    if (found == options.end()) {
      std::vector<std::string_view> names;
      for (const Option* option : options) names.emplace_back(option->name);
      const std::string meant = nearest(name, names);
      if (name == "oneline" && out_.command_ != nullptr && out_.command_->name == std::string_view("log"))
        return wrong("unknown option --oneline; -n N and --no-hdf5 make the list shorter");
      return wrong("unknown option --" + escape_for_terminal(name) +
                   (meant.empty() ? "" : "; did you mean --" + meant + "?"));
    }
    if (equals == std::string::npos) return take_values(**found, {}, "--" + name);
    if ((*found)->value == nullptr) return wrong("option --" + name + " takes no value");
    return take_values(**found, word.substr(equals + 1), "--" + name);
  }

  Status take_short(const std::string& word) {
    const std::vector<const Option*> options = options_of(out_.command_);
    for (std::size_t i = 1; i < word.size(); ++i) {
      const char letter = word[i];
      const auto found =
          std::find_if(options.begin(), options.end(), [&](const Option* o) { return o->letter == letter; });
      if (found == options.end()) return wrong("unknown option -" + escape_for_terminal(word.substr(i, 1)));
      const std::string shown = std::string("-") + letter;
      if ((*found)->value == nullptr) {
        PEEL_CHECK(take_values(**found, {}, shown), "");
        continue;
      }
      const std::string rest = word.substr(i + 1);
      return take_values(**found, rest.empty() ? std::nullopt : std::optional(rest), shown);
    }
    return {};
  }

  Status take_values(const Option& option, std::optional<std::string> first, const std::string& shown) {
    Arguments::Given given{&option, {}};
    const std::size_t wanted = words_in(option.value);
    if (first) given.values.push_back(std::move(*first));
    while (given.values.size() < wanted) {
      if (position_ == words_.size()) return wrong("option " + shown + " needs " + option.value);
      given.values.push_back(words_[position_++]);
    }
    for (const Arguments::Given& other : out_.given_) {
      if (other.option == &option && option.value != nullptr && !option.repeats)
        return wrong("option " + shown + " is given twice");
      if (option.exclusive != 0 && other.option != &option && other.option->exclusive == option.exclusive)
        return wrong(std::string("options --") + other.option->name + " and --" + option.name + " exclude each other");
    }
    out_.given_.push_back(std::move(given));
    return {};
  }

  Result<Arguments> finish() {
    // "peel --help", "peel COMMAND --help" and "peel --version" are other spellings of help and version.
    const bool asks_help = given("help");
    if (asks_help || out_.command_ == nullptr || given("version")) {
      const Command* about = out_.command_;
      const bool asks_version = !asks_help && given("version");
      if (about == nullptr && !asks_help && !asks_version) return wrong("no command given");
      Arguments help;
      help.command_ = find_command(asks_version ? "version" : "help");
      if (about != nullptr && asks_help) help.operands_.emplace_back(about->name);
      return help;
    }
    PEEL_CHECK(check_operands(), "");
    return std::move(out_);
  }

  bool given(std::string_view name) const {
    return std::any_of(out_.given_.begin(), out_.given_.end(), [&](const auto& g) { return g.option->name == name; });
  }

  Status check_operands() const {
    const Command& command = *out_.command_;
    std::size_t fewest = 0;
    for (const Operand& operand : command.operands) fewest += operand.required ? 1 : 0;
    if (out_.operands_.size() < fewest)
      return wrong(std::string(command.name) + " needs " + command.operands[out_.operands_.size()].name);
    const bool open_end = !command.operands.empty() && command.operands.back().repeats;
    if (!open_end && out_.operands_.size() > command.operands.size())
      return wrong("unexpected argument " + escape_for_terminal(out_.operands_[command.operands.size()]));
    return {};
  }

  const std::vector<std::string>& words_;
  std::size_t position_ = 0;
  bool only_operands_ = false;
  Arguments out_;
};

Result<Arguments> parse(const std::vector<std::string>& arguments) { return Parser(arguments).run(); }

bool Arguments::has(std::string_view name) const {
  return std::any_of(given_.begin(), given_.end(), [&](const Given& g) { return g.option->name == name; });
}

std::optional<std::string> Arguments::value(std::string_view name) const {
  for (auto given = given_.rbegin(); given != given_.rend(); ++given)
    if (given->option->name == name && !given->values.empty()) return given->values.back();
  return std::nullopt;
}

std::vector<std::string> Arguments::values(std::string_view name) const {
  std::vector<std::string> out;
  for (const Given& given : given_)
    if (given.option->name == name) out.insert(out.end(), given.values.begin(), given.values.end());
  return out;
}

std::optional<std::string> Arguments::operand(std::size_t i) const {
  if (i >= operands_.size()) return std::nullopt;
  return operands_[i];
}

std::string Arguments::operand_or(std::size_t i, std::string fallback) const {
  return i < operands_.size() ? operands_[i] : std::move(fallback);
}

namespace {

struct Unit {
  char letter;
  double factor;
};
constexpr Unit size_units[] = {{'K', 1024.0}, {'M', 1048576.0}, {'G', 1073741824.0}, {'T', 1099511627776.0}};
constexpr Unit duration_units[] = {{'s', 1e9}, {'m', 60e9}, {'h', 3600e9}, {'d', 86400e9}, {'w', 604800e9}};

// A non-negative number with one unit letter behind it, or none where `bare` allows that.
std::optional<double> scaled(const std::string& text, std::span<const Unit> units, bool bare) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (*end == '\0' && bare) return number;
  if (*end == '\0' || end[1] != '\0') return std::nullopt;
  for (const Unit& unit : units)
    if (*end == unit.letter) return number * unit.factor;
  return std::nullopt;
}

Error bad_value(std::string_view option, const std::string& text, const char* example) {
  return fail(ErrorKind::usage, "--" + std::string(option) + ": " + escape_for_terminal(text) + " is no " + example);
}

}  // namespace

Result<std::optional<std::uint64_t>> Arguments::size(std::string_view name) const {
  const auto text = value(name);
  if (!text) return std::optional<std::uint64_t>();
  if (auto exact = count(name)) return *exact;  // exact beyond 2^53 when no unit is used
  const auto number = scaled(*text, size_units, true);
  if (!number || *number > 9e18) return bad_value(name, *text, "size; write 4096, 64K, 1.5M or 2G");
  return std::optional(static_cast<std::uint64_t>(std::llround(*number)));
}

Result<std::optional<std::uint64_t>> Arguments::count(std::string_view name) const {
  const auto text = value(name);
  if (!text) return std::optional<std::uint64_t>();
  std::uint64_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [stopped, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || stopped != end) return bad_value(name, *text, "whole number");
  return std::optional(number);
}

Result<std::optional<std::int64_t>> Arguments::duration_ns(std::string_view name) const {
  const auto text = value(name);
  if (!text) return std::optional<std::int64_t>();
  const auto number = scaled(*text, duration_units, false);
  if (!number || *number > 9e18) return bad_value(name, *text, "duration; write 90s, 15m, 12h, 30d or 2w");
  return std::optional(static_cast<std::int64_t>(*number));
}

}  // namespace peel::cli
