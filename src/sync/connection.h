// sync/connection.h - a client's connection to wherever a URL points: pinned TLS, plain TCP when both sides
// asked for it, or a local onion behind the same session.
//
// Contract   open() has met a trusted key (or fails) before anything of the user's travels. A server whose key
//            was rotated is recognised by statements that its old key signed.
// Errors     refused (key), not_found (no address for that peer), network, timeout, cancelled.
// Threads    One owner. A file:// connection runs its serving end on a thread of its own, joined at the end.
#pragma once

#include <thread>

#include "link/channel.h"
#include "sync/client.h"
#include "sync/pump.h"
#include "trust/config_directory.h"
#include "trust/peers.h"

namespace peel::sync {

class Connection {
public:
  static Result<std::unique_ptr<Connection>> open(const Url& url, const ConnectOptions& options);
  // To a server that is not in the peers list yet: exactly this key is accepted.
  static Result<std::unique_ptr<Connection>> open_pinned(const std::string& host_port, const trust::PublicKey& key,
                                                         const ConnectOptions& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  proto::HistorySession& session() { return *session_; }
  Pump& pump() { return *pump_; }
  TransferStats& stats() { return stats_; }
  // The next event; hellos are handled here.
  Result<proto::Event> next();
  // Ends in order and fills in the byte counts.
  void finish();

  const std::optional<trust::PublicKey>& server_key() const { return server_key_; }
  const std::optional<trust::ConfigDirectory>& config() const { return config_; }
  const std::string& onion_name() const { return onion_name_; }
  // Separates what is staged from one remote from what is staged from another.
  const std::string& staging_key() const { return staging_key_; }

private:
  Connection() = default;
  Status open_config(const ConnectOptions& options);
  Status connect_local(const std::string& path, const Cancel* cancel);
  Status connect_plain(const Url& url, const ConnectOptions& options);
  Status connect_peer(const Url& url, const ConnectOptions& options);
  struct Check;
  Status connect_tls(const std::string& host, std::uint16_t port, Check& check, const ConnectOptions& options);
  Status start_session(const ConnectOptions& options);
  Status accept_rotated_key(const Check& check);
  void count_bytes();

  std::optional<trust::ConfigDirectory> config_;
  std::optional<trust::PublicKey> server_key_;
  std::string peer_name_, onion_name_, staging_key_;
  TransferStats stats_;
  std::unique_ptr<link::Channel> channel_;
  std::unique_ptr<proto::HistorySession> session_;
  std::unique_ptr<Pump> pump_;
  std::thread local_server_;
  bool insecure_ = false, met_ = false;  // met_: the other end has said hello
  bool finished_ = false;
};

// The user's own configuration, or the one a test names.
Result<trust::ConfigDirectory> open_config_directory(const std::string& folder);
// Every statement of this machine's key rotations, encoded for a hello.
Result<std::vector<Buffer>> encoded_statements(const trust::ConfigDirectory& config);

}  // namespace peel::sync
