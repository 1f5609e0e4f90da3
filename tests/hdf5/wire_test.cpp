// Frames, requests and answers as bytes: round trips, golden bytes, and what a hostile sender may try.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/hex.h"
#include "hdf5/answer.h"
#include "hdf5/protocol.h"

namespace peel::hdf5 {
namespace {

constexpr std::size_t many = 1000;

Health some_health() {
  return {.state = HealthState::truncated, .swmr = true, .size = 5, .expected_size = UINT64_MAX, .text = "cut short"};
}

Listing some_listing() {
  Listing out;
  out.objects.push_back({.path = "/", .kind = ObjectKind::group});
  out.objects.push_back({.path = "/x\n\xff", .kind = ObjectKind::dataset, .type = "float64", .shape = {3, 4}, .shape_max = {3, UINT64_MAX},
                         .layout = "chunked", .chunk = {1, 2}, .filters = "gzip 6", .storage_bytes = 77,
                         .attributes = {{.name = "unit", .type = "string[2]", .value = "'K'"}, {.name = "n", .type = "int8", .shape = {2}}}});
  out.complete = false;
  out.incomplete_because = "the time was over";
  return out;
}

FileDiff some_diff() {
  FileDiff out;
  out.changes.push_back({.path = "/x", .what = What::values_changed, .changed = 3, .total = 9, .max_difference = 0.1, .note = "note"});
  out.changes.push_back({.path = "/x", .attribute = "a", .object = ObjectKind::attribute, .what = What::added, .after = "int8 = 1"});
  out.changes.push_back({.path = "/y", .object = ObjectKind::link, .what = What::not_compared,
                         .max_difference = std::numeric_limits<double>::infinity()});
  out.datasets_compared = 2;
  out.bytes_read = 1000;
  return out;
}

// Every way to decode; what it is does not matter, only that it ends well.
void decode_all(Bytes bytes) {
  (void)decode_health(bytes).ok();
  (void)decode_listing(bytes, many).ok();
  (void)decode_file_diff(bytes, many).ok();
  (void)decode_request(bytes).ok();
  (void)decode_frame_header(bytes).ok();
}

TEST(Hdf5Answer, RoundTrips) {
  EXPECT_EQ(decode_health(encode_answer(some_health())).value(), some_health());
  EXPECT_EQ(decode_listing(encode_answer(some_listing()), many).value(), some_listing());
  EXPECT_EQ(decode_file_diff(encode_answer(some_diff()), many).value(), some_diff());
  EXPECT_EQ(decode_file_diff(encode_answer(FileDiff{}), 0).value(), FileDiff{});
}

TEST(Hdf5Answer, GoldenBytes) {
  EXPECT_EQ(to_hex(encode_answer(some_health())), "000101010500000000000000ffffffffffffffff0900637574"
                                                  "2073686f7274");
  FileDiff diff;
  diff.changes.push_back({.path = "/x", .what = What::values_changed, .changed = 3, .total = 9, .max_difference = 0.5});
  EXPECT_EQ(to_hex(encode_answer(diff)), "000301000000000000000000000000000000000000010000000200"
                                         "2f7800000105000000000103000000000000000900000000000000"
                                         "01000000000000e03f0000");
}

TEST(Hdf5Answer, TruncatedAnywhereIsNonsense) {
  const auto check = [](const Buffer& whole, auto decode) {
    for (std::size_t n = 0; n < whole.size(); ++n) {
      const auto result = decode(Bytes(whole).first(n));
      ASSERT_FALSE(result) << n;
      EXPECT_EQ(result.error().kind(), ErrorKind::corrupt);
    }
    Buffer longer = whole;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(decode(Bytes(longer)));
  };
  check(encode_answer(some_health()), [](Bytes b) { return decode_health(b); });
  check(encode_answer(some_listing()), [](Bytes b) { return decode_listing(b, many); });
  check(encode_answer(some_diff()), [](Bytes b) { return decode_file_diff(b, many); });
}

TEST(Hdf5Answer, FlippedBitsEndWell) {
  for (const Buffer& whole : {encode_answer(some_health()), encode_answer(some_listing()), encode_answer(some_diff())}) {
    for (std::size_t i = 0; i < whole.size(); ++i) {
      for (int bit = 0; bit < 8; ++bit) {
        Buffer flipped = whole;
        flipped[i] ^= static_cast<std::byte>(1 << bit);
        decode_all(flipped);
      }
    }
  }
}

TEST(Hdf5Answer, RandomBytesEndWell) {
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    Buffer bytes(random() % 80);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random() % 4 == 0 ? random() : random() % 4);
    if (bytes.size() > 1) bytes[0] = std::byte{0};
    decode_all(bytes);
  }
}

