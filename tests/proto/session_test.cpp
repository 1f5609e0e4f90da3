// Whole operations between two sessions: what happens, in which order, in how many round trips.
#include <gtest/gtest.h>

#include "tests/proto/session_pair.h"

namespace peel::proto::test {
namespace {

// A history of `n` revisions of `pieces` chunks each.
void fill(Store& store, std::size_t n, std::size_t pieces) {
  for (std::size_t i = 0; i < n; ++i) {
    store.to_send.push_back(
        make_layer(i + 1, i == 0 ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{i}, i * pieces, pieces));
    for (const auto& piece : store.to_send.back().pieces) store.chunks.insert(piece.chunk);
  }
}

void serve_branch(Pair& pair) {
  pair.far.state.onion = {true, {}, "main"};
  pair.far.state.refs = {{RefKind::branch, "main", digest_of(1), ""}};
}

RefUpdate update_main() { return {RefKind::branch, "main", digest_of(1), digest_of(2), false, ""}; }

TEST(Session, ListsAndJoins) {
  Pair pair;
  pair.far.listing = {{"lab/a", "main", {}}, {"lab/b", "main", {}}};
  pair.client.list("lab");
  pair.run();
  EXPECT_EQ(pair.near.log, (std::vector<std::string>{"hello", "listed lab/a", "listed lab/b", "done"}));
  pair.client.join({{}, "laptop"});  // a second operation over the same connection
  pair.run();
  EXPECT_EQ(pair.near.log.back(), "done");
  EXPECT_EQ(pair.near.log[4], "joined as laptop");
  pair.server.on_closed(pair.now);
  answer_all(pair.server, pair.far);
  EXPECT_TRUE(pair.far.closed);
}

TEST(Session, FetchBringsLayersAfterTheirChunks) {
  Pair pair;
  fill(pair.far, 50, 20);
  serve_branch(pair);
  pair.client.fetch({"data", true}, {digest_of(99)}, {});
  pair.run();
  EXPECT_EQ(pair.near.layers_got, 50u);
  EXPECT_EQ(pair.near.chunks_got, 1000u);
  EXPECT_TRUE(pair.near.layers_in_order);
  EXPECT_TRUE(pair.near.done && pair.far.done);
  EXPECT_TRUE(pair.client.idle() && pair.server.idle());
}

TEST(Session, ChunksThatAreHereDoNotTravel) {
  Pair pair;
  fill(pair.far, 10, 10);
  serve_branch(pair);
  for (std::uint64_t i = 0; i < 50; ++i) pair.near.chunks.insert(chunk_name(i));
  pair.client.fetch({"data", true}, {}, {});
  pair.run();
  EXPECT_EQ(pair.near.chunks_got, 50u);
  EXPECT_EQ(pair.near.layers_got, 10u);
}

TEST(Session, AChunkUsedOftenIsAskedForOnce) {
  Pair pair;
  for (std::uint64_t i = 1; i <= 10; ++i)
    pair.far.to_send.push_back(
        make_layer(i, i == 1 ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{i - 1}, 0, 5));
  for (std::uint64_t i = 0; i < 5; ++i) pair.far.chunks.insert(chunk_name(i));
  serve_branch(pair);
  pair.client.fetch({"data", true}, {}, {});
  pair.run();
  EXPECT_EQ(pair.near.chunks_got, 5u);
  EXPECT_EQ(pair.near.layers_got, 10u);
  EXPECT_TRUE(pair.near.layers_in_order);
}

TEST(Session, PushMovesRefsAndReportsEach) {
  Pair pair;
  fill(pair.near, 30, 10);
  pair.near.updates = {update_main()};
  serve_branch(pair);
  pair.far.state.haves = {digest_of(1)};
  pair.client.push({"data", false, {}});
  pair.run();
  ASSERT_EQ(pair.near.results.size(), 1u);
  EXPECT_EQ(pair.near.results[0].state, RefResult::State::moved);
  EXPECT_EQ(pair.far.layers_got, 30u);
  EXPECT_TRUE(pair.far.layers_in_order);
  EXPECT_TRUE(pair.near.done && pair.far.done);
}

TEST(Session, APushRefusedEarlyStopsAndTheConnectionLives) {
  Pair pair;
  fill(pair.near, 3000, 30);
  pair.near.updates = {update_main()};
  serve_branch(pair);
  pair.far.reject_updates = true;
  pair.client.push({"data", false, {}});
  pair.run(1000);
  ASSERT_EQ(pair.near.results.size(), 1u);
  EXPECT_EQ(pair.near.results[0].state, RefResult::State::rejected);
  EXPECT_LT(pair.near.layers_sent, 3000u);  // it did not send everything first
  EXPECT_TRUE(pair.near.done && pair.far.done);
  pair.near.updates.clear();
  pair.client.list("");
  pair.run();
  EXPECT_FALSE(pair.near.failure) << pair.near.failure->message();
}

TEST(Session, RepairAsksByName) {
  Pair pair;
  pair.far.state.onion = {true, {}, "main"};
  pair.far.chunks = {chunk_name(1)};
  pair.client.repair("data");
  pair.run();
  pair.client.ask_chunk(chunk_name(1));
  pair.client.ask_chunk(chunk_name(2));
  pair.run();
  EXPECT_EQ(pair.near.chunks_got, 1u);
  EXPECT_EQ(pair.near.log.back(), "absent");
  pair.client.end_repair();
  pair.run();
  EXPECT_TRUE(pair.far.done);
}

// The property the protocol exists for: no question per revision or per chunk.
TEST(Session, RoundTripsDoNotGrowWithRevisions) {
  const auto fetch_turns = [](std::size_t revisions) {
    Pair pair;
    fill(pair.far, revisions, 3);
    serve_branch(pair);
    pair.client.fetch({"data", true}, {}, {});
    const auto turns = pair.run(1 << 30);
    EXPECT_EQ(pair.near.layers_got, revisions);
    return turns;
  };
  const auto push_turns = [](std::size_t revisions) {
    Pair pair;
    fill(pair.near, revisions, 3);
    pair.near.updates = {update_main()};
    serve_branch(pair);
    pair.client.push({"data", false, {}});
    const auto turns = pair.run(1 << 30);
    EXPECT_EQ(pair.far.layers_got, revisions);
    return turns;
  };
  EXPECT_EQ(fetch_turns(1), fetch_turns(500));
  EXPECT_LE(fetch_turns(500), 6u);  // request, layers, wants, chunks, done
  EXPECT_EQ(push_turns(1), push_turns(500));
  EXPECT_LE(push_turns(500), 8u);
}

TEST(Session, WhereBytesAreCutChangesNothing) {
  const auto logs = [](std::size_t step, bool push) {
    Pair pair;
    fill(push ? pair.near : pair.far, 7, 5);
    serve_branch(pair);
    if (push) {
      pair.near.updates = {update_main()};
      pair.client.push({"data", false, {}});
    } else {
      pair.client.fetch({"data", true}, {digest_of(5)}, {});
    }
    pair.run(step);
    const auto receiver_log = push ? pair.far.log : pair.near.log;
    EXPECT_TRUE(pair.near.done && pair.far.done);
    return receiver_log;
  };
  for (const bool push : {false, true})
    for (const std::size_t step : {1, 2, 3, 7, 100, 4096}) EXPECT_EQ(logs(step, push), logs(1 << 20, push)) << step;
}

TEST(Session, AnUnknownKeyMayOnlyJoin) {
  for (const bool join : {false, true}) {
    Pair pair;
    pair.server.admit_join_only("unknown key");
    if (join) {
      pair.client.join({{}, "x"});
    } else {
      pair.client.fetch({"data", true}, {digest_of(1)}, {});
    }
    pair.run();
    EXPECT_EQ(pair.near.failure.has_value(), !join);
    if (join) continue;
    EXPECT_EQ(pair.near.failure->kind(), ErrorKind::refused);
    EXPECT_EQ(pair.near.failure->message(), "unknown key");
    EXPECT_TRUE(pair.near.failed_by_peer);
  }
}

TEST(Session, UnknownCapabilitiesAndStatementsAreIgnored) {
  SessionOptions options;
  options.capabilities = {"from-the-future"};
  options.statements = {Buffer(10, std::byte{1})};
  Pair pair(options, {});
  pair.client.list("");
  pair.run();
  EXPECT_TRUE(pair.near.done);
}

}  // namespace
}  // namespace peel::proto::test
