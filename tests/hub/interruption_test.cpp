// Wires that are cut and servers that are killed: nothing half done is visible, and nothing travels twice.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/hub/served.h"

namespace peel::hub::test {
namespace {

using trust::Level;

struct Interruption : ::testing::Test {
  Machine server, client;
  Interruption() {
    server.trust("client", client.key(), Level::write);
    client.trust("server", server.key(), std::nullopt);
  }
  HubOptions creating() const {
    HubOptions options;
    options.create = true;
    return options;
  }
  // The address of a relay must not become the only one the client accepts.
  void also_at(const std::string& address) { must(client.peers().add_address("server", address)); }
  sync::Url through(const CuttingWire& wire, const std::string& name) {
    return url_of("peel://" + wire.address() + "/" + name);
  }
};

TEST_F(Interruption, ACutCloneContinuesAndNoChunkComesTwice) {
  Served hub(server);
  Onion there = make_history(hub.path("d"), 5, 2'000'000);
  const std::string here = client.folder / "d.onion";
  CuttingWire wire(hub.port(), ~0ull, 1'300'000);
  also_at(wire.address());
  also_at(hub.address());
  EXPECT_FALSE(sync::clone(through(wire, "d"), here, client.options()));
  EXPECT_FALSE(std::filesystem::exists(here));

  wire.mend();
  const auto second = must(sync::clone(through(wire, "d"), here, client.options())).stats;
  const auto whole = must(sync::clone(hub.url("d"), client.folder / "whole.onion", client.options())).stats;
  EXPECT_EQ(second.chunks + second.chunks_reused, whole.chunks + whole.chunks_reused);
  EXPECT_GT(second.chunks_reused, whole.chunks_reused);
  // All but the frames that were in the air came once only.
  EXPECT_LT(second.bytes_received, whole.bytes_received - 1'000'000);
  Onion mine = open_onion(here);
  EXPECT_EQ(head_of(mine), head_of(there));
  verify_all(mine);
  for (const auto& name : names_in(client.folder.path())) EXPECT_EQ(name.find("incomplete"), std::string::npos) << name;
}

TEST_F(Interruption, ACutFetchLeavesNothingVisible) {
  Served hub(server);
  Onion there = make_history(hub.path("d"), 2, 1'000'000);
  const std::string here = client.folder / "d.onion";
  also_at(hub.address());
  must(sync::clone(hub.url("d"), here, client.options()));
  Onion mine = open_onion(here);
  const RevisionId before = head_of(mine, "origin/main", RefKind::remote);
  for (std::uint64_t i = 0; i < 2; ++i) commit(there, bytes_of(70 + i, 1'000'000), "large");
  CuttingWire wire(hub.port(), ~0ull, 1'200'000);
  also_at(wire.address());
  EXPECT_FALSE(sync::fetch(mine, "origin", through(wire, "d"), client.options()));
  must(mine.refresh());
  EXPECT_EQ(mine.revision_count(), 2u);
  EXPECT_EQ(head_of(mine, "origin/main", RefKind::remote), before);
  wire.mend();
  const auto result = must(sync::fetch(mine, "origin", through(wire, "d"), client.options()));
  EXPECT_LT(result.stats.bytes_received, 1'200'000u);
  EXPECT_EQ(head_of(mine, "origin/main", RefKind::remote), head_of(there));
  verify_all(mine);
}

TEST_F(Interruption, ACutPushContinuesWithoutSendingAgain) {
  Served hub(server, creating());
  Onion mine = make_history(client.folder / "d.onion", 5, 2'000'000);
  CuttingWire wire(hub.port(), 1'200'000, ~0ull);
  also_at(wire.address());
  also_at(hub.address());
  EXPECT_FALSE(sync::push(mine, "origin", through(wire, "d"), {}, client.options()));
  EXPECT_FALSE(std::filesystem::exists(hub.path("d")));  // nothing visible
  EXPECT_TRUE(must(sync::ls(hub.url(""), client.options())).empty());

  const auto result = must(sync::push(mine, "origin", hub.url("d"), {}, client.options()));
  must(result.outcome());
  EXPECT_LT(result.stats.bytes_sent, 1'200'000u);  // 2 MB in all, of which a million and more had come
  Onion there = open_onion(hub.path("d"));
  EXPECT_EQ(head_of(there), head_of(mine));
  verify_all(there);
  for (const auto& name : names_in(std::filesystem::path(hub.path("d")).parent_path()))
    EXPECT_EQ(name, "d.onion");  // no staging left
}

// A hub in a process of its own, which can be killed.
class ServerProcess {
public:
  ServerProcess(const Machine& machine, HubOptions options) {
    int pipe_ends[2];
    if (::pipe(pipe_ends) != 0) std::abort();
    options.root = machine.folder / "root";
    std::filesystem::create_directory(options.root);
    options.listen = "127.0.0.1:0";
    options.config_folder = machine.config;
    pid_ = ::fork();
    if (pid_ == 0) {
      auto hub = Hub::start(options);
      if (!hub) ::_exit(1);
      const std::string bound = hub->address();
      const auto port = static_cast<std::uint16_t>(std::stoi(bound.substr(bound.rfind(':') + 1)));
      if (::write(pipe_ends[1], &port, sizeof port) != sizeof port) ::_exit(1);
      const Cancel cancel;
      (void)hub->run(cancel).ok();
      ::_exit(0);
    }
    if (::read(pipe_ends[0], &port_, sizeof port_) != sizeof port_) std::abort();
    ::close(pipe_ends[0]);
    ::close(pipe_ends[1]);
  }
  ~ServerProcess() { kill(); }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  std::uint16_t port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

private:
  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
};

std::uintmax_t staged_bytes(const std::string& folder) {
  std::uintmax_t most = 0;
  for (const auto& name : names_in(folder))
    if (name.find(".staging-") != std::string::npos)
      most = std::max(most, std::filesystem::file_size(folder + "/" + name));
  return most;
}

TEST_F(Interruption, AKilledServerKeepsItsOnionWholeAndTheChunksItHad) {
  const std::string root = server.folder / "root", path = root + "/d.onion";
  std::filesystem::create_directory(root);
  // The client has a clone of what the server has, and five large revisions more.
  { make_history(path, 3, 1'000'000); }
  must(sync::clone(url_of("file://" + path), client.folder / "d.onion", client.options()));
  Onion mine = open_onion(client.folder / "d.onion");
  const RevisionId before = head_of(mine);
  for (std::uint64_t i = 0; i < 5; ++i) commit(mine, bytes_of(300 + i, 1'000'000), "large");

  auto process = std::make_unique<ServerProcess>(server, creating());
  {
    CuttingWire wire(process->port(), 2'500'000, ~0ull, [&] {
      // What the wire has carried may still wait in buffers: killed once the server has taken a good part in.
      for (int i = 0; i < 1000 && staged_bytes(root) < 1'500'000; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      process->kill();
    });
    also_at(wire.address());
    also_at(process->address());
    EXPECT_FALSE(sync::push(mine, "origin", through(wire, "d"), {}, client.options()));
  }
  {
    Onion there = open_onion(path);
    EXPECT_EQ(head_of(there), before);
    EXPECT_EQ(there.revision_count(), 3u);
    verify_all(there);
  }
  process = std::make_unique<ServerProcess>(server, creating());
  also_at(process->address());
  const auto result =
      must(sync::push(mine, "origin", url_of("peel://" + process->address() + "/d"), {}, client.options()));
  must(result.outcome());
  EXPECT_EQ(result.stats.revisions, 5u);
  EXPECT_LT(result.stats.bytes_sent, 5'100'000u - 1'500'000u);
  Onion there = open_onion(path);
  EXPECT_EQ(head_of(there), head_of(mine));
  verify_all(there);
  EXPECT_EQ(names_in(root), std::set<std::string>{"d.onion"});
}

}  // namespace
}  // namespace peel::hub::test
