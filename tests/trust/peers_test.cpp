#include "trust/peers.h"

#include <thread>

#include "tests/trust/scratch_config.h"
#include "trust/remote_memory.h"

namespace peel::trust::test {
namespace {

class PeersTest : public ScratchConfig {
protected:
  PeerStore store_{directory()};

  Status trust(const std::string& name, const PublicKey& key, std::vector<Grant> grants = {},
               std::vector<std::string> addresses = {}) {
    return store_.trust({name, key, std::move(grants), std::move(addresses), 1, false, {}});
  }
};

ErrorKind kind_of(const Status& status) { return status ? ErrorKind::partial : status.error().kind(); }
template <class T>
ErrorKind kind_of(const Result<T>& result) {
  return result ? ErrorKind::partial : result.error().kind();
}

TEST_F(PeersTest, TrustListLookUp) {
  EXPECT_TRUE(store_.list()->empty());
  ASSERT_TRUE(trust("zoe", key_of(2)));
  ASSERT_TRUE(trust("alice", key_of(1), {{Level::append, "lab"}}, {"hub:1"}));
  EXPECT_EQ(mode_of(path() + "/trust"), 0600u);
  ASSERT_EQ(store_.list()->size(), 2u);
  EXPECT_EQ((*store_.list())[0].name, "alice");
  EXPECT_EQ(store_.by_name("zoe")->key, key_of(2));
  EXPECT_EQ(store_.by_key(key_of(1))->name, "alice");
  EXPECT_EQ(store_.by_address("hub:1")->at(0).name, "alice");
  EXPECT_EQ(kind_of(store_.by_name("eve")), ErrorKind::not_found);
  EXPECT_EQ(kind_of(store_.by_key(key_of(9))), ErrorKind::not_found);
  EXPECT_TRUE(store_.by_address("hub:2")->empty());
}

TEST_F(PeersTest, TrustingAgainReplacesGrantsAndJoinsAddresses) {
  ASSERT_TRUE(trust("alice", key_of(1), {{Level::append, "lab"}}, {"hub:1"}));
  ASSERT_TRUE(trust("alice", key_of(1), {{Level::read, ""}}, {"hub:2", "hub:1"}));
  const Peer peer = *store_.by_name("alice");
  EXPECT_EQ(peer.grants, (std::vector<Grant>{{Level::read, ""}}));
  EXPECT_EQ(peer.addresses, (std::vector<std::string>{"hub:1", "hub:2"}));
  ASSERT_TRUE(store_.add_address("alice", "[::1]:9"));
  ASSERT_TRUE(store_.add_address("alice", "[::1]:9"));
  EXPECT_EQ(store_.by_name("alice")->addresses.size(), 3u);
  EXPECT_EQ(kind_of(store_.add_address("nobody", "h:1")), ErrorKind::not_found);
}

TEST_F(PeersTest, NamesAndKeysBelongToOneEntry) {
  ASSERT_TRUE(trust("alice", key_of(1)));
  EXPECT_EQ(kind_of(trust("alice", key_of(2))), ErrorKind::exists);
  EXPECT_EQ(kind_of(trust("alicia", key_of(1))), ErrorKind::exists);
  ASSERT_TRUE(store_.untrust("alice"));
  ASSERT_TRUE(trust("alice", key_of(2)));
  EXPECT_TRUE(store_.by_key(key_of(1))->revoked);  // still known, under another name
  EXPECT_EQ(store_.by_key(key_of(1))->name, "revoked-alice");
  EXPECT_FALSE(store_.by_name("alice")->revoked);
}

TEST_F(PeersTest, UnsafeInputIsRefused) {
  EXPECT_EQ(kind_of(trust("../x", key_of(1))), ErrorKind::usage);
  EXPECT_EQ(kind_of(trust("a", key_of(1), {{Level::read, "../up"}})), ErrorKind::usage);
  EXPECT_EQ(kind_of(trust("a", key_of(1), {}, {"no port"})), ErrorKind::usage);
  EXPECT_TRUE(store_.list()->empty());
  EXPECT_FALSE(std::filesystem::exists(path() + "/trust"));
}

TEST_F(PeersTest, LevelsIncludeTheOnesBelowWithinThePrefix) {
  ASSERT_TRUE(trust("alice", key_of(1), {{Level::append, "lab"}, {Level::read, "pub"}}));
  ASSERT_TRUE(trust("root", key_of(2), {{Level::admin, ""}}));
  ASSERT_TRUE(trust("known", key_of(3)));
  const auto may = [&](unsigned char key, Level level, std::string_view name) {
    return store_.allowed(key_of(key), level, name);
  };
  EXPECT_TRUE(may(1, Level::read, "lab/x.h5"));
  EXPECT_TRUE(may(1, Level::append, "lab/x.h5"));
  EXPECT_TRUE(may(1, Level::append, "lab"));
  EXPECT_FALSE(may(1, Level::write, "lab/x.h5"));
  EXPECT_FALSE(may(1, Level::read, "lab2/x.h5"));
  EXPECT_FALSE(may(1, Level::read, "lab/../secret"));
  EXPECT_FALSE(may(1, Level::read, "lab//x"));
  EXPECT_TRUE(may(1, Level::read, "pub/a"));
  EXPECT_FALSE(may(1, Level::append, "pub/a"));
  EXPECT_FALSE(may(1, Level::read, ""));
  EXPECT_TRUE(may(2, Level::admin, ""));
  EXPECT_TRUE(may(2, Level::read, "anything"));
  EXPECT_FALSE(may(3, Level::read, "lab/x.h5"));
  EXPECT_FALSE(may(4, Level::read, "lab/x.h5"));
  EXPECT_EQ(kind_of(store_.authorize(key_of(1), Level::write, "lab/x")), ErrorKind::refused);
  EXPECT_NE(store_.authorize(key_of(4), Level::read, "x").error().message().find("peel trust"), std::string::npos);
}

TEST_F(PeersTest, UntrustIsSeenByARunningServerAtOnce) {
  ASSERT_TRUE(trust("alice", key_of(1), {{Level::admin, ""}}));
  PeerStore server(directory());
  ASSERT_TRUE(server.allowed(key_of(1), Level::read, "x"));
  ASSERT_TRUE(store_.untrust("alice"));
  EXPECT_FALSE(server.allowed(key_of(1), Level::read, "x"));
  EXPECT_EQ(kind_of(server.admit(key_of(1))), ErrorKind::refused);
  ASSERT_TRUE(trust("alice", key_of(1), {{Level::read, ""}}));
  EXPECT_TRUE(server.allowed(key_of(1), Level::read, "x"));
  ASSERT_TRUE(store_.forget("alice"));
  EXPECT_FALSE(server.allowed(key_of(1), Level::read, "x"));
  EXPECT_EQ(kind_of(store_.untrust("alice")), ErrorKind::not_found);
  EXPECT_EQ(kind_of(store_.forget("alice")), ErrorKind::not_found);
}

TEST_F(PeersTest, ADamagedStoreLetsNobodyInAndIsNotReplaced) {
  ASSERT_TRUE(trust("alice", key_of(1), {{Level::admin, ""}}));
  ASSERT_TRUE(store_.allowed(key_of(1), Level::read, "x"));
  const std::string cut = text_of("trust").substr(0, 90);
  for (const std::string& damaged : {cut, std::string("garbage\n"), std::string()}) {
    put_text("trust", damaged);
    EXPECT_FALSE(store_.allowed(key_of(1), Level::read, "x"));
    const auto listed = store_.list();
    ASSERT_FALSE(listed);
    EXPECT_EQ(listed.error().kind(), ErrorKind::corrupt);
    EXPECT_NE(listed.error().message().find(path() + "/trust"), std::string::npos);
    EXPECT_NE(listed.error().message().find("line "), std::string::npos);
    EXPECT_FALSE(trust("bob", key_of(2)));
    EXPECT_FALSE(store_.untrust("alice"));
    EXPECT_EQ(text_of("trust"), damaged);
  }
}

TEST_F(PeersTest, ChangesKeepWhatAnEditorAdded) {
  ASSERT_TRUE(trust("alice", key_of(1)));
  std::string text = text_of("trust");
  text.insert(text.find("key "), "# my colleague\nphone 123\n");
  put_text("trust", text);
  ASSERT_TRUE(trust("bob", key_of(2)));
  ASSERT_TRUE(trust("alice", key_of(1), {{Level::read, ""}}));
  EXPECT_NE(text_of("trust").find("# my colleague\nphone 123\n"), std::string::npos);
}

TEST_F(PeersTest, ManyWritersLoseNothing) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      PeerStore own(directory());
      for (int i = 0; i < 8; ++i) {
        Peer peer;
        peer.name = "p" + std::to_string(t) + "-" + std::to_string(i);
        peer.key = key_of(static_cast<unsigned char>(t * 8 + i));
        EXPECT_TRUE(own.trust(peer));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(store_.list()->size(), 32u);
}

TEST_F(PeersTest, AClientExpectsTheOwnerOfANameOrAddress) {
  ASSERT_TRUE(trust("hub", key_of(1), {}, {"hub.example:1"}));
  ASSERT_TRUE(trust("bob", key_of(2)));
  EXPECT_EQ(store_.expect(key_of(1), "hub")->name, "hub");
  EXPECT_EQ(store_.expect(key_of(1), "hub.example:1")->name, "hub");
  EXPECT_EQ(store_.expect(key_of(2), "elsewhere:5")->name, "bob");  // recorded for nobody
  EXPECT_EQ(kind_of(store_.expect(key_of(2), "hub")), ErrorKind::refused);
  EXPECT_EQ(kind_of(store_.expect(key_of(2), "hub.example:1")), ErrorKind::refused);
  EXPECT_EQ(kind_of(store_.expect(key_of(3), "elsewhere:5")), ErrorKind::refused);
  EXPECT_EQ(kind_of(store_.expect(key_of(2), "unknown-name")), ErrorKind::refused);
  ASSERT_TRUE(store_.untrust("hub"));
  EXPECT_EQ(kind_of(store_.expect(key_of(1), "hub")), ErrorKind::refused);
}

TEST_F(PeersTest, ASuccessorTakesThePlaceOfATrustedKey) {
  const Identity a = identity_of(1), b = identity_of(2), c = identity_of(3), eve = identity_of(9);
  ASSERT_TRUE(trust("alice", a.public_key, {{Level::append, "lab"}}, {"h:1"}));
  const RemoteMemory memory(directory());
  ASSERT_TRUE(memory.save(a.public_key, "x", {{"main", key_of(5)}}));
  const std::vector<Succession> chain{make_succession(a, b.public_key, 1), make_succession(b, c.public_key, 2)};

  EXPECT_EQ(kind_of(store_.accept_succession(c.public_key, {})), ErrorKind::refused);
  EXPECT_EQ(kind_of(store_.accept_succession(c.public_key, std::span(chain).last(1))), ErrorKind::refused);
  EXPECT_EQ(kind_of(store_.accept_succession(eve.public_key, chain)), ErrorKind::refused);
  Succession forged = make_succession(eve, eve.public_key, 1);
  forged.predecessor = a.public_key;
  EXPECT_EQ(kind_of(store_.accept_succession(eve.public_key, std::span(&forged, 1))), ErrorKind::refused);
  EXPECT_EQ(store_.by_name("alice")->key, a.public_key);

  const auto accepted = store_.accept_succession(c.public_key, chain);
  ASSERT_TRUE(accepted) << accepted.error().message();
  EXPECT_EQ(accepted->name, "alice");
  EXPECT_TRUE(store_.allowed(c.public_key, Level::append, "lab/x"));
  EXPECT_FALSE(store_.allowed(a.public_key, Level::append, "lab/x"));
  EXPECT_EQ(memory.load(c.public_key, "x")->at("main"), key_of(5));
  EXPECT_TRUE(store_.accept_succession(c.public_key, chain));  // again: nothing to do
  // The old key has no say any more.
  const Succession late = make_succession(a, eve.public_key, 3);
  EXPECT_EQ(kind_of(store_.accept_succession(eve.public_key, std::span(&late, 1))), ErrorKind::refused);
}

TEST_F(PeersTest, ARevokedKeyHasNoSuccessor) {
  const Identity a = identity_of(1), b = identity_of(2);
  ASSERT_TRUE(trust("alice", a.public_key, {{Level::admin, ""}}));
  ASSERT_TRUE(store_.untrust("alice"));
  const Succession statement = make_succession(a, b.public_key, 1);
  EXPECT_EQ(kind_of(store_.accept_succession(b.public_key, std::span(&statement, 1))), ErrorKind::refused);
  EXPECT_FALSE(store_.allowed(b.public_key, Level::read, "x"));
}

}  // namespace
}  // namespace peel::trust::test
