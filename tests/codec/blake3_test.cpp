#include "codec/blake3.h"

#include <blake3.h>
#include <gtest/gtest.h>

#include "base/hex.h"
#include "base/pool.h"
#include "tests/codec/sample.h"

namespace peel::codec {
namespace {

// The input of the official test vectors.
Buffer vector_input(std::size_t size) {
  Buffer out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>(i % 251);
  return out;
}

Digest official(Bytes data, const Key* key = nullptr) {
  blake3_hasher h;
  if (key != nullptr) blake3_hasher_init_keyed(&h, reinterpret_cast<const std::uint8_t*>(key->data()));
  else blake3_hasher_init(&h);
  blake3_hasher_update(&h, data.data(), data.size());
  Digest d;
  blake3_hasher_finalize(&h, reinterpret_cast<std::uint8_t*>(d.bytes.data()), 32);
  return d;
}

Key sample_key() {
  Key key;
  std::memcpy(key.data(), "whats the Elvish word for friend", 32);
  return key;
}

// Every border of blocks, chunks, lanes and pieces, and one byte to each side.
std::vector<std::size_t> interesting_sizes() {
  std::vector<std::size_t> sizes;
  for (std::size_t n = 0; n <= 130; ++n) sizes.push_back(n);
  for (const std::size_t kib : {1, 2, 3, 4, 5, 8, 9, 15, 16, 17, 31, 32, 33, 48, 49, 64, 96, 100, 255, 256, 257, 511, 512, 513, 768, 1024, 1025})
    for (const std::size_t past : {0, 1, 64, 65, 66, 128, 129, 500}) sizes.push_back(kib * 1024 - 65 + past);
  return sizes;
}

TEST(Blake3, OfficialVectors) {
  EXPECT_EQ(to_hex(blake3({})), "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
  EXPECT_EQ(to_hex(blake3(vector_input(1))), "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213");
  EXPECT_EQ(to_hex(blake3(vector_input(1023))), "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11");
  EXPECT_EQ(to_hex(blake3(vector_input(1024))), "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7");
  EXPECT_EQ(to_hex(blake3(vector_input(1025))), "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444");
  EXPECT_EQ(to_hex(blake3(vector_input(2048))), "e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a");
  EXPECT_EQ(to_hex(blake3(vector_input(4096))), "015094013f57a5277b59d8475c0501042c0b642e531b0a1c8f58d2163229e969");
  EXPECT_EQ(to_hex(blake3(vector_input(31744))), "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47");
  EXPECT_EQ(to_hex(blake3_keyed(sample_key(), vector_input(1025))), "357dc55de0c7e382c900fd6e320acc04146be01db6a8ce7210b7189bd664ea69");
  EXPECT_EQ(to_hex(blake3_derive_key("BLAKE3 2019-12-27 16:29:52 test vectors context", vector_input(1025))), "effaa245f065fbf82ac186839a249707c3bddf6d3fdda22d1b95a3c970379bcb");
}

TEST(Blake3, EverySizeEqualsTheOfficialHasher) {
  const Buffer data = test::random_bytes((1u << 20) + 4096, 1);
  const Key key = sample_key();
  for (const std::size_t size : interesting_sizes()) {
    const Bytes input = Bytes(data).subspan(size % 7, size);  // not always aligned
    ASSERT_EQ(blake3(input), official(input)) << size;
    ASSERT_EQ(blake3_keyed(key, input), official(input, &key)) << size;
  }
}

TEST(Blake3, PagesEqualOneByOne) {
  const Buffer data = test::random_bytes(40 * 65536 + 3, 2);
  for (std::size_t page = 1024; page <= 65536; page *= 2)
    for (std::size_t count = 1; count <= 40; ++count) {
      const std::size_t at = count % 4;
      std::vector<Digest> out(count);
      blake3_pages(Bytes(data).subspan(at, page * count), page, out);
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(out[i], official(Bytes(data).subspan(at + i * page, page))) << page << " x " << count << ": " << i;
    }
}

TEST(Blake3, ManyPages) {
  const Buffer data = test::random_bytes(1000 * 4096, 3);
  std::vector<Digest> out(1000);
  blake3_pages(data, 4096, out);
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], official(Bytes(data).subspan(i * 4096, 4096))) << i;
  blake3_pages({}, 4096, {});
}

TEST(Blake3, ParallelEqualsOne) {
  const Buffer data = test::random_bytes(5u << 20, 4);
  for (const unsigned threads : {1u, 2u, 5u}) {
    Pool pool(threads);
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1} << 19, (std::size_t{1} << 19) + 1, (std::size_t{1} << 20) - 1,
                                   std::size_t{1} << 20, (std::size_t{1} << 20) + 1024, std::size_t{3000000}, data.size()})
      ASSERT_EQ(blake3_parallel(Bytes(data).first(size), pool), official(Bytes(data).first(size))) << size;
  }
}

TEST(Blake3, StreamingEqualsOneShotWhereverItIsCut) {
  const Buffer data = test::random_bytes(200000, 5);
  const Key key = sample_key();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    test::Random random(seed);
    Hasher plain, keyed(key);
    for (std::size_t at = 0; at < data.size();) {
      const std::size_t n = std::min(data.size() - at, random.below(seed % 2 ? 100 : 20000));
      plain.update(Bytes(data).subspan(at, n));
      keyed.update(Bytes(data).subspan(at, n));
      at += n;
    }
    ASSERT_EQ(plain.finish(), official(data)) << seed;
    ASSERT_EQ(keyed.finish(), official(data, &key)) << seed;
    ASSERT_EQ(plain.finish(), official(data)) << "finish() must not change the hasher";
  }
}

TEST(Blake3, HasherCopiesAreIndependent) {
  Hasher a;
  a.update(as_bytes("abc"));
  Hasher b = a;
  b.update(as_bytes("def"));
  EXPECT_EQ(a.finish(), official(as_bytes("abc")));
  EXPECT_EQ(b.finish(), official(as_bytes("abcdef")));
}

TEST(Blake3, PathHasAName) { EXPECT_NE(std::string(blake3_path()), ""); }

}  // namespace
}  // namespace peel::codec
