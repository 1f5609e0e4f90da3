// What a TLS channel does with damage, cuts, silence and long streams.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "link/memory.h"
#include "tests/link/ends.h"
#include "tests/link/raw_tls_peer.h"

namespace peel::link::test {
namespace {

Status anyone(const Digest&) { return {}; }

// Passes bytes on, flips one bit of what is written through it, and counts.
class Flipping final : public Channel {
public:
  Flipping(std::unique_ptr<Channel> lower, std::uint64_t at, std::uint64_t* count = nullptr)
      : lower_(std::move(lower)), at_(at), count_(count) {}
  Result<ReadOutcome> read_some(MutableBytes out) override { return lower_->read_some(out); }
  Result<std::size_t> write_some(Bytes data) override {
    Buffer copy(data.begin(), data.end());
    if (at_ >= sent_ && at_ - sent_ < copy.size()) copy[at_ - sent_] ^= std::byte{0x10};
    PEEL_TRY(const auto taken, lower_->write_some(copy), "");
    sent_ += taken;
    if (count_ != nullptr) *count_ = sent_;
    return taken;
  }
  Status wait(Interest interest, std::optional<Instant> deadline, const Cancel* cancel) override {
    return lower_->wait(interest, deadline, cancel);
  }
  void close() override { lower_->close(); }
  const Properties& properties() const override { return lower_->properties(); }

private:
  std::unique_ptr<Channel> lower_;
  std::uint64_t at_, sent_ = 0;
  std::uint64_t* count_;
};

const Buffer question(700, std::byte{'q'}), answer(900, std::byte{'a'});

struct Outcome {
  bool client_got_answer = false, server_got_question = false;
  bool server_saw_end = false;
  bool wrong_bytes = false;
};

// One exchange: question, answer, goodbye from both. Whatever happens below, nothing false may come out.
Outcome exchange(std::unique_ptr<Channel> a, std::unique_ptr<Channel> b) {
  Outcome outcome;
  std::thread serving([&] {
    auto server = tls_accept(std::move(b), identity_of(2), anyone, soon(3000), nullptr);
    if (!server) return;
    const auto heard = read_exactly_n(**server, question.size(), 3000);
    if (!heard) return;
    if (*heard != question) outcome.wrong_bytes = true;
    outcome.server_got_question = true;
    if (!write_all(**server, answer, 3000)) return;
    const auto rest = read_to_end(**server, 3000);
    outcome.server_saw_end = rest.ok();
    if (rest && !rest->empty()) outcome.wrong_bytes = true;
    (*server)->close();
  });
  if (auto client = tls_connect(std::move(a), identity_of(1), anyone, soon(3000), nullptr)) {
    if (write_all(**client, question, 3000)) {
      const auto heard = read_exactly_n(**client, answer.size(), 3000);
      if (heard && *heard != answer) outcome.wrong_bytes = true;
      outcome.client_got_answer = heard && *heard == answer;
      if (heard) (*client)->close();
    }
  }
  serving.join();
  return outcome;
}

constexpr std::uint64_t nowhere = ~std::uint64_t{0};

struct Lengths {
  std::uint64_t client = 0, server = 0;  // bytes each side puts on the line in one exchange
};

Lengths whole_exchange() {
  Lengths lengths;
  auto pair = make_memory_pair();
  const Outcome outcome = exchange(std::make_unique<Flipping>(std::move(pair.first), nowhere, &lengths.client),
                                   std::make_unique<Flipping>(std::move(pair.second), nowhere, &lengths.server));
  EXPECT_TRUE(outcome.client_got_answer && outcome.server_got_question && outcome.server_saw_end);
  EXPECT_FALSE(outcome.wrong_bytes);
  return lengths;
}

TEST(Tls, AnExchangeOverAWholeLineCostsLessThanTwoKilobytesOfHandshake) {
  const Lengths lengths = whole_exchange();
  EXPECT_LT(lengths.client + lengths.server, question.size() + answer.size() + 2000);
}

TEST(Tls, ACutLineNeverLooksLikeAnEnd) {
  const Lengths lengths = whole_exchange();
  std::vector<std::uint64_t> cuts{lengths.client - 1};  // inside the goodbye
  for (std::uint64_t at = 0; at < lengths.client; at += 53) cuts.push_back(at);
  for (const std::uint64_t at : cuts) {
    auto pair = make_memory_pair({.capacity = 65536, .cut_first_after = at, .cut_second_after = {}});
    const Outcome outcome = exchange(std::move(pair.first), std::move(pair.second));
    EXPECT_FALSE(outcome.server_saw_end) << at;
    EXPECT_FALSE(outcome.wrong_bytes) << at;
  }
  const std::uint64_t goodbye = 24;
  for (std::uint64_t at = 0; at < lengths.server - goodbye; at += 53) {
    auto pair = make_memory_pair({.capacity = 65536, .cut_first_after = {}, .cut_second_after = at});
    const Outcome outcome = exchange(std::move(pair.first), std::move(pair.second));
    EXPECT_FALSE(outcome.client_got_answer) << at;
    EXPECT_FALSE(outcome.wrong_bytes) << at;
  }
}

TEST(Tls, AFlippedBitAnywhereIsAnErrorAndNeverWrongBytes) {
  const Lengths lengths = whole_exchange();
  const std::uint64_t goodbye = 24;
  for (std::uint64_t at = 0; at < lengths.client - goodbye; at += 41) {
    auto pair = make_memory_pair();
    const Outcome outcome = exchange(std::make_unique<Flipping>(std::move(pair.first), at), std::move(pair.second));
    EXPECT_FALSE(outcome.wrong_bytes) << at;
    EXPECT_FALSE(outcome.server_got_question && outcome.client_got_answer) << at;
  }
  for (std::uint64_t at = 0; at < lengths.server - goodbye; at += 41) {
    auto pair = make_memory_pair();
    const Outcome outcome = exchange(std::move(pair.first), std::make_unique<Flipping>(std::move(pair.second), at));
    EXPECT_FALSE(outcome.wrong_bytes) << at;
    EXPECT_FALSE(outcome.client_got_answer) << at;
  }
}

TEST(Tls, GarbageIsANetworkErrorAtOnce) {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    Buffer garbage(1 + random() % 4000);
    for (std::byte& b : garbage) b = static_cast<std::byte>(random());
    if (round % 4 == 1) garbage[0] = std::byte{22};  // looks like a handshake record
    if (round % 4 == 2) {
      const Bytes http = as_bytes("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      garbage.assign(http.begin(), http.end());
    }
    auto pair = make_memory_pair();
    ASSERT_TRUE(pair.second->write_some(garbage));
    std::thread ending([&] { pair.second->close(); });  // a header may promise more than came
    const auto result = round % 2 == 0
                            ? tls_accept(std::move(pair.first), identity_of(1), anyone, soon(5000), nullptr)
                            : tls_connect(std::move(pair.first), identity_of(1), anyone, soon(5000), nullptr);
    ending.join();
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().kind(), ErrorKind::timeout) << result.error().message();
  }
}

TEST(Tls, SilenceInTheMiddleOfAHandshakeEndsAtTheDeadline) {
  for (const bool we_serve : {false, true}) {
    for (const std::size_t heard_before_silence : {0u, 3u, 100u}) {
      auto pair = make_memory_pair();
      // A real first flight, of which only a part arrives.
      auto source = make_memory_pair();
      (void)(we_serve ? tls_connect(std::move(source.first), identity_of(3), anyone, soon(1), nullptr)
                      : tls_accept(std::move(source.first), identity_of(3), anyone, soon(1), nullptr));
      Buffer flight(heard_before_silence);
      const auto got = source.second->read_some(flight);
      flight.resize(got ? got->bytes : 0);
      ASSERT_TRUE(pair.second->write_some(flight));
      const auto result = we_serve ? tls_accept(std::move(pair.first), identity_of(1), anyone, soon(30), nullptr)
                                   : tls_connect(std::move(pair.first), identity_of(1), anyone, soon(30), nullptr);
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().kind(), ErrorKind::timeout) << result.error().message();
    }
  }
}

