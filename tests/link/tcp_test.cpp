#include "link/tcp.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <thread>

#include "base/host_port.h"

namespace peel::link {
namespace {

Instant soon(int milliseconds) { return std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds); }

TcpListener listener_on(const std::string& host, std::uint16_t port = 0) {
  auto made = TcpListener::listen(host, port);
  if (!made) std::abort();
  return std::move(*made);
}

bool has_ipv6() { return TcpListener::listen("::1", 0).ok(); }

TEST(HostPort, ReadsWhatPeopleWrite) {
  const auto same = [](const char* text) { return to_string(*parse_host_port(text)) == text; };
  EXPECT_TRUE(same("host.example:1"));
  EXPECT_TRUE(same("10.0.0.1:65535"));
  EXPECT_TRUE(same("[2001:db8::1]:443"));
  EXPECT_TRUE(same("[fe80::1%eth0]:0"));
  EXPECT_EQ(*parse_host_port("host", 7), (HostPort{"host", 7}));
  EXPECT_EQ(*parse_host_port("::1", 7), (HostPort{"::1", 7}));
  EXPECT_EQ(*parse_host_port("[::1]", 7), (HostPort{"::1", 7}));
  for (const char* bad : {"", ":1", "host", "host:", "host:x", "host:65536", "host:-1", "host:1 ", "::1", "[::1",
                          "[::1]1", "[]:1", "-oProxy:1", "a b:1", "a/b:1", "h\n:1"})
    EXPECT_FALSE(parse_host_port(bad)) << bad;
}

TEST(Tcp, PicksAPortAndNamesBothEnds) {
  TcpListener listener = listener_on("127.0.0.1");
  ASSERT_NE(listener.port(), 0);
  EXPECT_EQ(listener.bound(), (std::vector<HostPort>{{"127.0.0.1", listener.port()}}));
  auto a = tcp_connect("127.0.0.1", listener.port(), soon(5000), nullptr);
  ASSERT_TRUE(a) << a.error().message();
  auto b = listener.accept(soon(5000), nullptr);
  ASSERT_TRUE(b) << b.error().message();
  EXPECT_EQ((*a)->properties().peer_name, "127.0.0.1:" + std::to_string(listener.port()));
  EXPECT_EQ((*b)->properties().peer_name.substr(0, 10), "127.0.0.1:");
  EXPECT_FALSE((*a)->properties().encrypted);
  EXPECT_FALSE((*a)->properties().peer_key);
}

TEST(Tcp, AnEmptyHostListensOnBothFamiliesAtOnePort) {
  TcpListener listener = listener_on("");
  for (const HostPort& address : listener.bound()) EXPECT_EQ(address.port, listener.port());
  EXPECT_TRUE(tcp_connect("127.0.0.1", listener.port(), soon(5000), nullptr));
  EXPECT_TRUE(listener.accept(soon(5000), nullptr));
  if (!has_ipv6()) return;
  EXPECT_EQ(listener.bound().size(), 2u);
  EXPECT_TRUE(tcp_connect("::1", listener.port(), soon(5000), nullptr));
  EXPECT_TRUE(listener.accept(soon(5000), nullptr));
}

TEST(Tcp, ANameWithADeadAddressFindsTheLiveOne) {
  // localhost usually is both ::1 and 127.0.0.1; only one of them listens.
  for (const char* only : {"127.0.0.1", "::1"}) {
    if (only[0] == ':' && !has_ipv6()) continue;
    TcpListener listener = listener_on(only);
    const auto channel = tcp_connect("localhost", listener.port(), soon(5000), nullptr);
    if (only[0] == ':' && !channel) continue;  // a hosts file without ::1 for localhost
    EXPECT_TRUE(channel) << channel.error().message();
  }
}

TEST(Tcp, ARefusedConnectionIsANetworkErrorThatNamesTheAddress) {
  std::uint16_t port = 0;
  { port = listener_on("127.0.0.1").port(); }
  const auto channel = tcp_connect("127.0.0.1", port, soon(5000), nullptr);
  ASSERT_FALSE(channel);
  EXPECT_EQ(channel.error().kind(), ErrorKind::network);
  EXPECT_NE(channel.error().message().find("127.0.0.1:" + std::to_string(port)), std::string::npos);
}

TEST(Tcp, ANameThatCannotExistFailsInTime) {
  const auto channel = tcp_connect("no-such-host.invalid", 1, soon(1500), nullptr);
  ASSERT_FALSE(channel);
  EXPECT_TRUE(channel.error().kind() == ErrorKind::network || channel.error().kind() == ErrorKind::timeout);
  EXPECT_NE(channel.error().message().find("no-such-host.invalid"), std::string::npos);
}

TEST(Tcp, WrongRequestsAreUsageErrors) {
  EXPECT_EQ(tcp_connect("", 1, soon(100), nullptr).error().kind(), ErrorKind::usage);
  EXPECT_EQ(tcp_connect("127.0.0.1", 0, soon(100), nullptr).error().kind(), ErrorKind::usage);
}

TEST(Tcp, APortInUseIsAnErrorThatNamesIt) {
  TcpListener first = listener_on("127.0.0.1");
  const auto second = TcpListener::listen("127.0.0.1", first.port());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind(), ErrorKind::io);
  EXPECT_NE(second.error().message().find(std::to_string(first.port())), std::string::npos);
}

