// Who gets through a TLS handshake, and who does not.
#include <gtest/gtest.h>

#include "base/hex.h"
#include "link/memory.h"
#include "link/tcp.h"
#include "tests/link/ends.h"
#include "tests/link/raw_tls_peer.h"

namespace peel::link::test {
namespace {

using Handshake = Result<std::unique_ptr<Channel>>;

Status anyone(const Digest&) { return {}; }

PeerCheck only(const Digest& wanted) {
  return [wanted](const Digest& key) -> Status {
    if (key == wanted) return {};
    return fail(ErrorKind::not_found, "this is not whom I meant");
  };
}

struct Meeting {
  Handshake client = fail(ErrorKind::usage, "did not run"), server = fail(ErrorKind::usage, "did not run");
};

Meeting meet(Ends ends, const PeerCheck& client_check, const PeerCheck& server_check) {
  Meeting meeting;
  auto serving = std::async(std::launch::async, [&] {
    return tls_accept(std::move(ends.b), identity_of(2), server_check, soon(5000), nullptr);
  });
  meeting.client = tls_connect(std::move(ends.a), identity_of(1), client_check, soon(5000), nullptr);
  meeting.server = serving.get();
  return meeting;
}

Ends plain_memory() {
  auto pair = make_memory_pair();
  return {std::move(pair.first), std::move(pair.second)};
}

TEST(TlsTrust, TheKeyIsTheOneOfTheSeed) {
  // RFC 8032, 7.1, test 1.
  TlsIdentity identity;
  identity.private_seed = digest_from_hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")->bytes;
  EXPECT_EQ(to_hex(tls_public_key(identity)), "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
}

TEST(TlsTrust, EachSideSeesTheOthersKeyAndBothSeeOneBinding) {
  const Digest a = tls_public_key(identity_of(1)), b = tls_public_key(identity_of(2));
  Meeting first = meet(tcp_ends(), only(b), only(a));
  ASSERT_TRUE(first.client && first.server);
  const Channel::Properties& client = (*first.client)->properties();
  const Channel::Properties& server = (*first.server)->properties();
  EXPECT_EQ(client.peer_key, b);
  EXPECT_EQ(server.peer_key, a);
  EXPECT_TRUE(client.encrypted && server.encrypted);
  EXPECT_EQ(client.peer_name.substr(0, 10), "127.0.0.1:");
  ASSERT_TRUE(client.binding);
  EXPECT_EQ(client.binding, server.binding);
  Meeting second = meet(plain_memory(), only(b), only(a));
  ASSERT_TRUE(second.client && second.server);
  EXPECT_NE((*second.client)->properties().binding, client.binding);
}

TEST(TlsTrust, AClientRefusesAWrongServerBeforeItSaysWhoItIs) {
  bool asked = false;
  Meeting meeting = meet(plain_memory(), only(tls_public_key(identity_of(9))), [&](const Digest&) -> Status {
    asked = true;
    return {};
  });
  ASSERT_FALSE(meeting.client);
  EXPECT_EQ(meeting.client.error().kind(), ErrorKind::refused);
  EXPECT_NE(meeting.client.error().message().find("this is not whom I meant"), std::string::npos);
  ASSERT_FALSE(meeting.server);
  EXPECT_EQ(meeting.server.error().kind(), ErrorKind::network);
  EXPECT_FALSE(asked);
}

TEST(TlsTrust, AServerRefusesAStrangerAndTheStrangerLearnsWhy) {
  for (const bool over_tcp : {false, true}) {
    Meeting meeting = meet(over_tcp ? tcp_ends() : plain_memory(), anyone, only(tls_public_key(identity_of(9))));
    ASSERT_FALSE(meeting.server);
    EXPECT_EQ(meeting.server.error().kind(), ErrorKind::refused);
    EXPECT_NE(meeting.server.error().message().find("this is not whom I meant"), std::string::npos);
    ASSERT_TRUE(meeting.client);  // it hears of it with the first answer, to save a round trip
    const auto answer = read_exactly_n(**meeting.client, 1);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind(), ErrorKind::refused) << answer.error().message();
    EXPECT_NE(answer.error().message().find("peel trust"), std::string::npos);
    EXPECT_FALSE((*meeting.client)->write_some(as_bytes("x")));
  }
}

TEST(TlsTrust, AStrangerWhoIsAlreadyTalkingLearnsWhyToo) {
  Ends ends = tcp_ends();
  auto serving = std::async(std::launch::async, [&] {
    return tls_accept(std::move(ends.b), identity_of(2), only(Digest{}), soon(5000), nullptr);
  });
  auto client = tls_connect(std::move(ends.a), identity_of(1), anyone, soon(5000), nullptr);
  ASSERT_TRUE(client);
  const Buffer block(16384);
  Status outcome;
  for (int i = 0; i < 10'000 && outcome; ++i) outcome = write_all(**client, block);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind(), ErrorKind::refused) << outcome.error().message();
  EXPECT_FALSE(serving.get());
}

TEST(TlsTrust, TheControlPeerIsAccepted) {
  for (const bool raw_is_server : {false, true}) {
    RawPeer raw({.server = raw_is_server});
    auto channel = raw.channel();
    auto shaking = std::async(std::launch::async, [&] { return raw.handshake(); });
    auto ours = raw_is_server ? tls_connect(std::move(channel), identity_of(1), anyone, soon(5000), nullptr)
                              : tls_accept(std::move(channel), identity_of(1), anyone, soon(5000), nullptr);
    ASSERT_TRUE(ours) << ours.error().message();
    ASSERT_TRUE(shaking.get());
    EXPECT_EQ(::SSL_version(raw.ssl()), TLS1_3_VERSION);
    if (raw_is_server) continue;
    // No ticket came: what follows the handshake is the verdict and the first words, nothing else.
    ASSERT_TRUE(write_all(**ours, as_bytes("hi")));
    char got[8] = {};
    ASSERT_EQ(::SSL_read(raw.ssl(), got, 1), 1);
    EXPECT_EQ(got[0], 1);
    ASSERT_EQ(::SSL_read(raw.ssl(), got, sizeof got), 2);
    EXPECT_EQ(std::string(got, 2), "hi");
    EXPECT_EQ(::SSL_SESSION_has_ticket(::SSL_get0_session(raw.ssl())), 0);
    EXPECT_EQ(::SSL_SESSION_get_max_early_data(::SSL_get0_session(raw.ssl())), 0u);
  }
}

struct Outsider {
  const char* name;
  RawOptions options;
};

class TlsOutsider : public ::testing::TestWithParam<Outsider> {};

TEST_P(TlsOutsider, IsRefused) {
  RawPeer raw(GetParam().options);
  auto channel = raw.channel();
  bool asked = false;
  const PeerCheck check = [&](const Digest&) -> Status {
    asked = true;
    return {};
  };
  auto shaking = std::async(std::launch::async, [&] {
    const bool done = raw.handshake();
    char byte = 0;
    const bool served = done && ::SSL_read(raw.ssl(), &byte, 1) == 1 && byte == 1;
    raw.hang_up();
    return served;
  });
  const Handshake ours = GetParam().options.server
                             ? tls_connect(std::move(channel), identity_of(1), check, soon(5000), nullptr)
                             : tls_accept(std::move(channel), identity_of(1), check, soon(5000), nullptr);
  ASSERT_FALSE(ours);
  EXPECT_EQ(ours.error().kind(), ErrorKind::refused) << ours.error().message();
  EXPECT_FALSE(asked);
  EXPECT_FALSE(shaking.get());
}

INSTANTIATE_TEST_SUITE_P(Kinds, TlsOutsider,
                         ::testing::Values(Outsider{"rsa_client", {.key = KeyKind::rsa}},
                                           Outsider{"ec_client", {.key = KeyKind::ec}},
                                           Outsider{"ed448_client", {.key = KeyKind::ed448}},
                                           Outsider{"anonymous_client", {.key = KeyKind::none}},
                                           Outsider{"tls12_client", {.max_version = TLS1_2_VERSION}},
                                           Outsider{"no_alpn_client", {.alpn = ""}},
                                           Outsider{"http_client", {.alpn = "h2"}},
                                           Outsider{"rsa_server", {.server = true, .key = KeyKind::rsa}},
                                           Outsider{"ec_server", {.server = true, .key = KeyKind::ec}},
                                           Outsider{"tls12_server", {.server = true, .max_version = TLS1_2_VERSION}},
                                           Outsider{"no_alpn_server", {.server = true, .alpn = ""}}),
                         [](const auto& outsider) { return std::string(outsider.param.name); });

}  // namespace
}  // namespace peel::link::test
