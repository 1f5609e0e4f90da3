#include "trust/text_lines.h"

#include <charconv>

#include "base/hex.h"

namespace peel::trust {
namespace {

bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

bool TextLines::next() {
  while (!rest_.empty()) {
    const auto end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++number_;
    const std::string_view content = trimmed(line_);
    if (content.empty()) continue;
    const auto gap = content.find_first_of(" \t");
    key_ = content.substr(0, gap);
    value_ = gap == std::string_view::npos ? std::string_view() : trimmed(content.substr(gap));
    return true;
  }
  return false;
}

Status TextLines::expect_first(std::string_view kind, const char* what) {
  if (!next() || key_ != kind) return error(std::string("this is no ") + what);
  if (value_ == "1") return {};
  const bool number = !value_.empty() && value_.find_first_not_of("0123456789") == std::string_view::npos;
  if (!number) return error("the version is damaged");
  return fail(ErrorKind::unsupported, "line 1: written by a newer version of peel");
}

Error TextLines::error(const std::string& why) const {
  return fail(ErrorKind::corrupt, "line " + std::to_string(number_) + ": " + why);
}

std::string escaped(std::string_view value) {
  std::string out = escape_for_terminal(value);
  if (!out.empty() && out.back() == ' ') out.replace(out.size() - 1, 1, "\\x20");
  if (!out.empty() && out.front() == ' ') out.replace(0, 1, "\\x20");
  return out;
}

Result<std::string> unescaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (const auto c = static_cast<unsigned char>(text.front()); c < 0x20 || c == 0x7f)
      return fail(ErrorKind::corrupt, "a control character");
    if (text.front() != '\\') {
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    if (text.size() < 4 || text[1] != 'x') return fail(ErrorKind::corrupt, "a backslash begins \\xNN");
    const auto byte = from_hex(text.substr(2, 2));
    if (!byte) return fail(ErrorKind::corrupt, "a backslash begins \\xNN");
    out += static_cast<char>(std::to_integer<unsigned char>((*byte)[0]));
    text.remove_prefix(4);
  }
  return out;
}

Result<std::int64_t> parse_time(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc{} || end != text.data() + text.size())
    return fail(ErrorKind::corrupt, "a number of nanoseconds is expected");
  return value;
}

}  // namespace peel::trust
