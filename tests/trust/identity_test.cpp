#include "trust/identity.h"

#include <thread>

#include "base/hex.h"
#include "tests/trust/scratch_config.h"

namespace peel::trust::test {
namespace {

using IdentityTest = ScratchConfig;

TEST(Fingerprint, GoldenVector) {
  // RFC 8032, 7.1, test 1: the seed and its public key.
  const auto seed = digest_from_hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
  const Identity identity = identity_from_seed(seed->bytes);
  EXPECT_EQ(to_hex(identity.public_key), "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  EXPECT_EQ(fingerprint(identity.public_key), "peel1-47pjsancyefmrxkm95j6u3ahhihqc6zv5kvcgjpraipgt72hkepn7t3n");
}

TEST(Fingerprint, ReadsWhatItPrintsHoweverItIsTyped) {
  const PublicKey key = identity_of(3).public_key;
  const std::string text = fingerprint(key);
  EXPECT_EQ(text.size(), 62u);
  EXPECT_EQ(*parse_fingerprint(text), key);
  EXPECT_EQ(*parse_fingerprint("  " + text + "\n"), key);
  std::string upper = text;
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  EXPECT_EQ(*parse_fingerprint(upper), key);
}

TEST(Fingerprint, EverySingleTypingErrorIsFound) {
  const std::string text = fingerprint(identity_of(4).public_key);
  const std::string letters = "abcdefghijkmnpqrstuvwxyz23456789lo01-";
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char c : letters) {
      std::string wrong = text;
      if (wrong[at] == c) continue;
      wrong[at] = c;
      EXPECT_FALSE(parse_fingerprint(wrong)) << wrong;
    }
    EXPECT_FALSE(parse_fingerprint(text.substr(0, at)));
    std::string swapped = text;
    if (at + 1 < text.size() && text[at] != text[at + 1]) {
      std::swap(swapped[at], swapped[at + 1]);
      EXPECT_FALSE(parse_fingerprint(swapped)) << swapped;
    }
  }
  EXPECT_FALSE(parse_fingerprint(text + "a"));
  EXPECT_EQ(parse_fingerprint("peel1-\x1b[31m").error().kind(), ErrorKind::usage);
  EXPECT_EQ(parse_fingerprint("peel1-\x1b[31m").error().message().find('\x1b'), std::string::npos);
}

TEST(Base32, AnyLengthComesBack) {
  Buffer bytes;
  for (int n = 0; n < 40; ++n) {
    EXPECT_EQ(*from_base32(to_base32(bytes)), bytes);
    bytes.push_back(static_cast<std::byte>(n * 37 + 255));
  }
  EXPECT_FALSE(from_base32("a"));   // five bits are no byte
  EXPECT_FALSE(from_base32("ab"));  // bits left over
  EXPECT_TRUE(from_base32("aa"));
}

TEST(Signatures, VerifyOnlyWhatWasSigned) {
  const Identity identity = identity_of(1);
  const Signature signature = sign(identity, as_bytes("message"));
  EXPECT_TRUE(verify(identity.public_key, as_bytes("message"), signature));
  EXPECT_EQ(verify(identity.public_key, as_bytes("massage"), signature).error().kind(), ErrorKind::refused);
  EXPECT_FALSE(verify(identity_of(2).public_key, as_bytes("message"), signature));
  EXPECT_FALSE(verify(key_of(0xff), as_bytes("message"), signature));  // no point of the curve
}

TEST_F(IdentityTest, IsMadeOnceAndKept) {
  const auto first = load_or_create_identity(directory());
  ASSERT_TRUE(first);
  EXPECT_EQ(mode_of(path() + "/identity"), 0600u);
  EXPECT_EQ(identity_from_seed(first->private_seed).public_key, first->public_key);
  const auto again = load_or_create_identity(directory());
  EXPECT_EQ(again->public_key, first->public_key);
  EXPECT_EQ(again->private_seed, first->private_seed);
}

TEST_F(IdentityTest, ManyAtOnceAgreeOnOneKey) {
  const ConfigDirectory d = directory();
  std::array<PublicKey, 8> keys;
  std::vector<std::thread> threads;
  for (PublicKey& key : keys) threads.emplace_back([&] { key = load_or_create_identity(d)->public_key; });
  for (std::thread& t : threads) t.join();
  for (const PublicKey& key : keys) EXPECT_EQ(key, keys[0]);
}

TEST_F(IdentityTest, ADamagedFileIsAnErrorAndStaysAsItIs) {
  ASSERT_TRUE(rotate_identity(directory(), 5));
  const std::string whole = text_of("identity");
  for (std::size_t cut = 0; cut + 1 < whole.size(); ++cut) {
    put_text("identity", whole.substr(0, cut));
    const auto loaded = load_or_create_identity(directory());
    ASSERT_FALSE(loaded) << cut;
    EXPECT_EQ(loaded.error().kind(), ErrorKind::corrupt);
    EXPECT_NE(loaded.error().message().find("line "), std::string::npos);
    EXPECT_NE(loaded.error().message().find(path()), std::string::npos);
    EXPECT_EQ(text_of("identity"), whole.substr(0, cut));
    EXPECT_FALSE(rotate_identity(directory(), 6));
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    put_text("identity", flipped);
    if (const auto loaded = load_or_create_identity(directory())) {
      put_text("identity", whole);
      EXPECT_EQ(loaded->public_key, load_or_create_identity(directory())->public_key) << at;
    }
  }
}

TEST_F(IdentityTest, RotationSignsTheSuccessorAndKeepsTheStatements) {
  const Identity first = *load_or_create_identity(directory());
  const Identity second = *rotate_identity(directory(), 100);
  const Identity third = *rotate_identity(directory(), 200);
  EXPECT_NE(first.public_key, second.public_key);
  EXPECT_EQ(load_or_create_identity(directory())->public_key, third.public_key);
  const auto statements = *load_successions(directory());
  ASSERT_EQ(statements.size(), 2u);
  EXPECT_EQ(statements[0], make_succession(first, second.public_key, 100));
  EXPECT_EQ(statements[1], make_succession(second, third.public_key, 200));
}

TEST_F(IdentityTest, OnlyTheNewestStatementsAreKept) {
  for (int i = 0; i < 66; ++i) ASSERT_TRUE(rotate_identity(directory(), i));
  const auto statements = *load_successions(directory());
  ASSERT_EQ(statements.size(), max_successions);
  EXPECT_EQ(statements.back().time_ns, 65);
}

TEST(Succession, RoundTripTruncationAndForgery) {
  const Identity old_key = identity_of(1), new_key = identity_of(2);
  const Succession statement = make_succession(old_key, new_key.public_key, 1'700'000'000'000'000'000);
  const Buffer encoded = encode(statement);
  EXPECT_EQ(encoded.size(), 137u);
  EXPECT_EQ(*decode_succession(encoded), statement);
  for (std::size_t n = 0; n < encoded.size(); ++n)
    EXPECT_EQ(decode_succession(Bytes(encoded).first(n)).error().kind(), ErrorKind::truncated);
  Buffer longer = encoded;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode_succession(longer));
  for (std::size_t bit = 0; bit < encoded.size() * 8; ++bit) {
    Buffer flipped = encoded;
    flipped[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_FALSE(decode_succession(flipped)) << bit;
  }
  // The new key cannot vouch for itself.
  Succession forged{old_key.public_key, new_key.public_key, 1, {}};
  forged.signature = make_succession(new_key, new_key.public_key, 1).signature;
  EXPECT_EQ(decode_succession(encode(forged)).error().kind(), ErrorKind::refused);
}

TEST(Succession, GoldenVector) {
  const Buffer encoded = encode(make_succession(identity_of(1), identity_of(2).public_key, 1'700'000'000'000'000'000));
  EXPECT_EQ(to_hex(encoded),
            "018a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c8139770ea87d175f56a35466c34c7e"
            "cccb8d8a91b4ee37a25df60f5b8fc9b39400002a36fe9c9717d293b63c0a5d7df53401c4d7aa8129622db5b04fcb3941"
            "2fe17eb5a2526c3fe5378a3c0398f7427f8fea651713eaf7d9295cd6e97dc87aa674d4160069322f02");
}

}  // namespace
}  // namespace peel::trust::test
