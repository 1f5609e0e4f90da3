// DBP: every CPU level stores and reads the same bytes, whatever the values, sizes and places.
#include "codec/dbp.h"

#include <gtest/gtest.h>

#include "base/hex.h"
#include "codec/blake3.h"
#include "tests/codec/page_samples.h"

namespace peel::codec {
namespace {

using test::Kind;
constexpr std::array<std::uint8_t, 4> widths{1, 2, 4, 8};

Buffer stored(std::uint8_t width, unsigned order, Bytes plain, CpuLevel level) {
  Buffer out(dbp_bound(width, plain.size()));
  const std::size_t n = dbp_encode(width, order, plain, out, level);
  EXPECT_GT(n, 0u);
  out.resize(n);
  return out;
}

void check(std::uint8_t width, unsigned order, Bytes plain) {
  const Buffer expected = stored(width, order, plain, CpuLevel::plain);
  for (const CpuLevel level : usable_cpu_levels()) {
    ASSERT_EQ(stored(width, order, plain, level), expected) << cpu_level_name(level) << " width " << +width << " order " << order << " size " << plain.size();
    Buffer back(plain.size() + 1);
    const Status status = dbp_decode(width, expected, MutableBytes(back).subspan(1), level);
    ASSERT_TRUE(status.ok()) << status.error().message();
    ASSERT_TRUE(std::equal(plain.begin(), plain.end(), back.begin() + 1)) << cpu_level_name(level) << " width " << +width << " order " << order << " size " << plain.size();
  }
}

TEST(Dbp, AllLevelsAgreeOnEveryKind) {
  for (const Kind kind : test::all_kinds)
    for (const std::size_t size : {0, 1, 7, 8, 31, 100, 255, 256, 257, 511, 1023, 1024, 1025, 2048, 2063, 4096, 10007, 16384, 20000}) {
      const Buffer plain = test::page(kind, size + 3);
      for (const std::uint8_t width : widths)
        for (unsigned order = 0; order <= dbp_order_max; ++order) check(width, order, Bytes(plain).subspan(3));
    }
}

// Elements of at most `bits` bits, and now and then one with more: every width with and without exceptions.
template <class T>
Buffer mostly(unsigned bits, std::size_t odd_ones_in_1000, std::uint64_t seed) {
  test::Random random(seed);
  Buffer out(700 * sizeof(T));
  test::fill_elements<T>(out, [&](std::size_t) {
    const T mask = bits == 0 ? T{0} : static_cast<T>(static_cast<T>(~T{0}) >> (8 * sizeof(T) - bits));
    const bool odd = random.below(1000) < odd_ones_in_1000;
    return static_cast<T>(random.next() & (odd ? static_cast<T>(~T{0}) : mask));
  });
  return out;
}

template <class T>
void every_bit_width() {
  for (unsigned bits = 0; bits <= 8 * sizeof(T); ++bits)
    for (const std::size_t odd : {0, 2, 30, 200, 700}) check(sizeof(T), 0, mostly<T>(bits, odd, bits * 1000 + odd));
}
TEST(Dbp, EveryBitWidth1) { every_bit_width<std::uint8_t>(); }
TEST(Dbp, EveryBitWidth2) { every_bit_width<std::uint16_t>(); }
TEST(Dbp, EveryBitWidth4) { every_bit_width<std::uint32_t>(); }
TEST(Dbp, EveryBitWidth8) { every_bit_width<std::uint64_t>(); }

// The values at the borders of every bit length, where approximations of it fail.
template <class T>
void borders() {
  Buffer plain(256 * sizeof(T) * 4);
  test::Random random(5);
  test::fill_elements<T>(plain, [&](std::size_t) {
    const auto shift = random.below(8 * sizeof(T));
    return static_cast<T>((T{1} << shift) - random.below(2) + (random.below(3) == 0 ? random.below(256) : 0));
  });
  for (unsigned order = 0; order <= dbp_order_max; ++order) check(sizeof(T), order, plain);
}
TEST(Dbp, BordersOfBitLengths) {
  borders<std::uint8_t>();
  borders<std::uint16_t>();
  borders<std::uint32_t>();
  borders<std::uint64_t>();
}

TEST(Dbp, GuessesAlikeAtEveryLevel) {
  for (const Kind kind : test::all_kinds) {
    const Buffer plain = test::page(kind, 30000);
    for (const std::uint8_t width : widths) {
      const DbpGuess expected = dbp_guess(width, plain, 4, CpuLevel::plain);
      for (const CpuLevel level : usable_cpu_levels()) {
        const DbpGuess guess = dbp_guess(width, plain, 4, level);
        ASSERT_EQ(guess.order, expected.order);
        ASSERT_EQ(guess.stored, expected.stored);
      }
    }
  }
}

TEST(Dbp, EncodesOnlyWhatFits) {
  const Buffer plain = test::page(Kind::smooth_float, 5003);
  const Buffer whole = stored(4, 2, plain, CpuLevel::plain);
  for (const CpuLevel level : usable_cpu_levels())
    for (std::size_t room = 0; room <= whole.size(); ++room) {
      Buffer out(room + 1, std::byte{0x5a});
      const std::size_t n = dbp_encode(4, 2, plain, MutableBytes(out).first(room), level);
      ASSERT_EQ(n, room == whole.size() ? room : 0);
      ASSERT_EQ(out[room], std::byte{0x5a});
    }
}

// Golden: the stored bytes of one sample of each width and order, by their hash. They must decode for ever.
TEST(Dbp, GoldenBytes) {
  Buffer plain(3001);
  for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<std::byte>(i / 4 * i / 4 * 3 >> 8 * (i % 4));
  Buffer all;
  for (const std::uint8_t width : widths)
    for (unsigned order = 0; order <= dbp_order_max; ++order) {
      const Buffer one = stored(width, order, plain, cpu_level());
      all.insert(all.end(), one.begin(), one.end());
    }
  EXPECT_EQ(all.size(), 29854u);
  EXPECT_EQ(to_hex(blake3(all).bytes), "7476ce55458d7d515f8c9f0d53b17dbd113ba932ea494ca6f40dca2658481e1a");
}

}  // namespace
}  // namespace peel::codec
