// Every message: exact bytes, round trip, truncation at each length, bit flips.
#include <gtest/gtest.h>

#include <functional>

#include "base/hex.h"
#include "proto/frame.h"
#include "tests/proto/session_pair.h"

namespace peel::proto {
namespace {

using test::digest_of;

struct Sample {
  const char* name;
  Buffer bytes;
  std::function<Result<Buffer>(Bytes)> again;  // decode, then encode
};

template <class Message>
Buffer encoded(const Message& message) {
  WireWriter w;
  message.encode(w);
  return std::move(w).take();
}

template <class Message>
Sample sample(const char* name, const Message& message) {
  return {name, encoded(message), [](Bytes bytes) -> Result<Buffer> {
            PEEL_TRY(const auto m, Message::decode(bytes), "");
            return encoded(m);
          }};
}

Pieces sample_pieces() {
  Pieces pieces;
  pieces.base = 4096;
  Piece plain{4096, 8192, {digest_of(1), 8192}, 0, 0};
  Piece hole{12288, 1ull << 40, {}, 0, 0};
  Piece slice{hole.offset + hole.length + 5, 10, {digest_of(2), 100}, 7, 0};
  pieces.pieces = {plain, hole, slice};
  return pieces;
}

LayerHead sample_head() {
  LayerHead head;
  head.info.id = digest_of(1);
  head.info.parents = {digest_of(2), digest_of(3)};
  head.info.generation = 9;
  head.info.size = 1 << 20;
  head.info.content = digest_of(4);
  head.info.meta = {"ann", "host", "note", 1, -2, 0644, label_merge};
  head.piece_count = 3;
  return head;
}

std::vector<Sample> samples() {
  Chunk chunk;
  chunk.chunk = test::make_chunk(test::chunk_name(3, 5));
  chunk.chunk.codec = 2;
  return {
      sample("hello", Hello{1, 2, "peel 0.1", {"a", "bc"}, {Buffer(3, std::byte{7})}}),
      sample("abort", Abort{ErrorKind::refused, "no"}),
      sample("alive", Alive{}),
      sample("done", Done{}),
      sample("ls", Ls{"lab/x"}),
      sample("ls_entry", LsEntry{"lab/x", "main", {{"main", digest_of(1)}}}),
      sample("join", Join{{std::byte{1}, std::byte{2}}, "laptop"}),
      sample("joined", Joined{"laptop-2", {{2, "lab"}, {1, ""}}}),
      sample("fetch", Fetch{"data.h5", true}),
      sample("push", Push{"data.h5", true, {std::byte{9}}}),
      sample("repair", Repair{"data.h5"}),
      sample("haves", Haves{Haves::Kind::shallow, {digest_of(1), digest_of(2)}}),
      sample("refs", Refs{{{RefKind::branch, "main", digest_of(1), ""}, {RefKind::tag, "v1", digest_of(2), "note"}}}),
      sample("onion_state", OnionState{true, {std::byte{3}}, "main"}),
      sample("updates", Updates{true,
                                true,
                                {{RefKind::branch, "main", digest_of(1), digest_of(2), true, ""},
                                 {RefKind::branch, "old", digest_of(3), std::nullopt, false, ""}}}),
      sample("results", Results{true, {{RefKind::tag, RefResult::State::rejected, "v1", {}, digest_of(1), "why"}}}),
      sample("layer", sample_head()),
      sample("pieces", sample_pieces()),
      sample("layers_end", LayersEnd{}),
      sample("credit", Credit{1234567}),
      sample("want", Want{{test::chunk_name(1), test::chunk_name(2)}}),
      sample("chunk", chunk),
      sample("absent", Absent{test::chunk_name(1)}),
  };
}

TEST(Messages, DecodeThenEncodeGivesTheSameBytes) {
  for (const auto& s : samples()) {
    const auto again = s.again(s.bytes);
    ASSERT_TRUE(again) << s.name << ": " << again.error().message();
    EXPECT_EQ(to_hex(again.value()), to_hex(s.bytes)) << s.name;
  }
}

TEST(Messages, GoldenBytes) {
  const auto hex = [](const auto& message) { return to_hex(encoded(message)); };
  EXPECT_EQ(hex(Hello{1, 2, "peel", {"a"}, {Buffer(2, std::byte{7})}}),
            "5045454c"
            "0100"
            "0200"
            "0400"
            "7065656c"
            "0100"
            "0100"
            "61"
            "0100"
            "0200"
            "0707");
  EXPECT_EQ(hex(Abort{ErrorKind::refused, "no"}),
            "0a"
            "0200"
            "6e6f");
  EXPECT_EQ(hex(Fetch{"d", true}),
            "01"
            "0100"
            "64");
  EXPECT_EQ(hex(Push{"d", true, {}}),
            "01"
            "0100"
            "64" +
                std::string(64, '0'));
  EXPECT_EQ(hex(Credit{0x0102}), "0201000000000000");
  const std::string a = to_hex(digest_of(1)), b = to_hex(digest_of(2));
  EXPECT_EQ(hex(Haves{Haves::Kind::shallow, {digest_of(1)}}),
            "01"
            "01000000" +
                a);
  EXPECT_EQ(hex(Refs{{{RefKind::tag, "v", digest_of(1), "n"}}}),
            "01000000"
            "02"
            "0100"
            "76" +
                a +
                "0100"
                "6e");
  EXPECT_EQ(hex(Updates{true, true, {{RefKind::branch, "m", digest_of(1), digest_of(2), true, ""}}}),
            "03"
            "01000000"
            "01"
            "03"
            "0100"
            "6d" +
                a + b + "0000");
  EXPECT_EQ(hex(Results{true, {{RefKind::branch, RefResult::State::moved, "m", digest_of(1), digest_of(2), ""}}}),
            "01"
            "01000000"
            "01"
            "01"
            "0100"
            "6d" +
                a + b + "0000");
  EXPECT_EQ(hex(sample_pieces()),
            "0010000000000000"
            "03000000"
            "00" +
                a +
                "00200000"
                "01"
                "0000000000010000"
                "06"
                "0500000000000000" +
                b +
                "64000000"
                "07000000"
                "0a000000");
  EXPECT_EQ(hex(sample_head()), a + "0200" + b + to_hex(digest_of(3)) +
                                    "0900000000000000"
                                    "0000100000000000" +
                                    to_hex(digest_of(4)) +
                                    "0300"
                                    "616e6e"
                                    "0400"
                                    "686f7374"
                                    "0400"
                                    "6e6f7465"
                                    "0100000000000000"
                                    "feffffffffffffff"
                                    "a4010000"
                                    "08000000"
                                    "00"
                                    "0300000000000000");
  EXPECT_EQ(hex(Want{{{digest_of(1), 5}}}), "01000000" + a + "05000000");
}

TEST(Messages, AbortCodesArePinned) {
  const ErrorKind kinds[] = {ErrorKind::usage,   ErrorKind::not_found,   ErrorKind::exists,  ErrorKind::truncated,
                             ErrorKind::corrupt, ErrorKind::unsupported, ErrorKind::io,      ErrorKind::network,
                             ErrorKind::timeout, ErrorKind::limit,       ErrorKind::refused, ErrorKind::conflict,
                             ErrorKind::partial, ErrorKind::cancelled};
  for (std::uint8_t code = 0; code < std::size(kinds); ++code) {
    EXPECT_EQ(abort_code(kinds[code]), code);
    EXPECT_EQ(kind_of_abort_code(code), kinds[code]);
  }
  EXPECT_EQ(kind_of_abort_code(200), ErrorKind::network);
}

TEST(Messages, EveryTruncationIsAnError) {
  for (const auto& s : samples()) {
    // A chunk's stored bytes reach to the end of its frame: only its head can be cut short.
    const std::size_t end = std::string(s.name) == "chunk" ? 38 : s.bytes.size();
    for (std::size_t n = 0; n < end; ++n) EXPECT_FALSE(s.again(Bytes(s.bytes).first(n))) << s.name << " cut at " << n;
    if (std::string(s.name) == "chunk") continue;
    Buffer longer = s.bytes;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(s.again(longer)) << s.name << " with a byte too many";
  }
}

TEST(Messages, FlippedBitsAreAnErrorOrAnotherMessage) {
  for (const auto& s : samples()) {
    if (std::string(s.name) == "abort") continue;  // unknown kinds read as network
    for (std::size_t bit = 0; bit < s.bytes.size() * 8; ++bit) {
      Buffer bent = s.bytes;
      bent[bit / 8] ^= std::byte{1} << (bit % 8);
      const auto again = s.again(bent);
      if (!again) continue;
      EXPECT_EQ(to_hex(again.value()), to_hex(bent)) << s.name << " bit " << bit;
    }
  }
}

TEST(Messages, ClaimedCountsAllocateNothing) {
  WireWriter w;
  w.integer(std::uint8_t{0}).integer(std::uint32_t{16384});
  EXPECT_FALSE(Haves::decode(w.view()));
  WireWriter refs;
  refs.integer(std::uint32_t{0xffffffff});
  EXPECT_EQ(Refs::decode(refs.view()).error().kind(), ErrorKind::limit);
}

TEST(Messages, ImpossiblePiecesAreRefused) {
  const auto bent = [](auto change) {
    Pieces p = sample_pieces();
    change(p);
    return Pieces::decode(encoded(p));
  };
  EXPECT_FALSE(bent([](Pieces& p) { p.pieces[1].length = ~0ull; }));
  EXPECT_FALSE(bent([](Pieces& p) { p.pieces[1].length = 0; }));
  EXPECT_FALSE(bent([](Pieces& p) { p.pieces[2].chunk_offset = 95; }));
  EXPECT_FALSE(bent([](Pieces& p) {
    p.pieces[0].chunk.length = (16u << 20) + 1;
    p.pieces.resize(1);
  }));
}

TEST(Frames, CutAnywhere) {
  Buffer stream;
  append_frame(stream, 3, [](WireWriter&) {});
  append_frame(stream, 16, [](WireWriter& w) { w.string16("abc"); });
  for (std::size_t step = 1; step <= stream.size(); ++step) {
    FrameReader reader;
    std::vector<std::string> got;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      reader.feed(Bytes(stream).subspan(at, std::min(step, stream.size() - at)));
      while (true) {
        auto frame = reader.next();
        ASSERT_TRUE(frame);
        if (!*frame) break;
        got.push_back(std::to_string((*frame)->type) + to_hex((*frame)->body));
      }
    }
    EXPECT_EQ(got, (std::vector<std::string>{"3", "160300616263"}));
    EXPECT_EQ(reader.buffered(), 0u);
  }
}

TEST(Frames, LengthIsJudgedBeforeTheBody) {
  const auto judge = [](std::uint32_t length, MessageType type) {
    WireWriter w;
    w.integer(length).integer(static_cast<std::uint8_t>(type));
    FrameReader reader;
    reader.feed(w.view());
    auto frame = reader.next();
    return frame ? std::optional<ErrorKind>() : frame.error().kind();
  };
  EXPECT_EQ(judge(0, MessageType::want), ErrorKind::corrupt);
  EXPECT_EQ(judge(frame_size_max, MessageType::want), std::nullopt);
  EXPECT_EQ(judge(frame_size_max + 1, MessageType::want), ErrorKind::limit);
  EXPECT_EQ(judge(chunk_frame_size_max, MessageType::chunk), std::nullopt);
  EXPECT_EQ(judge(chunk_frame_size_max + 1, MessageType::chunk), ErrorKind::limit);
}

}  // namespace
}  // namespace peel::proto