TEST(Tls, APeerThatTricklesDoesNotMoveTheDeadline) {
  auto pair = make_memory_pair();
  std::atomic<bool> over{false};
  std::thread trickling([&] {
    const std::array<std::byte, 5> header{std::byte{22}, std::byte{3}, std::byte{1}, std::byte{0x20}, std::byte{0}};
    (void)pair.second->write_some(header);
    while (!over) {
      (void)pair.second->write_some(Bytes(header).first(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  const auto result = tls_accept(std::move(pair.first), identity_of(1), anyone, soon(60), nullptr);
  over = true;
  trickling.join();
  ASSERT_FALSE(result);
}

TEST(Tls, CancelEndsAHandshake) {
  auto pair = make_memory_pair();
  Cancel cancel;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    cancel.request();
  });
  const auto result = tls_accept(std::move(pair.first), identity_of(1), anyone, soon(60'000), &cancel);
  other.join();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind(), ErrorKind::cancelled);
}

void count_key_updates(int, int, int type, const void* message, std::size_t size, SSL*, void* count) {
  constexpr unsigned char key_update = 24;  // RFC 8446, 4
  if (type == SSL3_RT_HANDSHAKE && size > 0 && *static_cast<const unsigned char*>(message) == key_update)
    ++*static_cast<int*>(count);
}

TEST(Tls, ALongStreamChangesItsKeys) {
  RawPeer raw({.server = false});
  auto plain = raw.channel();
  auto shaking = std::async(std::launch::async, [&] { return raw.handshake(); });
  auto ours = tls_accept(std::move(plain), identity_of(1), anyone, soon(5000), nullptr);
  ASSERT_TRUE(ours && shaking.get());
  int key_updates = 0;
  ::SSL_set_msg_callback(raw.ssl(), count_key_updates);
  ::SSL_set_msg_callback_arg(raw.ssl(), &key_updates);
  // One record a byte: enough of them for a new key, twice.
  constexpr std::size_t total = 140'000;
  std::thread writing([&] {
    for (std::size_t i = 0; i < total; ++i) {
      const std::byte b = static_cast<std::byte>(i % 251);
      if (!write_all(**ours, {&b, 1})) return;
    }
    (void)read_to_end(**ours);
  });
  unsigned char got = 0;
  EXPECT_EQ(::SSL_read(raw.ssl(), &got, 1), 1);  // the verdict
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < total; ++i)
    if (::SSL_read(raw.ssl(), &got, 1) != 1 || got != i % 251) ++wrong;
  raw.hang_up();
  writing.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(key_updates, 2);
}

TEST(Tls, APeerThatWantsAnswersAndReadsNoneIsCutOff) {
  RawPeer raw({.server = false});
  auto plain = raw.channel();
  auto shaking = std::async(std::launch::async, [&] { return raw.handshake(); });
  auto ours = tls_accept(std::move(plain), identity_of(1), anyone, soon(5000), nullptr);
  ASSERT_TRUE(ours);
  ASSERT_TRUE(shaking.get());
  // Each request is answered with a record of ours. Nobody reads those; some bound must be hit.
  std::thread asking([&] {
    for (int i = 0; i < 200'000; ++i) {
      if (::SSL_key_update(raw.ssl(), SSL_KEY_UPDATE_REQUESTED) != 1) break;
      if (::SSL_do_handshake(raw.ssl()) != 1) break;
    }
    raw.hang_up();
  });
  std::array<std::byte, 100> out;
  Status outcome;
  while (outcome) {
    const auto got = (*ours)->read_some(out);
    if (!got) {
      outcome = got.error();
    } else {
      outcome = (*ours)->wait({.read = true, .write = false}, soon(5000), nullptr);
    }
  }
  ours->reset();
  asking.join();
  EXPECT_EQ(outcome.error().kind(), ErrorKind::network);
  EXPECT_NE(outcome.error().message().find("without reading"), std::string::npos) << outcome.error().message();
}

}  // namespace
}  // namespace peel::link::test
