// Killed at any moment, and on kernels and file systems that lack a call: run in child processes.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cstddef>

#include "scratch.h"

namespace peel::workspace::test {
namespace {

// From now on, in this process: renameat2 with `rename_flag` is EINVAL, and with `deny_link` link is EPERM,
// as on a file system that has neither.
bool deny(unsigned rename_flag, bool deny_link) {
  const auto answer = [](int code) { return SECCOMP_RET_ERRNO | (static_cast<unsigned>(code) & SECCOMP_RET_DATA); };
  const auto number = offsetof(seccomp_data, nr), flags = offsetof(seccomp_data, args) + 4 * 8;
  std::vector<sock_filter> code = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(number)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(flags)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rename_flag, 0, 4),
      BPF_STMT(BPF_RET | BPF_K, answer(EINVAL)),
#ifdef SYS_link
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_link, 1, 0),
#else
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_linkat, 1, 0),
#endif
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_linkat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, deny_link ? answer(EPERM) : SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

constexpr int no_filter = 77;

// The exit code of `work` in a child that lacks those calls: 0, or 1 + its ErrorKind.
int without_calls(unsigned rename_flag, bool deny_link, const std::function<Status()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!deny(rename_flag, deny_link)) ::_exit(no_filter);
    const Status done = work();
    ::_exit(done ? 0 : 1 + static_cast<int>(done.error().kind()));
  }
  int how = 0;
  ::waitpid(child, &how, 0);
  return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

template <class T>
Status status_of(Result<T> result) {
  if (!result) return std::move(result.error());
  return {};
}

struct TwoStates : ::testing::Test {
  Scratch dir;
  Paths paths = dir.paths();
  std::string old_text = noise(300000, 1), new_text = noise(200000, 2);
  std::uint64_t first = commit_text(paths, old_text), second = commit_text(paths, new_text);
  std::vector<std::string> clean{"data.h5", "data.h5.onion"};
};

TEST_F(TwoStates, WithoutExchangeALinkAndARenameDoIt) {
  const int code = without_calls(RENAME_EXCHANGE, false, [&] { return status_of(restore(paths, at(first), {})); });
  if (code == no_filter) GTEST_SKIP() << "no seccomp filters here";
  EXPECT_EQ(code, 0);
  EXPECT_EQ(read_file(paths.file), old_text);
  EXPECT_EQ(dir.names(), clean);
}

TEST_F(TwoStates, WithoutExchangeAndLinkItRefusesAndTouchesNothing) {
  const int code = without_calls(RENAME_EXCHANGE, true, [&] { return status_of(restore(paths, at(first), {})); });
  if (code == no_filter) GTEST_SKIP() << "no seccomp filters here";
  EXPECT_EQ(code, 1 + static_cast<int>(ErrorKind::unsupported));
  EXPECT_EQ(read_file(paths.file), new_text);
  EXPECT_EQ(dir.names(), clean);
}

TEST_F(TwoStates, MovesWithoutLinks) {
  const int code = without_calls(RENAME_EXCHANGE, true, [&] { return status_of(move(paths, dir / "new")); });
  if (code == no_filter) GTEST_SKIP() << "no seccomp filters here";
  EXPECT_EQ(code, 0);
  EXPECT_EQ(dir.names(), (std::vector<std::string>{"new", "new.onion"}));
  EXPECT_EQ(state_of(dir.paths("new")), State::unmodified);
}

TEST_F(TwoStates, KilledAtAnyMomentTheFileIsOneOrTheOther) {
  for (int round = 0; round < 60; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) {
        if (!restore(paths, at(first), {}) || !restore(paths, at(second), {})) ::_exit(1);
      }
    }
    ::usleep(static_cast<useconds_t>(1000 + 701 * round));
    ::kill(child, SIGKILL);
    int how = 0;
    ::waitpid(child, &how, 0);
    ASSERT_TRUE(WIFSIGNALED(how)) << "a restore failed";
    const std::string found = read_file(paths.file);
    ASSERT_TRUE(found == old_text || found == new_text) << round;
    const auto onion = open_onion(paths);
    ASSERT_OK(onion);
    ASSERT_EQ(onion->revision_count(), 2u);
  }
  const auto report = restore(paths, at(first), {});
  ASSERT_OK(report);
  EXPECT_TRUE(report->left_behind.empty());
  EXPECT_EQ(dir.names(), clean) << "what the killed runs left is gone";
}

TEST_F(TwoStates, CommitsKilledAtAnyMomentKeepTheHistory) {
  std::uint64_t seen = 2;
  for (int round = 0; round < 30; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (std::uint64_t i = 0;; ++i) {
        write_file(paths.file, noise(100000 + i, static_cast<std::uint64_t>(round) * 1000 + i));
        if (!commit(paths, {})) ::_exit(1);
      }
    }
    ::usleep(static_cast<useconds_t>(2000 + 901 * round));
    ::kill(child, SIGKILL);
    int how = 0;
    ::waitpid(child, &how, 0);
    ASSERT_TRUE(WIFSIGNALED(how)) << "a commit failed";
    const auto onion = open_onion(paths);
    ASSERT_OK(onion);
    ASSERT_GE(onion->revision_count(), seen);
    seen = onion->revision_count();
    const auto head = onion->resolve("");
    ASSERT_OK(head);
    ASSERT_OK(onion->open_revision(*head)->verify());
  }
  EXPECT_EQ(content_at(paths, at(first)), old_text);
}

TEST_F(TwoStates, TwoRestoresAtOnceLeaveOneOfTheStates) {
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    for (int n = 0; n < 20; ++n) {
      const auto done = restore(paths, at((n + i) % 2 ? first : second), {});
      if (!done && done.error().kind() != ErrorKind::refused) ::_exit(1);  // refused: the other was faster
    }
    ::_exit(0);
  }
  for (const pid_t child : children) {
    int how = 0;
    ::waitpid(child, &how, 0);
    EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  }
  const std::string found = read_file(paths.file);
  EXPECT_TRUE(found == old_text || found == new_text);
  EXPECT_EQ(dir.names(), clean);
}

}  // namespace
}  // namespace peel::workspace::test