TEST(Tcp, AcceptEndsAtItsDeadlineAndOnCancelAndGoesOn) {
  TcpListener listener = listener_on("127.0.0.1");
  EXPECT_EQ(listener.accept(soon(20), nullptr).error().kind(), ErrorKind::timeout);
  Cancel cancel;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cancel.request();
  });
  EXPECT_EQ(listener.accept(std::nullopt, &cancel).error().kind(), ErrorKind::cancelled);
  other.join();
  EXPECT_TRUE(tcp_connect("127.0.0.1", listener.port(), soon(5000), nullptr));
  EXPECT_TRUE(listener.accept(soon(5000), nullptr));
}

// A listener whose queue is full drops further handshakes: connecting to it hangs.
class FullListener {
public:
  FullListener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 || ::listen(fd_.get(), 0) != 0)
      std::abort();
    ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    for (int i = 0; i < 4; ++i) {
      UniqueFd filler(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      (void)::connect(filler.get(), reinterpret_cast<const sockaddr*>(&address), length);
      fillers_.push_back(std::move(filler));
    }
  }
  std::uint16_t port() const { return port_; }

private:
  UniqueFd fd_;
  std::vector<UniqueFd> fillers_;
  std::uint16_t port_ = 0;
};

TEST(Tcp, ConnectingEndsAtItsDeadlineAndOnCancel) {
  const FullListener full;
  EXPECT_EQ(tcp_connect("127.0.0.1", full.port(), soon(50), nullptr).error().kind(), ErrorKind::timeout);
  Cancel cancel;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cancel.request();
  });
  EXPECT_EQ(tcp_connect("127.0.0.1", full.port(), std::nullopt, &cancel).error().kind(), ErrorKind::cancelled);
  other.join();
}

TEST(Tcp, AResetIsANetworkErrorForReaderAndWriter) {
  TcpListener listener = listener_on("127.0.0.1");
  UniqueFd raw(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(listener.port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(raw.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  auto accepted = listener.accept(soon(5000), nullptr);
  ASSERT_TRUE(accepted);
  const linger reset{1, 0};
  ::setsockopt(raw.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  raw.reset();
  ASSERT_TRUE((*accepted)->wait({.read = true, .write = false}, soon(5000), nullptr));
  std::array<std::byte, 8> bytes{};
  const auto got = (*accepted)->read_some(bytes);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind(), ErrorKind::network);
  EXPECT_FALSE((*accepted)->write_some(bytes));
  EXPECT_TRUE((*accepted)->wait({.read = true, .write = false}, soon(5000), nullptr));  // returns to let one see it
}

TEST(Tcp, LastWordsReachAPeerThatIsStillTalking) {
  TcpListener listener = listener_on("127.0.0.1");
  auto client = tcp_connect("127.0.0.1", listener.port(), soon(5000), nullptr);
  auto server = listener.accept(soon(5000), nullptr);
  ASSERT_TRUE(client && server);
  const Buffer request(100'000);
  ASSERT_TRUE((*client)->write_some(request));
  const std::array<std::byte, 3> refusal{std::byte{1}, std::byte{2}, std::byte{3}};
  ASSERT_TRUE((*server)->wait({.read = true, .write = false}, soon(5000), nullptr));
  ASSERT_EQ(*(*server)->write_some(refusal), 3u);
  (*server)->close();  // with the request unread
  std::array<std::byte, 8> bytes{};
  ASSERT_TRUE((*client)->wait({.read = true, .write = false}, soon(5000), nullptr));
  const auto got = (*client)->read_some(bytes);
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->bytes, 3u);
}

}  // namespace
}  // namespace peel::link
