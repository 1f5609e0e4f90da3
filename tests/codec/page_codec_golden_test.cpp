// Golden: stored bytes that every later version must read.
#include <gtest/gtest.h>

#include "base/hex.h"
#include "codec/blake3.h"
#include "codec/page_codec.h"
#include "tests/codec/sample.h"

namespace peel::codec {
namespace {

// Slow 16-bit steps with a jump now and then, and an odd byte at the end.
Buffer golden_plain(std::size_t size) {
  Buffer plain(size);
  test::Random random(2026);
  unsigned value = 500;
  for (std::size_t i = 0; i < size; i += 2) {
    value += random.below(40) == 0 ? 3000 : static_cast<unsigned>(random.below(7)) - 1;
    plain[i] = static_cast<std::byte>(value);
    if (i + 1 < size) plain[i + 1] = static_cast<std::byte>(value >> 8);
  }
  return plain;
}

struct Golden {
  Codec codec;
  std::uint8_t width;
  std::size_t size;
  const char* stored;
};

const Golden goldens[] = {
#include "tests/codec/page_codec_goldens.inc"
};

TEST(PageCodecGolden, StoredBytesAreRead) {
  for (const Golden& g : goldens) {
    const auto stored = from_hex(g.stored);
    ASSERT_TRUE(stored.ok());
    Buffer plain(g.size);
    const Status status = decode(g.codec, g.width, *stored, plain);
    ASSERT_TRUE(status.ok()) << status.error().message();
    EXPECT_EQ(plain, golden_plain(g.size)) << codec_name(g.codec);
  }
}

// Only of what is ours alone: other compressors may change what they write.
TEST(PageCodecGolden, DbpWritesTheSameForEver) {
  for (const Golden& g : goldens) {
    if (g.codec != Codec::dbp) continue;
    Buffer out;
    ASSERT_TRUE(encode_as(g.codec, g.width, Effort::fast, golden_plain(g.size), out).ok());
    EXPECT_EQ(to_hex(out), g.stored);
  }
}

}  // namespace
}  // namespace peel::codec
