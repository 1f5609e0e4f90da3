// hub/hub_state.h - what all connections of a hub share. Private to the hub's sources.
//
// Threads    Everything here may be used from any connection's thread.
#pragma once

#include <atomic>
#include <map>
#include <mutex>

#include "base/cancel.h"
#include "hub/beneath.h"
#include "hub/hub.h"
#include "trust/identity.h"
#include "trust/invites.h"
#include "trust/peers.h"

namespace peel::hub {

struct HubState {
  HubOptions options;
  std::unique_ptr<BeneathFileSystem> files;
  std::optional<trust::ConfigDirectory> config;  // none when insecure
  std::optional<trust::PeerStore> peers;
  trust::Identity identity;
  std::vector<Buffer> statements;  // our own key's rotations

  Cancel stop;  // requested: end at the next look
  std::atomic<std::uint64_t> live{0}, total{0}, refused{0}, operations{0}, received{0}, sent{0};

  std::atomic<std::uint64_t> layer_memory{0};

  std::mutex log_mutex;
  void log(LogEntry entry);

  std::mutex peers_mutex;
  std::map<trust::PublicKey, std::uint32_t> live_by_peer;
};

std::int64_t now_ns();

}  // namespace peel::hub
