// Move: both names change together, nothing is replaced, a killed move can be finished.
#include "scratch.h"

namespace peel::workspace::test {
namespace {

using Names = std::vector<std::string>;

TEST(Move, FileAndOnionTogether) {
  const Scratch dir;
  const Paths paths = dir.paths();
  commit_text(paths, "x");
  const auto moved = move(paths, dir / "run7.h5");
  ASSERT_OK(moved);
  EXPECT_EQ(dir.names(), (Names{"run7.h5", "run7.h5.onion"}));
  EXPECT_EQ(state_of(*moved), State::unmodified);
  EXPECT_EQ(stat_of(moved->onion).st_nlink, 1u);
}

TEST(Move, IntoADirectory) {
  const Scratch dir;
  commit_text(dir.paths(), "x");
  ASSERT_EQ(::mkdir((dir / "sub").c_str(), 0700), 0);
  const auto moved = move(dir.paths(), dir / "sub");
  ASSERT_OK(moved);
  EXPECT_EQ(moved->file, dir / "sub/data.h5");
  EXPECT_EQ(state_of(*moved), State::unmodified);
  EXPECT_EQ(dir.names(), (Names{"sub"}));
}

TEST(Move, NeverReplaces) {
  const Scratch dir;
  const Paths paths = dir.paths();
  commit_text(paths, "x");
  write_file(dir / "taken", "mine");
  EXPECT_FAILS(move(paths, dir / "taken"), ErrorKind::exists);
  write_file(dir / "other.onion", "mine too");
  EXPECT_FAILS(move(paths, dir / "other"), ErrorKind::exists);
  EXPECT_FAILS(move(paths, paths.file), ErrorKind::usage);
  EXPECT_FAILS(move(dir.paths("absent"), dir / "new"), ErrorKind::not_found);
  EXPECT_EQ(dir.names(), (Names{"data.h5", "data.h5.onion", "other.onion", "taken"}));
  EXPECT_EQ(read_file(dir / "other.onion"), "mine too");
}

TEST(Move, TheOnionAloneWhenTheFileIsGone) {
  const Scratch dir;
  const Paths paths = dir.paths();
  commit_text(paths, "x");
  ASSERT_EQ(::unlink(paths.file.c_str()), 0);
  ASSERT_OK(move(paths, dir / "new"));
  EXPECT_EQ(dir.names(), (Names{"new.onion"}));
}

TEST(Move, AnOnionElsewhereStays) {
  const Scratch dir;
  const Paths paths = *locate(dir / "data.h5", dir / "kept");
  commit_text(paths, "x");
  const auto moved = move(paths, dir / "new");
  ASSERT_OK(moved);
  EXPECT_EQ(dir.names(), (Names{"kept", "new"}));
  EXPECT_EQ(state_of(*moved), State::unmodified);
}

TEST(Move, AKilledMoveIsFinishedByTheNext) {
  {  // killed before the file got its new name
    const Scratch dir;
    const Paths paths = dir.paths();
    commit_text(paths, "x");
    ASSERT_EQ(::link(paths.onion.c_str(), (dir / "new.onion").c_str()), 0);
    EXPECT_EQ(state_of(paths), State::unmodified);
    ASSERT_OK(move(paths, dir / "new"));
    EXPECT_EQ(dir.names(), (Names{"new", "new.onion"}));
  }
  {  // killed after it
    const Scratch dir;
    const Paths paths = dir.paths();
    commit_text(paths, "x");
    ASSERT_EQ(::link(paths.onion.c_str(), (dir / "new.onion").c_str()), 0);
    ASSERT_EQ(::rename(paths.file.c_str(), (dir / "new").c_str()), 0);
    EXPECT_EQ(state_of(dir.paths("new")), State::unmodified);
    ASSERT_OK(move(paths, dir / "new"));
    EXPECT_EQ(dir.names(), (Names{"new", "new.onion"}));
  }
}

}  // namespace
}  // namespace peel::workspace::test
