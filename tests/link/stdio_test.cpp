#include "link/stdio.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace peel::link {
namespace {

Instant soon(int milliseconds) { return std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds); }

std::string read_all(Channel& channel) {
  std::string out;
  std::array<std::byte, 1000> piece;
  while (true) {
    const auto got = channel.read_some(piece);
    if (!got) return out + " / " + got.error().message();
    if (got->closed) return out;
    out.append(reinterpret_cast<const char*>(piece.data()), got->bytes);
    if (got->bytes == 0 && !channel.wait({.read = true, .write = false}, soon(5000), nullptr)) return out + " / late";
  }
}

TEST(Spawn, TalksToAChild) {
  auto channel = spawn_channel({"sh", "-c", "read line; echo \"got $line\""});
  ASSERT_TRUE(channel) << channel.error().message();
  EXPECT_EQ((*channel)->properties().peer_name, "sh");
  ASSERT_EQ(*(*channel)->write_some(as_bytes("hello\n")), 6u);
  EXPECT_EQ(read_all(**channel), "got hello\n");
  (*channel)->close();
}

TEST(Spawn, ClosingIsTheEndOfTheChildsInput) {
  const std::string file = ::testing::TempDir() + "peel-stdio-" + std::to_string(::getpid());
  auto channel = spawn_channel({"sh", "-c", "cat > " + file + "; echo end >> " + file});
  ASSERT_TRUE(channel);
  ASSERT_TRUE((*channel)->write_some(as_bytes("all\n")));
  (*channel)->close();  // returns when the child has left by itself
  auto check = spawn_channel({"cat", file});
  EXPECT_EQ(read_all(**check), "all\nend\n");
  ::unlink(file.c_str());
}

TEST(Spawn, AProgramThatDoesNotExist) {
  const auto channel = spawn_channel({"peel-no-such-program"});
  ASSERT_FALSE(channel);
  EXPECT_EQ(channel.error().kind(), ErrorKind::not_found);
  EXPECT_EQ(spawn_channel({}).error().kind(), ErrorKind::usage);
}

TEST(Spawn, ADroppedChannelLeavesNoChildBehind) {
  { auto channel = spawn_channel({"sleep", "1000"}); }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // no children, not even dead ones
  EXPECT_EQ(errno, ECHILD);
}

TEST(Spawn, TheChildDiesOfSigpipeAsUsual) {
  // "yes" ends only by SIGPIPE; if the child inherited our choice to ignore it, it would complain on stderr instead.
  auto channel = spawn_channel({"sh", "-c", "trap '' TERM; yes >/dev/null & kill -PIPE $!; wait $!; echo $?"});
  ASSERT_TRUE(channel);
  EXPECT_EQ(read_all(**channel), "141\n");
}

TEST(Stdio, ABadDescriptorIsAnError) { EXPECT_FALSE(stdio_channel(UniqueFd(), UniqueFd(), "nobody")); }

TEST(Stdio, NeverMakesTheSharedDescriptionNonBlocking) {
  std::array<int, 2> fds{};
  ASSERT_EQ(::pipe(fds.data()), 0);
  const UniqueFd other_reader(::dup(fds[0])), other_writer(::dup(fds[1]));
  auto channel = stdio_channel(UniqueFd(fds[0]), UniqueFd(fds[1]), "loop");
  ASSERT_TRUE(channel);
  Buffer block(1 << 20);
  std::size_t taken = 0;
  while (true) {  // a full pipe does not block us
    const auto n = (*channel)->write_some(block);
    ASSERT_TRUE(n);
    if (*n == 0) break;
    taken += *n;
  }
  EXPECT_GT(taken, 4096u);
  EXPECT_EQ(::fcntl(other_reader.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(::fcntl(other_writer.get(), F_GETFL) & O_NONBLOCK, 0);
}

// In a child process, so that this program keeps its own stdin and stdout.
TEST(Stdio, StandardStreamsAreTakenOver) {
  std::array<int, 2> in{}, out{};
  ASSERT_EQ(::pipe(in.data()), 0);
  ASSERT_EQ(::pipe(out.data()), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(in[0], 0);
    ::dup2(out[1], 1);
    for (const int fd : {in[0], in[1], out[0], out[1]}) ::close(fd);
    auto channel = standard_streams_channel();
    if (!channel) ::_exit(2);
    (void)!::write(1, "stray", 5);  // goes nowhere
    (void)(*channel)->write_some(as_bytes("clean"));
    (*channel)->close();
    ::_exit(::read(0, in.data(), 1) == 0 ? 0 : 3);
  }
  ::close(in[0]);
  ::close(out[1]);
  auto channel = stdio_channel(UniqueFd(out[0]), UniqueFd(in[1]), "child");
  EXPECT_EQ(read_all(**channel), "clean");
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace peel::link
