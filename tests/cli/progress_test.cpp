// tests/cli/progress_test.cpp - the progress line, on a pseudo terminal and away from one.
#include "cli/progress.h"

#include <gtest/gtest.h>

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace peel::cli {
namespace {

// What a child with a terminal on standard error writes there.
std::string drawn(bool quiet, std::chrono::milliseconds time) {
  int master = -1;
  const pid_t child = ::forkpty(&master, nullptr, nullptr, nullptr);
  if (child == 0) {
    const Cancel cancel;
    const Context context(
        *parse(quiet ? std::vector<std::string>{"commit", "-q", "f"} : std::vector<std::string>{"commit", "f"}),
        cancel);
    {
      Progress progress(context, "f\x1b: recording");
      for (std::uint64_t done = 0; done < 10; ++done) {
        progress.update(done << 20, 10 << 20);
        std::this_thread::sleep_for(time / 10);
      }
    }
    ::_exit(0);
  }
  std::string out;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(master, buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(n));
  ::close(master);
  ::waitpid(child, nullptr, 0);
  return out;
}

TEST(Progress, ShowsShareRateAndTimeLeftThenWipesItself) {
  const std::string out = drawn(false, std::chrono::milliseconds(900));
  EXPECT_NE(out.find("\rf\\x1b: recording  "), std::string::npos) << out;
  EXPECT_NE(out.find("% of 10.0 MiB"), std::string::npos) << out;
  EXPECT_NE(out.find("/s"), std::string::npos) << out;
  EXPECT_NE(out.find("ETA 0:0"), std::string::npos) << out;
  EXPECT_EQ(out.find('\n'), std::string::npos);
  EXPECT_TRUE(out.ends_with(" \r")) << out;
}

TEST(Progress, SilentWhenShortOrQuiet) {
  EXPECT_EQ(drawn(false, std::chrono::milliseconds(50)), "");
  EXPECT_EQ(drawn(true, std::chrono::milliseconds(900)), "");
}

}  // namespace
}  // namespace peel::cli
