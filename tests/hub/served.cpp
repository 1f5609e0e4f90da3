#include "tests/hub/served.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace peel::hub::test {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void Machine::trust(const std::string& name, const trust::PublicKey& peer_key, std::optional<trust::Level> level,
                    const std::string& prefix, std::vector<std::string> addresses) const {
  trust::Peer peer;
  peer.name = name;
  peer.key = peer_key;
  if (level) peer.grants.push_back({*level, prefix});
  peer.addresses = std::move(addresses);
  peer.added_ns = now_ns();
  must(peers().trust(peer));
}

sync::ConnectOptions Machine::options() const {
  sync::ConnectOptions out;
  out.config_folder = config;
  return out;
}

Served::Served(const Machine& machine, HubOptions options) : root_(machine.folder / "root") {
  std::filesystem::create_directory(root_);
  options.root = root_;
  options.listen = "127.0.0.1:0";
  options.config_folder = machine.config;
  options.log = [this](const LogEntry& entry) {
    const std::lock_guard guard(mutex_);
    entries_.push_back(entry);
  };
  hub_.emplace(must(Hub::start(std::move(options))));
  const std::string bound = hub_->address();
  port_ = static_cast<std::uint16_t>(std::stoi(bound.substr(bound.rfind(':') + 1)));
  thread_ = std::thread([this] { must(hub_->run(cancel_)); });
}

void Served::stop() {
  cancel_.request();
  if (thread_.joinable()) thread_.join();
}

std::size_t Served::logged(const std::string& operation, const std::string& text) {
  const std::lock_guard guard(mutex_);
  std::size_t n = 0;
  for (const auto& entry : entries_)
    if (entry.operation == operation && entry.text.find(text) != std::string::npos) ++n;
  return n;
}

namespace {
sockaddr_in local(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}
}  // namespace

CuttingWire::CuttingWire(std::uint16_t to_port, std::uint64_t cut_after_up, std::uint64_t cut_after_down,
                         std::function<void()> at_cut)
    : to_port_(to_port), limit_up_(cut_after_up), limit_down_(cut_after_down), at_cut_(std::move(at_cut)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = local(0);
  socklen_t size = sizeof address;
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 16) != 0) std::abort();
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] {
    while (!stop_) {
      pollfd waiting{listener_, POLLIN, 0};
      if (::poll(&waiting, 1, 50) <= 0) continue;
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client >= 0) relay(client);
    }
  });
}

CuttingWire::~CuttingWire() {
  stop_ = true;
  thread_.join();
  ::close(listener_);
}

void CuttingWire::relay(int client) {
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = local(to_port_);
  bool alive = ::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  std::vector<char> buffer(16384);
  const auto pass = [&](int from, int to, std::atomic<std::uint64_t>& count, std::uint64_t limit) {
    const ssize_t n = ::recv(from, buffer.data(), buffer.size(), 0);
    if (n <= 0) return false;
    for (ssize_t done = 0; done < n;) {
      const ssize_t m = ::send(to, buffer.data() + done, static_cast<std::size_t>(n - done), MSG_NOSIGNAL);
      if (m <= 0) return false;
      done += m;
    }
    count += static_cast<std::uint64_t>(n);
    if (count < limit) return true;
    if (at_cut_) at_cut_();
    return false;
  };
  while (alive && !stop_) {
    pollfd both[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
    if (::poll(both, 2, 50) <= 0) continue;
    if (both[0].revents != 0) alive = pass(client, server, up_, limit_up_);
    if (alive && both[1].revents != 0) alive = pass(server, client, down_, limit_down_);
  }
  // Both ends see the stream stop without a goodbye; what was on the way to them still arrives.
  for (const int fd : {client, server}) ::shutdown(fd, SHUT_WR);
  for (const int fd : {client, server}) {
    pollfd waiting{fd, POLLIN, 0};
    while (::poll(&waiting, 1, 2000) > 0 && ::recv(fd, buffer.data(), buffer.size(), 0) > 0) {
    }
    ::close(fd);
  }
}

}  // namespace peel::hub::test
