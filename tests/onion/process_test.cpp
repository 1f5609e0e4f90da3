// Real processes on the real file system: writers at once, a collector and a reader beside them; kills; system calls
// that fail.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/hex.h"
#include "testing/sample_data.h"

using namespace peel;
namespace fs = std::filesystem;

namespace {

// A folder that goes with the test.
class ProcessTest : public ::testing::Test {
protected:
  ProcessTest() {
    std::string pattern = (fs::temp_directory_path() / "peel-process-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    onion_ = (folder_ / "x.onion").string();
  }
  ~ProcessTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  static std::string driver() { return (fs::read_symlink("/proc/self/exe").parent_path() / "onion_driver").string(); }

  // Ids that somebody was told are recorded.
  static std::vector<std::string> recorded(const std::string& record) {
    std::ifstream in(record);
    std::vector<std::string> ids;
    for (std::string line; std::getline(in, line);) ids.push_back(line);
    return ids;
  }

  // Runs a program, its output to `output`; the pid.
  static pid_t start(std::vector<std::string> arguments, const std::string& output) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    const int out = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    ::dup2(out, 1);
    ::dup2(out, 2);
    std::vector<char*> argv;
    for (auto& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  static int wait_for(pid_t pid) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  int run(std::vector<std::string> arguments) const { return wait_for(start(std::move(arguments), path("output"))); }
  std::string output() const {
    std::ifstream in(path("output"));
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // Opens, checks all of it, and returns the ids that are there.
  std::set<std::string> checked_ids() const {
    auto onion = Onion::open(onion_);
    EXPECT_TRUE(onion) << onion.error().message();
    std::set<std::string> ids;
    if (!onion) return ids;
    const auto report = onion->verify({.deep = true});
    EXPECT_TRUE(report && report->damage.empty()) << (report ? report->damage[0].what : report.error().message());
    const auto list = onion->list();
    EXPECT_TRUE(list);
    for (const auto& s : *list) ids.insert(to_hex(s.id));
    for (const Ref& ref : onion->refs()) {
      EXPECT_TRUE(ref.kind == RefKind::setting || onion->find(ref.target)) << ref.name;
    }
    if (!list->empty()) {
      const auto newest = onion->open_revision(list->back().number);
      EXPECT_TRUE(newest && newest->verify());
    }
    return ids;
  }

  void expect_all_there(const std::vector<std::string>& ids, const std::set<std::string>& there) const {
    for (const auto& id : ids)
      EXPECT_TRUE(there.count(id)) << "acknowledged revision " << id.substr(0, 12) << " is gone";
  }

  fs::path folder_;
  std::string onion_;
};

// --- what the processes of the concurrency test do; each returns an error or nothing ---------------

Status write_down(const std::string& record, const RevisionId& id) {
  std::ofstream out(record, std::ios::app);
  out << to_hex(id) << std::endl;
  return out ? Status() : fail(ErrorKind::io, record);
}

// `rounds` commits on a branch of its own and as many on the shared one, which only takes what builds on its head.
Status committer(const std::string& path, const std::string& record, const std::string& name, std::uint64_t rounds) {
  OpenOptions open;
  open.access = Access::write;
  PEEL_TRY(auto onion, Onion::open(path, open), "");
  std::mt19937_64 random(std::hash<std::string>()(name));
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const Buffer piece = random_bytes(random, 3000);
    const Write write{random() % 30'000, piece};
    CommitOptions own;
    own.branch = name;
    own.meta.note = name + std::to_string(i);
    PEEL_TRY(const auto mine, onion.commit_writes({&write, 1}, 40'000, own), "own branch");
    PEEL_CHECK(write_down(record, mine.revision.id), "");
    while (true) {
      const auto head = onion.ref(RefKind::branch, "shared");
      CommitOptions shared;
      shared.branch = "shared";
      shared.expected_head = head ? head->target : RevisionId{};
      shared.meta.note = "shared by " + own.meta.note;
      auto ours = onion.commit_writes({&write, 1}, 40'000, shared);
      if (!ours && ours.error().kind() == ErrorKind::conflict) {
        PEEL_CHECK(onion.refresh(), "refresh");
        continue;
      }
      if (!ours) return std::move(ours.error()).in("shared branch");
      PEEL_CHECK(write_down(record, ours->revision.id), "");
      break;
    }
  }
  return {};
}

// Until `stop` exists.
Status collector(const std::string& path, const std::string& stop) {
  OpenOptions open;
  open.access = Access::write;
  PEEL_TRY(auto onion, Onion::open(path, open), "");
  for (int i = 0; !fs::exists(stop); ++i) {
    GcPolicy policy;
    policy.defer = i % 4 == 3;
    PEEL_TRY([[maybe_unused]] const auto report, onion.gc(policy), "gc");
    if (policy.defer) PEEL_CHECK(onion.flush(), "flush");
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  return {};
}

Status reader(const std::string& path, const std::string& stop) {
  std::mt19937_64 random(3);
  PEEL_TRY(auto kept, Onion::open(path), "");
  std::uint64_t most = 0;
  for (int i = 0; !fs::exists(stop); ++i) {
    PEEL_CHECK(kept.refresh(), "refresh");
    PEEL_TRY(auto fresh, Onion::open(path), "open");
    for (Onion* onion : {&kept, &fresh}) {
      PEEL_TRY(const auto list, onion->list(), "list");
      if (list.empty()) continue;
      if (onion == &fresh && list.size() < most) return fail(ErrorKind::corrupt, "history got shorter");
      most = std::max<std::uint64_t>(most, list.size());
      PEEL_TRY(const auto revision, onion->open_revision(list[random() % list.size()].number), "open revision");
      PEEL_CHECK(revision.verify(), "read");
    }
    if (i % 5 == 0) {
      PEEL_TRY(const auto report, fresh.verify({.deep = i % 10 == 0}), "verify");
      if (!report.damage.empty()) return fail(ErrorKind::corrupt, report.damage[0].what);
    }
  }
  return {};
}

template <class F>
pid_t in_process(F&& work) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  const Status done = work();
  if (!done) std::fprintf(stderr, "%s\n", done.error().message().c_str());
  std::fflush(stderr);
  ::_exit(done ? 0 : 1);
}

TEST_F(ProcessTest, WritersCollectorAndReaderAtOnce) {
  ASSERT_TRUE(Onion::create(onion_));
  const std::uint64_t rounds = 200;
  const pid_t a = in_process([&] { return committer(onion_, path("a"), "a", rounds); });
  const pid_t b = in_process([&] { return committer(onion_, path("b"), "b", rounds); });
  const pid_t c = in_process([&] { return collector(onion_, path("stop")); });
  const pid_t d = in_process([&] { return reader(onion_, path("stop")); });
  EXPECT_EQ(wait_for(a), 0);
  EXPECT_EQ(wait_for(b), 0);
  std::ofstream(path("stop")) << "stop";
  EXPECT_EQ(wait_for(c), 0);
  EXPECT_EQ(wait_for(d), 0);
  const auto there = checked_ids();
  EXPECT_EQ(there.size(), 4 * rounds);
  std::set<std::string> all;
  for (const char* who : {"a", "b"}) {
    const auto ids = recorded(path(who));
    EXPECT_EQ(ids.size(), 2 * rounds);
    expect_all_there(ids, there);
    all.insert(ids.begin(), ids.end());
  }
  EXPECT_EQ(all.size(), 4 * rounds);
  // The shared branch is one line of everybody's commits.
  auto onion = Onion::open(onion_);
  ASSERT_TRUE(onion);
  EXPECT_EQ(onion->revision(*onion->resolve("shared"))->generation, 2 * rounds);
  EXPECT_EQ(onion->revision(*onion->resolve("a"))->generation, rounds);
}

TEST_F(ProcessTest, KilledAtAnyMoment) {
  ASSERT_TRUE(Onion::create(onion_));
  std::mt19937_64 random(11);
  std::size_t more_than_told = 0;
  for (int round = 0; round < 30 && !HasFailure(); ++round) {
    const std::string kind =
        std::array<const char*, 4>{"commit", "gc", "scan", "refs"}[static_cast<std::size_t>(round) % 4];
    SCOPED_TRACE("round " + std::to_string(round) + " " + kind);
    const pid_t child =
        start({driver(), kind, onion_, path("record"), std::to_string(round), "1000000"}, path("output"));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 150'000));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    ASSERT_EQ(wait_for(child), 128 + SIGKILL) << output();
    const auto there = checked_ids();
    const auto told = recorded(path("record"));
    expect_all_there(told, there);
    // At most one more a round: the one in flight.
    EXPECT_LE(there.size(), told.size() + static_cast<std::size_t>(round) + 1);
    more_than_told = there.size() - told.size();
    if (kind == "scan" && round > 10) {  // megabytes each: start anew before checking them all takes long
      fs::remove(onion_);
      fs::remove(path("record"));
      ASSERT_TRUE(Onion::create(onion_));
    }
  }
  RecordProperty("seen_but_not_told", std::to_string(more_than_told));
  // Work goes on after all of it.
  EXPECT_EQ(run({driver(), "commit", onion_, path("record"), "99", "3"}), 0) << output();
  expect_all_there(recorded(path("record")), checked_ids());
}

bool strace_works(const std::string& log) {
  return std::system(("strace -f -o '" + log + "' true >/dev/null 2>&1").c_str()) == 0;
}

TEST_F(ProcessTest, FailingSystemCalls) {
  if (!strace_works(path("trace")))
    GTEST_SKIP() << "strace is missing or may not trace: failing system calls are NOT tested";
  ASSERT_EQ(run({driver(), "create", onion_}), 0) << output();
  ASSERT_EQ(run({driver(), "commit", onion_, path("record"), "1", "3"}), 0) << output();
  struct Injection {
    const char *call, *error, *kind;
    int most;
  };
  const auto failing = [&](const Injection& i, int when) {
    return std::vector<std::string>{
        "strace", "-f",
        "-o",     path("trace"),
        "-e",     std::string("trace=") + i.call,
        "-e",     std::string("inject=") + i.call + ":error=" + i.error + ":when=" + std::to_string(when)};
  };
  int failures = 0;
  for (const Injection& i : {Injection{"pwrite64", "ENOSPC", "commit", 4}, Injection{"pwrite64", "EIO", "scan", 4},
                             Injection{"fdatasync", "EIO", "commit", 4}, Injection{"fdatasync", "ENOSPC", "gc", 5},
                             Injection{"rename", "EIO", "gc", 2}, Injection{"fsync", "EIO", "gc", 2},
                             Injection{"pwrite64", "ENOSPC", "gc", 7}})
    for (int when = 1; when <= i.most; ++when) {
      SCOPED_TRACE(std::string(i.kind) + " with " + i.call + " number " + std::to_string(when) + " failing with " +
                   i.error);
      auto arguments = failing(i, when);
      for (const std::string& a :
           {driver(), std::string(i.kind), onion_, path("record"), std::to_string(when), std::string("2")})
        arguments.push_back(a);
      const int code = run(arguments);
      EXPECT_TRUE(code == 0 || code == exit_code(ErrorKind::io)) << code << output();
      failures += code != 0;
      expect_all_there(recorded(path("record")), checked_ids());
      ASSERT_EQ(run({driver(), "commit", onion_, path("record"), std::to_string(100 + when), "1"}), 0) << output();
      EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 4)
          << "left behind: a temporary file";
    }
  EXPECT_GE(failures, 15) << "hardly anything failed: nothing was tested";
  // A creation whose rename fails leaves nothing.
  auto create = failing({"renameat2", "EIO", "", 1}, 1);
  for (const std::string& a : {driver(), std::string("create"), path("y.onion")}) create.push_back(a);
  EXPECT_EQ(run(create), exit_code(ErrorKind::io)) << output();
  EXPECT_FALSE(fs::exists(path("y.onion")));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 4);
}

}  // namespace
