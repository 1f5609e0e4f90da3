#include "trust/trust_file.h"

#include <random>

#include "tests/trust/scratch_config.h"

namespace peel::trust::test {
namespace {

TrustFile sample() {
  TrustFile file;
  file.peers.push_back({"alice",
                        identity_of(1).public_key,
                        {{Level::append, "lab"}, {Level::read, ""}},
                        {"hub.example:7731", "[::1]:1"},
                        1'700'000'000'000'000'000,
                        false,
                        {}});
  file.peers.push_back({"bob.2_x-y", identity_of(2).public_key, {}, {}, -5, true, {}});
  const std::string odd = "odd name/ \n\\x\x7f \xc3\xa9 ";
  file.peers.push_back({"c", identity_of(3).public_key, {{Level::admin, odd}}, {}, 0, false, {}});
  StoredInvite open;
  open.secret_hash = key_of(7);
  open.created_ns = 1;
  open.expires_ns = 2;
  open.grants = {{Level::write, "x/y"}};
  StoredInvite used = open;
  used.used_by = identity_of(4).public_key;
  file.invites = {open, used};
  return file;
}

TEST(TrustFile, RoundTrip) {
  const TrustFile file = sample();
  const auto decoded = decode_trust_file(encode(file));
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(*decoded, file);
  EXPECT_EQ(decode_trust_file(encode(TrustFile{}))->peers.size(), 0u);
}

TEST(TrustFile, GoldenText) {
  TrustFile file = sample();
  file.peers.resize(1);
  file.invites.resize(1);
  EXPECT_EQ(encode(file), R"(peel-trust 1

peer alice
key peel1-tkeqhzmwbh23m9ku5nyv3qu7qmfgqcp9dykbeg9vqueadparp7qmu9b8
state trusted
added 1700000000000000000
allow append under lab
allow read all
address hub.example:7731
address [::1]:1

invite 0707070707070707070707070707070707070707070707070707070707070707
created 1
expires 2
allow write under x/y

end
)");
}

TEST(TrustFile, WhatIsNotKnownIsKeptWhereItStood) {
  std::string text = encode(sample());
  const auto after = [&](const std::string& line, const std::string& added) {
    const auto at = text.find(line);
    ASSERT_NE(at, std::string::npos);
    text.insert(text.find('\n', at) + 1, added);
  };
  after("peel-trust 1", "# by hand\nfuture-setting 7\n");
  after("peer alice", "  colour blue  # and more\n");
  after("invite 07", "# why\n");
  const auto decoded = decode_trust_file(text);
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(decoded->extra, (std::vector<std::string>{"# by hand", "future-setting 7"}));
  EXPECT_EQ(decoded->peers[0].extra, (std::vector<std::string>{"  colour blue  # and more"}));
  EXPECT_EQ(decoded->peers[0].grants, sample().peers[0].grants);
  EXPECT_EQ(*decode_trust_file(encode(*decoded)), *decoded);
}

TEST(TrustFile, ACutFileIsNoticedAtEveryLength) {
  const std::string text = encode(sample());
  for (std::size_t n = 0; n + 1 < text.size(); ++n) {
    const auto decoded = decode_trust_file(std::string_view(text).substr(0, n));
    ASSERT_FALSE(decoded) << n;
    EXPECT_NE(decoded.error().message().find("line "), std::string::npos);
  }
  EXPECT_TRUE(decode_trust_file(std::string_view(text).substr(0, text.size() - 1)));  // only the last line end
}

// A flipped bit may be an error or may take rights away; it must not give any, nor bring back who was revoked.
TEST(TrustFile, AFlippedBitNeverGivesRights) {
  const TrustFile file = sample();
  const std::string text = encode(file);
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    const auto decoded = decode_trust_file(flipped);
    if (!decoded) continue;
    ASSERT_LE(decoded->peers.size(), file.peers.size());
    for (std::size_t i = 0; i < decoded->peers.size(); ++i) {
      EXPECT_EQ(decoded->peers[i].key, file.peers[i].key);
      EXPECT_EQ(decoded->peers[i].revoked, file.peers[i].revoked);
      ASSERT_LE(decoded->peers[i].grants.size(), file.peers[i].grants.size());
    }
    ASSERT_LE(decoded->invites.size(), file.invites.size());
    for (std::size_t i = 0; i < decoded->invites.size(); ++i)
      ASSERT_LE(decoded->invites[i].grants.size(), file.invites[i].grants.size());
  }
}

TEST(TrustFile, GarbageIsAnError) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string text = round % 2 == 0 ? "peel-trust 1\n" : "";
    for (unsigned n = random() % 200; n > 0; --n) text += static_cast<char>(random() % (round % 3 == 0 ? 256 : 128));
    EXPECT_FALSE(decode_trust_file(text));
  }
}

