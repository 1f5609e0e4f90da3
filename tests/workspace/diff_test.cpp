// Which bytes differ: between revisions, and against the working file.
#include "scratch.h"

namespace peel::workspace::test {
namespace {

DiffRequest exactly() {
  DiffRequest request;
  request.grain = 1;
  return request;
}

TEST(Diff, RangesOfEditsGrowthAndShrinking) {
  const Scratch dir;
  const Paths paths = dir.paths();
  std::string text = noise(50000);
  const auto first = commit_text(paths, text);
  text[10] = static_cast<char>(text[10] ^ 1);
  text[4096] = static_cast<char>(text[4096] ^ 1);
  text += "tail";
  const auto second = commit_text(paths, text);
  const auto onion = open_onion(paths);
  ASSERT_OK(onion);
  const auto exact = diff_revisions(*onion, first, second, exactly());
  ASSERT_OK(exact);
  EXPECT_EQ(exact->ranges, (std::vector<Range>{{10, 1}, {4096, 1}, {50000, 4}}));
  EXPECT_EQ(exact->bytes_changed, 6u);
  const auto back = diff_revisions(*onion, second, first, exactly());
  ASSERT_OK(back);
  EXPECT_EQ(back->ranges, exact->ranges);
  const auto pages = diff_revisions(*onion, first, second);
  ASSERT_OK(pages);
  EXPECT_EQ(pages->ranges, (std::vector<Range>{{0, 8192}, {49152, 50004 - 49152}}));
  const auto same = diff_revisions(*onion, first, first);
  ASSERT_OK(same);
  EXPECT_TRUE(same->same());
}

TEST(Diff, AgainstTheWorkingFile) {
  const Scratch dir;
  const Paths paths = dir.paths();
  const std::string text = noise(3 << 20);
  const auto first = commit_text(paths, text);
  const auto onion = open_onion(paths);
  ASSERT_OK(onion);
  const auto none = diff_working(*onion, first, paths);
  ASSERT_OK(none);
  EXPECT_TRUE(none->same());
  patch_file(paths.file, (2 << 20) - 2, "abcd");
  ASSERT_EQ(::truncate(paths.file.c_str(), 3 << 20), 0);
  ASSERT_EQ(::truncate(paths.file.c_str(), (3 << 20) - 5), 0);
  const auto some = diff_working(*onion, first, paths, exactly());
  ASSERT_OK(some);
  EXPECT_EQ(some->size_b, (3u << 20) - 5);
  EXPECT_EQ(some->ranges, (std::vector<Range>{{(2 << 20) - 2, 4}, {(3 << 20) - 5, 5}}));
  ASSERT_EQ(::unlink(paths.file.c_str()), 0);
  EXPECT_FAILS(diff_working(*onion, first, paths), ErrorKind::not_found);
}

TEST(Diff, HolesOnEitherSide) {
  const Scratch dir;
  const Paths paths = dir.paths();
  {
    const UniqueFd fd(::open(paths.file.c_str(), O_RDWR | O_CREAT, 0600));
    ASSERT_EQ(::ftruncate(fd.get(), 10 << 20), 0);
    ASSERT_EQ(::pwrite(fd.get(), "x", 1, 5 << 20), 1);
  }
  const auto first = must_commit(paths).result.revision.number;
  patch_file(paths.file, 9 << 20, "y");
  const auto onion = open_onion(paths);
  ASSERT_OK(onion);
  const auto more = diff_working(*onion, first, paths, exactly());
  ASSERT_OK(more);
  EXPECT_EQ(more->ranges, (std::vector<Range>{{9 << 20, 1}}));
  ASSERT_EQ(::truncate(paths.file.c_str(), 0), 0);
  ASSERT_EQ(::truncate(paths.file.c_str(), 10 << 20), 0);
  const auto less = diff_working(*onion, first, paths, exactly());
  ASSERT_OK(less);
  EXPECT_EQ(less->ranges, (std::vector<Range>{{5 << 20, 1}}));
}

}  // namespace
}  // namespace peel::workspace::test
