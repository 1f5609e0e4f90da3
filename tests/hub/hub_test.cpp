// Whole machines over TLS: sharing, rights, invites, rollback, stops.
#include "tests/hub/served.h"

namespace peel::hub::test {
namespace {

using sync::BranchState;
using sync::PushedRef;
using sync::PushOptions;
using trust::Level;

HubOptions creating() {
  HubOptions options;
  options.create = true;
  return options;
}

// A server, and a client that both sides trust.
struct Hubs : ::testing::Test {
  Machine server, client;
  void introduce(Level level, const std::string& prefix = "") {
    server.trust("client", client.key(), level, prefix);
    client.trust("server", server.key(), std::nullopt);
  }
};

TEST_F(Hubs, PushThenCloneElsewhere) {
  introduce(Level::write);
  Machine other;
  server.trust("other", other.key(), Level::read);
  other.trust("server", server.key(), std::nullopt);
  Served hub(server, creating());
  Onion mine = make_history(client.folder / "d.onion", 10, 200'000);
  const auto pushed = must(sync::push(mine, "origin", hub.url("lab/d"), {}, client.options()));
  must(pushed.outcome());
  EXPECT_TRUE(pushed.created);
  EXPECT_GT(pushed.stats.bytes_sent, 200'000u);

  must(sync::clone(hub.url("lab/d"), other.folder / "copy.onion", other.options()));
  Onion copy = open_onion(other.folder / "copy.onion");
  EXPECT_EQ(head_of(copy), head_of(mine));
  verify_all(copy);

  const auto listed = must(sync::ls(hub.url(""), other.options()));
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].name, "lab/d");
  EXPECT_EQ(listed[0].branches.at(0).head, head_of(mine));
  EXPECT_EQ(must(sync::ls(hub.url("lab"), other.options())).size(), 1u);
  EXPECT_EQ(must(sync::ls(hub.url("lab/d"), other.options())).size(), 1u);
  EXPECT_EQ(must(sync::ls(hub.url("la"), other.options())).size(), 0u);

  // By the peer's name, now that its address is known.
  must(sync::fetch(copy, "origin", url_of("server:lab/d"), other.options()));
  EXPECT_GE(hub.logged("push", "10 revisions"), 1u);
  EXPECT_EQ(must(open_onion(hub.path("lab/d")).reflog()).at(0).reason, "push from client");
}

TEST_F(Hubs, AnUnknownKeyGetsNothing) {
  client.trust("server", server.key(), std::nullopt);
  Served hub(server, creating());
  make_history(hub.path("secret"), 1, 1000);
  Onion mine = make_history(client.folder / "d.onion", 1, 1000);
  const auto list = sync::ls(hub.url(""), client.options());
  EXPECT_EQ(list.error().kind(), ErrorKind::refused);
  const auto there = sync::clone(hub.url("secret"), client.folder / "x.onion", client.options());
  const auto not_there = sync::clone(hub.url("nothing"), client.folder / "x.onion", client.options());
  EXPECT_EQ(there.error().kind(), ErrorKind::refused);
  const auto tail = [](const std::string& text) { return text.substr(text.find("says:")); };
  EXPECT_EQ(tail(there.error().message()), tail(not_there.error().message()));  // not even whether it exists
  EXPECT_EQ(sync::push(mine, "o", hub.url("new"), {}, client.options()).error().kind(), ErrorKind::refused);
  EXPECT_EQ(sync::RepairSource::open(hub.url("secret"), client.options()).error().kind(), ErrorKind::refused);
  EXPECT_FALSE(std::filesystem::exists(hub.path("new")));
  EXPECT_GE(hub.logged("refuse"), 5u);
}

TEST_F(Hubs, AServerThatIsNotTrustedIsNotSpokenTo) {
  server.trust("client", client.key(), Level::write);
  Served hub(server, creating());
  EXPECT_EQ(sync::ls(hub.url(""), client.options()).error().kind(), ErrorKind::refused);
  // Another server is known at this address.
  Machine stranger;
  client.trust("lab", stranger.key(), std::nullopt, "", {hub.address()});
  client.trust("server", server.key(), std::nullopt, "", {"10.0.0.1:1"});
  EXPECT_EQ(sync::ls(hub.url(""), client.options()).error().kind(), ErrorKind::refused);
}

TEST_F(Hubs, AnInviteWorksOnce) {
  Served hub(server, creating());
  trust::InviteStore::Request request;
  request.server = server.key();
  request.addresses = {hub.address()};
  request.grants = {{Level::write, "lab"}};
  request.expires_ns = now_ns() + 60'000'000'000;
  const auto invite = must(trust::InviteStore(server.directory()).create(request, now_ns()));
  const std::string line = trust::format_invite(invite);
  const auto joined = must(sync::join(line, "hub", client.options()));
  EXPECT_EQ(joined.peer, "hub");
  EXPECT_EQ(joined.grants, std::vector<std::string>{"write below lab/"});
  Onion mine = make_history(client.folder / "d.onion", 2, 1000);
  must(must(sync::push(mine, "origin", url_of("hub:lab/d"), {}, client.options())).outcome());
  EXPECT_EQ(sync::push(mine, "origin", url_of("hub:elsewhere/d"), {}, client.options()).error().kind(),
            ErrorKind::refused);

  Machine second;
  EXPECT_EQ(sync::join(line, "hub", second.options()).error().kind(), ErrorKind::refused);
  EXPECT_EQ(sync::ls(hub.url(""), second.options()).error().kind(), ErrorKind::refused);
}

TEST_F(Hubs, RightsAreKeptToTheLetter) {
  introduce(Level::read, "lab");
  Served hub(server, creating());
  std::filesystem::create_directory(std::filesystem::path(hub.path("x")).parent_path() / "lab");
  {
    make_history(hub.path("lab/d"), 3, 20'000);
    make_history(hub.path("other"), 1, 1000);
  }
  EXPECT_EQ(must(sync::ls(hub.url(""), client.options())).size(), 1u);  // only what it may read
  EXPECT_EQ(sync::clone(hub.url("other"), client.folder / "o.onion", client.options()).error().kind(),
            ErrorKind::refused);
  must(sync::clone(hub.url("lab/d"), client.folder / "d.onion", client.options()));
  Onion mine = open_onion(client.folder / "d.onion");
  commit(mine, bytes_of(3, 20'000), "mine");
  EXPECT_EQ(sync::push(mine, "origin", hub.url("lab/d"), {}, client.options()).error().kind(), ErrorKind::refused);

  // append: fast-forwards of what exists, and no more.
  server.trust("client", client.key(), Level::append, "lab");
  RefChange side;
  side.name = "side";
  side.target = head_of(mine);
  must(mine.update_refs(std::span(&side, 1)));
  PushOptions both;
  both.branches = {"main", "side"};
  const auto result = must(sync::push(mine, "origin", hub.url("lab/d"), both, client.options()));
  ASSERT_EQ(result.refs.size(), 2u);
  EXPECT_EQ(result.refs[0].state, PushedRef::State::moved);
  EXPECT_EQ(result.refs[1].state, PushedRef::State::rejected);
  EXPECT_EQ(sync::push(mine, "origin", hub.url("lab/new"), {}, client.options()).error().kind(), ErrorKind::refused);

  server.trust("client", client.key(), Level::write, "lab");
  must(must(sync::push(mine, "origin", hub.url("lab/d"), both, client.options())).outcome());
  must(must(sync::push(mine, "origin", hub.url("lab/new"), {}, client.options())).outcome());
}

TEST_F(Hubs, NewOnionsNeedTheServersConsent) {
  introduce(Level::admin);
  Served hub(server);
  Onion mine = make_history(client.folder / "d.onion", 1, 1000);
  EXPECT_EQ(sync::push(mine, "origin", hub.url("d"), {}, client.options()).error().kind(), ErrorKind::refused);
}

TEST_F(Hubs, UntrustCutsALiveSession) {
  introduce(Level::read);
  Served hub(server);
  Onion there = make_history(hub.path("d"), 1, 100'000);
  const auto piece = must(must(there.open_revision(1)).pieces(0, 1)).at(0);
  auto source = must(sync::RepairSource::open(hub.url("d"), client.options()));
  must(source.chunk(piece.chunk));
  must(server.peers().untrust("client"));
  // Within a second or so the server looks again; asking on does not keep the session alive.
  std::optional<Error> cut;
  for (int i = 0; i < 60 && !cut; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    auto chunk = source.chunk(piece.chunk);
    if (!chunk) cut = chunk.error();
  }
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->kind(), ErrorKind::refused) << cut->message();
  EXPECT_EQ(sync::ls(hub.url(""), client.options()).error().kind(), ErrorKind::refused);
}

// A history that was pushed twice, and of which the server then has the older state again.
struct WentBack {
  Served hub;
  Onion mine;
  WentBack(Machine& server, Machine& client) : hub(server, creating()), mine(make_history(client.folder / "d.onion", 3, 20'000)) {
    must(must(sync::push(mine, "origin", hub.url("d"), {}, client.options())).outcome());
    std::filesystem::copy_file(hub.path("d"), server.folder / "old");
    commit(mine, bytes_of(9, 20'000), "newer");
    must(must(sync::push(mine, "origin", hub.url("d"), {}, client.options())).outcome());
    std::filesystem::remove(hub.path("d"));
    std::filesystem::copy_file(server.folder / "old", hub.path("d"));
  }
};

TEST_F(Hubs, AServerThatGoesBackwardsIsRefused) {
  introduce(Level::write);
  WentBack back(server, client);
  Served& hub = back.hub;
  Onion& mine = back.mine;

  const auto refused = sync::fetch(mine, "origin", hub.url("d"), client.options());
  EXPECT_EQ(refused.error().kind(), ErrorKind::refused);
  EXPECT_NE(refused.error().message().find("backwards"), std::string::npos);
  EXPECT_EQ(head_of(mine, "origin/main", RefKind::remote), head_of(mine));  // nothing was taken
  // Also a fresh clone on this machine remembers, and so does a push.
  EXPECT_EQ(sync::clone(hub.url("d"), client.folder / "second.onion", client.options()).error().kind(),
            ErrorKind::refused);
  EXPECT_EQ(sync::push(mine, "origin", hub.url("d"), {}, client.options()).error().kind(), ErrorKind::refused);
  auto accept = client.options();
  accept.accept_rollback = true;
  must(sync::fetch(mine, "origin", hub.url("d"), accept));
  EXPECT_NE(head_of(mine, "origin/main", RefKind::remote), head_of(mine));
  must(sync::fetch(mine, "origin", hub.url("d"), client.options()));  // accepted once, remembered
}

// A server that went back and then recorded something else: a push that it refuses proves nothing, and must not make
// this machine forget what the server had.
TEST_F(Hubs, ARefusedPushDoesNotHideThatTheServerWentBackwards) {
  introduce(Level::write);
  WentBack back(server, client);
  Served& hub = back.hub;
  Onion& mine = back.mine;
  {
    Onion forged = must(Onion::open(hub.path("d"), {.access = Access::write}));
    commit(forged, bytes_of(66, 20'000), "forged");
  }
  commit(mine, bytes_of(10, 20'000), "newer still");
  const auto pushed = sync::push(mine, "origin", hub.url("d"), {}, client.options());
  EXPECT_FALSE(pushed && pushed->outcome());
  const auto cloned = sync::clone(hub.url("d"), client.folder / "second.onion", client.options());
  ASSERT_FALSE(cloned);
  EXPECT_NE(cloned.error().message().find("backwards"), std::string::npos) << cloned.error().message();
}

TEST_F(Hubs, AMissingBranchIsBackwardsToo) {
  introduce(Level::write);
  Served hub(server, creating());
  Onion mine = make_history(client.folder / "d.onion", 2, 20'000);
  RefChange side;
  side.name = "side";
  side.target = head_of(mine);
  must(mine.update_refs(std::span(&side, 1)));
  PushOptions all;
  all.all = true;
  must(must(sync::push(mine, "origin", hub.url("d"), all, client.options())).outcome());
  Onion there = open_onion(hub.path("d"));
  side.target.reset();
  must(there.update_refs(std::span(&side, 1)));
  EXPECT_EQ(sync::fetch(mine, "origin", hub.url("d"), client.options()).error().kind(), ErrorKind::refused);
  // Our own deletion is not the server's fault.
  auto accept = client.options();
  accept.accept_rollback = true;
  must(sync::fetch(mine, "origin", hub.url("d"), accept));
  must(must(sync::push(mine, "origin", hub.url("d"), all, client.options())).outcome());
  PushOptions remove;
  remove.delete_branches = {"side"};
  must(must(sync::push(mine, "origin", hub.url("d"), remove, client.options())).outcome());
  must(sync::fetch(mine, "origin", hub.url("d"), client.options()));
}

TEST_F(Hubs, RotatedKeysAreRecognisedByTheirStatements) {
  introduce(Level::write);
  Onion mine = make_history(client.folder / "d.onion", 1, 1000);
  {
    Served hub(server, creating());
    must(must(sync::push(mine, "origin", hub.url("d"), {}, client.options())).outcome());
    must(trust::rotate_identity(client.directory(), now_ns()));
    EXPECT_EQ(must(sync::ls(hub.url(""), client.options())).size(), 1u);
    // The old key's entry is the new key's now, with its rights.
    EXPECT_EQ(must(server.peers().by_name("client")).key, client.key());
  }
  must(trust::rotate_identity(server.directory(), now_ns()));
  Served hub(server, creating());
  must(client.peers().add_address("server", hub.address()));
  EXPECT_EQ(must(sync::ls(hub.url(""), client.options())).size(), 1u);
  EXPECT_EQ(must(client.peers().by_name("server")).key, server.key());
  // Somebody else's key without a statement is still refused.
  Machine thief;
  hub.stop();
  Served other(thief);
  must(client.peers().add_address("server", other.address()));
  EXPECT_EQ(sync::ls(other.url(""), client.options()).error().kind(), ErrorKind::refused);
}

TEST_F(Hubs, PlainOnlyWhenBothSaySo) {
  HubOptions options;
  options.insecure = true;
  Served plain(server, options);
  make_history(plain.path("d"), 2, 20'000);
  auto insecure = client.options();
  insecure.insecure = true;
  insecure.connect_timeout = std::chrono::seconds(5);
  must(sync::clone(plain.url("d"), client.folder / "d.onion", insecure));
  Onion mine = open_onion(client.folder / "d.onion");
  commit(mine, bytes_of(4, 20'000), "mine");
  EXPECT_EQ(sync::push(mine, "origin", plain.url("d"), {}, insecure).error().kind(), ErrorKind::refused);
  client.trust("server", server.key(), std::nullopt);
  EXPECT_FALSE(sync::ls(plain.url(""), client.options()));  // TLS against a plain server

  Machine careful;
  careful.trust("client", client.key(), Level::admin);
  Served secure(careful);
  EXPECT_FALSE(sync::ls(secure.url(""), insecure));  // plain against TLS
}

TEST_F(Hubs, SilentAndSurplusClientsAreSentAway) {
  introduce(Level::read);
  HubOptions options;
  options.hello_timeout = std::chrono::milliseconds(300);
  options.connections_max = 2;
  Served hub(server, options);
  CuttingWire one(hub.port(), ~0ull, ~0ull), two(hub.port(), ~0ull, ~0ull);
  const auto silent = [](const std::string& address) {
    const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    return must(
        link::tcp_connect("127.0.0.1", port, std::chrono::steady_clock::now() + std::chrono::seconds(5), nullptr));
  };
  const auto first = silent(one.address()), second = silent(two.address());
  const auto wait_for = [&](auto condition) {
    for (int i = 0; i < 200 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return condition();
  };
  ASSERT_TRUE(wait_for([&] { return hub.stats().connections_live == 2; }));
  auto quick = client.options();
  quick.connect_timeout = std::chrono::seconds(2);
  EXPECT_FALSE(sync::ls(hub.url(""), quick));
  EXPECT_EQ(hub.stats().connections_refused, 1u);
  EXPECT_TRUE(wait_for([&] { return hub.stats().connections_live == 0; }));
  must(sync::ls(hub.url(""), client.options()));
}

TEST_F(Hubs, StopsCleanlyWithSessionsOpen) {
  introduce(Level::read);
  auto hub = std::make_unique<Served>(server);
  Onion there = make_history(hub->path("d"), 1, 1000);
  const auto piece = must(must(there.open_revision(1)).pieces(0, 1)).at(0);
  auto source = must(sync::RepairSource::open(hub->url("d"), client.options()));
  must(source.chunk(piece.chunk));
  const auto before = std::chrono::steady_clock::now();
  hub->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(8));
  EXPECT_FALSE(source.chunk(piece.chunk));
  EXPECT_EQ(sync::ls(hub->url(""), client.options()).error().kind(), ErrorKind::network);
}

TEST_F(Hubs, ManyClientsAtOnce) {
  Served hub(server, creating());
  make_history(hub.path("d"), 2, 100'000);
  constexpr int clients = 6;
  std::vector<std::unique_ptr<Machine>> machines;
  for (int i = 0; i < clients; ++i) {
    machines.push_back(std::make_unique<Machine>());
    server.trust("m" + std::to_string(i), machines.back()->key(), Level::write);
    machines.back()->trust("server", server.key(), std::nullopt);
  }
  std::atomic<int> won{0}, lost{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i)
    threads.emplace_back([&, i] {
      const Machine& m = *machines[static_cast<std::size_t>(i)];
      must(sync::clone(hub.url("d"), m.folder / "d.onion", m.options()));
      Onion mine = open_onion(m.folder / "d.onion");
      const std::string own = "own" + std::to_string(i);
      RefChange branch;
      branch.name = own;
      branch.target = head_of(mine);
      must(mine.update_refs(std::span(&branch, 1)));
      commit(mine, bytes_of(100 + static_cast<std::uint64_t>(i), 100'000), "own", own);
      commit(mine, bytes_of(200 + static_cast<std::uint64_t>(i), 100'000), "shared");
      PushOptions only_own;
      only_own.branches = {own};
      must(must(sync::push(mine, "origin", hub.url("d"), only_own, m.options())).outcome());
      // All want to move main from the same place: one can.
      const auto shared = sync::push(mine, "origin", hub.url("d"), {}, m.options());
      const bool ok = shared && shared.value().outcome().ok();
      ok ? ++won : ++lost;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(won, 1);
  EXPECT_EQ(lost, clients - 1);
  Onion there = open_onion(hub.path("d"));
  for (int i = 0; i < clients; ++i) EXPECT_FALSE(head_of(there, "own" + std::to_string(i)).is_zero());
  verify_all(there);
}

TEST_F(Hubs, TheQuotaHolds) {
  introduce(Level::write);
  HubOptions options = creating();
  options.staging_quota = 50'000;
  Served hub(server, options);
  Onion mine = make_history(client.folder / "d.onion", 2, 300'000);
  EXPECT_EQ(sync::push(mine, "origin", hub.url("d"), {}, client.options()).error().kind(), ErrorKind::limit);
  EXPECT_FALSE(std::filesystem::exists(hub.path("d")));
  EXPECT_TRUE(must(sync::ls(hub.url(""), client.options())).empty());
}

TEST_F(Hubs, MemoryForPushesIsBounded) {
  introduce(Level::write);
  HubOptions options = creating();
  options.layer_memory_max = 8000;
  Served hub(server, options);
  Onion mine = make_history(client.folder / "d.onion", 2, 2000);
  must(must(sync::push(mine, "origin", hub.url("small"), {}, client.options())).outcome());
  Onion large = make_history(client.folder / "l.onion", 30, 2000);
  EXPECT_EQ(sync::push(large, "origin", hub.url("large"), {}, client.options()).error().kind(), ErrorKind::limit);
  // What was taken is given back, by pushes that end well and by others.
  commit(mine, bytes_of(8, 2000), "more");
  must(must(sync::push(mine, "origin", hub.url("small"), {}, client.options())).outcome());
}

}  // namespace
}  // namespace peel::hub::test
