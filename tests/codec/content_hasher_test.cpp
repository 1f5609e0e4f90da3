#include <gtest/gtest.h>

#include "codec/grid_digest.h"
#include "tests/codec/reference_digest.h"
#include "tests/codec/sample.h"

namespace peel::codec {
namespace {

TEST(ContentHasher, EmptyStream) {
  EXPECT_EQ(ContentHasher().finish(), test::reference_content({}));
  ContentHasher nothing;
  nothing.update({});
  nothing.skip_zeros(0);
  EXPECT_EQ(nothing.finish(), test::reference_content({}));
}

TEST(ContentHasher, EqualsOneShotWhereverItIsCut) {
  const Buffer data = test::random_bytes(3000000, 1);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    test::Random random(seed);
    const std::size_t size = random.below(seed % 3 == 0 ? data.size() : 200000);
    const std::size_t cut_max = std::size_t{1} << (4 + random.below(17));
    ContentHasher hasher;
    for (std::size_t at = 0; at < size;) {
      const std::size_t n = std::min(size - at, 1 + random.below(cut_max));
      hasher.update(Bytes(data).subspan(at, n));
      at += n;
    }
    ASSERT_EQ(hasher.finish(), test::reference_content(Bytes(data).first(size))) << "seed " << seed;
  }
}

// Data and holes of every alignment; the reference sees the same bytes written out.
TEST(ContentHasher, HolesEqualWrittenZeros) {
  const Buffer data = test::random_bytes(100000, 2);
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    test::Random random(seed);
    ContentHasher hasher;
    Buffer written;
    const std::size_t steps = 1 + random.below(12);
    for (std::size_t i = 0; i < steps; ++i) {
      const std::size_t n = random.below(3) == 0 ? 4096 * random.below(40) : random.below(random.below(2) ? 5000 : 90000);
      if (random.below(2) == 0) {
        hasher.skip_zeros(n);
        written.resize(written.size() + n);
      } else {
        const Bytes piece = Bytes(data).first(std::min(n, data.size()));
        hasher.update(piece);
        written.insert(written.end(), piece.begin(), piece.end());
      }
    }
    ASSERT_EQ(hasher.finish(), test::reference_content(written)) << "seed " << seed;
  }
}

// A TiB in two pieces around one block, against the tree written by hand.
TEST(ContentHasher, HugeHolesCostNothing) {
  const std::uint64_t tib = std::uint64_t{1} << 40;
  const Buffer block = test::random_bytes(4096, 3);
  ContentHasher hasher;
  hasher.skip_zeros(tib);
  hasher.update(block);
  hasher.skip_zeros(tib - 4096);
  Digest root = test::reference_subtree(block, 0);
  for (unsigned h = 0; h < 28; ++h) root = test::reference_parent(root, test::reference_zeros(h));
  root = test::reference_parent(test::reference_zeros(28), root);
  EXPECT_EQ(hasher.finish(), test::reference_sized("peel 1 content", 2 * tib, root));

  ContentHasher zeros;
  zeros.update(Bytes(Buffer(77)));
  zeros.skip_zeros(tib - 77);
  EXPECT_EQ(zeros.finish(), test::reference_sized("peel 1 content", tib, test::reference_zeros(28)));

  ContentHasher largest;  // the last byte a 64-bit size allows
  largest.skip_zeros(~std::uint64_t{0});
  EXPECT_EQ(largest.finish(), test::reference_sized("peel 1 content", ~std::uint64_t{0}, test::reference_zeros(52)));
}

}  // namespace
}  // namespace peel::codec
