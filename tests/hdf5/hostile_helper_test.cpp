// The parent side against helpers that lie, hang, flood and die. Linked without libhdf5, like peel itself.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/cancel.h"
#include "hdf5/hdf5.h"

namespace peel::hdf5 {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// 1000 bytes that begin like an HDF5 file, so that a helper is asked.
class Pretended : public Source {
 public:
  std::uint64_t size() const override { return 1000; }
  Result<std::size_t> read_at(std::uint64_t offset, MutableBytes out) const override {
    EXPECT_LE(offset + out.size(), 1000u) << "the helper reached beyond the source";
    if (fails && ++reads > 1) return fail(ErrorKind::io, "the disk is on fire");
    const std::string_view signature("\x89HDF\r\n\x1a\n", 8);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = offset + i < 8 ? static_cast<std::byte>(signature[offset + i]) : std::byte{0};
    }
    return out.size();
  }
  bool fails = false;
  mutable int reads = 0;
};

int children() {
  int n = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream in(task.path() / "children");
    for (std::string pid; in >> pid;) ++n;
  }
  return n;
}

class HostileHelper : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "peel_fake_XXXXXX").string();
    ASSERT_TRUE(::mkdtemp(pattern.data()));
    directory_ = pattern;
  }
  void TearDown() override {
    ::unsetenv("PEEL_HDF5_HELPER");
    std::filesystem::remove_all(directory_);
    EXPECT_EQ(children(), 0) << "a helper was left behind";
  }
  void behave(const std::string& how) {
    const auto path = directory_ / how;
    std::filesystem::copy_file(PEEL_FAKE_HELPER, path, std::filesystem::copy_options::overwrite_existing);
    ::setenv("PEEL_HDF5_HELPER", path.c_str(), 1);
  }
  static Limits quick() { return {.time_max = 300ms}; }

  void expect_error(const std::string& how, ErrorKind kind, const std::string& text) {
    behave(how);
    const auto begin = Clock::now();
    const auto result = inspect(source_, quick());
    EXPECT_LT(Clock::now() - begin, 5s) << how;
    ASSERT_FALSE(result) << how;
    EXPECT_EQ(result.error().kind(), kind) << how << ": " << result.error().message();
    EXPECT_NE(result.error().message().find(text), std::string::npos) << how << ": " << result.error().message();
  }

  Pretended source_;
  std::filesystem::path directory_;
};

TEST_F(HostileHelper, Dies) {
  expect_error("exits", ErrorKind::corrupt, "HDF5 reader stopped (exit 7): the file is damaged or too complex");
  expect_error("aborts", ErrorKind::corrupt, "HDF5 reader stopped (signal 6): the file is damaged or too complex");
  expect_error("out_of_memory", ErrorKind::limit, "memory");
  expect_error("not_confined", ErrorKind::unsupported, "confined");
  expect_error("promises_and_leaves", ErrorKind::corrupt, "stopped (exit 0)");
  expect_error("closes_and_hangs", ErrorKind::corrupt, "stopped");
}

TEST_F(HostileHelper, TakesTooLong) {
  expect_error("hangs", ErrorKind::timeout, "0.3 s");
  expect_error("promises_and_hangs", ErrorKind::timeout, "0.3 s");
  expect_error("reads_for_ever", ErrorKind::timeout, "0.3 s");
  expect_error("asks_and_never_listens", ErrorKind::timeout, "0.3 s");
}

TEST_F(HostileHelper, AsksForWhatDoesNotExist) {
  for (const char* how : {"reads_beyond_the_end", "reads_across_the_end", "offset_wraps", "other_source", "huge_answer", "noise"}) {
    expect_error(how, ErrorKind::corrupt, "impossible");
  }
}

TEST_F(HostileHelper, AnswersNonsense) {
  expect_error("wrong_answer", ErrorKind::corrupt, "makes no sense");
  expect_error("garbage_answer", ErrorKind::corrupt, "makes no sense");
  behave("too_many_items");
  const auto diff = compare(source_, source_, {.limits = {.time_max = 5s}});
  ASSERT_FALSE(diff);
  EXPECT_EQ(diff.error().kind(), ErrorKind::corrupt);
}

