// The probe against real writers in this process, in another one, and through a mapping alone.
#include "base/open_probe.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include "base/unique_fd.h"

namespace peel {
namespace {

class OpenProbe : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "peel_open_probe_XXXXXX").string();
    UniqueFd(::mkstemp(pattern.data()));
    path_ = pattern;
    ASSERT_EQ(::truncate(path_.c_str(), 4096), 0);
    reader_ = open(O_RDONLY);
    ASSERT_TRUE(reader_);
    if (probe_open_for_writing(reader_.get()) == OpenForWriting::unknown) GTEST_SKIP() << "no leases here";
  }
  void TearDown() override { std::filesystem::remove(path_); }
  UniqueFd open(int flags) const { return UniqueFd(::open(path_.c_str(), flags | O_CLOEXEC)); }

  std::string path_;
  UniqueFd reader_;
};

TEST_F(OpenProbe, NobodyWrites) {
  const UniqueFd other_reader = open(O_RDONLY);
  EXPECT_EQ(probe_open_for_writing(reader_.get()), OpenForWriting::no);
}

TEST_F(OpenProbe, SeesAWriterInThisProcessUntilItCloses) {
  UniqueFd writer = open(O_RDWR);
  EXPECT_EQ(probe_open_for_writing(reader_.get()), OpenForWriting::yes);
  writer.reset();
  EXPECT_EQ(probe_open_for_writing(reader_.get()), OpenForWriting::no);
}

TEST_F(OpenProbe, SeesAWriterInAnotherProcess) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const int fd = ::open(path_.c_str(), O_WRONLY);
    if (fd < 0 || ::write(ready[1], "x", 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(probe_open_for_writing(reader_.get()), OpenForWriting::yes);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(probe_open_for_writing(reader_.get()), OpenForWriting::no);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(OpenProbe, SeesAWriterWhoKeptOnlyAMapping) {
  UniqueFd writer = open(O_RDWR);
  void* map = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, writer.get(), 0);
  ASSERT_NE(map, MAP_FAILED);
  writer.reset();
  EXPECT_EQ(probe_open_for_writing(reader_.get()), OpenForWriting::yes);
  ::munmap(map, 4096);
  EXPECT_EQ(probe_open_for_writing(reader_.get()), OpenForWriting::no);
}

TEST_F(OpenProbe, AWritableDescriptorCannotTell) {
  const UniqueFd writer = open(O_RDWR);
  EXPECT_EQ(probe_open_for_writing(writer.get()), OpenForWriting::unknown);
}

TEST_F(OpenProbe, LeavesTheDescriptorAsItWas) {
  EXPECT_EQ(probe_open_for_writing(reader_.get()), OpenForWriting::no);
  EXPECT_EQ(::fcntl(reader_.get(), F_GETLEASE), F_UNLCK);
  EXPECT_EQ(::fcntl(reader_.get(), F_GETSIG), 0);
  EXPECT_EQ(::fcntl(reader_.get(), F_GETOWN), 0);
}

// Leases broken in the middle must neither kill this process nor fail the writer. SIGIO would do the first.
TEST_F(OpenProbe, SurvivesWritersThatComeAndGo) {
  std::atomic<bool> stop{false};
  std::atomic<int> failed_opens{0};
  std::thread writers([&] {
    while (!stop) {
      if (!open(O_RDWR)) ++failed_opens;
    }
  });
  int yes = 0, no = 0;
  for (int i = 0; i < 20'000; ++i) {
    switch (probe_open_for_writing(reader_.get())) {
      case OpenForWriting::yes: ++yes; break;
      case OpenForWriting::no: ++no; break;
      case OpenForWriting::unknown: ADD_FAILURE(); break;
    }
  }
  stop = true;
  writers.join();
  EXPECT_EQ(failed_opens, 0);
  EXPECT_GT(no, 0);
}

}  // namespace
}  // namespace peel
