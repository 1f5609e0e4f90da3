// Status: when times are proof, and when they are not.
#include "scratch.h"

namespace peel::workspace::test {
namespace {

TEST(Status, EveryState) {
  const Scratch dir;
  const Paths paths = dir.paths();
  EXPECT_FAILS(status(paths), ErrorKind::not_found);
  write_file(paths.file, "one");
  EXPECT_EQ(state_of(paths), State::untracked);
  const auto first = must_commit(paths).result.revision.number;
  EXPECT_EQ(state_of(paths), State::unmodified);
  write_file(paths.file, "two");
  EXPECT_EQ(state_of(paths), State::modified);
  const auto second = must_commit(paths).result.revision.number;
  write_file(paths.file, "one");
  const auto older = status(paths);
  ASSERT_OK(older);
  EXPECT_EQ(older->state, State::modified);
  EXPECT_EQ(older->same_as, first);
  EXPECT_EQ(older->based_on, second);
  EXPECT_EQ(older->head->number, second);
  EXPECT_EQ(older->branch, "main");
  EXPECT_GT(older->onion_bytes, 0u);
  ASSERT_EQ(::unlink(paths.file.c_str()), 0);
  const auto gone = status(paths);
  ASSERT_OK(gone);
  EXPECT_EQ(gone->state, State::missing);
  EXPECT_FALSE(gone->why.empty());
}

TEST(Status, ARenamedFileIsMissingAndItsOnionStillAnswers) {
  const Scratch dir;
  const Paths paths = dir.paths();
  commit_text(paths, "kept");
  ASSERT_EQ(::rename(paths.file.c_str(), (dir / "other").c_str()), 0);
  EXPECT_EQ(state_of(paths), State::missing);
  EXPECT_EQ(state_of(*locate(paths.onion)), State::missing);
  EXPECT_EQ(content_at(paths, ""), "kept");
}

TEST(Status, BecomesProofOnlyAfterTheMargin) {
  const Scratch dir;
  const Paths paths = dir.paths();
  write_file(paths.file, "quiet");
  must_commit(paths);
  const auto fresh = status(paths);
  ASSERT_OK(fresh);
  EXPECT_EQ(fresh->state, State::unmodified);
  EXPECT_TRUE(fresh->hashed) << "times of this very second prove nothing";
}

// ctime cannot be set back, so a file has to lie still for two seconds.
TEST(Status, TrustsOldTimesOfAQuietFile) {
  const Scratch dir;
  const Paths paths = dir.paths();
  write_file(paths.file, "quiet");
  must_commit(paths);
  ::usleep(2'100'000);
  const auto look = status(paths);
  ASSERT_OK(look);
  EXPECT_TRUE(look->hashed);
  const auto trusted = status(paths);
  ASSERT_OK(trusted);
  if (trusted->writer == Writer::unknown) GTEST_SKIP() << "this file system cannot say who has a file open";
  EXPECT_FALSE(trusted->hashed);
  EXPECT_EQ(trusted->state, State::unmodified);
  EXPECT_EQ(must_commit(paths).attempts, 0u);
  {
    const UniqueFd writer(::open(paths.file.c_str(), O_RDWR));
    const auto open = status(paths);
    ASSERT_OK(open);
    EXPECT_EQ(open->writer, Writer::yes);
    EXPECT_TRUE(open->hashed) << "a writer may store without touching a time";
  }
  patch_file(paths.file, 0, "QUIET");
  age(paths.file);
  EXPECT_EQ(state_of(paths), State::modified);
}

TEST(Status, AnEditWithTimesPutBackShows) {
  const Scratch dir;
  const Paths paths = dir.paths();
  write_file(paths.file, noise(10000));
  age(paths.file);
  must_commit(paths);
  const struct stat before = stat_of(paths.file);
  patch_file(paths.file, 5000, "edited");
  const timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, paths.file.c_str(), times, 0), 0);
  EXPECT_EQ(state_of(paths), State::modified);
  EXPECT_TRUE(must_commit(paths).result.added);
}

TEST(Status, AnEditThroughAMappingShows) {
  const Scratch dir;
  const Paths paths = dir.paths();
  write_file(paths.file, noise(10000));
  must_commit(paths);
  const UniqueFd fd(::open(paths.file.c_str(), O_RDWR));
  void* map = ::mmap(nullptr, 10000, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  ASSERT_NE(map, MAP_FAILED);
  static_cast<char*>(map)[0] ^= 1;  // dirties the page: from now on stores change no time
  must_commit(paths);
  EXPECT_EQ(state_of(paths), State::unmodified);
  static_cast<char*>(map)[1] ^= 1;
  EXPECT_EQ(state_of(paths), State::modified);
  ::munmap(map, 10000);
}

TEST(Status, ListsTheOnionsOfADirectory) {
  const Scratch dir;
  for (const char* name : {"b.h5", "a.h5"}) commit_text(dir.paths(name), name);
  write_file(dir / "plain", "x");
  ASSERT_EQ(::mkdir((dir / "sub.onion").c_str(), 0700), 0);
  const auto found = onions_in(dir.path());
  ASSERT_OK(found);
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].file, dir / "a.h5");
  EXPECT_EQ((*found)[1].onion, dir / "b.h5.onion");
  EXPECT_FAILS(onions_in(dir / "absent"), ErrorKind::not_found);
}

TEST(Digest, DependsOnBytesNotOnHoles) {
  const Scratch dir;
  write_file(dir / "dense", std::string(1 << 20, '\0') + "end");
  const UniqueFd fd(::open((dir / "sparse").c_str(), O_RDWR | O_CREAT, 0600));
  ASSERT_EQ(::pwrite(fd.get(), "end", 3, 1 << 20), 3);
  const auto dense = digest_file(dir / "dense"), sparse = digest_file(dir / "sparse");
  ASSERT_OK(dense);
  ASSERT_OK(sparse);
  EXPECT_EQ(dense->content, sparse->content);
}

}  // namespace
}  // namespace peel::workspace::test
