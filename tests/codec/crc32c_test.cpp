#include "codec/crc32c.h"

#include <gtest/gtest.h>

#include "tests/codec/sample.h"

namespace peel::codec {
namespace {

TEST(Crc32c, KnownValues) {
  // The check value of the catalogue, and the vectors of RFC 3720, B.4.
  EXPECT_EQ(crc32c(0, as_bytes("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c(0, Buffer(32)), 0x8a9136aau);
  EXPECT_EQ(crc32c(0, Buffer(32, std::byte{0xff})), 0x62a8ab43u);
  EXPECT_EQ(crc32c(0, {}), 0u);
  EXPECT_EQ(crc32c(0x12345678, {}), 0x12345678u);
}

TEST(Crc32c, EqualsTheReference) {
  const Buffer data = test::random_bytes(9000, 1);
  test::Random random(2);
  for (std::size_t size = 0; size <= 600; ++size) {
    const Bytes view = Bytes(data).subspan(random.below(17), size);
    const auto seed = static_cast<std::uint32_t>(random.next());
    ASSERT_EQ(crc32c(seed, view), crc32c_reference(seed, view)) << size;
  }
  EXPECT_EQ(crc32c(1, data), crc32c_reference(1, data));
}

TEST(Crc32c, ContinuesAcrossPieces) {
  const Buffer data = test::random_bytes(3000, 3);
  const std::uint32_t whole = crc32c(0, data);
  for (std::size_t cut = 0; cut <= data.size(); cut += 7)
    ASSERT_EQ(crc32c(crc32c(0, Bytes(data).first(cut)), Bytes(data).subspan(cut)), whole) << cut;
}

TEST(Crc32c, EveryFlippedBitShows) {
  Buffer data = test::random_bytes(64, 4);
  const std::uint32_t whole = crc32c(0, data);
  for (std::size_t bit = 0; bit < data.size() * 8; ++bit) {
    data[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    ASSERT_NE(crc32c(0, data), whole) << bit;
    data[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
  }
}

}  // namespace
}  // namespace peel::codec
