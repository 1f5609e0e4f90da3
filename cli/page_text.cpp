// cli/page_text.cpp - a help page as text for a terminal.
#include <algorithm>

#include "cli/page.h"

namespace peel::cli {
namespace {

constexpr std::size_t term_indent = 2;
constexpr std::size_t text_indent = 4;
constexpr std::size_t term_column_max = 26;  // a longer term gets a line of its own

std::size_t term_column(const Section& section) {
  std::size_t column = 0;
  for (const Block& block : section.blocks)
    if (block.kind == Block::Kind::term && block.term.size() + 4 <= term_column_max)
      column = std::max(column, block.term.size() + 4);
  return column == 0 ? term_indent + 6 : column;
}

// Appends `text` in words; the first line already holds `used` columns, later ones begin at `indent`.
void append_wrapped(std::string& out, std::string_view text, std::size_t used, std::size_t indent, std::size_t width) {
  std::size_t column = used;
  bool line_empty = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line_empty && column + 1 + word.size() > width) {
      out += '\n';
      out.append(indent, ' ');
      column = indent;
      line_empty = true;
    }
    if (!line_empty) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    line_empty = false;
  }
  out += '\n';
}

void append_block(std::string& out, const Block& block, std::size_t column, std::size_t width) {
  switch (block.kind) {
    case Block::Kind::paragraph:
      out.append(text_indent, ' ');
      append_wrapped(out, block.text, text_indent, text_indent, width);
      break;
    case Block::Kind::verbatim: {
      // A synopsis may be long: its continuation lines are indented further.
      std::string_view rest = block.text;
      while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        out.append(text_indent, ' ');
        std::string_view line = rest.substr(0, end);
        if (line.front() == ' ') {
          out += line.substr(1);
          out += '\n';
        } else {
          append_wrapped(out, line, text_indent, text_indent + 4, width);
        }
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
      break;
    }
    case Block::Kind::term: {
      out.append(term_indent, ' ');
      out += block.term;
      if (block.text.empty()) {
        out += '\n';
        break;
      }
      std::size_t used = term_indent + block.term.size();
      if (used + 2 > column) {
        out += '\n';
        used = 0;
      }
      out.append(column - used, ' ');
      append_wrapped(out, block.text, column, column, width);
      break;
    }
  }
}

}  // namespace

std::string page_as_text(const Page& page, std::size_t width) {
  std::string out = page.name + " - " + page.summary + "\n";
  for (const Section& section : page.sections) {
    out += "\n" + section.title + "\n";
    const std::size_t column = term_column(section);
    bool first = true;
    for (const Block& block : section.blocks) {
      if (!first && block.kind != Block::Kind::term) out += '\n';
      append_block(out, block, column, width);
      first = false;
    }
  }
  return out;
}

}  // namespace peel::cli
