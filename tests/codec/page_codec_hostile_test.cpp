// Stored bytes as an attacker or a bad disk would have them: decode fails or gives some bytes, and never
// touches anything but its output.
#include <gtest/gtest.h>

#include "codec/page_codec.h"
#include "tests/codec/page_samples.h"

namespace peel::codec {
namespace {

using test::Kind;
constexpr std::array codecs{Codec::raw,         Codec::constant, Codec::lz4,        Codec::zstd,  Codec::shuffle_zstd,
                            Codec::shuffle_lz4, Codec::dbp,      Codec::delta_zstd, Codec::planes};

// Decodes into a guarded buffer that begins where nothing is aligned.
class Guarded {
 public:
  explicit Guarded(std::size_t size) : size_(size), memory_(size + 2 * guard, fill) {}
  MutableBytes plain() { return MutableBytes(memory_).subspan(guard, size_); }
  bool intact() const {
    for (std::size_t i = 0; i < guard; ++i)
      if (memory_[i] != fill || memory_[guard + size_ + i] != fill) return false;
    return true;
  }

 private:
  static constexpr std::size_t guard = 67;
  static constexpr std::byte fill{0xc3};
  std::size_t size_;
  Buffer memory_;
};

struct Stored {
  Codec codec;
  std::uint8_t width;
  Buffer bytes;
  std::size_t plain_size;
};

std::vector<Stored> samples() {
  std::vector<Stored> out;
  for (const Kind kind : {Kind::text, Kind::small_ints, Kind::smooth_float, Kind::random, Kind::zeros})
    for (const std::size_t size : {1, 20, 700, 1100})
      for (const Codec codec : codecs)
        for (const std::uint8_t width : {1, 4}) {
          Stored s{codec, width, {}, size};
          const Buffer plain = test::page(kind, size);
          if (encode_as(codec, width, Effort::fast, plain, s.bytes).ok()) out.push_back(std::move(s));
        }
  return out;
}

TEST(PageCodecHostile, EveryTruncationFails) {
  for (const Stored& s : samples())
    for (std::size_t n = 0; n < s.bytes.size(); ++n) {
      Guarded out(s.plain_size);
      const Buffer exact(s.bytes.begin(), s.bytes.begin() + static_cast<std::ptrdiff_t>(n));  // sanitizers see the end
      const Status status = decode(s.codec, s.width, exact, out.plain());
      ASSERT_FALSE(status.ok()) << codec_name(s.codec) << " " << n << " of " << s.bytes.size();
      ASSERT_EQ(status.error().kind(), ErrorKind::corrupt);
      ASSERT_TRUE(out.intact());
    }
}

TEST(PageCodecHostile, TrailingBytesFail) {
  for (Stored s : samples()) {
    s.bytes.push_back(std::byte{0});
    Guarded out(s.plain_size);
    ASSERT_FALSE(decode(s.codec, s.width, s.bytes, out.plain()).ok()) << codec_name(s.codec);
    ASSERT_TRUE(out.intact());
  }
}

TEST(PageCodecHostile, EveryFlippedBitIsHarmless) {
  for (Stored s : samples())
    for (std::size_t bit = 0; bit < s.bytes.size() * 8; ++bit) {
      s.bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
      Guarded out(s.plain_size);
      const Status status = decode(s.codec, s.width, s.bytes, out.plain());
      if (!status.ok()) { ASSERT_EQ(status.error().kind(), ErrorKind::corrupt); }
      ASSERT_TRUE(out.intact()) << codec_name(s.codec) << " bit " << bit;
      s.bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    }
}

TEST(PageCodecHostile, WrongPlainSizeFails) {
  for (const Stored& s : samples()) {
    // Any size can be filled with a constant, and a few elements more or less take the same rows: the digest tells.
    if (s.codec == Codec::constant || s.codec == Codec::dbp || s.codec == Codec::planes) continue;
    for (const std::size_t size : {std::size_t{0}, s.plain_size - 1, s.plain_size + 1, s.plain_size * 2}) {
      Guarded out(size);
      ASSERT_FALSE(decode(s.codec, s.width, s.bytes, out.plain()).ok()) << codec_name(s.codec) << " " << size;
      ASSERT_TRUE(out.intact());
    }
  }
}

TEST(PageCodecHostile, NonsenseOfEverySize) {
  test::Random random(9);
  for (std::size_t size = 0; size < 300; ++size)
    for (const Codec codec : codecs) {
      const Buffer bytes = test::random_bytes(size, size);
      Guarded out(random.below(5000));
      (void)decode(codec, static_cast<std::uint8_t>(random.below(256)), bytes, out.plain()).ok();
      ASSERT_TRUE(out.intact());
    }
}

TEST(PageCodecHostile, BadParameters) {
  Guarded out(8);
  const Buffer one(1);
  for (const Codec codec : {Codec::constant, Codec::shuffle_lz4, Codec::shuffle_zstd, Codec::dbp, Codec::delta_zstd, Codec::planes})
    EXPECT_EQ(decode(codec, 0, one, out.plain()).error().kind(), ErrorKind::corrupt);
  for (const Codec codec : {Codec::dbp, Codec::delta_zstd})
    for (const std::uint8_t width : {3, 5, 16, 255}) EXPECT_EQ(decode(codec, width, one, out.plain()).error().kind(), ErrorKind::corrupt);
  EXPECT_EQ(decode(static_cast<Codec>(9), 1, one, out.plain()).error().kind(), ErrorKind::unsupported);
  EXPECT_EQ(decode(static_cast<Codec>(255), 1, one, out.plain()).error().kind(), ErrorKind::unsupported);
  Buffer stored;
  EXPECT_EQ(encode_as(static_cast<Codec>(9), 1, Effort::fast, one, stored).error().kind(), ErrorKind::unsupported);
  EXPECT_EQ(encode_as(Codec::shuffle_lz4, 0, Effort::fast, one, stored).error().kind(), ErrorKind::unsupported);
  EXPECT_TRUE(stored.empty());
  Buffer huge(chunk_size_max + 1);
  for (const Codec codec : {Codec::shuffle_lz4, Codec::dbp, Codec::delta_zstd, Codec::planes})
    EXPECT_EQ(decode(codec, 4, one, huge).error().kind(), ErrorKind::corrupt);
}

// A zstd frame may claim any size and window; only ours is accepted.
TEST(PageCodecHostile, ZstdFramesThatLie) {
  const std::array<std::uint8_t, 13> claims_exabytes{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0x10};
  Guarded out(4096);
  EXPECT_EQ(decode(Codec::zstd, 1, std::as_bytes(std::span(claims_exabytes)), out.plain()).error().kind(), ErrorKind::corrupt);
  // Two frames where one belongs.
  Buffer twice;
  const Buffer half = test::page(Kind::text, 2048);
  ASSERT_TRUE(encode_as(Codec::zstd, 1, Effort::fast, half, twice).ok());
  ASSERT_TRUE(encode_as(Codec::zstd, 1, Effort::fast, half, twice).ok());
  EXPECT_EQ(decode(Codec::zstd, 1, twice, out.plain()).error().kind(), ErrorKind::corrupt);
  EXPECT_TRUE(out.intact());
}

}  // namespace
}  // namespace peel::codec
