// cli/page.h - a help page as data, and its two forms: text for a terminal, roff for man(1).
//
// Contract   Pages are made from the command table and nothing else, so help and man pages cannot disagree.
// Threads    Free functions.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace peel::cli {

struct Block {
  enum class Kind : std::uint8_t { paragraph, verbatim, term } kind = Kind::paragraph;
  std::string text;
  std::string term;  // of a definition
};

struct Section {
  std::string title;
  std::vector<Block> blocks;
};

struct Page {
  std::string name;  // "peel-commit"
  std::string summary;
  std::vector<Section> sections;
};

Page command_page(const Command& command);
Page topic_page(const Topic& topic);
Page overview_page();

// "peel commit FILE... [-m TEXT] [--author NAME]"
std::string synopsis(const Command& command);
// "-m, --message TEXT"
std::string option_term(const Option& option);

// Lines of at most `width` columns.
std::string page_as_text(const Page& page, std::size_t width);
// `version` stands in the footer.
std::string page_as_roff(const Page& page, const std::string& version);

// Every paragraph of `text` as blocks; lines that begin with a blank stay as they are.
std::vector<Block> blocks_of(std::string_view text);

}  // namespace peel::cli
