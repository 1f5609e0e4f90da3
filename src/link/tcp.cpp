#include "link/tcp.h"

#include <fcntl.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>

#include "base/hex.h"
#include "link/poll_wait.h"
#include "link/tcp_socket.h"

namespace peel::link {
namespace {

constexpr std::chrono::milliseconds head_start{250};  // RFC 8305, Connection Attempt Delay
constexpr std::size_t max_attempts = 16;

// IPv6 and IPv4 in turn, each in the resolver's order, beginning with the family the resolver prefers.
std::vector<const addrinfo*> interleave(const addrinfo* list) {
  std::vector<const addrinfo*> preferred, other, out;
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next)
    (at->ai_family == list->ai_family ? preferred : other).push_back(at);
  for (std::size_t i = 0; i < std::max(preferred.size(), other.size()); ++i) {
    if (i < preferred.size()) out.push_back(preferred[i]);
    if (i < other.size()) out.push_back(other[i]);
  }
  if (out.size() > max_attempts) out.resize(max_attempts);
  return out;
}

// The race: attempts under way, and what became of the ones before.
class Race {
public:
  explicit Race(std::vector<const addrinfo*> candidates) : candidates_(std::move(candidates)) {}

  bool anything_to_start() const { return next_ < candidates_.size(); }
  bool anything_running() const { return !running_.empty(); }
  int last_error() const { return last_error_; }

  // Starts one more attempt; the winner when it connected at once.
  std::unique_ptr<Channel> start() {
    const addrinfo* to = candidates_[next_++];
    UniqueFd fd(::socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) {
      last_error_ = errno;
      return nullptr;
    }
    if (::connect(fd.get(), to->ai_addr, to->ai_addrlen) == 0) return win(std::move(fd), to);
    if (errno != EINPROGRESS && errno != EINTR) {
      last_error_ = errno;
      return nullptr;
    }
    running_.push_back({std::move(fd), to});
    return nullptr;
  }

  // Waits for any attempt to end; the winner, or null when one failed or nothing happened until `until`.
  Result<std::unique_ptr<Channel>> step(std::optional<Instant> until, const Cancel* cancel) {
    std::vector<pollfd> entries;
    for (const Attempt& attempt : running_) entries.push_back({attempt.fd.get(), POLLOUT, 0});
    const Status waited = poll_wait(entries, until, cancel);
    if (!waited && waited.error().kind() != ErrorKind::timeout) return waited.error();
    for (std::size_t i = entries.size(); i-- > 0;) {
      if (entries[i].revents == 0) continue;
      int code = 0;
      socklen_t length = sizeof code;
      ::getsockopt(entries[i].fd, SOL_SOCKET, SO_ERROR, &code, &length);
      Attempt attempt = std::move(running_[i]);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      if (code == 0) return win(std::move(attempt.fd), attempt.to);
      last_error_ = code;
    }
    return std::unique_ptr<Channel>();
  }

private:
  struct Attempt {
    UniqueFd fd;
    const addrinfo* to = nullptr;
  };
  static std::unique_ptr<Channel> win(UniqueFd fd, const addrinfo* to) {
    return tcp_channel(std::move(fd), host_port_of(to->ai_addr, to->ai_addrlen));
  }

  std::vector<const addrinfo*> candidates_;
  std::size_t next_ = 0;
  std::vector<Attempt> running_;
  int last_error_ = 0;
};

bool passed(std::optional<Instant> deadline) { return deadline && std::chrono::steady_clock::now() >= *deadline; }

Result<std::unique_ptr<Channel>> race(const addrinfo* list, std::optional<Instant> deadline, const Cancel* cancel) {
  Race race(interleave(list));
  while (race.anything_to_start() || race.anything_running()) {
    if (cancel != nullptr) PEEL_CHECK(cancel->check(), "");
    if (passed(deadline)) return fail(ErrorKind::timeout, "no answer in time");
    if (race.anything_to_start()) {
      if (auto won = race.start()) return won;
    }
    if (!race.anything_running()) continue;
    std::optional<Instant> until = deadline;
    if (race.anything_to_start()) {
      const Instant next_start = std::chrono::steady_clock::now() + head_start;
      until = deadline ? std::min(*deadline, next_start) : next_start;
    }
    PEEL_TRY(auto won, race.step(until, cancel), "");
    if (won) return won;
  }
  Error failed = fail(ErrorKind::network, std::strerror(race.last_error()));
  return race.last_error() == ECONNREFUSED ? std::move(failed).advise("is peel serve running there?") : failed;
}

Result<UniqueFd> listen_on(const addrinfo* at, std::uint16_t port) {
  UniqueFd fd(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return Error::from_errno(errno, "socket");
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // Each family has its own socket, so that the two never contend for one port.
  if (at->ai_family == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  sockaddr_storage address{};
  std::memcpy(&address, at->ai_addr, at->ai_addrlen);
  if (at->ai_family == AF_INET6) reinterpret_cast<sockaddr_in6*>(&address)->sin6_port = htons(port);
  if (at->ai_family == AF_INET) reinterpret_cast<sockaddr_in*>(&address)->sin_port = htons(port);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), at->ai_addrlen) != 0)
    return Error::from_errno(errno, "bind");
  if (::listen(fd.get(), 512) != 0) return Error::from_errno(errno, "listen");
  return fd;
}

