// hub/hub_service.h - the Service behind one connection: this peer, its rights, the onions below the root.
//
// Errors, Threads   as sync/service.h. One object per connection.
#pragma once

#include "hub/hub_state.h"
#include "sync/service.h"

namespace peel::hub {

class HubService final : public sync::Service {
public:
  // `peer_key` is what the link has proven; none on plain links.
  HubService(HubState& hub, std::optional<trust::PublicKey> peer_key, std::string address);
  ~HubService() override;
  HubService(const HubService&) = delete;
  HubService& operator=(const HubService&) = delete;

  Status admit(const proto::Hello& hello) override;
  Status authorize(trust::Level level, const std::string& name) override;
  Status check() override;
  Result<Onion> open(const std::string& name, Access access) override;
  Result<Onion> open_unpublished(const std::string& name, const std::array<std::byte, 32>& lineage) override;
  Status publish(const std::string& name) override;
  void forget_unpublished(const std::string& name) override;
  Status list(const std::string& prefix, const std::function<Status(const proto::LsEntry&)>& sink) override;
  Result<proto::Joined> join(const proto::Join& request) override;
  bool take_memory(std::uint64_t bytes) override;
  void give_memory(std::uint64_t bytes) override { hub_.layer_memory -= bytes; }
  std::string staging_key() const override;
  std::uint64_t staging_quota() const override { return hub_.options.staging_quota; }
  std::string peer_label() const override { return peer_; }
  void note(const std::string& operation, const std::string& onion, const std::string& text) override;

private:
  Result<trust::Peer> recognise(const proto::Hello& hello);
  Status list_folder(const std::string& folder, unsigned depth,
                     const std::function<Status(const proto::LsEntry&)>& sink);
  Status list_one(const std::string& name, const std::function<Status(const proto::LsEntry&)>& sink);

  HubState& hub_;
  const std::optional<trust::PublicKey> key_;
  const std::string address_;
  std::string peer_;       // for logs, escaped
  bool admitted_ = false;  // a trusted peer, or everyone on an insecure hub
  bool counted_ = false;   // in live_by_peer
};

}  // namespace peel::hub
