// trust/text_lines.h - what the text files of this folder have in common: lines of "key value", escaped values.
//
// Contract   A line is a key, blanks, a value; blanks around both do not count. Values from outside are written with
//            escaped(): no control characters, no line ends, no blanks at the ends.
// Errors     corrupt.
// Threads    Value types.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "peel/error.h"

namespace peel::trust {

class TextLines {
public:
  explicit TextLines(std::string_view text) : rest_(text) {}

  // The next line that is not blank; false at the end.
  bool next();

  // Takes the first line, which is `kind` and a version this code knows (1); `what` is said when it is not.
  Status expect_first(std::string_view kind, const char* what);

  std::size_t number() const { return number_; }   // of the present line, from 1
  std::string_view line() const { return line_; }  // as it stands, without the line end
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }

  // "line 7: why"
  Error error(const std::string& why) const;

private:
  std::string_view rest_, line_, key_, value_;
  std::size_t number_ = 0;
};

std::string escaped(std::string_view value);
Result<std::string> unescaped(std::string_view text);

// Decimal, with an optional sign, nothing else.
Result<std::int64_t> parse_time(std::string_view text);

}  // namespace peel::trust
