// What every link must do, asked of all of them.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "tests/link/ends.h"

namespace peel::link::test {
namespace {

class Conformance : public ::testing::TestWithParam<Link> {
protected:
  Ends ends_ = GetParam().make();
};

// The n-th byte of an endless stream that repeats only after 2^32 bytes.
std::byte stream_byte(std::uint64_t at, std::uint32_t salt) {
  std::uint32_t x = static_cast<std::uint32_t>(at >> 2) * 2654435761u + salt;
  x ^= x >> 15;
  return static_cast<std::byte>(x >> (8 * (at & 3)));
}

// Sends `total` bytes and receives as many at the same time, in pieces of random size, from one thread.
class Duplex {
public:
  Duplex(Channel& channel, std::uint64_t total, std::uint32_t salt_out, std::uint32_t salt_in, std::size_t max_piece)
      : channel_(channel),
        total_(total),
        salt_out_(salt_out),
        salt_in_(salt_in),
        max_piece_(max_piece),
        random_(salt_out) {}

  bool done() const { return sent_ == total_ && received_ == total_; }
  std::uint64_t received() const { return received_; }

  // One write and one read, neither waiting. False: something is wrong.
  bool turn() {
    if (sent_ < total_) {
      buffer_.resize(std::min<std::uint64_t>(piece(), total_ - sent_));
      for (std::size_t i = 0; i < buffer_.size(); ++i) buffer_[i] = stream_byte(sent_ + i, salt_out_);
      const auto taken = channel_.write_some(buffer_);
      if (!taken) return complain(taken.error().message());
      if (*taken > buffer_.size()) return complain("took more than there was");
      sent_ += *taken;
    }
    if (received_ < total_) {
      buffer_.resize(std::min<std::uint64_t>(piece(), total_ - received_));
      const auto got = channel_.read_some(buffer_);
      if (!got) return complain(got.error().message());
      if (got->closed) return complain("closed early");
      for (std::size_t i = 0; i < got->bytes; ++i) {
        if (buffer_[i] != stream_byte(received_ + i, salt_in_))
          return complain("wrong byte at " + std::to_string(received_ + i));
      }
      received_ += got->bytes;
    }
    return true;
  }

  bool run() {
    while (!done()) {
      const std::uint64_t before = sent_ + received_;
      if (!turn()) return false;
      if (sent_ + received_ > before) continue;
      const Status waited = channel_.wait({.read = received_ < total_, .write = sent_ < total_}, soon(8000), nullptr);
      if (!waited) return complain(waited.error().message());
    }
    return true;
  }

private:
  std::size_t piece() {
    switch (random_() % 4) {
      case 0:
        return 1;
      case 1:
        return 1 + random_() % 100;
      default:
        return 1 + random_() % max_piece_;
    }
  }
  bool complain(const std::string& what) {
    ADD_FAILURE() << channel_.properties().peer_name << ": " << what << " (sent " << sent_ << ", received " << received_
                  << ")";
    return false;
  }

