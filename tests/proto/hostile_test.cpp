// Peers that break the rules: each is cut off with the right kind, and costs bounded time and memory.
#include <gtest/gtest.h>

#include "tests/proto/session_pair.h"

namespace peel::proto::test {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

template <class Message>
void put(Buffer& out, const Message& message) {
  append_frame(out, static_cast<std::uint8_t>(Message::type), [&](WireWriter& w) { message.encode(w); });
}

// A server that gets raw frames after a proper hello.
struct Victim {
  explicit Victim(SessionOptions options = {}) : session((options.role = Role::server, options), now) {
    store.serving = true;
  }
  Instant now{};
  HistorySession session;
  Store store;
  void feed(const Buffer& bytes) {
    session.feed(bytes, now);
    answer_all(session, store);
    session.consume_output(session.output().size(), now);
  }
  template <class... Messages>
  void say(const Messages&... messages) {
    Buffer out;
    (put(out, messages), ...);
    feed(out);
  }
  std::optional<ErrorKind> failure() const {
    return store.failure ? std::optional(store.failure->kind()) : std::nullopt;
  }
};

LayerHead head(std::uint64_t pieces) {
  LayerHead h;
  h.info = make_layer(1, {}, 0, 1).info;
  h.piece_count = pieces;
  return h;
}
Pieces one_piece() { return {0, make_layer(1, {}, 0, 1).pieces}; }
Updates no_updates() { return {false, true, {}}; }
Chunk some_chunk() { return {make_chunk(chunk_name(0))}; }

TEST(Hostile, NoHello) {
  Victim v;
  v.say(Ls{""});
  EXPECT_EQ(v.failure(), ErrorKind::corrupt);
}

TEST(Hostile, AnotherProtocol) {
  Victim v;
  const std::string_view http = "GET / HTTP/1.1\r\n\r\n";
  v.feed({as_bytes(http).begin(), as_bytes(http).end()});
  EXPECT_EQ(v.failure(), ErrorKind::corrupt);
  Victim tls;  // read as a frame, a small ClientHello has a legal length
  tls.feed({std::byte{0x16}, std::byte{3}, std::byte{1}, std::byte{0}, std::byte{0xc8}});
  EXPECT_EQ(tls.failure(), ErrorKind::corrupt);
}

TEST(Hostile, NoCommonVersion) {
  Victim v;
  v.say(Hello{2, 9, "", {}, {}});
  EXPECT_EQ(v.failure(), ErrorKind::unsupported);
}

TEST(Hostile, MessagesOutOfPlace) {
  const auto after_push = [](const auto& message) {
    Victim v;
    v.store.state.onion = {true, {}, "main"};
    v.say(Hello{}, Push{"d", false, {}}, no_updates());
    EXPECT_FALSE(v.failure());
    v.say(message);
    return v.failure();
  };
  const auto at_rest = [](const auto& message) {
    Victim v;
    v.say(Hello{}, message);
    return v.failure();
  };
  EXPECT_EQ(at_rest(Hello{}), ErrorKind::corrupt);
  EXPECT_EQ(at_rest(some_chunk()), ErrorKind::corrupt);
  EXPECT_EQ(at_rest(no_updates()), ErrorKind::corrupt);
  EXPECT_EQ(at_rest(Credit{1}), ErrorKind::corrupt);
  EXPECT_EQ(at_rest(Want{}), ErrorKind::corrupt);
  EXPECT_EQ(at_rest(Done{}), ErrorKind::corrupt);
  EXPECT_EQ(at_rest(LsEntry{}), ErrorKind::corrupt);
  EXPECT_EQ(after_push(some_chunk()), ErrorKind::corrupt);  // never asked for
  EXPECT_EQ(after_push(one_piece()), ErrorKind::corrupt);   // no layer begun
  EXPECT_EQ(after_push(Results{}), ErrorKind::corrupt);
  EXPECT_EQ(after_push(Push{"d", false, {}}), ErrorKind::corrupt);
  EXPECT_EQ(after_push(Want{{chunk_name(1)}}), ErrorKind::corrupt);
}

TEST(Hostile, UnknownMessageTypes) {
  for (int type = 0; type < 256; ++type) {
    Victim v;
    v.say(Hello{});
    Buffer frame;
    append_frame(frame, static_cast<std::uint8_t>(type), [](WireWriter& w) { w.integer(std::uint8_t{0xff}); });
    v.feed(frame);
    EXPECT_TRUE(v.failure()) << type;  // unknown, out of place or no such body
  }
}

TEST(Hostile, OversizeFrame) {
  Victim v;
  v.say(Hello{});
  WireWriter w;
  w.integer(std::uint32_t{frame_size_max + 1}).integer(std::uint8_t{16});
  v.feed(std::move(w).take());
  EXPECT_EQ(v.failure(), ErrorKind::limit);
}

struct PushVictim : Victim {
  explicit PushVictim(SessionOptions options = {}) : Victim(options) {
    store.state.onion = {true, {}, "main"};
    say(Hello{}, Push{"d", false, {}}, no_updates());
  }
};

TEST(Hostile, LayersThatLie) {
  PushVictim within;
  within.say(head(2), head(1));
  EXPECT_EQ(within.failure(), ErrorKind::corrupt);

  PushVictim cut;
  cut.say(head(2), LayersEnd{});
  EXPECT_EQ(cut.failure(), ErrorKind::corrupt);

  PushVictim more;
  more.say(head(1), Pieces{0, make_layer(1, {}, 0, 2).pieces});
  EXPECT_EQ(more.failure(), ErrorKind::corrupt);

  PushVictim beyond;  // the file is 100 bytes
  Pieces pieces = one_piece();
  pieces.pieces[0].offset = 1;
  beyond.say(head(1), pieces);
  EXPECT_EQ(beyond.failure(), ErrorKind::corrupt);

  PushVictim backwards;
  LayerHead big = head(4);
  big.info.size = 1000;
  backwards.say(big, Pieces{0, make_layer(1, {}, 0, 2).pieces}, Pieces{0, make_layer(1, {}, 0, 2).pieces});
  EXPECT_EQ(backwards.failure(), ErrorKind::corrupt);

  PushVictim twice;
  twice.say(head(1), one_piece(), LayersEnd{}, LayersEnd{});
  EXPECT_EQ(twice.failure(), ErrorKind::corrupt);
}

TEST(Hostile, ChunksInAnotherOrder) {
  PushVictim v;
  LayerHead two = head(2);
  two.info.size = 200;
  v.say(two, Pieces{0, make_layer(1, {}, 0, 2).pieces});
  EXPECT_FALSE(v.failure());
  v.say(Chunk{make_chunk(chunk_name(1))});
  EXPECT_EQ(v.failure(), ErrorKind::corrupt);
}

TEST(Hostile, OverrunsTheLayerWindow) {
  PushVictim v;
  // The first layer's chunk never comes, so nothing behind it is given back.
  v.say(head(1), one_piece());
  Buffer stream;
  while (stream.size() < layer_window) {
    LayerHead h = head(0);
    h.info.meta.note.assign(60000, 'x');
    put(stream, h);
  }
  put(stream, head(0));
  v.feed(stream);
  EXPECT_EQ(v.failure(), ErrorKind::limit);
}

TEST(Hostile, NeverEndingHistory) {
  SessionOptions options;
  options.limits.layers = 1000;
  PushVictim v(options);
  int sent = 0;
  for (; sent < 5000 && !v.failure(); ++sent) v.say(head(0));
  EXPECT_EQ(v.failure(), ErrorKind::limit);
  EXPECT_EQ(sent, 1001);
}

TEST(Hostile, ALayerWithoutEnd) {
  SessionOptions options;
  options.limits.pieces = 1000;
  PushVictim v(options);
  const Layer layer = make_layer(1, {}, 0, 2000);
  LayerHead h{layer.info, true, layer.pieces.size()};
  v.say(h, Pieces{0, {layer.pieces.begin(), layer.pieces.begin() + 1000}});
  EXPECT_FALSE(v.failure());
  v.say(Pieces{0, {layer.pieces.begin() + 1000, layer.pieces.end()}});
  EXPECT_EQ(v.failure(), ErrorKind::limit);
}

TEST(Hostile, TooManyWants) {
  Victim v;
  v.store.state.onion = {true, {}, "main"};
  v.store.chunks = {chunk_name(1)};
  v.say(Hello{}, Fetch{"d", true});
  Want want;
  want.names.assign(wants_per_frame_max, chunk_name(1));
  Buffer stream;
  for (int i = 0; i < 6; ++i) put(stream, want);
  v.session.feed(stream, v.now);
  answer_all(v.session, v.store);  // its output is not read, so it cannot work them off
  EXPECT_EQ(v.failure(), ErrorKind::limit);
}

TEST(Hostile, TooManyHavesAndRefs) {
  Victim v;
  v.say(Hello{});
  Haves haves;
  haves.ids.assign(8192, digest_of(1));
  v.say(haves, haves);
  EXPECT_FALSE(v.failure());
  v.say(haves);
  EXPECT_EQ(v.failure(), ErrorKind::limit);

  Pair pair;
  pair.client.fetch({"d", true}, {}, {});
  Buffer out;
  put(out, Hello{});
  Refs refs;
  refs.refs.assign(10000, {RefKind::branch, "main", digest_of(1), ""});
  for (int i = 0; i < 7; ++i) put(out, refs);
  pair.client.feed(out, pair.now);
  answer_all(pair.client, pair.near);
  EXPECT_EQ(pair.near.failure->kind(), ErrorKind::limit);
}

TEST(Hostile, CreditOutOfNothing) {
  Victim v;
  v.store.state.onion = {true, {}, "main"};
  v.say(Hello{}, Fetch{"d", true}, Credit{layer_window});
  EXPECT_EQ(v.failure(), ErrorKind::corrupt);
}

TEST(Hostile, SaysItIsDoneBeforeItCanBe) {
  Victim v;
  v.store.state.onion = {true, {}, "main"};
  v.store.to_send = {make_layer(1, {}, 0, 200'000)};
  v.say(Hello{}, Fetch{"d", true}, Done{});
  EXPECT_EQ(v.failure(), ErrorKind::corrupt);
}

// --- silence ---------------------------------------------------------------------------------------

TEST(Silence, NoRequestWithinTheHelloTime) {
  Victim v;
  v.say(Hello{});
  v.now += seconds(14);
  v.session.on_deadline(v.now);
  answer_all(v.session, v.store);
  EXPECT_FALSE(v.failure());
  v.now += seconds(2);
  ASSERT_LE(*v.session.next_deadline(), v.now);
  v.session.on_deadline(v.now);
  answer_all(v.session, v.store);
  EXPECT_EQ(v.failure(), ErrorKind::timeout);
}

TEST(Silence, LayersClaimedAndChunksNeverSent) {
  PushVictim v;
  v.say(head(1), one_piece());
  v.now += seconds(121);
  v.session.on_deadline(v.now);
  answer_all(v.session, v.store);
  EXPECT_EQ(v.failure(), ErrorKind::timeout);
}

TEST(Silence, DrippingBytesAreNoProgress) {
  PushVictim v;
  v.say(head(1), one_piece());
  Buffer frame;
  put(frame, some_chunk());
  for (std::size_t i = 0; i + 1 < frame.size() && !v.failure(); ++i) {
    v.now += seconds(60);
    v.feed({frame[i]});
    v.session.on_deadline(v.now);
    answer_all(v.session, v.store);
  }
  EXPECT_EQ(v.failure(), ErrorKind::timeout);
}

TEST(Silence, StillWorkingHelpsForAnHourOnly) {
  PushVictim v;
  v.say(head(1), one_piece());
  int minutes = 0;
  for (; minutes < 100 && !v.failure(); ++minutes) {
    v.now += seconds(60);
    v.say(Alive{});
    v.session.on_deadline(v.now);
    answer_all(v.session, v.store);
  }
  EXPECT_EQ(v.failure(), ErrorKind::timeout);
  EXPECT_GE(minutes, 59);
}

TEST(Silence, OurOwnWorkIsNotHeldAgainstThePeer) {
  PushVictim v;
  v.say(head(1), one_piece());
  v.session.excuse(hours(2));
  v.now += hours(2);
  v.session.on_deadline(v.now);
  answer_all(v.session, v.store);
  EXPECT_FALSE(v.failure());
}

TEST(Silence, ACutInTheMiddleIsAnErrorAndAtRestIsNone) {
  PushVictim middle;
  middle.session.on_closed(middle.now);
  answer_all(middle.session, middle.store);
  EXPECT_EQ(middle.failure(), ErrorKind::network);

  Victim rest;
  rest.say(Hello{});
  rest.session.on_closed(rest.now);
  answer_all(rest.session, rest.store);
  EXPECT_TRUE(rest.store.closed);
}

}  // namespace
}  // namespace peel::proto::test
