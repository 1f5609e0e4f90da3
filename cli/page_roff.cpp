// cli/page_roff.cpp - a help page as roff, for man(1).
#include <algorithm>

#include "cli/page.h"

namespace peel::cli {
namespace {

// Backslashes, hyphens (they must stay ASCII so that options can be copied) and lines that would be requests.
std::string escaped(std::string_view text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    line_start = c == '\n';
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '"')
      out += "\\(dq";
    else if (c == '~')
      out += "\\(ti";
    else if (c == '^')
      out += "\\(ha";
    else if (c == '`')
      out += "\\(ga";
    else
      out += c;
  }
  return out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

}  // namespace

std::string page_as_roff(const Page& page, const std::string& version) {
  std::string out = ".\\\" Made by `peel help --man`; do not edit.\n";
  out += ".TH \"" + escaped(upper(page.name)) + "\" 1 \"\" \"peel " + escaped(version) + "\" \"peel\"\n";
  out += ".SH NAME\n" + escaped(page.name) + " \\- " + escaped(page.summary) + "\n";
  for (const Section& section : page.sections) {
    out += ".SH \"" + escaped(upper(section.title)) + "\"\n";
    bool first = true;
    for (const Block& block : section.blocks) {
      switch (block.kind) {
        case Block::Kind::paragraph:
          if (!first) out += ".PP\n";
          out += escaped(block.text) + "\n";
          break;
        case Block::Kind::verbatim:
          if (block.text.front() == ' ')
            out += ".PP\n.nf\n" + escaped(block.text) + "\n.fi\n";
          else
            out += escaped(block.text) + "\n";
          break;
        case Block::Kind::term:
          out +=
              ".TP\n.B \"" + escaped(block.term) + "\"\n" + (block.text.empty() ? "\\&" : escaped(block.text)) + "\n";
          break;
      }
      first = false;
    }
  }
  if (page.name != "peel") out += ".SH \"SEE ALSO\"\n.BR peel (1)\n";
  return out;
}

}  // namespace peel::cli