HostPort bound_address(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  return host_port_of(reinterpret_cast<const sockaddr*>(&address), length);
}

bool no_such_family_here(int code) { return code == EAFNOSUPPORT || code == EADDRNOTAVAIL; }

}  // namespace

Result<std::unique_ptr<Channel>> tcp_connect(const std::string& host, std::uint16_t port,
                                             std::optional<Instant> deadline, const Cancel* cancel) {
  const std::string context = "connect to " + escape_for_terminal(to_string(HostPort{host, port}));
  if (host.empty() || port == 0) return fail(ErrorKind::usage, context + ": a host and a port are needed");
  PEEL_TRY(const auto list, look_up(host, port, false, deadline, cancel), context);
  PEEL_TRY(auto channel, race(list.get(), deadline, cancel), context);
  return channel;
}

Result<TcpListener> TcpListener::listen(const std::string& host, std::uint16_t port) {
  const std::string context = "listen on " + escape_for_terminal(to_string(HostPort{host, port}));
  auto found = look_up(host, port, true, std::nullopt, nullptr);
  if (!found && found.error().kind() == ErrorKind::network)  // a word that is no address of anything, ours least of all
    return Error(ErrorKind::usage, found.error().message()).in(context);
  if (!found) return std::move(found.error()).in(context);
  const AddrinfoList list = std::move(found).value();
  TcpListener listener;
  std::optional<Error> skipped;
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    // A hosts file may list one address twice.
    const std::string wanted = host_port_of(at->ai_addr, at->ai_addrlen).host;
    if (std::any_of(listener.bound_.begin(), listener.bound_.end(),
                    [&](const HostPort& have) { return have.host == wanted; }))
      continue;
    // All families share the port the kernel picked for the first.
    const bool picked_by_kernel = port == 0 && !listener.bound_.empty();
    auto fd = listen_on(at, picked_by_kernel ? listener.bound_.front().port : port);
    if (!fd) {
      if (!no_such_family_here(fd.error().os_error()) && !picked_by_kernel) return std::move(fd.error()).in(context);
      skipped = fd.error();
      continue;
    }
    listener.bound_.push_back(bound_address(fd->get()));
    listener.sockets_.push_back(std::move(*fd));
  }
  if (listener.sockets_.empty()) {
    if (!skipped) return fail(ErrorKind::io, context + ": no address");
    return std::move(*skipped).in(context);
  }
  return listener;
}

Result<std::unique_ptr<Channel>> TcpListener::accept(std::optional<Instant> deadline, const Cancel* cancel) {
  while (true) {
    std::vector<pollfd> entries;
    for (const UniqueFd& socket : sockets_) entries.push_back({socket.get(), POLLIN, 0});
    PEEL_CHECK(poll_wait(entries, deadline, cancel), "accept");
    for (const pollfd& entry : entries) {
      if (entry.revents == 0) continue;
      sockaddr_storage address{};
      socklen_t length = sizeof address;
      UniqueFd fd(::accept4(entry.fd, reinterpret_cast<sockaddr*>(&address), &length, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (fd) return tcp_channel(std::move(fd), host_port_of(reinterpret_cast<const sockaddr*>(&address), length));
      const int code = errno;
      if (code == EMFILE || code == ENFILE || code == ENOBUFS || code == ENOMEM)
        return fail(ErrorKind::limit, std::string("accept: ") + std::strerror(code));
      if (code == EBADF || code == EINVAL || code == ENOTSOCK) return Error::from_errno(code, "accept");
      // Anything else is about that one connection, which is gone, or another thread took it.
    }
  }
}

}  // namespace peel::link