TEST(Hdf5Answer, CountsAreBelievedOnlyAsFarAsThereAreBytes) {
  Buffer bytes = encode_answer(FileDiff{});
  for (std::size_t i = bytes.size() - 4; i < bytes.size(); ++i) bytes[i] = std::byte{0xff};  // four thousand million changes
  EXPECT_FALSE(decode_file_diff(bytes, SIZE_MAX));
}

TEST(Hdf5Answer, MoreItemsThanAskedForAreRefused) {
  EXPECT_TRUE(decode_file_diff(encode_answer(some_diff()), 3));
  EXPECT_FALSE(decode_file_diff(encode_answer(some_diff()), 2));
  EXPECT_TRUE(decode_listing(encode_answer(some_listing()), 4));  // two objects, two attributes
  EXPECT_FALSE(decode_listing(encode_answer(some_listing()), 3));
}

TEST(Hdf5Answer, ErrorsAreRepeatedButNotEveryKindIsBelieved) {
  const auto limit = decode_health(encode_answer(fail(ErrorKind::limit, "too big")));
  ASSERT_FALSE(limit);
  EXPECT_EQ(limit.error().kind(), ErrorKind::limit);
  EXPECT_EQ(limit.error().message(), "too big");
  const auto cancelled = decode_health(encode_answer(fail(ErrorKind::cancelled, "you pressed a key")));
  EXPECT_EQ(cancelled.error().kind(), ErrorKind::corrupt);
  EXPECT_FALSE(decode_health(encode_answer(some_diff())));  // the answer to another question
}

TEST(Hdf5Answer, OverlongTextIsCut) {
  Health health = some_health();
  health.text.assign(100'000, 'x');
  EXPECT_EQ(decode_health(encode_answer(health)).value().text.size(), text_size_max);
}

TEST(Hdf5Request, RoundTripsAndRefusesEverythingShorter) {
  Request request;
  request.question = Question::compare;
  request.memory_bytes_max = 1u << 30;
  request.cpu_seconds_max = 31;
  request.time_ms = 27'000;
  request.items_max = 10;
  request.sizes = {1, 2};
  request.path = "/g";
  request.changed = std::vector<Range>{{0, 5}, {100, 1}};
  const Buffer bytes = encode(request);
  EXPECT_EQ(decode_request(bytes).value(), request);
  for (std::size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(decode_request(Bytes(bytes).first(n)));
  Buffer other_version = bytes;
  other_version[0] = std::byte{99};
  EXPECT_EQ(decode_request(other_version).error().kind(), ErrorKind::unsupported);
}

TEST(Hdf5Frame, OnlyWhatIsWithinBounds) {
  const auto decoded = [](FrameKind kind, std::uint8_t source, std::uint32_t length, std::uint64_t offset) {
    return decode_frame_header(encode(FrameHeader{kind, source, length, offset})).ok();
  };
  EXPECT_TRUE(decoded(FrameKind::read, 1, read_size_max, UINT64_MAX));
  EXPECT_TRUE(decoded(FrameKind::answer, 0, answer_size_max, 0));
  EXPECT_TRUE(decoded(FrameKind::answer, 0, 0, 0));
  EXPECT_FALSE(decoded(FrameKind::read, 2, 1, 0));
  EXPECT_FALSE(decoded(FrameKind::read, 0, 0, 0));
  EXPECT_FALSE(decoded(FrameKind::read, 0, read_size_max + 1, 0));
  EXPECT_FALSE(decoded(FrameKind::answer, 0, answer_size_max + 1, 0));
  EXPECT_FALSE(decoded(FrameKind::answer, 1, 1, 0));
  EXPECT_FALSE(decoded(FrameKind::answer, 0, 1, 1));
  EXPECT_FALSE(decoded(static_cast<FrameKind>(3), 0, 1, 0));
}

}  // namespace
}  // namespace peel::hdf5
