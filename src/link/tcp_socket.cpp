#include "link/tcp_socket.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/hex.h"
#include "link/poll_wait.h"

namespace peel::link {
namespace {

class TcpChannel final : public Channel {
public:
  TcpChannel(UniqueFd fd, Properties properties) : fd_(std::move(fd)), properties_(std::move(properties)) {}

  Result<ReadOutcome> read_some(MutableBytes out) override {
    if (!fd_) return closed_here();
    if (out.empty()) return ReadOutcome{};
    while (true) {
      const ssize_t n = ::recv(fd_.get(), out.data(), out.size(), MSG_DONTWAIT);
      if (n > 0) return ReadOutcome{static_cast<std::size_t>(n), false};
      if (n == 0) return ReadOutcome{0, true};
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return ReadOutcome{};
      return lost(errno);
    }
  }

  Result<std::size_t> write_some(Bytes data) override {
    if (!fd_) return closed_here();
    if (data.empty()) return std::size_t{0};
    while (true) {
      const ssize_t n = ::send(fd_.get(), data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return std::size_t{0};
      return lost(errno);
    }
  }

  Status wait(Interest interest, std::optional<Instant> deadline, const Cancel* cancel) override {
    if (!fd_ || broken_ != 0) return {};  // the next read or write says what is wrong
    pollfd entry{fd_.get(), static_cast<short>((interest.read ? POLLIN : 0) | (interest.write ? POLLOUT : 0)), 0};
    return poll_wait({&entry, 1}, deadline, cancel);
  }

  void close() override {
    if (!fd_) return;
    ::shutdown(fd_.get(), SHUT_WR);
    // Closing with unread bytes makes the kernel reset the connection and drop what we said last. When the peer is
    // still sending, give our last words a moment to arrive.
    if (discard_input()) {
      const Instant deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(250);
      int unacknowledged = 0;
      while (::ioctl(fd_.get(), SIOCOUTQ, &unacknowledged) == 0 && unacknowledged > 0) {
        pollfd entry{fd_.get(), POLLIN, 0};
        if (!poll_wait({&entry, 1}, deadline, nullptr) || !discard_input()) break;
      }
    }
    fd_.reset();
  }

  const Properties& properties() const override { return properties_; }

private:
  // True when something was there and more may come.
  bool discard_input() {
    std::array<std::byte, 16384> sink;
    bool any = false;
    for (int round = 0; round < 64; ++round) {
      const ssize_t n = ::recv(fd_.get(), sink.data(), sink.size(), MSG_DONTWAIT);
      if (n <= 0) return any && n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
      any = true;
    }
    return any;
  }

  Error lost(int code) {
    if (broken_ == 0) broken_ = code;
    return fail(ErrorKind::network, "connection to " + properties_.peer_name + " lost: " + std::strerror(broken_));
  }
  Error closed_here() const { return fail(ErrorKind::network, "this connection was closed here"); }

  UniqueFd fd_;
  int broken_ = 0;
  Properties properties_;
};

struct Lookup {
  std::mutex mutex;
  std::condition_variable done_changed;
  bool done = false;
  int code = 0, system_code = 0;
  AddrinfoList list;
};

}  // namespace

std::unique_ptr<Channel> tcp_channel(UniqueFd connected, const HostPort& peer) {
  const auto set = [&](int level, int option, int value) {
    ::setsockopt(connected.get(), level, option, &value, sizeof value);  // a refusal costs speed, not correctness
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 15);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
  Channel::Properties properties;
  properties.peer_name = to_string(peer);
  return std::make_unique<TcpChannel>(std::move(connected), std::move(properties));
}

HostPort host_port_of(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> service{};
  HostPort out;
  if (::getnameinfo(address, length, host.data(), host.size(), service.data(), service.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return out;
  out.host = host.data();
  const std::string_view digits(service.data());
  std::from_chars(digits.data(), digits.data() + digits.size(), out.port);
  return out;
}

Result<AddrinfoList> look_up(const std::string& host, std::uint16_t port, bool passive, std::optional<Instant> deadline,
                             const Cancel* cancel) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
  const std::string service = std::to_string(port);

  addrinfo* numeric = nullptr;
  addrinfo numeric_hints = hints;
  numeric_hints.ai_flags |= AI_NUMERICHOST;
  if (::getaddrinfo(host.empty() ? nullptr : host.c_str(), service.c_str(), &numeric_hints, &numeric) == 0)
    return AddrinfoList(numeric);

  const auto shared = std::make_shared<Lookup>();
  try {
    std::thread([shared, host, service, hints] {
      addrinfo* list = nullptr;
      const int code = ::getaddrinfo(host.c_str(), service.c_str(), &hints, &list);
      const int system_code = errno;
      const std::lock_guard guard(shared->mutex);
      shared->code = code;
      shared->system_code = system_code;
      shared->list.reset(list);
      shared->done = true;
      shared->done_changed.notify_all();
    }).detach();
  } catch (const std::system_error& error) {
    return fail(ErrorKind::limit, std::string("no thread to look up a name: ") + error.what());
  }
  std::unique_lock guard(shared->mutex);
  while (!shared->done) {
    if (cancel != nullptr) PEEL_CHECK(cancel->check(), "");
    if (deadline && std::chrono::steady_clock::now() >= *deadline)
      return fail(ErrorKind::timeout, "looking up " + escape_for_terminal(host) + " took too long");
    auto until = std::chrono::steady_clock::now() + cancel_slice;
    if (deadline && *deadline < until) until = *deadline;
    shared->done_changed.wait_until(guard, until);
  }
  if (shared->code != 0) {
    const char* why = shared->code == EAI_SYSTEM ? std::strerror(shared->system_code) : ::gai_strerror(shared->code);
    return fail(ErrorKind::network, "cannot look up " + escape_for_terminal(host) + ": " + why);
  }
  return std::move(shared->list);
}

}  // namespace peel::link
