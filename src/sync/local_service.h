// sync/local_service.h - the serving end of file:// URLs: one onion on this machine, everything allowed.
//
// Errors, Threads   as sync/service.h.
#pragma once

#include "sync/service.h"

namespace peel::sync {

// "PATH.onion" for a working file, PATH itself when it is an onion already.
std::string onion_path_of(const std::string& path);

class LocalService final : public Service {
public:
  explicit LocalService(std::string onion_path) : path_(std::move(onion_path)) {}

  Status admit(const proto::Hello&) override { return {}; }
  Status authorize(trust::Level, const std::string&) override { return {}; }
  Status check() override { return {}; }
  Result<Onion> open(const std::string& name, Access access) override;
  Result<Onion> open_unpublished(const std::string& name, const std::array<std::byte, 32>& lineage) override;
  Status publish(const std::string& name) override;
  void forget_unpublished(const std::string& name) override;
  Status list(const std::string& prefix, const std::function<Status(const proto::LsEntry&)>& sink) override;
  Result<proto::Joined> join(const proto::Join& request) override;
  bool take_memory(std::uint64_t) override { return true; }
  void give_memory(std::uint64_t) override {}
  std::string staging_key() const override { return "local"; }
  std::uint64_t staging_quota() const override { return ~0ull; }
  std::string peer_label() const override { return "this machine"; }
  void note(const std::string&, const std::string&, const std::string&) override {}

private:
  std::string path_;
};

// What `ls` shows of one onion.
proto::LsEntry describe(const Onion& onion, const std::string& name);

}  // namespace peel::sync