TEST_F(HostileHelper, AFailingSourceIsReportedAsItself) {
  behave("reads_for_ever");
  source_.fails = true;
  const auto result = inspect(source_, quick());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind(), ErrorKind::io);
  EXPECT_NE(result.error().message().find("the disk is on fire"), std::string::npos);
}

TEST_F(HostileHelper, CanBeCancelled) {
  behave("hangs");
  Cancel cancel;
  Limits limits{.time_max = 60s, .cancel = &cancel};
  std::thread finger([&] {
    std::this_thread::sleep_for(100ms);
    cancel.request();
  });
  const auto begin = Clock::now();
  const auto result = inspect(source_, limits);
  finger.join();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind(), ErrorKind::cancelled);
  EXPECT_LT(Clock::now() - begin, 5s);
}

TEST_F(HostileHelper, IsStartedWithNothing) {
  behave("surroundings");
  ::setenv("SECRET", "x", 1);
  const int open_file = ::open("/proc/self/exe", O_RDONLY);  // not close-on-exec, on purpose
  const auto result = inspect(source_, {.time_max = 5s});
  ::close(open_file);
  ::unsetenv("SECRET");
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_NE(result->text.find(" fds: 0 1 2 3"), std::string::npos) << result->text;
  EXPECT_TRUE(result->text.ends_with(" 3")) << result->text;
  EXPECT_EQ(result->text.find("SECRET"), std::string::npos) << result->text;
  EXPECT_EQ(result->text.find("HOME"), std::string::npos) << result->text;
  EXPECT_NE(result->text.find("HDF5_PLUGIN_PRELOAD"), std::string::npos) << result->text;
}

TEST_F(HostileHelper, WorksWithoutStandardDescriptors) {
  behave("surroundings");
  const pid_t child = ::fork();
  if (child == 0) {
    for (int fd = 0; fd < 3; ++fd) ::close(fd);
    const auto result = inspect(source_, {.time_max = 5s});
    ::_exit(result && result->text.find(" fds: 0 1 2 3") != std::string::npos ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(HostileHelper, IsMissing) {
  ::setenv("PEEL_HDF5_HELPER", (directory_ / "nowhere").c_str(), 1);
  const auto result = inspect(source_, quick());
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message().find("nowhere"), std::string::npos) << result.error().message();
}

TEST_F(HostileHelper, NoHelperForFilesThatAreNotHdf5) {
  ::setenv("PEEL_HDF5_HELPER", (directory_ / "nowhere").c_str(), 1);
  class Text : public Source {
   public:
    explicit Text(std::string text) : text_(std::move(text)) {}
    std::uint64_t size() const override { return text_.size(); }
    Result<std::size_t> read_at(std::uint64_t offset, MutableBytes out) const override {
      return text_.copy(reinterpret_cast<char*>(out.data()), out.size(), offset);
    }
    std::string text_;
  };
  const std::string signature("\x89HDF\r\n\x1a\n", 8);
  for (const std::string& text : {std::string(), std::string("x"), std::string(5000, 'x'), "x" + signature, signature.substr(0, 7)}) {
    const Text source(text);
    EXPECT_FALSE(looks_like_hdf5(source));
    const auto health = inspect(source);
    ASSERT_TRUE(health);
    EXPECT_EQ(health->state, HealthState::not_hdf5);
  }
  for (const std::size_t at : {0, 512, 1024, 2048, 65536}) EXPECT_TRUE(looks_like_hdf5(Text(std::string(at, 'x') + signature))) << at;
  for (const std::size_t at : {1, 256, 511, 1536}) EXPECT_FALSE(looks_like_hdf5(Text(std::string(at, 'x') + signature + std::string(5000, 'x')))) << at;
}

TEST(Hdf5Layer, DoesNotLoadLibhdf5) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) EXPECT_EQ(line.find("libhdf5"), std::string::npos) << line;
}

}  // namespace
}  // namespace peel::hdf5