TEST(TrustFile, ErrorsNameTheLine) {
  const std::string key = fingerprint(identity_of(1).public_key), other = fingerprint(identity_of(2).public_key);
  const auto message = [](const std::string& body) {
    const auto decoded = decode_trust_file("peel-trust 1\n" + body + "end\n");
    return decoded ? std::string("accepted") : decoded.error().message();
  };
  const std::string head = "peer a\nkey " + key + "\nstate trusted\nadded 1\n";
  EXPECT_EQ(message(head), "accepted");
  EXPECT_EQ(message(head + "allow everything all\n").substr(0, 7), "line 6:");
  EXPECT_EQ(message(head + "allow read\n").substr(0, 7), "line 6:");
  EXPECT_EQ(message(head + "allow read under ../x\n").substr(0, 7), "line 6:");
  EXPECT_EQ(message(head + "allow read under \\xZZ\n").substr(0, 7), "line 6:");
  EXPECT_EQ(message(head + "state revoked\n").substr(0, 7), "line 6:");
  EXPECT_EQ(message(head + "address nowhere\n").substr(0, 7), "line 6:");
  EXPECT_EQ(message("peer a b\n").substr(0, 7), "line 2:");
  EXPECT_EQ(message("peer -a\n").substr(0, 7), "line 2:");
  EXPECT_EQ(message("peer a\nkey " + key + "\nadded 1\n").substr(0, 7), "line 5:");              // no state
  EXPECT_EQ(message("key " + key + "\n").substr(0, 7), "line 2:");                               // outside a section
  EXPECT_NE(message(head + "peer a\nkey " + other + "\nstate trusted\nadded 1\n"), "accepted");  // name twice
  EXPECT_NE(message(head + "peer b\nkey " + key + "\nstate trusted\nadded 1\n"), "accepted");    // key twice
  EXPECT_NE(message("end\npeer b\n"), "accepted");
  EXPECT_EQ(decode_trust_file("peel-trust 2\nend\n").error().kind(), ErrorKind::unsupported);
}

TEST(Names, SafeOnesOnly) {
  for (const char* good : {"a", "Alice", "hub-2", "x.y_z", "0"}) EXPECT_TRUE(is_safe_name(good)) << good;
  for (const char* bad : {"", "-a", ".a", "..", "a/b", "a b", "a\n", "\xc3\xa9", "a:b"})
    EXPECT_FALSE(is_safe_name(bad)) << bad;
  EXPECT_TRUE(is_safe_name(std::string(64, 'a')));
  EXPECT_FALSE(is_safe_name(std::string(65, 'a')));
}

TEST(Prefixes, MatchWholeComponents) {
  EXPECT_TRUE(prefix_matches("", "anything/at all"));
  EXPECT_TRUE(prefix_matches("lab", "lab"));
  EXPECT_TRUE(prefix_matches("lab", "lab/x"));
  EXPECT_TRUE(prefix_matches("lab/x", "lab/x/y.h5"));
  EXPECT_FALSE(prefix_matches("lab", "lab2"));
  EXPECT_FALSE(prefix_matches("lab", "lab.h5"));
  EXPECT_FALSE(prefix_matches("lab/x", "lab"));
  EXPECT_FALSE(prefix_matches("lab", "LAB/x"));
  EXPECT_FALSE(prefix_matches("lab", "x/lab"));
  EXPECT_FALSE(prefix_matches("lab", ""));
  for (const char* bad : {"/", "/a", "a/", "a//b", ".", "..", "a/..", "./a", "a/./b"})
    EXPECT_FALSE(is_safe_prefix(bad)) << bad;
  for (const char* good : {"", "a", "a/b", "...", "a..b", ".hidden"}) EXPECT_TRUE(is_safe_prefix(good)) << good;
  EXPECT_FALSE(is_safe_prefix(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace peel::trust::test
