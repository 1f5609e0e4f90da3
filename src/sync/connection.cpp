#include "sync/connection.h"

#include "base/hex.h"
#include "codec/blake3.h"
#include "link/memory.h"
#include "link/tcp.h"
#include "link/tls.h"
#include "peel/version.h"
#include "sync/local_service.h"
#include "sync/responder.h"
#include "trust/identity.h"

namespace peel::sync {

using Clock = std::chrono::steady_clock;

// Decides about the key a server shows.
struct Connection::Check {
  trust::PeerStore* peers = nullptr;
  std::string wanted;  // name of a peer, or HOST:PORT
  std::optional<trust::PublicKey> exactly;
  // Another key owns the name or address: the server may be able to prove that it replaced that one.
  std::optional<Error> provisional;
  std::optional<trust::PublicKey> met;

  Status operator()(const Digest& key) {
    met = key;
    if (exactly) {
      if (*exactly == key) return {};
      return fail(ErrorKind::refused, "the server at " + wanted + " has another key than the invite names");
    }
    auto peer = peers->expect(key, wanted);
    if (peer) {
      if (peer->addresses.empty() && wanted.find(':') != std::string::npos)
        return peers->add_address(peer->name, wanted);
      return {};
    }
    const auto owners = peers->by_address(wanted);
    const bool owned = (owners && !owners->empty()) || peers->by_name(wanted).ok();
    if (!owned || peers->by_key(key).ok()) return std::move(peer.error());
    provisional = std::move(peer.error());
    return {};
  }
};

Result<trust::ConfigDirectory> open_config_directory(const std::string& folder) {
  return folder.empty() ? trust::ConfigDirectory::open() : trust::ConfigDirectory::open_at(folder);
}

Result<std::vector<Buffer>> encoded_statements(const trust::ConfigDirectory& config) {
  PEEL_TRY(const auto statements, trust::load_successions(config), "");
  std::vector<Buffer> out;
  for (const auto& statement : statements) out.push_back(trust::encode(statement));
  return out;
}

namespace {

// The other end as the user calls it, not as the link does.
std::string name_for_messages(const Url& url) {
  switch (url.kind) {
    case Url::Kind::server:
      return escape_for_terminal(to_string(HostPort{url.host, url.port}));
    case Url::Kind::peer:
      return escape_for_terminal(url.peer);
    case Url::Kind::file:
      return escape_for_terminal(url.path);
  }
  return {};
}

// In front of what went wrong: "lab", not "lab:".
std::string place_of(const Url& url) {
  std::string text = url.text();
  if (text.ends_with(':')) text.pop_back();
  return escape_for_terminal(text);
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(const Url& url, const ConnectOptions& options) {
  std::unique_ptr<Connection> c(new Connection());
  c->onion_name_ = url.name;
  c->peer_name_ = name_for_messages(url);
  c->staging_key_ = "from-" + short_hex(codec::blake3(as_bytes(url.text())), 16);
  switch (url.kind) {
    case Url::Kind::file:
      PEEL_CHECK(c->connect_local(url.path, options.cancel), place_of(url));
      PEEL_CHECK(c->start_session(options), place_of(url));
      return c;
    case Url::Kind::peer: {
      PEEL_CHECK(c->connect_peer(url, options), place_of(url));
      return c;
    }
    case Url::Kind::server:
      break;
  }
  if (options.insecure) {
    PEEL_CHECK(c->connect_plain(url, options), place_of(url));
    return c;
  }
  PEEL_CHECK(c->open_config(options), "");
  trust::PeerStore peers(*c->config_);
  Check check;
  check.peers = &peers;
  check.wanted = to_string(HostPort{url.host, url.port});
  PEEL_CHECK(c->connect_tls(url.host, url.port, check, options), place_of(url));
  return c;
}

Result<std::unique_ptr<Connection>> Connection::open_pinned(const std::string& host_port, const trust::PublicKey& key,
                                                            const ConnectOptions& options) {
  std::unique_ptr<Connection> c(new Connection());
  PEEL_TRY(const auto address, parse_host_port(host_port, default_port), "");
  PEEL_CHECK(c->open_config(options), "");
  c->peer_name_ = escape_for_terminal(host_port);
  Check check;
  check.wanted = host_port;
  check.exactly = key;
  PEEL_CHECK(c->connect_tls(address.host, address.port, check, options), host_port);
  return c;
}

Status Connection::open_config(const ConnectOptions& options) {
  PEEL_TRY(config_, open_config_directory(options.config_folder), "");
  return {};
}

Status Connection::connect_local(const std::string& path, const Cancel* cancel) {
  auto pair = link::make_memory_pair({1u << 20, {}, {}});
  channel_ = std::move(pair.first);
  local_server_ = std::thread([far = std::move(pair.second), onion = onion_path_of(path), cancel]() {
    LocalService service(onion);
    ResponderOptions options;
    options.cancel = cancel;
    (void)Responder(service, *far, options).run().ok();  // the client's side of the story is the one that is told
  });
  return {};
}

Status Connection::connect_plain(const Url& url, const ConnectOptions& options) {
  insecure_ = true;
  PEEL_TRY(channel_, link::tcp_connect(url.host, url.port, Clock::now() + options.connect_timeout, options.cancel), "");
  return start_session(options);
}

Status Connection::connect_peer(const Url& url, const ConnectOptions& options) {
  PEEL_CHECK(open_config(options), "");
  trust::PeerStore peers(*config_);
  const auto found = peers.by_name(url.peer);
  if (!found && found.error().kind() == ErrorKind::not_found)
    return Error(found.error()).advise("use an invite with: peel join INVITE --name " + escape_for_terminal(url.peer));
  if (!found) return found.error();
  const trust::Peer& peer = *found;
  if (peer.revoked) return fail(ErrorKind::refused, "'" + url.peer + "' is not trusted any more");
  if (peer.addresses.empty())
    return fail(ErrorKind::not_found, "no address is known for '" + url.peer + "': use peel://HOST/NAME once");
  Status last;
  for (const std::string& text : peer.addresses) {  // any address of that peer will do
    PEEL_TRY(const auto address, parse_host_port(text, default_port), "");
    Check check;
    check.peers = &peers;
    check.wanted = url.peer;
    last = connect_tls(address.host, address.port, check, options);
    if (last || last.error().kind() == ErrorKind::refused || last.error().kind() == ErrorKind::cancelled) return last;
  }
  return last;
}

Status Connection::connect_tls(const std::string& host, std::uint16_t port, Check& check,
                               const ConnectOptions& options) {
  if (options.insecure)
    return fail(ErrorKind::usage, "--insecure goes with peel://HOST/NAME alone: a named peer has a key");
  PEEL_TRY(const auto identity, trust::load_or_create_identity(*config_), "");
  const auto deadline = Clock::now() + options.connect_timeout;
  PEEL_TRY(auto lower, link::tcp_connect(host, port, deadline, options.cancel), "");
  auto secured = link::tls_connect(
      std::move(lower), link::TlsIdentity{identity.private_seed}, [&check](const Digest& key) { return check(key); },
      deadline, options.cancel);
  if (!secured && secured.error().kind() == ErrorKind::unsupported)
    return Error(ErrorKind::network, secured.error().message())
        .advise("a server that was started with --insecure wants clients that say --insecure too");
  if (!secured) return std::move(secured.error());
  channel_ = std::move(secured).value();
  server_key_ = channel_->properties().peer_key;
  PEEL_CHECK(start_session(options), "");
  return check.provisional ? accept_rotated_key(check) : Status();
}

Status Connection::start_session(const ConnectOptions& options) {
  proto::SessionOptions session_options;
  session_options.role = proto::Role::client;
  session_options.idle_timeout = options.idle_timeout;
  session_options.hello_timeout = options.connect_timeout;
  session_options.software = std::string("peel ") + version_string;
  if (config_) {
    PEEL_TRY(session_options.statements, encoded_statements(*config_), "");
  }
  session_ = std::make_unique<proto::HistorySession>(session_options, Clock::now());
  Pump::Options pump_options;
  pump_options.cancel = options.cancel;
  pump_options.idle_timeout = options.idle_timeout;
  pump_options.peer = peer_name_;
  if (options.progress) {
    pump_options.tick_every = std::chrono::milliseconds(100);
    pump_options.tick = [this, report = options.progress]() -> Status {
      count_bytes();
      report(stats_);
      return {};
    };
  }
  pump_ = std::make_unique<Pump>(*session_, *channel_, std::move(pump_options));
  return {};
}

// Nothing but the hello has been sent. The server proves with its hello that the key we trust handed over.
Status Connection::accept_rotated_key(const Check& check) {
  while (true) {
    PEEL_TRY(auto event, pump_->next(), "");
    auto* hello = std::get_if<proto::PeerHello>(&event);
    if (!hello) continue;
    std::vector<trust::Succession> statements;
    for (const Buffer& bytes : hello->hello.statements)
      if (auto statement = trust::decode_succession(bytes)) statements.push_back(std::move(statement).value());
    auto moved = check.peers->accept_succession(*check.met, statements);
    if (moved && check.peers->expect(*check.met, check.wanted)) return {};
    return pump_->abort(Error(*check.provisional));
  }
}

Result<proto::Event> Connection::next() {
  while (true) {
    auto next = pump_->next();
    if (!next && insecure_ && !met_ && next.error().kind() == ErrorKind::network)
      return std::move(next.error()).advise("a server that was started without --insecure speaks TLS alone");
    if (!next) return std::move(next.error());
    proto::Event event = std::move(next).value();
    met_ = true;
    if (std::holds_alternative<proto::PeerHello>(event)) continue;
    if (std::holds_alternative<proto::Closed>(event))
      return fail(ErrorKind::network, "the server closed the connection");
    return event;
  }
}

void Connection::count_bytes() {
  stats_.bytes_sent = session_->bytes_sent();
  stats_.bytes_received = session_->bytes_received();
}

void Connection::finish() {
  if (finished_) return;
  finished_ = true;
  if (pump_) {
    pump_->goodbye();
    count_bytes();
  } else if (channel_) {
    channel_->close();
  }
  if (local_server_.joinable()) local_server_.join();
}

Connection::~Connection() { finish(); }

}  // namespace peel::sync
