#include "base/wire.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/hex.h"

namespace peel {
namespace {

Buffer sample() {
  Digest d;
  d.bytes[0] = std::byte{0xd1};
  WireWriter w;
  w.integer(std::uint8_t{0x01}).integer(std::uint16_t{0x2345}).integer(std::uint32_t{0x6789abcd});
  w.integer(std::uint64_t{0x0123456789abcdef}).signed64(-2).digest(d).string16("name").bytes(as_bytes("xyz"));
  return std::move(w).take();
}

// Reads everything sample() holds.
Status read_all(Bytes bytes) {
  WireReader r(bytes);
  PEEL_TRY(const auto a, r.integer<std::uint8_t>(), "a");
  PEEL_TRY(const auto b, r.integer<std::uint16_t>(), "b");
  PEEL_TRY(const auto c, r.integer<std::uint32_t>(), "c");
  PEEL_TRY(const auto d, r.integer<std::uint64_t>(), "d");
  PEEL_TRY(const auto e, r.signed64(), "e");
  PEEL_TRY(const auto f, r.digest(), "f");
  PEEL_TRY(const auto g, r.string16(), "g");
  PEEL_TRY(const auto h, r.bytes(3), "h");
  EXPECT_EQ(a, 0x01);
  EXPECT_EQ(b, 0x2345);
  EXPECT_EQ(c, 0x6789abcdu);
  EXPECT_EQ(d, 0x0123456789abcdefu);
  EXPECT_EQ(e, -2);
  EXPECT_EQ(f.bytes[0], std::byte{0xd1});
  EXPECT_EQ(g, "name");
  EXPECT_EQ(std::memcmp(h.data(), "xyz", 3), 0);
  EXPECT_TRUE(r.empty());
  return {};
}

TEST(Wire, GoldenBytesAreLittleEndian) {
  EXPECT_EQ(to_hex(sample()), "01" "4523" "cdab8967" "efcdab8967452301" "feffffffffffffff"
            "d1000000000000000000000000000000" "00000000000000000000000000000000" "0400" "6e616d65" "78797a");
}

TEST(Wire, RoundTripAndEveryTruncation) {
  const Buffer bytes = sample();
  EXPECT_TRUE(read_all(bytes).ok());
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    const Buffer exact(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
    const Status status = read_all(exact);
    ASSERT_FALSE(status.ok()) << n;
    ASSERT_EQ(status.error().kind(), ErrorKind::truncated);
  }
}

TEST(Wire, AFailedReadTakesNothing) {
  const Buffer bytes(3);
  WireReader r(bytes);
  EXPECT_FALSE(r.integer<std::uint32_t>().ok());
  EXPECT_FALSE(r.bytes(4).ok());
  EXPECT_FALSE(r.bytes(std::numeric_limits<std::size_t>::max()).ok());
  EXPECT_EQ(r.rest().size(), 3u);
  EXPECT_TRUE(r.bytes(0).ok());
  EXPECT_TRUE(r.integer<std::uint16_t>().ok());
  EXPECT_EQ(r.rest().size(), 1u);
}

TEST(Wire, ExtremesSurvive) {
  for (const std::int64_t v : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{0}, std::numeric_limits<std::int64_t>::max()}) {
    WireWriter w;
    w.signed64(v);
    const auto back = WireReader(w.view()).signed64();
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, v);
  }
  std::array<std::byte, 8> raw;
  WireWriter::store(raw.data(), ~std::uint64_t{0});
  EXPECT_EQ(WireReader::load<std::uint64_t>(raw.data()), ~std::uint64_t{0});
}

TEST(Wire, WriterAppendsToABufferItIsGiven) {
  Buffer old{std::byte{1}};
  WireWriter w(std::move(old));
  w.integer(std::uint8_t{2});
  EXPECT_EQ(w.size(), 2u);
  EXPECT_EQ(to_hex(w.view()), "0102");
}

}  // namespace
}  // namespace peel
