#include <gtest/gtest.h>

#include "codec/page_codec.h"
#include "tests/codec/sample.h"

namespace peel::codec {
namespace {

// As the header defines it.
Buffer reference_shuffle(Bytes in, std::size_t width) {
  Buffer out(in.begin(), in.end());
  const std::size_t n = in.size() / width;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t p = 0; p < width; ++p) out[p * n + i] = in[i * width + p];
  return out;
}

void check(Bytes in, std::uint8_t width) {
  constexpr std::size_t guard = 32;
  Buffer planes(in.size() + guard, std::byte{0xa5}), back(in.size() + guard, std::byte{0xa5});
  shuffle(in, width, MutableBytes(planes).first(in.size()));
  ASSERT_EQ(Buffer(planes.begin(), planes.end() - guard), reference_shuffle(in, width)) << +width << " " << in.size();
  unshuffle(Bytes(planes).first(in.size()), width, MutableBytes(back).first(in.size()));
  ASSERT_TRUE(std::equal(in.begin(), in.end(), back.begin())) << +width << " " << in.size();
  for (std::size_t i = 0; i < guard; ++i) {
    ASSERT_EQ(planes[in.size() + i], std::byte{0xa5});
    ASSERT_EQ(back[in.size() + i], std::byte{0xa5});
  }
}

TEST(Shuffle, FastWidthsAtEverySize) {
  const Buffer data = test::random_bytes(700, 1);
  for (const std::uint8_t width : {1, 2, 4, 8})
    for (std::size_t size = 0; size <= 600; ++size) check(Bytes(data).subspan(size % 5, size), width);
}

TEST(Shuffle, EveryWidth) {
  const Buffer data = test::random_bytes(2100, 2);
  for (int width = 1; width <= 255; ++width)
    for (const std::size_t size : {0, 1, width - 1, width, width + 1, 3 * width, 1000, 2047})
      check(Bytes(data).first(size), static_cast<std::uint8_t>(width));
}

TEST(Shuffle, LargePages) {
  const Buffer data = test::random_bytes(65536 + 7, 3);
  for (const std::uint8_t width : {2, 3, 4, 8}) check(data, width);
}

}  // namespace
}  // namespace peel::codec
