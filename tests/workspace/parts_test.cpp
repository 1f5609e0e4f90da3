// The pure parts: range lists, stamps, names.
#include "scratch.h"
#include "workspace/file_source.h"
#include "workspace/identity.h"
#include "workspace/range_list.h"
#include "workspace/stamp.h"

namespace peel::workspace::test {
namespace {

TEST(RangeList, JoinsWhatTouches) {
  RangeList list;
  list.add(0, 10);
  list.add(10, 5);
  list.add(20, 1);
  list.add(20, 4);
  EXPECT_EQ(list.take(1000), (std::vector<Range>{{0, 15}, {20, 4}}));
}

TEST(RangeList, RoundsOutAndCuts) {
  RangeList list(4096);
  list.add(5000, 1);
  list.add(9000, 10);
  EXPECT_EQ(list.take(9010), (std::vector<Range>{{4096, 9010 - 4096}}));
  RangeList beyond(4096);
  beyond.add(0, 1);
  EXPECT_EQ(beyond.take(1), (std::vector<Range>{{0, 1}}));
}

TEST(RangeList, NeverHoldsMoreThanItMayAndNeverSaysTooLittle) {
  constexpr std::size_t most = 64;
  RangeList list(1, most);
  std::vector<std::uint64_t> added;
  std::uint64_t at = 0;
  for (int i = 0; i < 5000; ++i) {
    at += 2 + static_cast<std::uint64_t>(i * i % 97);
    list.add(at, 1);
    added.push_back(at);
  }
  const auto ranges = list.take(at + 1);
  EXPECT_LE(ranges.size(), most);
  for (std::size_t i = 1; i < ranges.size(); ++i) EXPECT_GT(ranges[i].offset, ranges[i - 1].offset + ranges[i - 1].length);
  std::size_t r = 0;
  for (const std::uint64_t offset : added) {
    while (r < ranges.size() && ranges[r].offset + ranges[r].length <= offset) ++r;
    ASSERT_LT(r, ranges.size());
    EXPECT_LE(ranges[r].offset, offset);
  }
}

TEST(Differences, FindsEveryByte) {
  const std::string a = noise(20000);
  std::string b = a;
  std::vector<Range> wanted;
  for (const std::size_t offset : {0u, 1u, 4095u, 4096u, 9000u, 19999u}) b[offset] = static_cast<char>(b[offset] ^ 1);
  RangeList list;
  add_differences(100, as_bytes(a), as_bytes(b), list);
  EXPECT_EQ(list.take(~0ull), (std::vector<Range>{{100, 2}, {4195, 2}, {9100, 1}, {20099, 1}}));
}

Stamp some_stamp() {
  Stamp stamp;
  stamp.times.size = 1ull << 41;
  stamp.times.mtime_ns = 1'700'000'000'123'456'789;
  stamp.times.ctime_ns = -5;
  stamp.times.device = 7;
  stamp.times.inode = ~0ull;
  stamp.looked_ns = 1'800'000'000'000'000'000;
  stamp.quiet = true;
  stamp.revision.bytes[3] = std::byte{0xab};
  stamp.content.bytes[31] = std::byte{0x01};
  return stamp;
}

TEST(StampText, RoundTrip) {
  const Stamp stamp = some_stamp();
  const auto back = decode_stamp(encode_stamp(stamp));
  ASSERT_TRUE(back);
  EXPECT_TRUE(same_moment(back->times, stamp.times));
  EXPECT_EQ(back->looked_ns, stamp.looked_ns);
  EXPECT_EQ(back->quiet, stamp.quiet);
  EXPECT_EQ(back->revision, stamp.revision);
  EXPECT_EQ(back->content, stamp.content);
}

TEST(StampText, GoldenForm) {
  Stamp stamp;
  stamp.times.size = 1;
  stamp.times.mtime_ns = 2;
  stamp.times.ctime_ns = 3;
  stamp.times.device = 4;
  stamp.times.inode = 5;
  stamp.looked_ns = 6;
  EXPECT_EQ(encode_stamp(stamp), "1 1 2 3 4 5 6 0 " + std::string(64, '0') + " " + std::string(64, '0'));
}

TEST(StampText, AnythingElseIsNoStamp) {
  const std::string text = encode_stamp(some_stamp());
  for (std::size_t length = 0; length < text.size(); ++length) EXPECT_FALSE(decode_stamp(text.substr(0, length))) << length;
  EXPECT_FALSE(decode_stamp(text + " 1"));
  EXPECT_FALSE(decode_stamp("2" + text.substr(1)));
  EXPECT_FALSE(decode_stamp("1  2"));
}

TEST(StampProof, NeedsEveryCondition) {
  Stamp stamp = some_stamp();
  stamp.times.ctime_ns = stamp.times.mtime_ns;
  stamp.looked_ns = stamp.times.mtime_ns + stamp_margin_ns;
  const FileTimes same = stamp.times;
  EXPECT_TRUE(proves_unchanged(stamp, same, Writer::no));
  EXPECT_FALSE(proves_unchanged(stamp, same, Writer::yes));
  EXPECT_FALSE(proves_unchanged(stamp, same, Writer::unknown));
  const auto without = [&](auto&& change) {
    Stamp other = stamp;
    FileTimes now = same;
    change(other, now);
    return proves_unchanged(other, now, Writer::no);
  };
  EXPECT_FALSE(without([](Stamp& s, FileTimes&) { s.quiet = false; }));
  EXPECT_FALSE(without([](Stamp& s, FileTimes&) { s.looked_ns -= 1; }));
  EXPECT_FALSE(without([](Stamp&, FileTimes& t) { t.size += 1; }));
  EXPECT_FALSE(without([](Stamp&, FileTimes& t) { t.mtime_ns += 1; }));
  EXPECT_FALSE(without([](Stamp&, FileTimes& t) { t.ctime_ns += 1; }));
  EXPECT_FALSE(without([](Stamp&, FileTimes& t) { t.inode -= 1; }));
  EXPECT_FALSE(without([](Stamp&, FileTimes& t) { t.device += 1; }));
}

TEST(Locate, NamesBesideAndElsewhere) {
  const Scratch dir;
  const auto plain = locate(dir / "data.h5");
  ASSERT_OK(plain);
  EXPECT_EQ(plain->onion, dir / "data.h5.onion");
  const auto by_onion = locate(dir / "data.h5.onion");
  ASSERT_OK(by_onion);
  EXPECT_EQ(by_onion->file, dir / "data.h5");
  EXPECT_EQ(by_onion->onion, dir / "data.h5.onion");
  const auto elsewhere = locate(dir / "data.h5", dir / "history");
  ASSERT_OK(elsewhere);
  EXPECT_EQ(elsewhere->onion, dir / "history");
  EXPECT_TRUE(elsewhere->onion_elsewhere);
  EXPECT_FAILS(locate(""), ErrorKind::usage);
  EXPECT_FAILS(locate(dir.path()), ErrorKind::usage);
  EXPECT_FAILS(locate(dir / "x/"), ErrorKind::not_found);
}

TEST(Locate, AFileThatEndsInOnionMayHaveAHistoryToo) {
  const Scratch dir;
  write_file(dir / "odd.onion", "not a history");
  write_file(dir / "odd.onion.onion", "its history");
  const auto paths = locate(dir / "odd.onion");
  ASSERT_OK(paths);
  EXPECT_EQ(paths->file, dir / "odd.onion");
  EXPECT_EQ(paths->onion, dir / "odd.onion.onion");
}

TEST(RefNames, WhatRevCouldMeanOtherwiseIsRefused) {
  for (const char* good : {"main", "run-7", "alice/wip", "v1.0", "abcde", "fade", "feature_x", "größe"})
    EXPECT_TRUE(check_ref_name(good).ok()) << good;
  for (const char* bad : {"", "@1", "=ab", "-x", "a~1", "a^", "a b", "abcdef", "0123456789", "a..b", "/a", "a/", "a//b", "a\n",
                          "a{1}", "\xff", "a:b"})
    EXPECT_FALSE(check_ref_name(bad).ok()) << bad;
  EXPECT_FALSE(check_ref_name(std::string(201, 'x')).ok());
}

TEST(Texts, AreCutAtACharacter) {
  EXPECT_EQ(cut_text("größe", 3), "gr");
  EXPECT_EQ(cut_text("größe", 4), "grö");
  EXPECT_EQ(cut_text("ab", 5), "ab");
}

}  // namespace
}  // namespace peel::workspace::test