  Channel& channel_;
  std::uint64_t total_, sent_ = 0, received_ = 0;
  std::uint32_t salt_out_, salt_in_;
  std::size_t max_piece_;
  std::mt19937 random_;
  Buffer buffer_;
};

// A tiny memory line needs a turn of both threads for every few bytes.
std::uint64_t amount(const Link& link) { return link.name.find("tiny") == std::string::npos ? 12u << 20 : 20'000; }

TEST_P(Conformance, CarriesManyMegabytesBothWaysAtOnce) {
  const std::uint64_t total = amount(GetParam());
  Duplex at_a(*ends_.a, total, 1, 2, 65536), at_b(*ends_.b, total, 2, 1, 65536);
  bool fine_b = false;
  std::thread other([&] {
    fine_b = at_b.run();
    // b may have bytes of its last write inside; they leave while it waits for the end.
    if (fine_b) (void)read_to_end(*ends_.b);
  });
  const bool fine_a = at_a.run();
  ends_.a->close();
  other.join();
  EXPECT_TRUE(fine_a && fine_b);
}

TEST_P(Conformance, OneThreadCanDriveBothEnds) {
  const std::uint64_t total = amount(GetParam()) / 12;
  Duplex at_a(*ends_.a, total, 3, 4, 5000), at_b(*ends_.b, total, 4, 3, 70'000);
  while (!at_a.done() || !at_b.done()) {
    ASSERT_TRUE(at_a.turn());
    ASSERT_TRUE(at_b.turn());
    // Bytes a channel took leave it during later calls, and a side that is done makes no others.
    for (Channel* end : {ends_.a.get(), ends_.b.get()})
      (void)end->wait({.read = true, .write = false}, std::chrono::steady_clock::now(), nullptr);
  }
}

TEST_P(Conformance, AnOrderlyCloseIsSeenAfterTheLastByte) {
  const Buffer last_words(2, std::byte{7});
  ASSERT_TRUE(write_all(*ends_.a, last_words));
  std::thread closing([&] { ends_.a->close(); });  // a tiny line needs the reader to say goodbye
  const auto got = read_to_end(*ends_.b);
  closing.join();
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(*got, last_words);
  for (int again = 0; again < 3; ++again) {
    EXPECT_TRUE(ends_.b->wait({.read = true, .write = false}, soon(5000), nullptr));
    std::array<std::byte, 4> out;
    const auto outcome = ends_.b->read_some(out);
    ASSERT_TRUE(outcome) << outcome.error().message();
    EXPECT_TRUE(outcome->closed);
    EXPECT_EQ(outcome->bytes, 0u);
  }
}

TEST_P(Conformance, AVanishedPeerIsNoOrderlyEnd) {
  const Buffer some(2, std::byte{9});
  ASSERT_TRUE(carry(*ends_.b, some, *ends_.a));
  ends_.b.reset();
  const auto got = read_to_end(*ends_.a);
  if (!GetParam().tells_vanishing) return;  // no goodbye of its own: it ended, and that is all it can say
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind(), ErrorKind::network) << got.error().message();
  std::array<std::byte, 4> out;
  EXPECT_FALSE(ends_.a->read_some(out));  // sticky
}

TEST_P(Conformance, WritingToAPeerThatWentFailsAndKillsNobody) {
  std::thread closing([&] {
    ends_.b->close();
    ends_.b.reset();
  });
  std::array<std::byte, 512> sink;
  while (true) {  // lets a tiny line carry the goodbye
    const auto got = ends_.a->read_some(sink);
    if (!got || got->closed) break;
    if (!ends_.a->wait({.read = true, .write = false}, soon(5000), nullptr)) break;
  }
  closing.join();
  const Buffer block(1000);
  Status outcome;
  for (int i = 0; i < 2000 && outcome; ++i) {
    const auto taken = ends_.a->write_some(block);
    if (!taken) {
      outcome = taken.error();
    } else if (*taken == 0) {
      outcome = ends_.a->wait({.read = false, .write = true}, soon(5000), nullptr);
    }
  }
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind(), ErrorKind::network) << outcome.error().message();
}

TEST_P(Conformance, WaitingEndsAtTheDeadlineAndTheChannelGoesOn) {
  const Instant deadline = soon(30);
  std::array<std::byte, 1> out;
  while (true) {  // a link may wake its reader for nothing, but not for ever
    const auto got = ends_.a->read_some(out);
    ASSERT_TRUE(got);
    ASSERT_EQ(got->bytes, 0u);
    const Status waited = ends_.a->wait({.read = true, .write = false}, deadline, nullptr);
    if (waited) continue;
    EXPECT_EQ(waited.error().kind(), ErrorKind::timeout);
    break;
  }
  EXPECT_GE(std::chrono::steady_clock::now(), deadline);
  const auto got = carry(*ends_.b, Buffer(1, std::byte{42}), *ends_.a);
  ASSERT_TRUE(got);
  EXPECT_EQ((*got)[0], std::byte{42});
}

TEST_P(Conformance, CancelFromAnotherThreadEndsAWaitWithoutDeadline) {
  Cancel cancel;
  std::array<std::byte, 1> out;
  (void)ends_.a->read_some(out);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cancel.request();
  });
  Status waited;
  while (waited) {
    (void)ends_.a->read_some(out);
    waited = ends_.a->wait({.read = true, .write = false}, std::nullopt, &cancel);
  }
  other.join();
  EXPECT_EQ(waited.error().kind(), ErrorKind::cancelled);
  EXPECT_TRUE(carry(*ends_.b, Buffer(1), *ends_.a));
}

TEST_P(Conformance, AWriterWithoutAReaderIsStoppedAndGoesOnLater) {
  const Buffer block(32 * 1024, std::byte{5});
  std::uint64_t sent = 0;
  while (true) {
    const auto taken = ends_.a->write_some(block);
    ASSERT_TRUE(taken) << taken.error().message();
    sent += *taken;
    ASSERT_LE(sent, GetParam().capacity);
    if (*taken > 0) continue;
    const Status waited = ends_.a->wait({.read = false, .write = true}, soon(50), nullptr);
    if (!waited) {
      EXPECT_EQ(waited.error().kind(), ErrorKind::timeout);
      break;
    }
  }
  // The reader gets all of it, although the writer only waits: for a byte that comes when everything has arrived.
  bool answered = false;
  std::atomic<bool> over{false};
  std::thread writer([&] {
    answered = read_exactly_n(*ends_.a, 1).ok();
    over = true;
  });
  const auto got = read_exactly_n(*ends_.b, sent);
  EXPECT_TRUE(got) << got.error().message();
  EXPECT_TRUE(write_all(*ends_.b, Buffer(1)));
  while (!over) (void)ends_.b->wait({.read = true, .write = false}, soon(5), nullptr);
  writer.join();
  EXPECT_TRUE(answered);
  EXPECT_TRUE(ends_.a->wait({.read = false, .write = true}, soon(5000), nullptr));
  EXPECT_TRUE(carry(*ends_.a, Buffer(1), *ends_.b));
}

TEST_P(Conformance, AClosedChannelAnswersWithErrors) {
  std::thread reading([&] { (void)read_to_end(*ends_.b); });
  ends_.a->close();
  ends_.a->close();
  reading.join();
  std::array<std::byte, 1> byte{};
  EXPECT_FALSE(ends_.a->read_some(byte));
  EXPECT_FALSE(ends_.a->write_some(byte));
  EXPECT_TRUE(ends_.a->wait({.read = true, .write = true}, soon(1000), nullptr));
}

TEST_P(Conformance, EmptyBuffersAreHarmless) {
  const auto taken = ends_.a->write_some({});
  ASSERT_TRUE(taken);
  EXPECT_EQ(*taken, 0u);
  const auto got = ends_.a->read_some({});
  ASSERT_TRUE(got);
  EXPECT_EQ(got->bytes, 0u);
  EXPECT_FALSE(got->closed);
}

INSTANTIATE_TEST_SUITE_P(Links, Conformance, ::testing::ValuesIn(all_links()),
                         [](const auto& link) { return link.param.name; });

}  // namespace
}  // namespace peel::link::test
