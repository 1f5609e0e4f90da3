// Commits of the working file: what is recorded, what is labelled, what a crash or a full disk leaves.
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "base/cancel.h"
#include "scratch.h"
#include "workspace/temp_name.h"

namespace peel::workspace::test {
namespace {

TEST(Commit, FirstMakesTheOnionAndRecordsWhoAndWhen) {
  const Scratch dir;
  const Paths paths = dir.paths();
  write_file(paths.file, "hello");
  ::chmod(paths.file.c_str(), 0640);
  CommitRequest request;
  request.note = "first";
  request.author = "Ada";
  const auto report = must_commit(paths, request);
  EXPECT_TRUE(report.created);
  EXPECT_TRUE(report.result.added);
  EXPECT_FALSE(report.torn);
  const RevisionInfo& revision = report.result.revision;
  EXPECT_EQ(revision.meta.author, "Ada");
  EXPECT_EQ(revision.meta.note, "first");
  EXPECT_EQ(revision.meta.mode, 0640u);
  const struct stat st = stat_of(paths.file);
  EXPECT_EQ(revision.meta.mtime_ns, st.st_mtim.tv_sec * 1'000'000'000ll + st.st_mtim.tv_nsec);
  EXPECT_EQ(revision.meta.labels, 0u);
  EXPECT_FALSE(revision.meta.host.empty());
  EXPECT_EQ(content_at(paths, ""), "hello");
  EXPECT_EQ(dir.names(), (std::vector<std::string>{"data.h5", "data.h5.onion"}));
  EXPECT_EQ(report.onion_bytes, static_cast<std::uint64_t>(stat_of(paths.onion).st_size));
}

TEST(Commit, AuthorComesFromTheEnvironment) {
  const Scratch dir;
  write_file(dir / "data.h5", "x");
  ::setenv("PEEL_AUTHOR", "Grace", 1);
  EXPECT_EQ(must_commit(dir.paths()).result.revision.meta.author, "Grace");
  ::unsetenv("PEEL_AUTHOR");
}

TEST(Commit, NothingNewAddsNothingAndStopsGrowing) {
  const Scratch dir;
  const Paths paths = dir.paths();
  commit_text(paths, "same");
  const auto again = must_commit(paths);
  EXPECT_FALSE(again.result.added);
  const auto size = stat_of(paths.onion).st_size;
  for (int i = 0; i < 10; ++i) must_commit(paths);
  // Once at most a look past the margin replaces the stamp by one that is proof.
  constexpr off_t one_stamp = 512;
  EXPECT_LE(stat_of(paths.onion).st_size, size + one_stamp);
}

TEST(Commit, OddSizesComeBack) {
  const Scratch dir;
  const Paths paths = dir.paths();
  const std::string big = noise(70000);
  const std::vector<std::string> states = {"",          "x",          big.substr(0, 4096), big.substr(0, 4097), big, big.substr(0, 5000),
                                           big.substr(0, 5000) + noise(9000, 7), std::string(10000, '\0')};
  std::vector<std::uint64_t> numbers;
  for (const auto& state : states) numbers.push_back(commit_text(paths, state));
  for (std::size_t i = 0; i < states.size(); ++i) EXPECT_EQ(content_at(paths, at(numbers[i])), states[i]) << i;
}

TEST(Commit, FollowsASymlink) {
  const Scratch dir;
  write_file(dir / "real", "through");
  ASSERT_EQ(::symlink("real", (dir / "data.h5").c_str()), 0);
  must_commit(dir.paths());
  EXPECT_EQ(content_at(dir.paths(), ""), "through");
}

TEST(Commit, RefusesWhatIsNoRegularFile) {
  const Scratch dir;
  ASSERT_EQ(::mkfifo((dir / "data.h5").c_str(), 0600), 0);
  EXPECT_FAILS(commit(dir.paths(), {}), ErrorKind::refused);
  EXPECT_FAILS(commit(dir.paths("absent"), {}), ErrorKind::not_found);
  EXPECT_EQ(dir.names(), (std::vector<std::string>{"data.h5"}));
}

TEST(Commit, OnionElsewhere) {
  const Scratch dir;
  write_file(dir / "data.h5", "x");
  const Paths paths = *locate(dir / "data.h5", dir / "kept");
  must_commit(paths);
  EXPECT_EQ(dir.names(), (std::vector<std::string>{"data.h5", "kept"}));
  EXPECT_EQ(state_of(paths), State::unmodified);
}

TEST(Commit, UnhealthyIsLabelledNeverRefused) {
  const Scratch dir;
  write_file(dir / "data.h5", "broken");
  CommitRequest request;
  request.note = "look";
  request.health_check = [](const Source& source) -> std::optional<std::string> {
    return "superblock says 100 bytes, the file has " + std::to_string(source.size());
  };
  const auto report = must_commit(dir.paths(), request);
  EXPECT_TRUE(report.unhealthy);
  EXPECT_EQ(report.result.revision.meta.labels, label_unhealthy);
  EXPECT_EQ(report.result.revision.meta.note, "look\n[unhealthy: superblock says 100 bytes, the file has 6]");
}

TEST(Commit, OpenForWritingIsUnhealthy) {
  const Scratch dir;
  write_file(dir / "data.h5", "x");
  const UniqueFd writer(::open((dir / "data.h5").c_str(), O_RDWR));
  const auto report = must_commit(dir.paths());
  EXPECT_EQ(report.result.revision.meta.labels, label_unhealthy);
}

TEST(Commit, TakesNoLockThatOthersSee) {
  const Scratch dir;
  write_file(dir / "data.h5", noise(100000));
  bool asked = false;
  CommitRequest request;
  request.health_check = [&](const Source&) -> std::optional<std::string> {
    const UniqueFd other(::open((dir / "data.h5").c_str(), O_RDWR));
    EXPECT_EQ(::flock(other.get(), LOCK_EX | LOCK_NB), 0);
    struct flock question {};
    question.l_type = F_WRLCK;
    EXPECT_EQ(::fcntl(other.get(), F_OFD_GETLK, &question), 0);
    EXPECT_EQ(question.l_type, F_UNLCK);
    asked = true;
    return std::nullopt;
  };
  must_commit(dir.paths(), request);
  EXPECT_TRUE(asked);
}

TEST(Commit, AFileThatMovesOnceIsReadAgain) {
  const Scratch dir;
  const Paths paths = dir.paths();
  write_file(paths.file, noise(3 << 20));
  CommitRequest request;
  bool once = true;
  request.run.progress = [&](const Progress&) {
    if (std::exchange(once, false)) patch_file(paths.file, 0, "moved");
  };
  const auto report = must_commit(paths, request);
  if (once) GTEST_SKIP() << "the onion reported no progress for 3 MiB";
  EXPECT_FALSE(report.torn);
  EXPECT_EQ(content_at(paths, ""), read_file(paths.file));
}

TEST(Commit, AFileThatIsAppendedAllTheTimeIsLabelledTorn) {
  const Scratch dir;
  const Paths paths = dir.paths();
  const std::string before = noise(8 << 20);
  write_file(paths.file, before);
  CommitRequest request;
  request.run.progress = [&](const Progress&) {
    const UniqueFd fd(::open(paths.file.c_str(), O_WRONLY | O_APPEND));
    EXPECT_EQ(::write(fd.get(), "more", 4), 4);
  };
  const auto report = must_commit(paths, request);
  EXPECT_TRUE(report.torn);
  EXPECT_EQ(report.attempts, 4u);
  EXPECT_EQ(report.result.revision.meta.labels & label_torn, label_torn);
  // What was there from the beginning is whole all the same.
  EXPECT_TRUE(content_at(paths, "").substr(0, 8 << 20) == before);
  EXPECT_EQ(state_of(paths), State::modified);
}

TEST(Commit, AFileThatAnotherProcessAppendsToIsTornOrWhole) {
  const Scratch dir;
  const Paths paths = dir.paths();
  const std::string before = noise(4 << 20);
  write_file(paths.file, before);
  const pid_t child = ::fork();
  if (child == 0) {
    const UniqueFd fd(::open(paths.file.c_str(), O_WRONLY | O_APPEND));
    while (::write(fd.get(), "more", 4) == 4) ::usleep(200);
    ::_exit(0);
  }
  for (int i = 0; i < 3; ++i) {
    const auto report = must_commit(paths);
    const std::string recorded = content_at(paths, "");
    ASSERT_TRUE(recorded.substr(0, 4 << 20) == before);
    // Appends of whole words: a revision that is not torn has a whole number of them.
    EXPECT_TRUE(report.torn || recorded.size() % 4 == 0);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(Commit, AFileThatShrinksMeanwhileIsTornNotAnError) {
  const Scratch dir;
  const Paths paths = dir.paths();
  write_file(paths.file, noise(8 << 20));
  CommitRequest request;
  request.run.progress = [&](const Progress&) {
    const off_t size = stat_of(paths.file).st_size;
    EXPECT_EQ(::truncate(paths.file.c_str(), size > (5 << 20) ? size - 4096 : 8 << 20), 0);
  };
  const auto report = commit(paths, request);
  ASSERT_OK(report);
  EXPECT_TRUE(report->torn);
}

TEST(Commit, CancelLeavesNothingOfAFirstCommit) {
  const Scratch dir;
  write_file(dir / "data.h5", noise(1 << 20));
  Cancel cancel;
  cancel.request();
  CommitRequest request;
  request.run.cancel = &cancel;
  EXPECT_FAILS(commit(dir.paths(), request), ErrorKind::cancelled);
  EXPECT_EQ(dir.names(), (std::vector<std::string>{"data.h5"}));
}

TEST(Commit, AKilledFirstCommitLeavesNoOnionAndIsClearedUp) {
  const Scratch dir;
  const Paths paths = dir.paths();
  write_file(paths.file, noise(1 << 20));
  const pid_t child = ::fork();
  if (child == 0) {
    CommitRequest request;
    request.health_check = [](const Source&) -> std::optional<std::string> { return std::nullopt; };
    const auto temp = TempName::reserve(paths.onion);  // what a commit has by then
    if (temp) write_file(temp->fresh_path(), "half an onion");
    ::kill(::getpid(), SIGKILL);
  }
  int how = 0;
  ::waitpid(child, &how, 0);
  ASSERT_TRUE(WIFSIGNALED(how));
  EXPECT_EQ(dir.names().size(), 3u);
  EXPECT_EQ(state_of(paths), State::untracked);
  must_commit(paths);
  EXPECT_EQ(dir.names(), (std::vector<std::string>{"data.h5", "data.h5.onion"}));
}

TEST(Commit, TwoFirstCommitsAtOnceBothSucceed) {
  const Scratch dir;
  const Paths paths = dir.paths();
  write_file(paths.file, noise(200000));
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(::fork());
    if (children.back() == 0) ::_exit(commit(paths, {}).ok() ? 0 : 1);
  }
  for (const pid_t child : children) {
    int how = 0;
    ::waitpid(child, &how, 0);
    EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  }
  EXPECT_EQ(open_onion(paths)->revision_count(), 1u);
  EXPECT_EQ(dir.names(), (std::vector<std::string>{"data.h5", "data.h5.onion"}));
}

TEST(Snapshot, IsACommitAndATagEvenWhenNothingChanged) {
  const Scratch dir;
  const Paths paths = dir.paths();
  commit_text(paths, "x");
  CommitRequest request;
  request.note = "keep this";
  const auto first = snapshot(paths, "before-run", request);
  ASSERT_OK(first);
  EXPECT_EQ(first->tag, "before-run");
  EXPECT_TRUE(first->result.added);
  EXPECT_EQ(first->result.revision.meta.labels, label_snapshot);
  const auto onion = open_onion(paths);
  ASSERT_OK(onion);
  EXPECT_EQ(onion->ref(RefKind::tag, "before-run")->target, first->result.revision.id);
  EXPECT_FAILS(snapshot(paths, "before-run", request), ErrorKind::exists);
  EXPECT_FAILS(snapshot(paths, "@3", request), ErrorKind::usage);
}

TEST(Snapshot, NamesItselfByTheClock) {
  const Scratch dir;
  const Paths paths = dir.paths();
  write_file(paths.file, "x");
  const auto first = snapshot(paths, "", {}), second = snapshot(paths, "", {});
  ASSERT_OK(first);
  ASSERT_OK(second);
  EXPECT_EQ(first->tag.rfind("snapshot-20", 0), 0u);
  EXPECT_NE(first->tag, second->tag);
}

}  // namespace
}  // namespace peel::workspace::test
