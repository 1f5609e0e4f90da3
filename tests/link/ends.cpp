#include "tests/link/ends.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <future>

#include "link/memory.h"
#include "link/stdio.h"
#include "link/tcp.h"

namespace peel::link::test {
namespace {

Ends memory_ends(std::size_t capacity) {
  auto pair = make_memory_pair({.capacity = capacity, .cut_first_after = {}, .cut_second_after = {}});
  return {std::move(pair.first), std::move(pair.second)};
}

UniqueFd duplicate(int fd) { return UniqueFd(::dup(fd)); }

Ends socketpair_ends() {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) std::abort();
  Ends ends;
  ends.a = std::move(stdio_channel(duplicate(fds[0]), UniqueFd(fds[0]), "a")).value();
  ends.b = std::move(stdio_channel(duplicate(fds[1]), UniqueFd(fds[1]), "b")).value();
  return ends;
}

Ends pipe_ends() {
  std::array<int, 2> to_b{}, to_a{};
  if (::pipe(to_b.data()) != 0 || ::pipe(to_a.data()) != 0) std::abort();
  Ends ends;
  ends.a = std::move(stdio_channel(UniqueFd(to_a[0]), UniqueFd(to_b[1]), "a")).value();
  ends.b = std::move(stdio_channel(UniqueFd(to_b[0]), UniqueFd(to_a[1]), "b")).value();
  return ends;
}

}  // namespace

Instant soon(int milliseconds) { return std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds); }

TlsIdentity identity_of(unsigned char fill) {
  TlsIdentity identity;
  identity.private_seed.fill(static_cast<std::byte>(fill));
  return identity;
}

Ends with_tls(Ends plain) {
  auto accepting = std::async(std::launch::async, [&] {
    return tls_accept(
        std::move(plain.b), identity_of(2), [](const Digest&) { return Status{}; }, soon(5000), nullptr);
  });
  auto a = tls_connect(
      std::move(plain.a), identity_of(1), [](const Digest&) { return Status{}; }, soon(5000), nullptr);
  auto b = accepting.get();
  if (!a || !b) std::abort();
  return {std::move(*a), std::move(*b)};
}

Ends tcp_ends() {
  auto listener = TcpListener::listen("127.0.0.1", 0);
  if (!listener) std::abort();
  auto a = tcp_connect("127.0.0.1", listener->port(), soon(5000), nullptr);
  auto b = listener->accept(soon(5000), nullptr);
  if (!a || !b) std::abort();
  return {std::move(*a), std::move(*b)};
}

const std::vector<Link>& all_links() {
  constexpr std::size_t kernel = 64u << 20, tls = 64u << 10;
  static const std::vector<Link> links = {
      {"memory", [] { return memory_ends(65536); }, 65536, true},
      {"memory_tiny", [] { return memory_ends(3); }, 3, true},
      {"tcp", [] { return tcp_ends(); }, kernel, false},
      {"stdio_socketpair", [] { return socketpair_ends(); }, kernel, false},
      {"stdio_pipes", [] { return pipe_ends(); }, kernel, false},
      {"tls_over_tcp", [] { return with_tls(tcp_ends()); }, kernel + tls, true},
      {"tls_over_memory", [] { return with_tls(memory_ends(65536)); }, 65536 + tls, true},
      {"tls_over_tiny_memory", [] { return with_tls(memory_ends(7)); }, 7 + tls, true},
      {"tls_over_pipes", [] { return with_tls(pipe_ends()); }, kernel + tls, true},
  };
  return links;
}

Status write_all(Channel& channel, Bytes data, int patience_ms) {
  const Instant deadline = soon(patience_ms);
  while (!data.empty()) {
    PEEL_TRY(const auto taken, channel.write_some(data), "");
    data = data.subspan(taken);
    if (taken == 0) PEEL_CHECK(channel.wait({.read = false, .write = true}, deadline, nullptr), "write_all");
  }
  return {};
}

Result<Buffer> read_exactly_n(Channel& channel, std::size_t n, int patience_ms) {
  const Instant deadline = soon(patience_ms);
  Buffer out(n);
  std::size_t have = 0;
  while (have < n) {
    PEEL_TRY(const auto got, channel.read_some(MutableBytes(out).subspan(have)), "");
    have += got.bytes;
    if (got.closed) return fail(ErrorKind::truncated, "closed after " + std::to_string(have));
    if (got.bytes == 0) PEEL_CHECK(channel.wait({.read = true, .write = false}, deadline, nullptr), "read_exactly_n");
  }
  return out;
}

Result<Buffer> carry(Channel& from, Bytes data, Channel& to, int patience_ms) {
  const Instant deadline = soon(patience_ms);
  Buffer out(data.size());
  std::size_t have = 0;
  while (have < out.size()) {
    PEEL_TRY(const auto taken, from.write_some(data), "");
    data = data.subspan(taken);
    (void)from.wait({.read = true, .write = false}, std::chrono::steady_clock::now(), nullptr);
    PEEL_TRY(const auto got, to.read_some(MutableBytes(out).subspan(have)), "");
    have += got.bytes;
    if (got.closed) return fail(ErrorKind::truncated, "closed after " + std::to_string(have));
    if (std::chrono::steady_clock::now() > deadline) return fail(ErrorKind::timeout, "carry");
  }
  return out;
}

Result<Buffer> read_to_end(Channel& channel, int patience_ms) {
  const Instant deadline = soon(patience_ms);
  Buffer out, piece(4096);
  while (true) {
    PEEL_TRY(const auto got, channel.read_some(piece), "");
    out.insert(out.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got.bytes));
    if (got.closed) return out;
    if (got.bytes == 0) PEEL_CHECK(channel.wait({.read = true, .write = false}, deadline, nullptr), "read_to_end");
  }
}

}  // namespace peel::link::test
