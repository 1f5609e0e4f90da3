#include "codec/page_codec.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/codec/page_samples.h"

namespace peel::codec {
namespace {

using test::Kind;
constexpr std::array efforts{Effort::fast, Effort::balanced, Effort::thorough};

Buffer decoded(const Encoded& e, Bytes stored, std::size_t size) {
  Buffer plain(size);
  const Status status = decode(e.codec, e.width, stored, plain);
  EXPECT_TRUE(status.ok()) << status.error().message();
  return plain;
}

// Sizes 0 to 20,000: every one at the small end, odd tails beyond. An empty chunk is legal: raw, no bytes.
std::vector<std::size_t> sizes() {
  std::vector<std::size_t> out;
  for (std::size_t n = 0; n <= 70; ++n) out.push_back(n);
  for (const std::size_t n : {100, 127, 128, 255, 1000, 1023, 1025, 2063, 2064, 4095, 4096, 4097, 8192, 10007, 16384, 19999, 20000}) out.push_back(n);
  return out;
}

TEST(PageCodec, EncodeRoundTripsAndNeverGrows) {
  for (const Kind kind : test::all_kinds)
    for (const std::size_t size : sizes()) {
      const Buffer plain = test::page(kind, size);
      for (const Effort effort : efforts)
        for (const std::uint8_t width : {0, 1, 2, 3, 4, 8, 255}) {
          Buffer out{std::byte{7}, std::byte{9}};  // encode appends
          const Encoded e = encode(plain, {width, effort}, out);
          ASSERT_EQ(out.size(), 2 + e.size);
          ASSERT_EQ(out[0], std::byte{7});
          ASSERT_LE(e.size, size);
          ASSERT_GE(e.width, 1);
          if (e.codec != Codec::raw && e.codec != Codec::constant) { ASSERT_LE(e.size, size - size / 16); }
          ASSERT_EQ(decoded(e, Bytes(out).subspan(2), size), plain) << codec_name(e.codec) << " " << size;
        }
    }
}

// A repair encodes again what was lost, and must get the same bytes.
TEST(PageCodec, EncodeAsRepeatsWhatEncodeChose) {
  for (const Kind kind : test::all_kinds)
    for (const std::size_t size : {100, 1500, 4096, 10007, 65536, 300000}) {
      const Buffer plain = test::page(kind, size);
      for (const Effort effort : efforts)
        for (const std::uint8_t width : {0, 1, 2, 4, 8}) {
          Buffer chosen, again;
          const Encoded e = encode(plain, {width, effort}, chosen);
          ASSERT_TRUE(encode_as(e.codec, e.width, effort, plain, again).ok());
          ASSERT_EQ(again, chosen) << codec_name(e.codec) << " " << static_cast<int>(kind) << " " << size << " width " << +width;
        }
    }
}

TEST(PageCodec, EncodeAsRoundTripsEveryCodecAndWidth) {
  for (const Kind kind : {Kind::random, Kind::zeros, Kind::smooth_float, Kind::text})
    for (const std::size_t size : sizes()) {
      const Buffer plain = test::page(kind, size, size + 1);
      for (const Codec codec : {Codec::raw, Codec::lz4, Codec::zstd, Codec::shuffle_zstd, Codec::shuffle_lz4, Codec::dbp,
                                Codec::delta_zstd, Codec::planes})
        for (const std::uint8_t width : {1, 2, 3, 4, 8, 255}) {
          const bool plain_bytes = codec == Codec::raw || codec == Codec::lz4 || codec == Codec::zstd;
          const bool numbers = codec == Codec::dbp || codec == Codec::delta_zstd;
          if ((plain_bytes && width != 1) || (numbers && (width == 3 || width == 255))) continue;
          Buffer out;
          const auto e = encode_as(codec, width, Effort::fast, plain, out);
          ASSERT_TRUE(e.ok()) << e.error().message();
          ASSERT_EQ(e->codec, codec);
          ASSERT_EQ(e->width, width);
          ASSERT_EQ(e->size, out.size());
          ASSERT_EQ(decoded(*e, out, size), plain) << codec_name(codec) << " " << +width << " " << size;
        }
    }
}

TEST(PageCodec, ConstantsOfEveryWidth) {
  for (int width = 1; width <= 255; ++width) {
    const Buffer element = test::random_bytes(static_cast<std::size_t>(width), 5);
    for (const int size : {width, width + 1, 2 * width, 5 * width + 3}) {
      Buffer plain(static_cast<std::size_t>(size)), out;
      for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = element[i % element.size()];
      const auto e = encode_as(Codec::constant, static_cast<std::uint8_t>(width), Effort::fast, plain, out);
      ASSERT_TRUE(e.ok());
      ASSERT_EQ(out, element);
      ASSERT_EQ(decoded(*e, out, plain.size()), plain);
      if (size == width) continue;
      plain.back() ^= std::byte{1};
      ASSERT_EQ(encode_as(Codec::constant, static_cast<std::uint8_t>(width), Effort::fast, plain, out).error().kind(), ErrorKind::unsupported);
    }
  }
}

TEST(PageCodec, ConstantIsFoundAtItsNarrowestWidth) {
  for (const std::uint8_t width : {1, 2, 4, 8})
    for (const std::size_t size : {9, 16, 17, 100, 4096, 4099}) {
      Buffer plain(size), out;
      for (std::size_t i = 0; i < size; ++i) plain[i] = static_cast<std::byte>(1 + i % width);
      const Encoded e = encode(plain, {}, out);
      ASSERT_EQ(e.codec, Codec::constant) << +width << " " << size;
      ASSERT_EQ(e.width, width);
      ASSERT_EQ(e.size, width);
    }
}

TEST(PageCodec, ChoosesSensibly) {
  const auto chosen = [](Kind kind, std::uint8_t width, Effort effort, std::size_t size = 65536) {
    Buffer out;
    return encode(test::page(kind, size), {width, effort}, out);
  };
  EXPECT_EQ(chosen(Kind::random, 0, Effort::thorough).codec, Codec::raw);
  EXPECT_EQ(chosen(Kind::random, 4, Effort::fast).codec, Codec::raw);
  EXPECT_EQ(chosen(Kind::zeros, 0, Effort::fast).size, 1u);
  EXPECT_EQ(chosen(Kind::text, 0, Effort::fast).codec, Codec::lz4);
  EXPECT_EQ(chosen(Kind::text, 0, Effort::balanced).codec, Codec::zstd);
  for (const std::size_t size : {std::size_t{4096}, std::size_t{65536}})  // the width is guessed, too
    for (const auto& [kind, width] : {std::pair{Kind::smooth_float, 4}, {Kind::small_ints, 4}, {Kind::doubles, 8}, {Kind::steps_16, 2}}) {
      EXPECT_EQ(chosen(kind, 0, Effort::fast, size).codec, Codec::dbp) << static_cast<int>(kind);
      EXPECT_EQ(chosen(kind, 0, Effort::fast, size).width, width);
    }
  EXPECT_EQ(chosen(Kind::weights, 0, Effort::fast).codec, Codec::planes);
  EXPECT_EQ(chosen(Kind::counting_bytes, 1, Effort::fast).codec, Codec::dbp);
  for (const Kind kind : test::all_kinds) {
    const std::size_t fast = chosen(kind, 0, Effort::fast).size, thorough = chosen(kind, 0, Effort::thorough).size;
    EXPECT_LE(thorough, fast) << static_cast<int>(kind);
  }
}

// The bars of docs/BENCHMARKS.md, codec, that do not depend on the machine.
TEST(PageCodec, KnownDataStaysSmall) {
  const auto size = [](Kind kind, std::uint8_t width, std::size_t plain) {
    Buffer out;
    return encode(test::page(kind, plain), {width, Effort::fast}, out).size;
  };
  EXPECT_LE(size(Kind::slow_cosine, 4, 4096), 1300u);
  EXPECT_LE(size(Kind::slow_cosine, 4, 65536), 20500u);
  EXPECT_LE(size(Kind::counting_bytes, 1, 4096), 276u);
  EXPECT_LE(size(Kind::linear_generator, 4, 4096), 3348u);
  EXPECT_LE(size(Kind::weights, 4, 65536), 55500u);
}

TEST(PageCodec, LargestChunk) {
  const Buffer plain = test::page(Kind::small_ints, chunk_size_max);
  Buffer out;
  const Encoded e = encode(plain, {4, Effort::fast}, out);
  EXPECT_EQ(e.codec, Codec::dbp);
  EXPECT_EQ(decoded(e, out, plain.size()), plain);
  Buffer more(chunk_size_max + 1), stored;
  EXPECT_EQ(encode(more, {}, stored).codec, Codec::raw);
  EXPECT_EQ(encode_as(Codec::zstd, 1, Effort::fast, more, stored).error().kind(), ErrorKind::unsupported);
}

TEST(PageCodec, Names) {
  for (const Codec codec : {Codec::raw, Codec::constant, Codec::lz4, Codec::zstd, Codec::shuffle_zstd, Codec::shuffle_lz4, Codec::dbp,
                            Codec::delta_zstd, Codec::planes}) {
    const auto back = codec_from_name(codec_name(codec));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, codec);
  }
  EXPECT_STREQ(codec_name(static_cast<Codec>(200)), "?");
  EXPECT_EQ(codec_from_name("gzip").error().kind(), ErrorKind::usage);
  EXPECT_EQ(codec_from_name("?").error().kind(), ErrorKind::usage);
}

TEST(PageCodec, ThreadsDoNotShareContexts) {
  std::vector<std::thread> threads;
  std::array<bool, 4> same{};
  for (std::size_t t = 0; t < same.size(); ++t)
    threads.emplace_back([&same, t] {
      same[t] = true;
      for (std::uint64_t i = 0; i < 40; ++i) {
        const Buffer plain = test::page(test::all_kinds[(t + i) % test::all_kinds.size()], 3000 + 100 * t, i);
        Buffer out, back(plain.size());
        const Encoded e = encode(plain, {0, Effort::balanced}, out);
        same[t] = same[t] && decode(e.codec, e.width, out, back).ok() && back == plain;
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const bool ok : same) EXPECT_TRUE(ok);
}

}  // namespace
}  // namespace peel::codec
