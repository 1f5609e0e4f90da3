// A helper that has been taken over. How it misbehaves is the file name of the copy that was started, because
// arguments and environment are peel's to choose.
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

#include "hdf5/answer.h"
#include "hdf5/protocol.h"

using namespace peel;
using namespace peel::hdf5;

namespace {

constexpr int fd = helper_socket_fd;

void send_all(Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) ::_exit(0);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

std::string receive(std::size_t n) {
  std::string out(n, '\0');
  if (::recv(fd, out.data(), n, MSG_WAITALL) != static_cast<ssize_t>(n)) ::_exit(0);
  return out;
}

void frame(FrameKind kind, std::uint8_t source, std::uint32_t length, std::uint64_t offset) {
  send_all(encode(FrameHeader{kind, source, length, offset}));
}

void answer(const Buffer& bytes) {
  frame(FrameKind::answer, 0, static_cast<std::uint32_t>(bytes.size()), 0);
  send_all(bytes);
}

[[noreturn]] void hang() {
  for (;;) ::pause();
}

// What this process was started with, told as the text of a health report.
std::string surroundings() {
  std::string out = "environment:";
  for (char** e = environ; *e; ++e) out += std::string(" ") + std::string(*e).substr(0, std::string(*e).find('='));
  out += " fds:";
  for (int i = 0; i < 64; ++i) {
    if (::lseek(i, 0, SEEK_CUR) >= 0 || errno != EBADF) out += " " + std::to_string(i);
  }
  return out;
}

void misbehave(const std::string& how) {
  if (how == "exits") ::_exit(7);
  if (how == "out_of_memory") ::_exit(exit_out_of_memory);
  if (how == "not_confined") ::_exit(exit_not_confined);
  if (how == "aborts") ::abort();
  if (how == "closes_and_hangs") {
    ::close(fd);
    hang();
  }
  if (how == "hangs") hang();
  if (how == "reads_beyond_the_end") frame(FrameKind::read, 0, 100, 1'000'000), hang();
  if (how == "reads_across_the_end") frame(FrameKind::read, 0, 100, 950), hang();
  if (how == "offset_wraps") frame(FrameKind::read, 0, 100, UINT64_MAX - 10), hang();
  if (how == "other_source") frame(FrameKind::read, 1, 1, 0), hang();
  if (how == "huge_answer") frame(FrameKind::answer, 0, UINT32_MAX, 0), hang();
  if (how == "promises_and_hangs") frame(FrameKind::answer, 0, answer_size_max, 0), hang();
  if (how == "promises_and_leaves") frame(FrameKind::answer, 0, answer_size_max, 0), ::_exit(0);
  if (how == "noise") {
    for (int i = 0; i < 1000; ++i) send_all(as_bytes("complete and utter nonsense "));
    hang();
  }
  if (how == "reads_for_ever") {
    for (;;) {
      frame(FrameKind::read, 0, 512, 0);
      receive(4 + 512);
    }
  }
  if (how == "asks_and_never_listens") {
    for (;;) frame(FrameKind::read, 0, 1000, 0);
  }
  if (how == "wrong_answer") answer(encode_answer(FileDiff{}));
  if (how == "garbage_answer") answer(Buffer(1000, std::byte{0x41}));
  if (how == "too_many_items") {
    FileDiff diff;
    diff.changes.resize(200'000);
    answer(encode_answer(diff));
  }
  if (how == "surroundings") {
    Health health;
    health.text = surroundings();
    answer(encode_answer(health));
    hang();  // peel must not wait for the end
  }
}

}  // namespace

int main() {
  char path[4096];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  if (n <= 0) return 1;
  const std::string_view whole(path, static_cast<std::size_t>(n));
  const std::string size = receive(4);
  receive(WireReader::load<std::uint32_t>(reinterpret_cast<const std::byte*>(size.data())));
  misbehave(std::string(whole.substr(whole.rfind('/') + 1)));
  hang();
}
