// tests/hub/served.h - a hub on a thread, client machines with keys of their own, and a wire that can be cut.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

#include "hub/hub.h"
#include "link/tcp.h"
#include "tests/sync/machine.h"
#include "trust/identity.h"
#include "trust/invites.h"
#include "trust/peers.h"

namespace peel::hub::test {

using namespace peel::sync::test;  // the same machines

std::int64_t now_ns();

// A machine that has a key and a list of peers.
struct Machine {
  Folder folder;
  std::string config = folder / "config";
  Machine() { std::filesystem::create_directory(config); }
  trust::ConfigDirectory directory() const { return must(trust::ConfigDirectory::open_at(config)); }
  trust::PublicKey key() const { return must(trust::load_or_create_identity(directory())).public_key; }
  trust::PeerStore peers() const { return trust::PeerStore(directory()); }
  // Lets `key` do `level` below `prefix` here; no level: only known.
  void trust(const std::string& name, const trust::PublicKey& key, std::optional<trust::Level> level,
             const std::string& prefix = "", std::vector<std::string> addresses = {}) const;
  sync::ConnectOptions options() const;
};

// A hub that serves until it goes.
class Served {
public:
  explicit Served(const Machine& machine, HubOptions options = {});
  ~Served() { stop(); }
  void stop();
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::uint16_t port() const { return port_; }
  sync::Url url(const std::string& name) const { return url_of("peel://" + address() + "/" + name); }
  std::string path(const std::string& name) const { return root_ + "/" + name + ".onion"; }
  HubStats stats() const { return hub_->stats(); }
  // How often `operation` was logged with `text` in its line.
  std::size_t logged(const std::string& operation, const std::string& text = "");

private:
  std::string root_;
  std::optional<Hub> hub_;
  std::uint16_t port_ = 0;
  Cancel cancel_;
  std::thread thread_;
  std::mutex mutex_;
  std::vector<LogEntry> entries_;
};

// A TCP relay before a server that goes dead after so many bytes towards it or from it.
class CuttingWire {
public:
  CuttingWire(std::uint16_t to_port, std::uint64_t cut_after_up, std::uint64_t cut_after_down,
              std::function<void()> at_cut = {});
  ~CuttingWire();
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  void mend() { limit_up_ = limit_down_ = ~0ull; }

private:
  void relay(int client);
  int listener_ = -1;
  std::uint16_t port_ = 0, to_port_;
  std::atomic<std::uint64_t> limit_up_, limit_down_;
  std::function<void()> at_cut_;
  std::atomic<std::uint64_t> up_{0}, down_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace peel::hub::test
