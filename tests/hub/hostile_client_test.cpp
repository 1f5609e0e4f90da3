// Clients that keep no rules: the server's own judgement of pushes.
#include "onion/importer.h"
#include "sync/pump.h"
#include "sync/transfer.h"
#include "tests/hub/served.h"

namespace peel::hub::test {
namespace {

using proto::RefResult;
using proto::RefUpdate;

struct Rules : ::testing::Test {
  Machine server, client;
  HubOptions options;
  Rules() { options.insecure = options.insecure_write = options.create = true; }

  // Pushes `updates` and revisions 1..n of `mine`, unasked and unjudged. An empty list: the server aborted.
  static std::vector<RefResult> push(const Served& hub, const Onion& mine, const std::vector<RefUpdate>& updates,
                                     std::size_t revisions, bool atomic = false) {
    const auto now = std::chrono::steady_clock::now();
    auto channel = must(link::tcp_connect("127.0.0.1", hub.port(), now + std::chrono::seconds(5), nullptr));
    proto::HistorySession session({}, now);
    sync::Pump pump(session, *channel, {});
    session.push({"d", true, mine.lineage()});
    std::vector<std::uint64_t> numbers;
    for (std::size_t i = 1; i <= revisions; ++i) numbers.push_back(i);
    sync::TransferStats stats;
    sync::LayerSource source(mine, numbers, stats);
    std::vector<RefResult> out;
    while (true) {
      auto event = pump.next();
      if (!event) return {};
      if (std::holds_alternative<proto::StateArrived>(*event)) session.send_updates(atomic, updates);
      if (auto* layer = std::get_if<proto::NeedLayer>(&*event)) must(source.answer(*layer, session));
      if (auto* chunk = std::get_if<proto::NeedChunk>(&*event)) must(source.answer(*chunk, session));
      if (auto* results = std::get_if<proto::ResultsArrived>(&*event)) out = results->results;
      if (std::holds_alternative<proto::OperationDone>(*event)) break;
    }
    pump.goodbye();
    return out;
  }
};

RefUpdate move(const std::string& name, const RevisionId& expected, const RevisionId& target, bool force = false) {
  return {RefKind::branch, name, expected, target, force, ""};
}

TEST_F(Rules, NoFastForwardNoMove) {
  Served hub(server, options);
  Onion there = make_history(hub.path("d"), 3, 20'000);
  Onion mine = make_history(client.folder / "d.onion", 2, 20'000, 9);  // shares nothing
  const auto head = head_of(there);
  auto results = push(hub, mine, {move("main", head, head_of(mine))}, 2);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].state, RefResult::State::rejected);
  EXPECT_NE(results[0].reason.find("merge"), std::string::npos);
  must(there.refresh());
  EXPECT_EQ(head_of(there), head);
  // Backwards is no fast-forward either.
  results = push(hub, there, {move("main", head, must(there.revision(1)).id)}, 0);
  EXPECT_EQ(results.at(0).state, RefResult::State::rejected);
  // Forced, with the right expectation, it moves.
  results = push(hub, mine, {move("main", head, head_of(mine), true)}, 2);
  EXPECT_EQ(results.at(0).state, RefResult::State::moved);
  must(there.refresh());
  EXPECT_EQ(head_of(there), head_of(mine));
  verify_all(there);
}

TEST_F(Rules, TheExpectedValueDecides) {
  Served hub(server, options);
  Onion there = make_history(hub.path("d"), 3, 20'000);
  const auto second = must(there.revision(2)).id, head = head_of(there);
  for (const bool force : {false, true}) {
    EXPECT_EQ(push(hub, there, {move("main", second, head, force), move("new", second, head, force)}, 0).size(), 2u);
    const auto results = push(
        hub, there,
        {move("main", second, second, force), move("new", second, head, force), move("main2", {}, second, force)}, 0);
    ASSERT_EQ(results.size(), 3u);
    EXPECT_EQ(results[0].state, RefResult::State::rejected);
    EXPECT_EQ(results[1].state, RefResult::State::rejected);  // "new" does not exist
    EXPECT_TRUE(results[2].state == RefResult::State::moved || results[2].state == RefResult::State::up_to_date);
  }
}

TEST_F(Rules, ATargetThatNobodySent) {
  Served hub(server, options);
  Onion there = make_history(hub.path("d"), 1, 20'000);
  Onion mine = make_history(client.folder / "d.onion", 2, 20'000, 9);
  const auto results = push(hub, mine, {move("x", {}, head_of(mine)), move("y", {}, must(mine.revision(1)).id)}, 1);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].state, RefResult::State::rejected);
  EXPECT_EQ(results[1].state, RefResult::State::moved);
  const auto atomic =
      push(hub, mine, {move("x", {}, head_of(mine)), move("z", {}, must(mine.revision(1)).id)}, 1, true);
  ASSERT_EQ(atomic.size(), 2u);
  EXPECT_EQ(atomic[1].state, RefResult::State::rejected);
  must(there.refresh());
  EXPECT_TRUE(head_of(there, "z").is_zero());
}

TEST_F(Rules, UnsafeNamesAndDoubledNames) {
  Served hub(server, options);
  Onion there = make_history(hub.path("d"), 1, 20'000);
  for (const char* name : {"-x", "a\nb", "/x", "x/", ".x", "a//b"}) {
    const auto results = push(hub, there, {move(name, {}, head_of(there))}, 0);
    ASSERT_EQ(results.size(), 1u) << name;
    EXPECT_EQ(results[0].state, RefResult::State::rejected) << name;
  }
  EXPECT_TRUE(push(hub, there, {move("x", {}, head_of(there)), move("x", {}, head_of(there))}, 0).empty());
}

TEST_F(Rules, TagsDoNotMove) {
  Served hub(server, options);
  Onion there = make_history(hub.path("d"), 2, 20'000);
  const auto first = must(there.revision(1)).id, second = must(there.revision(2)).id;
  const auto tag = [](const RevisionId& expected, const RevisionId& target) {
    return RefUpdate{RefKind::tag, "v", expected, target, false, "note"};
  };
  EXPECT_EQ(push(hub, there, {tag({}, first)}, 0).at(0).state, RefResult::State::moved);
  EXPECT_EQ(push(hub, there, {tag({}, second)}, 0).at(0).state, RefResult::State::rejected);
  EXPECT_EQ(push(hub, there, {tag(first, second)}, 0).at(0).state, RefResult::State::rejected);
}

TEST_F(Rules, TheFirstPushNamesTheCurrentBranch) {
  Served hub(server, options);
  Onion mine = make_history(client.folder / "d.onion", 1, 20'000);
  EXPECT_EQ(push(hub, mine, {move("side", {}, head_of(mine))}, 1).at(0).state, RefResult::State::moved);
  EXPECT_EQ(open_onion(hub.path("d")).current_branch(), "side");
}

TEST_F(Rules, ARejectedFirstPushLeavesNoOnion) {
  Served hub(server, options);
  Onion mine = make_history(client.folder / "d.onion", 1, 20'000);
  RevisionId nonsense = head_of(mine);
  nonsense.bytes[5] ^= std::byte{1};
  EXPECT_EQ(push(hub, mine, {move("main", {}, nonsense)}, 1).at(0).state, RefResult::State::rejected);
  EXPECT_FALSE(std::filesystem::exists(hub.path("d")));
}

}  // namespace
}  // namespace peel::hub::test
