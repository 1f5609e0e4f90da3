// tests/cli/page_test.cpp - help pages as text and as roff, completion scripts.
#include "cli/page.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/completion.h"

namespace peel::cli {
namespace {

std::vector<Page> all_pages() {
  std::vector<Page> out{overview_page()};
  for (const Command* command : all_commands()) out.push_back(command_page(*command));
  for (const Topic& topic : topics()) out.push_back(topic_page(topic));
  return out;
}

TEST(Page, SynopsisComesFromTheTable) {
  EXPECT_EQ(synopsis(*find_command("commit")), "peel commit FILE... [-m TEXT] [--author NAME] [--codec NAME] [--full] [--no-hdf5]");
  EXPECT_EQ(synopsis(*find_command("merge")),
            "peel merge FILE BRANCH [--ours|--theirs] [--force] [-m TEXT] [--author NAME] [--assume-closed]");
  EXPECT_EQ(synopsis(*find_command("diff")).substr(0, 30), "peel diff FILE [REV [REV2]] [-");
}

TEST(Page, TextStaysWithinItsWidth) {
  for (const Page& page : all_pages()) {
    std::istringstream lines(page_as_text(page, 80));
    for (std::string line; std::getline(lines, line);) {
      // Examples and tables are kept as they are written.
      const bool kept = line.find("   ", 4) != std::string::npos || line.rfind("  peel ", 0) == 0;
      EXPECT_TRUE(kept || line.size() <= 80) << page.name << ": " << line;
      EXPECT_TRUE(line.empty() || line.back() != ' ') << page.name << ": '" << line << "'";
    }
  }
}

TEST(Page, EveryPageHasASummaryAndSections) {
  for (const Page& page : all_pages()) {
    EXPECT_FALSE(page.summary.empty()) << page.name;
    EXPECT_NE(page.summary.back(), '.') << page.name;
    for (const Section& section : page.sections)
      EXPECT_FALSE(section.blocks.empty()) << page.name << ": " << section.title;
  }
}

TEST(Page, RoffEscapesWhatWouldBeARequest) {
  const Page page{
      "x",
      "a-b",
      {{"S", {{Block::Kind::paragraph, ".begin 'quote \\ end", {}}, {Block::Kind::term, "t", "--a \"b\""}}}}};
  const std::string roff = page_as_roff(page, "1");
  EXPECT_NE(roff.find("\n\\&.begin 'quote \\e end\n"), std::string::npos) << roff;
  EXPECT_NE(roff.find(".B \"\\-\\-a \\(dqb\\(dq\""), std::string::npos) << roff;
}

TEST(Page, ParagraphsAndVerbatimBlocks) {
  const auto blocks = blocks_of("one two\n\n a  b\n c\n\nthree");
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[1].kind, Block::Kind::verbatim);
  EXPECT_EQ(blocks[1].text, " a  b\n c");
  EXPECT_EQ(blocks[2].text, "three");
}

TEST(Completion, KnowsEveryCommandAndOption) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const auto script = completion_script(shell);
    ASSERT_TRUE(script);
    for (const Command* command : all_commands()) {
      EXPECT_NE(script->find(command->name), std::string::npos) << shell << " " << command->name;
      for (const Option& option : command->options) EXPECT_NE(script->find(option.name), std::string::npos) << shell;
    }
  }
  EXPECT_EQ(completion_script("csh").error().kind(), ErrorKind::usage);
}

}  // namespace
}  // namespace peel::cli
