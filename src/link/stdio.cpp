#include "link/stdio.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <mutex>
#include <thread>

#include "base/hex.h"
#include "link/poll_wait.h"

extern char** environ;

namespace peel::link {
namespace {

// A pipe whose reader is gone must be an error of one write, not the end of the process.
void ignore_sigpipe_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction now {};
    if (::sigaction(SIGPIPE, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) return;
    now.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &now, nullptr);
  });
}

// Ends a child within two and a half seconds: by itself, asked, forced. Returns when it is reaped.
class Child {
public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    reap(std::nullopt);
  }

  void finish() {
    if (pid_ <= 0 || reap(std::chrono::seconds(2))) return;
    ::kill(pid_, SIGTERM);
    if (reap(std::chrono::milliseconds(500))) return;
    ::kill(pid_, SIGKILL);
    reap(std::nullopt);
  }

private:
  bool reap(std::optional<std::chrono::milliseconds> patience) {
    const Instant deadline = std::chrono::steady_clock::now() + patience.value_or(std::chrono::milliseconds(0));
    while (true) {
      const pid_t got = ::waitpid(pid_, nullptr, patience ? WNOHANG : 0);
      if (got == pid_ || (got < 0 && errno != EINTR)) {
        pid_ = 0;
        return true;
      }
      if (patience && std::chrono::steady_clock::now() >= deadline) return false;
      if (patience) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  pid_t pid_;
};

class StdioChannel final : public Channel {
public:
  StdioChannel(UniqueFd incoming, UniqueFd outgoing, std::string peer_name, std::unique_ptr<Child> child)
      : incoming_(std::move(incoming)), outgoing_(std::move(outgoing)), child_(std::move(child)) {
    incoming_is_socket_ = is_socket(incoming_.get());
    outgoing_is_socket_ = is_socket(outgoing_.get());
    properties_.peer_name = std::move(peer_name);
  }

  Result<ReadOutcome> read_some(MutableBytes out) override {
    if (!incoming_) return closed_here();
    if (out.empty()) return ReadOutcome{};
    while (true) {
      ssize_t n = -1;
      if (incoming_is_socket_) {
        n = ::recv(incoming_.get(), out.data(), out.size(), MSG_DONTWAIT);
      } else {
        if (!ready(incoming_.get(), POLLIN)) return ReadOutcome{};
        n = ::read(incoming_.get(), out.data(), out.size());  // does not block: poll saw bytes or the end
      }
      if (n > 0) return ReadOutcome{static_cast<std::size_t>(n), false};
      if (n == 0) return ReadOutcome{0, true};
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return ReadOutcome{};
      return lost(errno);
    }
  }

  Result<std::size_t> write_some(Bytes data) override {
    if (!outgoing_) return closed_here();
    std::size_t done = 0;
    while (done < data.size()) {
      const Bytes rest = data.subspan(done);
      ssize_t n = -1;
      if (outgoing_is_socket_) {
        n = ::send(outgoing_.get(), rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      } else {
        if (!ready(outgoing_.get(), POLLOUT)) break;
        // A pipe that polls as writable takes PIPE_BUF bytes without blocking, and no more is promised.
        n = ::write(outgoing_.get(), rest.data(), std::min<std::size_t>(rest.size(), PIPE_BUF));
      }
      if (n >= 0) {
        done += static_cast<std::size_t>(n);
        continue;
      }
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) break;
      if (done > 0) break;  // said again by the next write
      return lost(errno);
    }
    return done;
  }

  Status wait(Interest interest, std::optional<Instant> deadline, const Cancel* cancel) override {
    if (!incoming_ || broken_ != 0) return {};
    // poll ignores negative descriptors.
    std::array<pollfd, 2> entries{pollfd{interest.read ? incoming_.get() : -1, POLLIN, 0},
                                  pollfd{interest.write ? outgoing_.get() : -1, POLLOUT, 0}};
    return poll_wait(entries, deadline, cancel);
  }

  void close() override {
    if (outgoing_is_socket_ && outgoing_) ::shutdown(outgoing_.get(), SHUT_WR);
    outgoing_.reset();
    incoming_.reset();
    if (child_) child_->finish();
    child_.reset();
  }

  const Properties& properties() const override { return properties_; }

private:
  static bool is_socket(int fd) {
    struct stat st {};
    return ::fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
  }
  static bool ready(int fd, short events) {
    pollfd entry{fd, events, 0};
    return ::poll(&entry, 1, 0) > 0;
  }
  Error lost(int code) {
    if (broken_ == 0) broken_ = code;
    return fail(ErrorKind::network, "connection to " + properties_.peer_name + " lost: " + std::strerror(broken_));
  }
  static Error closed_here() { return fail(ErrorKind::network, "this connection was closed here"); }

  UniqueFd incoming_, outgoing_;
  bool incoming_is_socket_ = false, outgoing_is_socket_ = false;
  int broken_ = 0;
  std::unique_ptr<Child> child_;
  Properties properties_;
};

struct Pipe {
  UniqueFd read_end, write_end;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return Error::from_errno(errno, "pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// The child must not inherit our choice to ignore SIGPIPE, nor a blocked signal.
struct SpawnSettings {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    sigset_t none, pipe_only;
    ::sigemptyset(&none);
    ::sigemptyset(&pipe_only);
    ::sigaddset(&pipe_only, SIGPIPE);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &pipe_only);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
};

}  // namespace

Result<std::unique_ptr<Channel>> stdio_channel(UniqueFd incoming, UniqueFd outgoing, std::string peer_name) {
  if (::fcntl(incoming.get(), F_GETFL) < 0 || ::fcntl(outgoing.get(), F_GETFL) < 0)
    return Error::from_errno(errno, "channel over " + peer_name);
  ignore_sigpipe_once();
  return std::unique_ptr<Channel>(
      new StdioChannel(std::move(incoming), std::move(outgoing), std::move(peer_name), nullptr));
}

Result<std::unique_ptr<Channel>> standard_streams_channel() {
  UniqueFd incoming(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  UniqueFd outgoing(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  if (!incoming || !outgoing) return Error::from_errno(errno, "use stdin and stdout");
  // From here on a stray print cannot garble the stream, and the peer sees its end when the channel closes.
  UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!nothing || ::dup2(nothing.get(), STDIN_FILENO) < 0 || ::dup2(nothing.get(), STDOUT_FILENO) < 0)
    return Error::from_errno(errno, "use stdin and stdout");
  return stdio_channel(std::move(incoming), std::move(outgoing), "stdio");
}

Result<std::unique_ptr<Channel>> spawn_channel(const std::vector<std::string>& argv) {
  if (argv.empty()) return fail(ErrorKind::usage, "no program to start");
  const std::string context = "start " + escape_for_terminal(argv.front());
  PEEL_TRY(auto to_child, make_pipe(), context);
  PEEL_TRY(auto from_child, make_pipe(), context);
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);

  SpawnSettings settings;
  ::posix_spawn_file_actions_adddup2(&settings.actions, to_child.read_end.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&settings.actions, from_child.write_end.get(), STDOUT_FILENO);
  pid_t pid = 0;
  const int code =
      ::posix_spawnp(&pid, arguments[0], &settings.actions, &settings.attributes, arguments.data(), environ);
  if (code == ENOENT) return fail(ErrorKind::not_found, context + ": no such program on PATH");
  if (code != 0) return Error::from_errno(code, context);
  ignore_sigpipe_once();
  return std::unique_ptr<Channel>(new StdioChannel(std::move(from_child.read_end), std::move(to_child.write_end),
                                                   escape_for_terminal(argv.front()), std::make_unique<Child>(pid)));
}

}  // namespace peel::link
