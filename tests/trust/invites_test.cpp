#include "trust/invites.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/hex.h"
#include "tests/trust/scratch_config.h"
#include "trust/peers.h"

namespace peel::trust::test {
namespace {

constexpr std::int64_t second = 1'000'000'000, now = 1'700'000'000 * second;

Invite sample() {
  Invite invite;
  invite.server = identity_of(1).public_key;
  invite.addresses = {"hub.example:7731", "[2001:db8::1]:80"};
  invite.secret.fill(std::byte{0x5a});
  invite.expires_ns = now;
  invite.grants = {{Level::append, "lab"}, {Level::read, ""}};
  return invite;
}

TEST(InviteToken, RoundTrip) {
  EXPECT_EQ(*parse_invite(format_invite(sample())), sample());
  EXPECT_EQ(*parse_invite("\n " + format_invite(sample()) + " \n"), sample());
  Invite least = sample();
  least.addresses.clear();
  least.grants.clear();
  EXPECT_EQ(*parse_invite(format_invite(least)), least);
}

TEST(InviteToken, GoldenVector) {
  EXPECT_EQ(format_invite(sample()),
            "peel-invite-agfit287qse9dfr7kmpu4rf4mx3nw32jz6q3ies58p4isapwb7zx2yu4mjpfwyu4mjpfwyu4mjpfwysaaaxd"
            "p9w6u6mseediqxtc63m2nfyza5dfhi5vqn3tcbpvenbsge7gi2t2hi7dczj4ha2aeasdptsyeaia3kcgh22");
}

TEST(InviteToken, TruncationAndFlipsAreErrors) {
  const std::string text = format_invite(sample());
  EXPECT_EQ(text.find_first_of(" \n'\"$\\"), std::string::npos);  // one word for any shell
  for (std::size_t n = 0; n < text.size(); ++n) {
    const auto parsed = parse_invite(text.substr(0, n));
    ASSERT_FALSE(parsed) << n;
    EXPECT_EQ(parsed.error().kind(), ErrorKind::usage);
  }
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char c : std::string("abcdefghijkmnpqrstuvwxyz23456789l01-\n")) {
      if (c == text[at]) continue;
      std::string wrong = text;
      wrong[at] = c;
      EXPECT_FALSE(parse_invite(wrong)) << wrong;
    }
  }
  EXPECT_FALSE(parse_invite(text + "a"));
  EXPECT_FALSE(parse_invite(std::string(1 << 20, 'a')));
}

class InvitesTest : public ScratchConfig {
protected:
  InviteStore store_{directory()};
  PeerStore peers_{directory()};

  Invite create(std::int64_t expires_ns = now + 3600 * second) {
    auto made = store_.create({key_of(0xee), {"h:1"}, {{Level::append, "lab"}}, expires_ns}, now);
    if (!made) std::abort();
    return *made;
  }
};

TEST_F(InvitesTest, LetsOnePeerInOnce) {
  const Invite invite = create();
  EXPECT_EQ(text_of("trust").find(to_hex(invite.secret)), std::string::npos);  // the secret is not stored
  std::string reason;
  const auto joined = store_.redeem(invite.secret, key_of(1), "alice", now + second, &reason);
  ASSERT_TRUE(joined) << joined.error().message();
  EXPECT_EQ(joined->name, "alice");
  EXPECT_EQ(joined->added_ns, now + second);
  EXPECT_TRUE(peers_.allowed(key_of(1), Level::append, "lab/x"));
  EXPECT_FALSE(peers_.allowed(key_of(1), Level::write, "lab/x"));
  EXPECT_FALSE(store_.redeem(invite.secret, key_of(2), "bob", now + second, &reason));
  EXPECT_NE(reason.find("used already by " + fingerprint(key_of(1))), std::string::npos);
  EXPECT_FALSE(store_.redeem(invite.secret, key_of(1), "alice", now + second, nullptr));
  EXPECT_EQ(peers_.list()->size(), 1u);
}

TEST_F(InvitesTest, EveryRefusalSoundsTheSameOutsideAndIsClearInside) {
  const Invite used = create(), late = create(now + 1), open = create();
  ASSERT_TRUE(store_.redeem(used.secret, key_of(1), "alice", now, nullptr));
  ASSERT_TRUE(peers_.untrust("alice"));
  InviteSecret unknown{};
  const std::string before = text_of("trust");
  std::string reasons[4];
  const Error errors[] = {
      store_.redeem(used.secret, key_of(2), "b", now, &reasons[0]).error(),
      store_.redeem(late.secret, key_of(2), "b", now + second, &reasons[1]).error(),
      store_.redeem(unknown, key_of(2), "b", now, &reasons[2]).error(),
      store_.redeem(open.secret, key_of(1), "b", now, &reasons[3]).error(),
  };
  for (const Error& error : errors) {
    EXPECT_EQ(error.kind(), ErrorKind::refused);
    EXPECT_EQ(error.message(), errors[0].message());
  }
  EXPECT_NE(reasons[0].find("used"), std::string::npos);
  EXPECT_NE(reasons[1].find("expired"), std::string::npos);
  EXPECT_NE(reasons[2].find("no such invite"), std::string::npos);
  EXPECT_NE(reasons[3].find("revoked"), std::string::npos);
  EXPECT_EQ(text_of("trust"), before);
  EXPECT_TRUE(store_.redeem(open.secret, key_of(3), "c", now, nullptr));  // the revoked key did not spend it
}

