// What every chunker must do.
#include <gtest/gtest.h>

#include <algorithm>

#include "codec/vector_chunker.h"
#include "tests/codec/cuts.h"
#include "tests/codec/sample.h"

namespace peel::codec {
namespace {

using test::cuts_of;
using test::key_of;

template <class AnyChunker>
class Chunkers : public ::testing::Test {};
using All = ::testing::Types<Chunker, VectorChunker>;
TYPED_TEST_SUITE(Chunkers, All);

TYPED_TEST(Chunkers, AverageIsNearTheWish) {
  const Buffer data = test::random_bytes(4000000, 7);
  for (const std::uint32_t average : {1024u, 8192u}) {
    const std::size_t count = cuts_of(TypeParam(ChunkerSizes::around(average), key_of("k")), data).size();
    EXPECT_GT(data.size() / count, average * 8 / 10);
    EXPECT_LT(data.size() / count, average * 14 / 10);
  }
}

TYPED_TEST(Chunkers, AnotherKeyCutsElsewhere) {
  const Buffer data = test::random_bytes(500000, 8);
  const auto a = cuts_of(TypeParam(ChunkerSizes::around(2048), key_of("a")), data);
  const auto b = cuts_of(TypeParam(ChunkerSizes::around(2048), key_of("b")), data);
  std::vector<std::size_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  EXPECT_LT(both.size(), a.size() / 20);
}

}  // namespace
}  // namespace peel::codec
