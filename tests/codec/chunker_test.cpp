#include "codec/chunker.h"

#include <gtest/gtest.h>

#include <set>

#include "base/hex.h"
#include "codec/grid_digest.h"
#include "tests/codec/cuts.h"
#include "tests/codec/sample.h"

namespace peel::codec {
namespace {

using test::cuts_of;
using test::key_of;

// The cut as the header and docs/FORMAT.md define it: the hash of position i is the sum over the last 64
// bytes of gear[byte] << distance; a chunk ends after the first byte beyond size_min whose hash has all
// mask bits clear: bits + 2 of them up to size_average, bits - 2 beyond.
class ReferenceChunker {
 public:
  ReferenceChunker(ChunkerSizes sizes, const Key& key) : sizes_(sizes) {
    for (std::size_t i = 0; i < 64; ++i) {
      std::string label = "peel 1 gear";
      label.push_back(static_cast<char>(i));
      const Digest d = blake3_keyed(key, as_bytes(label));
      for (std::size_t j = 0; j < 32; ++j) gear_[4 * i + j / 8] |= std::to_integer<std::uint64_t>(d.bytes[j]) << (8 * (j % 8));
    }
    while ((1u << bits_) < sizes.size_average) ++bits_;
  }
  std::size_t next_cut(Bytes window) const {
    const std::size_t end = std::min<std::size_t>(window.size(), sizes_.size_max);
    for (std::size_t cut = sizes_.size_min + 1; cut <= end; ++cut) {
      std::uint64_t hash = 0;
      for (std::size_t back = 0; back < 64 && back < cut; ++back)
        hash += gear_[std::to_integer<std::size_t>(window[cut - 1 - back])] << back;
      const int mask_bits = cut <= sizes_.size_average ? bits_ + 2 : bits_ - 2;
      if (hash >> (64 - mask_bits) == 0) return cut;
    }
    return end;
  }

 private:
  ChunkerSizes sizes_;
  int bits_ = 0;
  std::array<std::uint64_t, 256> gear_{};
};

TEST(Chunker, EqualsTheReference) {
  const Key key = key_of("reference");
  const Buffer random = test::random_bytes(300000, 1);
  std::array inputs{random, random};
  for (std::byte& b : inputs[1]) b &= std::byte{1};  // two values: many equal windows
  for (const ChunkerSizes sizes : {ChunkerSizes::around(64), ChunkerSizes::around(256), ChunkerSizes::around(8192),
                                   ChunkerSizes{1, 16, 40}, ChunkerSizes{100, 128, 128}, ChunkerSizes{512, 512, 700}}) {
    const Chunker fast(sizes, key);
    const ReferenceChunker slow(sizes, key);
    for (const Buffer& data : inputs)
      for (std::size_t at = 0; at < 60000;) {
        const Bytes window = Bytes(data).subspan(at);
        const std::size_t cut = fast.next_cut(window, true);
        ASSERT_EQ(cut, slow.next_cut(window)) << "average " << sizes.size_average << " at " << at;
        at += cut;
      }
  }
}

TEST(Chunker, ShortStreamsAndBounds) {
  const ChunkerSizes sizes = ChunkerSizes::around(1024);
  const Chunker chunker(sizes, key_of("k"));
  const Buffer data = test::random_bytes(200000, 2);
  for (std::size_t size = 0; size <= 300; ++size) {
    const std::size_t cut = chunker.next_cut(Bytes(data).first(size), true);
    ASSERT_EQ(cut == 0, size == 0);
    ASSERT_LE(cut, size);
    if (size <= sizes.size_min) { ASSERT_EQ(cut, size); }
  }
  std::size_t last = 0;
  for (const std::size_t cut : cuts_of(chunker, data)) {
    ASSERT_LE(cut - last, sizes.size_max);
    if (cut != data.size()) { ASSERT_GT(cut - last, sizes.size_min); }
    last = cut;
  }
  EXPECT_EQ(last, data.size());
}

TEST(Chunker, TheWindowDoesNotMatter) {
  const ChunkerSizes sizes = ChunkerSizes::around(2048);
  const Chunker chunker(sizes, key_of("k"));
  const Buffer data = test::random_bytes(400000, 3);
  test::Random random(4);
  for (std::size_t at = 0; at < data.size();) {
    const Bytes rest = Bytes(data).subspan(at);
    const std::size_t cut = chunker.next_cut(rest, true);
    if (rest.size() >= sizes.size_max) {
      ASSERT_EQ(chunker.next_cut(rest.first(sizes.size_max), false), cut);
      ASSERT_EQ(chunker.next_cut(rest.first(sizes.size_max + random.below(rest.size() - sizes.size_max + 1)), false), cut);
    }
    at += cut;
  }
}

TEST(Chunker, CutsComeBackAfterAnInsertion) {
  const Chunker chunker(ChunkerSizes::around(4096), key_of("k"));
  const Buffer data = test::random_bytes(2000000, 5);
  Buffer shifted = data;
  const Buffer inserted = test::random_bytes(137, 6);
  shifted.insert(shifted.begin() + 500000, inserted.begin(), inserted.end());

  std::set<Digest> known;
  std::size_t at = 0, again = 0;
  for (const std::size_t cut : cuts_of(chunker, data)) known.insert(chunk_digest(Bytes(data).subspan(at, cut - at))), at = cut;
  at = 0;
  for (const std::size_t cut : cuts_of(chunker, shifted)) {
    if (known.count(chunk_digest(Bytes(shifted).subspan(at, cut - at))) != 0) again += cut - at;
    at = cut;
  }
  EXPECT_GT(again, data.size() - 60000) << "an insertion should cost a few chunks";
}

// Golden: where histories are cut. Changing it stores everything once more.
TEST(Chunker, GoldenCuts) {
  const Buffer data = test::random_bytes(60000, 2026);
  EXPECT_EQ(cuts_of(Chunker(ChunkerSizes::around(8192), key_of("golden")), data), (std::vector<std::size_t>{11334, 22425, 31938, 41185, 51520, 60000}));
}

}  // namespace
}  // namespace peel::codec
