#include "codec/grid_digest.h"

#include <gtest/gtest.h>

#include "base/hex.h"
#include "codec/blake3.h"
#include "tests/codec/reference_digest.h"
#include "tests/codec/sample.h"

namespace peel::codec {
namespace {

std::vector<std::size_t> border_sizes() {
  std::vector<std::size_t> sizes{0, 1, 2, 100};
  for (std::size_t blocks = 1; blocks <= 40; ++blocks)
    for (const std::size_t size : {blocks * 4096 - 1, blocks * 4096, blocks * 4096 + 1}) sizes.push_back(size);
  for (const std::size_t blocks : {63, 64, 65, 127, 128, 129, 255, 256, 257, 300, 511, 512, 513, 700})
    for (const std::size_t size : {blocks * 4096 - 1, blocks * 4096, blocks * 4096 + 1}) sizes.push_back(size);
  return sizes;
}

// Golden: these digests name revisions and chunks on other machines. A failure here means that the change
// breaks every existing history; never edit the values.
TEST(GridDigest, GoldenContentDigests) {
  const Buffer data = test::random_bytes(1000000, 2026);
  const auto content = [&](std::size_t size) {
    return to_hex(content_digest(size, subtree_digest(Bytes(data).first(size), content_height(size))));
  };
  EXPECT_EQ(content(0), "eb090415b543757d95ae0074b6ecb58c3b68b728cd68f5d45281fe60c45b4702");
  EXPECT_EQ(content(1), "235c853d43fcaaecf05dd1d74be0ef7865142ca9678a9c2fe95852ff6311c701");
  EXPECT_EQ(content(4096), "05b34f2ba9f459cc3c97518e222cd8ba2e2e0750c1a4802ec95c9133f3e7cfe7");
  EXPECT_EQ(content(4097), "5f8567d36b0fee4b5320a555ed91b27cb964da07140e824298f781d1094a51ac");
  EXPECT_EQ(content(65536), "24e082ffe5d80486839f427c5b527e313593c9691730af2c01aa381497ca9dd3");
  EXPECT_EQ(content(65537), "7d43d067ec035ab7455e03e2cd8e70a858a340afa4ccae6f2db23c97b4d7648f");
  EXPECT_EQ(content(1000000), "93423b46604b3acf3b69ecccc8a1e04590528f123053fd6cd0f5829caebcc2b6");
  EXPECT_EQ(to_hex(chunk_digest({})), "640443813a453a33c0a09776113a47c7ff2034bc4c907f93faf9ce5001fdd566");
  EXPECT_EQ(to_hex(chunk_digest(Bytes(data).first(1))), "98444acb859dc103e384696f5ff9ad2d33b32f57af80b7354da395bbe99fada1");
  EXPECT_EQ(to_hex(chunk_digest(Bytes(data).first(10000))), "28596a84bd743fe358af19d4dd96be41bf651b32408d4e833522097880afaefb");
  EXPECT_EQ(to_hex(zero_subtree(0)), "7c18800974e38e31fd5c67f576e641fe674362d23ec7373bbe114f2e65aca4c7");
  EXPECT_EQ(to_hex(zero_subtree(52)), "118fde9e99c7e44963f2ad601ae26939396c19182abccf5f863ace3fbf0375fa");
}

TEST(GridDigest, Heights) {
  EXPECT_EQ(grid_height(0), 0u);
  EXPECT_EQ(grid_height(1), 0u);
  EXPECT_EQ(grid_height(4096), 0u);
  EXPECT_EQ(grid_height(4097), 1u);
  EXPECT_EQ(grid_height(8192), 1u);
  EXPECT_EQ(grid_height(8193), 2u);
  EXPECT_EQ(grid_height(std::uint64_t{1} << 40), 28u);
  EXPECT_EQ(grid_height((std::uint64_t{1} << 40) + 1), 29u);
  EXPECT_EQ(grid_height(~std::uint64_t{0}), 52u);
  EXPECT_EQ(content_height(0), 4u);
  EXPECT_EQ(content_height(65536), 4u);
  EXPECT_EQ(content_height(65537), 5u);
}

TEST(GridDigest, SubtreesEqualTheReferenceAtEveryBorder) {
  const Buffer data = test::random_bytes(701 * 4096, 1);
  for (const std::size_t size : border_sizes()) {
    const Bytes input = Bytes(data).subspan(size % 3, size);
    const unsigned h = content_height(size);
    ASSERT_EQ(subtree_digest(input, h), test::reference_subtree(input, h)) << size;
    ASSERT_EQ(subtree_digest(input, h + 7), test::reference_subtree(input, h + 7)) << size;
    ASSERT_EQ(chunk_digest(input), test::reference_chunk(input)) << size;
    ASSERT_EQ(chunk_digest_of_root(size, test::reference_subtree(input, grid_height(size))), test::reference_chunk(input));
    ASSERT_EQ(content_digest(size, subtree_digest(input, h)), test::reference_content(input)) << size;
  }
}

TEST(GridDigest, LeavesAreKeyedHashesOfPaddedBlocks) {
  const Buffer data = test::random_bytes(41 * 4096, 2);
  for (std::size_t count = 1; count <= 40; ++count)
    for (const std::size_t cut : {0, 1, 4095}) {
      const Bytes input = Bytes(data).first(count * 4096 - cut);
      std::vector<Digest> out(count);
      leaf_digests(input, out);
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(out[i], test::reference_subtree(input.subspan(i * 4096, std::min<std::size_t>(4096, input.size() - i * 4096)), 0));
    }
  leaf_digests({}, {});
}

TEST(GridDigest, ParentsInBatchesEqualSingleOnesAndMayWorkInPlace) {
  const Buffer raw = test::random_bytes(82 * 32, 3);
  for (std::size_t pairs = 0; pairs <= 40; ++pairs) {
    std::vector<Digest> in(2 * pairs), out(pairs);
    for (std::size_t i = 0; i < in.size(); ++i) std::memcpy(in[i].bytes.data(), raw.data() + 32 * i, 32);
    parent_digests(in, out);
    for (std::size_t i = 0; i < pairs; ++i) {
      ASSERT_EQ(out[i], test::reference_parent(in[2 * i], in[2 * i + 1])) << pairs;
      ASSERT_EQ(out[i], parent_digest(in[2 * i], in[2 * i + 1])) << pairs;
    }
    parent_digests(in, std::span(in).first(pairs));
    for (std::size_t i = 0; i < pairs; ++i) ASSERT_EQ(in[i], out[i]) << pairs;
  }
}

TEST(GridDigest, PagesAreSubtrees) {
  const Buffer data = test::random_bytes(600 * 4096, 4);
  for (const unsigned height : {0u, 1u, 2u, 3u, 4u, 5u, 8u, 9u}) {
    const std::size_t page = std::size_t{4096} << height;
    for (const std::size_t size : {std::size_t{1}, page - 1, page, page + 1, 3 * page + 5000, data.size()}) {
      if (size > data.size()) continue;
      std::vector<Digest> out((size + page - 1) / page);
      page_digests(Bytes(data).first(size), height, out);
      for (std::size_t i = 0; i < out.size(); ++i) {
        const Bytes one = Bytes(data).subspan(i * page, std::min(page, size - i * page));
        ASSERT_EQ(out[i], test::reference_subtree(one, height)) << "height " << height << ", page " << i << " of " << size;
      }
    }
    page_digests({}, height, {});
  }
}

TEST(GridDigest, ZeroSubtreesAreTheRootsOfZeros) {
  const Buffer zeros(4096 << 9);
  for (unsigned h = 0; h <= 9; ++h) {
    ASSERT_EQ(zero_subtree(h), test::reference_subtree(Bytes(zeros).first(std::size_t{4096} << h), h));
    ASSERT_EQ(zero_subtree(h), subtree_digest({}, h));
  }
  for (unsigned h = 1; h <= grid_height_max; ++h)
    ASSERT_EQ(zero_subtree(h), test::reference_parent(zero_subtree(h - 1), zero_subtree(h - 1)));
}

TEST(GridDigest, SizeIsBound) {
  const Buffer data(3);
  EXPECT_NE(content_digest(2, zero_subtree(4)), content_digest(3, zero_subtree(4)));
  EXPECT_NE(chunk_digest(Bytes(data).first(2)), chunk_digest(data));
  EXPECT_NE(chunk_digest_of_root(3, zero_subtree(0)), content_digest(3, zero_subtree(0)));
}

TEST(AllZero, SeesASingleBitAnywhere) {
  Buffer data(300);
  for (std::size_t from = 0; from < 9; ++from)
    for (std::size_t size = 0; size + from <= 290; ++size) {
      const Bytes view = Bytes(data).subspan(from, size);
      ASSERT_TRUE(all_zero(view));
      for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
        if (at >= size) continue;
        data[from + at] = std::byte{0x10};
        ASSERT_FALSE(all_zero(view)) << size << " " << at;
        data[from + at] = std::byte{0};
      }
      if (from > 0) {  // neighbours do not count
        data[from - 1] = data[from + size] = std::byte{1};
        ASSERT_TRUE(all_zero(view));
        data[from - 1] = data[from + size] = std::byte{0};
      }
    }
}

}  // namespace
}  // namespace peel::codec
