// The exchange itself, with somebody else at work between its steps, and what a killed run leaves.
#include "scratch.h"
#include "workspace/name_exchange.h"
#include "workspace/replacement.h"
#include "workspace/revision_file.h"

namespace peel::workspace::test {
namespace {

using Step = Replacement::Step;

struct Exchange : ::testing::Test {
  Scratch dir;
  Paths paths = dir.paths();
  std::string old_text = noise(20000, 1), new_text = noise(30000, 2);
  std::uint64_t first = commit_text(paths, old_text), second = commit_text(paths, new_text);
  std::vector<std::string> clean{"data.h5", "data.h5.onion"};

  // Restores `first` while `other` does something at `when`.
  Status install_with(Step when, const std::function<void()>& other) {
    auto onion = open_onion(paths);
    auto replacement = Replacement::begin(paths, {});
    if (!replacement) return std::move(replacement.error());
    replacement->set_interference([&](Step step) {
      if (step == when) other();
    });
    const auto reader = onion->open_revision(first);
    const auto info = onion->revision(first);
    return replacement->install(*reader, *info);
  }
};

TEST_F(Exchange, AWriteJustBeforeIsSeen) {
  const auto status = install_with(Step::before_exchange, [&] { patch_file(paths.file, 100, "late"); });
  EXPECT_FAILS(status, ErrorKind::refused);
  EXPECT_EQ(read_file(paths.file).substr(100, 4), "late");
  EXPECT_EQ(dir.names(), clean);
}

TEST_F(Exchange, ADisplacedFileThatChangedIsPutBack) {
  UniqueFd writer;
  const auto status = install_with(Step::after_exchange, [&] {
    // Somebody who had found the name just before the exchange: now the displaced file has it.
    for (const std::string& name : dir.names())
      if (name.find(".peel-swap-") != std::string::npos) patch_file(dir / name, 100, "late");
  });
  EXPECT_FAILS(status, ErrorKind::refused);
  std::string wanted = new_text;
  wanted.replace(100, 4, "late");
  EXPECT_EQ(read_file(paths.file), wanted);
  EXPECT_EQ(dir.names(), clean);
}

TEST_F(Exchange, AWriterThatCameInBetweenPutsItBack) {
  UniqueFd writer;
  const auto status = install_with(Step::after_exchange, [&] {
    for (const std::string& name : dir.names())
      if (name.find(".peel-swap-") != std::string::npos) writer = UniqueFd(::open((dir / name).c_str(), O_RDWR));
  });
  EXPECT_FAILS(status, ErrorKind::refused);
  ASSERT_EQ(::pwrite(writer.get(), "mine", 4, 0), 4);
  EXPECT_EQ(read_file(paths.file).substr(0, 4), "mine");
  EXPECT_EQ(dir.names(), clean);
}

TEST_F(Exchange, ARenameOverTheNameIsSeen) {
  const auto status = install_with(Step::before_exchange, [&] {
    write_file(dir / "other", "saved by an editor");
    ASSERT_EQ(::rename((dir / "other").c_str(), paths.file.c_str()), 0);
  });
  EXPECT_FAILS(status, ErrorKind::refused);
  EXPECT_EQ(read_file(paths.file), "saved by an editor");
  EXPECT_EQ(dir.names(), clean);
}

TEST_F(Exchange, ANewHardLinkOrSymlinkIsSeen) {
  EXPECT_FAILS(install_with(Step::before_exchange, [&] { ASSERT_EQ(::link(paths.file.c_str(), (dir / "second").c_str()), 0); }),
               ErrorKind::refused);
  ASSERT_EQ(::unlink((dir / "second").c_str()), 0);
  EXPECT_FAILS(install_with(Step::before_exchange,
                            [&] {
                              ASSERT_EQ(::rename(paths.file.c_str(), (dir / "real").c_str()), 0);
                              ASSERT_EQ(::symlink("real", paths.file.c_str()), 0);
                            }),
               ErrorKind::refused);
  EXPECT_EQ(read_file(dir / "real"), new_text);
}

TEST_F(Exchange, WhatWasWrittenIntoTheNewFileMeanwhileIsKept) {
  const auto status = install_with(Step::after_exchange, [&] {
    patch_file(paths.file, 0, "fresh");  // into the new file ...
    for (const std::string& name : dir.names())  // ... which must go, for the old one changed too
      if (name.find(".peel-swap-") != std::string::npos) patch_file(dir / name, 100, "late");
  });
  EXPECT_FAILS(status, ErrorKind::refused);
  EXPECT_EQ(read_file(paths.file).substr(100, 4), "late");
  std::string kept;
  for (const std::string& name : dir.names())
    if (name.find("data.h5.peel-kept-") == 0) kept = name;
  ASSERT_FALSE(kept.empty());
  EXPECT_NE(status.error().message().find(kept), std::string::npos) << status.error().message();
  EXPECT_EQ(read_file(dir / kept).substr(0, 5), "fresh");
}

TEST_F(Exchange, WhoReplacesTheNewFileKeepsTheNameAndTheOldContentStaysVisible) {
  const auto status = install_with(Step::after_exchange, [&] {
    for (const std::string& name : dir.names())
      if (name.find(".peel-swap-") != std::string::npos) patch_file(dir / name, 100, "late");
    write_file(dir / "other", "saved by an editor");
    ASSERT_EQ(::rename((dir / "other").c_str(), paths.file.c_str()), 0);
  });
  EXPECT_FAILS(status, ErrorKind::refused);
  EXPECT_EQ(read_file(paths.file), "saved by an editor");
  std::string kept;
  for (const std::string& name : dir.names())
    if (name.find("data.h5.peel-kept-") == 0) kept = name;
  ASSERT_FALSE(kept.empty());
  EXPECT_EQ(read_file(dir / kept).substr(100, 4), "late");
}

TEST_F(Exchange, AFileThatAppearsIsNotOverwritten) {
  ASSERT_EQ(::unlink(paths.file.c_str()), 0);
  EXPECT_FAILS(install_with(Step::before_exchange, [&] { write_file(paths.file, "new here"); }), ErrorKind::refused);
  EXPECT_EQ(read_file(paths.file), "new here");
  EXPECT_EQ(dir.names(), clean);
}

TEST_F(Exchange, ADamagedRevisionIsNeverInstalled) {
  std::uint64_t chunk = 0;
  {
    auto onion = open_onion(paths, Access::write);
    ASSERT_OK(onion->flush());  // else opening finds the damage already, while it looks for the tail
    const auto pieces = onion->open_revision(first)->pieces(0, old_text.size());
    ASSERT_OK(pieces);
    chunk = pieces->back().locator;
  }
  const std::string onion_bytes = read_file(paths.onion);
  const char flipped = static_cast<char>(onion_bytes[chunk + 200] ^ 1);
  patch_file(paths.onion, chunk + 200, std::string(1, flipped));
  EXPECT_FAILS(restore(paths, at(first), {}), ErrorKind::corrupt);
  EXPECT_FAILS(export_revision(*open_onion(paths), at(first), dir / "out", {}), ErrorKind::corrupt);
  EXPECT_FAILS(export_onion(paths, dir / "out", {}), ErrorKind::corrupt);
  EXPECT_EQ(read_file(paths.file), new_text);
  EXPECT_EQ(dir.names(), clean);
}

TEST(LinkExchange, PutNamesBackLeavesOthersAlone) {
  const Scratch dir;
  write_file(dir / "file", "somebody else's");
  const auto temp = TempName::reserve(dir / "file");
  ASSERT_OK(temp);
  write_file(temp->swap_path(), "displaced");
  EXPECT_EQ(put_names_back(*temp, dir / "file", FileIdentity{1, 2}), PutBack::failed);
  EXPECT_EQ(read_file(dir / "file"), "somebody else's");
  const std::string kept = keep_visible(*temp, dir / "file");
  EXPECT_EQ(read_file(kept), "displaced");
}

// --- after a crash ---------------------------------------------------------------------------------

constexpr const char* tag = "0123456789abcdef";

TEST_F(Exchange, LeftoversOfADeadRunAreClearedUp) {
  write_file(dir / (std::string(".data.h5.peel-run-") + tag), "");
  write_file(dir / (std::string(".data.h5.peel-new-") + tag), "half");
  write_file(dir / (std::string(".data.h5.peel-swap-") + tag), new_text);
  write_file(dir / (std::string(".other.h5.peel-new-") + tag), "not ours");
  write_file(dir / ".data.h5.peel-new-short", "no tag");
  const auto report = restore(paths, at(first), {});
  ASSERT_OK(report);
  EXPECT_TRUE(report->left_behind.empty());
  EXPECT_EQ(dir.names(), (std::vector<std::string>{".data.h5.peel-new-short", std::string(".other.h5.peel-new-") + tag,
                                                   "data.h5", "data.h5.onion"}));
}

TEST_F(Exchange, ADisplacedFileThatIsInNoRevisionIsLeftAndNamed) {
  const std::string swap = dir / (std::string(".data.h5.peel-swap-") + tag);
  write_file(swap, "nobody else has this");
  const auto report = restore(paths, at(first), {});
  ASSERT_OK(report);
  EXPECT_EQ(report->left_behind, std::vector<std::string>{swap});
  EXPECT_EQ(read_file(swap), "nobody else has this");
}

TEST_F(Exchange, ALiveRunIsLeftAlone) {
  const auto other = TempName::reserve(paths.file);
  ASSERT_OK(other);
  write_file(other->fresh_path(), "being made");
  ASSERT_OK(restore(paths, at(first), {}));
  EXPECT_EQ(read_file(other->fresh_path()), "being made");
}

TEST(TempNames, FitLongNames) {
  const Scratch dir;
  const Paths paths = dir.paths(std::string(249, 'n'));  // NAME.onion has the 255 bytes a name may have
  commit_text(paths, "one");
  commit_text(paths, "two");
  ASSERT_OK(restore(paths, "@1", {}));
  EXPECT_EQ(read_file(paths.file), "one");
  EXPECT_EQ(dir.names().size(), 2u);
}

}  // namespace
}  // namespace peel::workspace::test
