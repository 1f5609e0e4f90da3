// Flow control: what one end may have on the way, whatever the other does.
#include <gtest/gtest.h>

#include "tests/proto/session_pair.h"

namespace peel::proto::test {
namespace {

std::size_t piece_frames(Buffer& out, LayerSender& sender) {
  const std::size_t before = out.size();
  sender.pump(out, 0, 1u << 30);
  return out.size() - before;
}

TEST(LayerFlow, TheSenderStopsAtTheWindow) {
  LayerSender sender;
  Buffer out;
  sender.give(make_layer(1, {}, 0, 1'000'000));  // 37 MB on the wire
  std::size_t sent = piece_frames(out, sender);
  EXPECT_LE(sent, layer_window);
  EXPECT_GT(sent, layer_window - 2 * frame_size_max);
  EXPECT_EQ(piece_frames(out, sender), 0u);
  ASSERT_TRUE(sender.add_credit(sent));
  EXPECT_GT(piece_frames(out, sender), 0u);
  EXPECT_EQ(sender.add_credit(layer_window + 1).error().kind(), ErrorKind::corrupt);
}

TEST(LayerFlow, TheReceiverReturnsNoCreditForLayersThatWait) {
  LayerReceiver receiver({});
  std::uint64_t returned = 0, sent = 0;
  Buffer out;
  LayerSender sender;
  std::uint64_t id = 0;
  FrameReader reader;
  // Layers come, their chunks never do.
  while (true) {
    while (sender.wants_layer()) {
      ++id;
      sender.give(make_layer(id, {}, id * 1000, 1000));
      out.clear();
      sender.pump(out, 0, 1u << 30);
      sent += out.size();
      reader.feed(out);
      while (true) {
        auto frame = reader.next();
        ASSERT_TRUE(frame);
        if (!*frame) break;
        const std::size_t size = (*frame)->body.size() + 5;
        if ((*frame)->type == static_cast<std::uint8_t>(MessageType::layer)) {
          ASSERT_TRUE(receiver.on_head(*LayerHead::decode((*frame)->body), size));
        } else {
          ASSERT_TRUE(receiver.on_pieces(*Pieces::decode((*frame)->body), size));
        }
      }
      for (auto names = receiver.next_to_check(); !names.empty(); names = receiver.next_to_check())
        receiver.checked(std::vector<bool>(names.size(), true));
    }
    const auto credit = receiver.take_credit(1);
    if (credit == 0) break;
    returned += credit;
    ASSERT_TRUE(sender.add_credit(credit));
  }
  EXPECT_LE(sent - returned, layer_window);
  EXPECT_LT(returned, 64u << 10);  // the oldest layer's alone
  EXPECT_LE(receiver.wants_outstanding(), wants_outstanding_max);
  EXPECT_FALSE(receiver.take_ready());
}

TEST(ChunkFlow, AsksForNoMoreThanTheBound) {
  Pair pair;
  pair.far.to_send = {make_layer(1, {}, 0, 80'000)};
  for (const auto& piece : pair.far.to_send[0].pieces) pair.far.chunks.insert(piece.chunk);
  pair.far.state.onion = {true, {}, "main"};
  pair.client.fetch({"data", true}, {}, {});
  pair.run(1 << 20);
  EXPECT_EQ(pair.near.chunks_got, 80'000u);
  EXPECT_FALSE(pair.near.failure || pair.far.failure);  // too many wants would have failed the server
}

TEST(ChunkFlow, TheSenderProducesOnlyWhatFitsItsOutput) {
  Pair pair;
  pair.far.to_send = {make_layer(1, {}, 0, 20'000)};
  for (const auto& piece : pair.far.to_send[0].pieces) pair.far.chunks.insert(piece.chunk);
  pair.far.state.onion = {true, {}, "main"};
  pair.client.fetch({"data", true}, {}, {});
  answer_all(pair.client, pair.near);
  std::size_t most = 0;
  for (int round = 0; round < 100'000 && !pair.near.done; ++round) {
    // The client sends freely, the server's bytes leave a few at a time.
    pair.server.feed(pair.client.output(), pair.now);
    pair.client.consume_output(pair.client.output().size(), pair.now);
    answer_all(pair.server, pair.far);
    most = std::max(most, pair.server.output().size());
    const std::size_t n = std::min<std::size_t>(1000, pair.server.output().size());
    pair.client.feed(pair.server.output().first(n), pair.now);
    pair.server.consume_output(n, pair.now);
    answer_all(pair.client, pair.near);
  }
  EXPECT_TRUE(pair.near.done);
  EXPECT_LE(most, output_room + split_size + 4096);
}

TEST(ChunkFlow, InputWaitsWhileAMegabyteIsUnpolled) {
  Pair pair;
  Buffer frames;
  while (frames.size() < 2 * frame_size_max) append_frame(frames, 3, [](WireWriter&) {});
  EXPECT_TRUE(pair.server.wants_input());
  pair.server.feed(frames, pair.now);
  EXPECT_FALSE(pair.server.wants_input());
}

}  // namespace
}  // namespace peel::proto::test
