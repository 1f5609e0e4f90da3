// cli/json_writer.cpp - see json_writer.h.
#include "cli/json_writer.h"

#include <cassert>
#include <cmath>
#include <cstdio>

#include "cli/human.h"

namespace peel::cli {
namespace {

// Length of the well-formed UTF-8 sequence at the front, or 0.
std::size_t utf8_length(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t n = lead >= 0xc2 && lead <= 0xdf   ? 2
                        : (lead & 0xf0) == 0xe0        ? 3
                        : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                       : 0;
  if (n == 0 || s.size() < n) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // Overlong forms, surrogates, and what lies beyond U+10FFFF.
  if ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) >= 0xa0)) return 0;
  if ((lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) >= 0x90)) return 0;
  return n;
}

void append_escape(std::string& out, unsigned code) {
  char text[8];
  std::snprintf(text, sizeof text, "\\u%04x", code);
  out += text;
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text[0]);
    std::size_t n = utf8_length(text);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += text[0];
    } else if (c < 0x20 || c == 0x7f) {
      append_escape(out, c);
    } else if (n == 0) {
      append_escape(out, 0xdc00u + c);
      n = 1;
    } else {
      out += text.substr(0, n);
    }
    text.remove_prefix(n);
  }
  out += '"';
}

}  // namespace

void JsonWriter::new_line() {
  out_ += '\n';
  out_.append(has_members_.size() * 2, ' ');
}

void JsonWriter::before_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_members_.empty()) return;
  if (has_members_.back()) out_ += ',';
  has_members_.back() = true;
  new_line();
}

JsonWriter& JsonWriter::key(std::string_view name) {
  assert(!has_members_.empty() && !after_key_);
  before_value();
  append_quoted(out_, name);
  out_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::begin_object() {
  before_value();
  out_ += '{';
  has_members_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  before_value();
  out_ += '[';
  has_members_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  assert(!has_members_.empty() && !after_key_);
  const bool members = has_members_.back();
  has_members_.pop_back();
  if (members) new_line();
  out_ += '}';
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  assert(!has_members_.empty() && !after_key_);
  const bool members = has_members_.back();
  has_members_.pop_back();
  if (members) new_line();
  out_ += ']';
  return *this;
}

JsonWriter& JsonWriter::string(std::string_view value) {
  before_value();
  append_quoted(out_, value);
  return *this;
}

JsonWriter& JsonWriter::integer(std::uint64_t value) {
  before_value();
  out_ += std::to_string(value);
  return *this;
}

JsonWriter& JsonWriter::number(double value) {
  before_value();
  out_ += std::isfinite(value) ? number_text(value) : "null";
  return *this;
}

JsonWriter& JsonWriter::boolean(bool value) {
  before_value();
  out_ += value ? "true" : "false";
  return *this;
}

std::string JsonWriter::take() && {
  assert(has_members_.empty());
  out_ += '\n';
  return std::move(out_);
}

}  // namespace peel::cli