TEST_F(InvitesTest, ExpiryIsExact) {
  const Invite invite = create(now + 100);
  EXPECT_FALSE(store_.redeem(invite.secret, key_of(1), "a", now + 100, nullptr));
  EXPECT_TRUE(store_.redeem(invite.secret, key_of(1), "a", now + 99, nullptr));
}

TEST_F(InvitesTest, NamesAreOnlyWishes) {
  ASSERT_TRUE(peers_.trust({"alice", key_of(9), {}, {}, 0, false, {}}));
  EXPECT_EQ(store_.redeem(create().secret, key_of(1), "alice", now, nullptr)->name, "alice-2");
  EXPECT_EQ(store_.redeem(create().secret, key_of(2), "alice", now, nullptr)->name, "alice-3");
  const std::string made_up = store_.redeem(create().secret, key_of(3), "../../etc\n", now, nullptr)->name;
  EXPECT_EQ(made_up, "peer-" + fingerprint(key_of(3)).substr(6, 8));
  const std::string longest(64, 'n');
  EXPECT_EQ(store_.redeem(create().secret, key_of(4), longest, now, nullptr)->name, longest);
  EXPECT_EQ(store_.redeem(create().secret, key_of(5), longest, now, nullptr)->name, longest.substr(2) + "-2");
}

TEST_F(InvitesTest, AKnownPeerKeepsItsNameAndGainsTheGrants) {
  ASSERT_TRUE(peers_.trust({"alice", key_of(1), {{Level::read, "pub"}}, {}, 0, false, {}}));
  ASSERT_TRUE(store_.redeem(create().secret, key_of(1), "other", now, nullptr));
  ASSERT_TRUE(store_.redeem(create().secret, key_of(1), "other", now, nullptr));
  EXPECT_EQ(peers_.by_key(key_of(1))->name, "alice");
  EXPECT_EQ(peers_.by_key(key_of(1))->grants, (std::vector<Grant>{{Level::read, "pub"}, {Level::append, "lab"}}));
}

TEST_F(InvitesTest, LimitsAndNonsenseAreRefusedAtCreation) {
  const auto kind = [&](InviteStore::Request request) { return store_.create(request, now).error().kind(); };
  const std::vector<Grant> fine{{Level::read, ""}};
  EXPECT_EQ(kind({key_of(1), {}, fine, now}), ErrorKind::usage);
  EXPECT_EQ(kind({key_of(1), {}, {}, now + 1}), ErrorKind::usage);
  EXPECT_EQ(kind({key_of(1), std::vector<std::string>(9, "h:1"), fine, now + 1}), ErrorKind::usage);
  EXPECT_EQ(kind({key_of(1), {"h"}, fine, now + 1}), ErrorKind::usage);
  EXPECT_EQ(kind({key_of(1), {}, {{Level::read, "/abs"}}, now + 1}), ErrorKind::usage);
  EXPECT_EQ(kind({key_of(1), {}, {{Level::read, std::string(256, 'a')}}, now + 1}), ErrorKind::usage);
  EXPECT_FALSE(std::filesystem::exists(path() + "/trust"));
}

TEST_F(InvitesTest, SpentInvitesAreForgottenAfterAMonth) {
  create(now + 1);
  ASSERT_EQ(store_.list()->size(), 1u);
  const std::int64_t later = now + 31LL * 24 * 3600 * second;
  ASSERT_TRUE(store_.create({key_of(1), {}, {{Level::read, ""}}, later + 1}, later));
  EXPECT_EQ(store_.list()->size(), 1u);
}

TEST_F(InvitesTest, OfManyThreadsExactlyOneWins) {
  for (int round = 0; round < 5; ++round) {
    const Invite invite = create();
    std::atomic<int> winners{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        const InviteStore own(directory());
        const PublicKey key = key_of(static_cast<unsigned char>(round * 8 + t));
        if (own.redeem(invite.secret, key, "j", now, nullptr)) ++winners;
      });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(winners, 1);
    EXPECT_EQ(peers_.list()->size(), static_cast<std::size_t>(round + 1));
  }
}

TEST_F(InvitesTest, OfManyProcessesExactlyOneWins) {
  for (int round = 0; round < 5; ++round) {
    const Invite invite = create();
    std::vector<pid_t> children;
    for (int p = 0; p < 4; ++p) {
      const pid_t pid = ::fork();
      if (pid == 0) {
        const InviteStore own(directory());
        const PublicKey key = key_of(static_cast<unsigned char>(round * 4 + p));
        ::_exit(own.redeem(invite.secret, key, "j", now, nullptr) ? 0 : 1);
      }
      children.push_back(pid);
    }
    int winners = 0;
    for (const pid_t pid : children) {
      int status = 0;
      ASSERT_EQ(::waitpid(pid, &status, 0), pid);
      ASSERT_TRUE(WIFEXITED(status));
      if (WEXITSTATUS(status) == 0) ++winners;
    }
    EXPECT_EQ(winners, 1);
    EXPECT_EQ(peers_.list()->size(), static_cast<std::size_t>(round + 1));
  }
}

}  // namespace
}  // namespace peel::trust::test
