// The superblock parser against bytes written down here by hand, and cutting into tiles.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "hdf5/helper/superblock.h"
#include "hdf5/helper/tiles.h"
#include "hdf5/signature.h"

namespace peel::hdf5 {
namespace {

constexpr const char* signature = "\x89HDF\r\n\x1a\n";

Buffer version_0_or_1(std::uint8_t version, std::uint64_t base, std::uint64_t end) {
  WireWriter out;
  out.bytes(as_bytes(std::string_view(signature, 8))).integer(version);
  out.integer(std::uint32_t{0}).integer(std::uint8_t{8}).integer(std::uint8_t{8}).integer(std::uint8_t{0});
  out.integer(std::uint16_t{4}).integer(std::uint16_t{16}).integer(std::uint32_t{5});  // flags: unused, must be ignored
  if (version == 1) out.integer(std::uint16_t{32}).integer(std::uint16_t{0});
  out.integer(base).integer(UINT64_MAX).integer(end).integer(UINT64_MAX);
  return std::move(out).take();
}

Buffer version_2_or_3(std::uint8_t version, std::uint8_t flags, std::uint64_t base, std::uint64_t end) {
  WireWriter out;
  out.bytes(as_bytes(std::string_view(signature, 8))).integer(version);
  out.integer(std::uint8_t{8}).integer(std::uint8_t{8}).integer(flags);
  out.integer(base).integer(UINT64_MAX).integer(end).integer(std::uint64_t{48}).integer(std::uint32_t{0});
  return std::move(out).take();
}

TEST(Superblock, AllVersions) {
  for (const std::uint8_t version : {0, 1}) {
    const auto s = parse_superblock(version_0_or_1(version, 0, 4096), 0).value();
    EXPECT_EQ(s.version, version);
    EXPECT_EQ(s.end_of_file, 4096u);
    EXPECT_FALSE(s.writer || s.swmr_writer);
  }
  for (const std::uint8_t flags : {0, 1, 4, 5}) {
    const auto old = parse_superblock(version_2_or_3(2, flags, 0, 4096), 0).value();
    EXPECT_FALSE(old.writer || old.swmr_writer);  // the byte means something since version 3 only
    const auto s = parse_superblock(version_2_or_3(3, flags, 0, 4096), 0).value();
    EXPECT_EQ(s.writer, (flags & 1) != 0);
    EXPECT_EQ(s.swmr_writer, (flags & 4) != 0);
    EXPECT_EQ(s.end_of_file, 4096u);
  }
}

TEST(Superblock, NarrowAddresses) {
  WireWriter out;
  out.bytes(as_bytes(std::string_view(signature, 8))).integer(std::uint8_t{2}).integer(std::uint8_t{4}).integer(std::uint8_t{4}).integer(std::uint8_t{0});
  for (const std::uint32_t address : {0u, UINT32_MAX, 1000u}) out.integer(address);
  EXPECT_EQ(parse_superblock(out.view(), 0).value().end_of_file, 1000u);
}

TEST(Superblock, EndOfFileMovesWithTheUserBlock) {
  EXPECT_EQ(parse_superblock(version_0_or_1(0, 512, 5000), 512).value().end_of_file, 5000u);
  // Put behind a block of 1024 afterwards: everything is 512 further on than it was written.
  EXPECT_EQ(parse_superblock(version_0_or_1(0, 512, 5000), 1024).value().end_of_file, 5512u);
  EXPECT_EQ(parse_superblock(version_0_or_1(0, 512, 5000), 0).value().end_of_file, 4488u);
  EXPECT_EQ(parse_superblock(version_0_or_1(0, 0, UINT64_MAX), 0).value().end_of_file, std::nullopt);
  EXPECT_EQ(parse_superblock(version_0_or_1(0, 0, UINT64_MAX - 1), 512).value().end_of_file, std::nullopt);  // would wrap
}

TEST(Superblock, TruncatedAnywhere) {
  const std::pair<Buffer, std::size_t> cases[] = {{version_0_or_1(0, 0, 1), 48}, {version_0_or_1(1, 0, 1), 52}, {version_2_or_3(3, 0, 0, 1), 36}};
  for (const auto& [whole, needed] : cases) {
    for (std::size_t n = 0; n < needed; ++n) {
      const auto result = parse_superblock(Bytes(whole).first(n), 0);
      ASSERT_FALSE(result) << n;
      EXPECT_EQ(result.error().kind(), ErrorKind::truncated) << n;
    }
    EXPECT_TRUE(parse_superblock(Bytes(whole).first(needed), 0));
  }
}

TEST(Superblock, Refusals) {
  Buffer bytes = version_2_or_3(3, 0, 0, 1);
  bytes[0] = std::byte{0};
  EXPECT_EQ(parse_superblock(bytes, 0).error().kind(), ErrorKind::corrupt);
  EXPECT_EQ(parse_superblock(version_2_or_3(4, 0, 0, 1), 0).error().kind(), ErrorKind::unsupported);
  bytes = version_2_or_3(3, 0, 0, 1);
  for (const int width : {0, 1, 3, 16, 255}) {
    bytes[9] = static_cast<std::byte>(width);
    EXPECT_EQ(parse_superblock(bytes, 0).error().kind(), ErrorKind::corrupt);
  }
}

// Every element once, no tile too large, tiles on the grid.
TEST(Tiles, CoverTheRegionOnce) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const std::size_t rank = random() % 4;
    Box region;
    Extents grid;
    for (std::size_t d = 0; d < rank; ++d) {
      region.start.push_back(0);
      region.count.push_back(1 + random() % 9);
      grid.push_back(1 + random() % 5);
    }
    const std::uint64_t most = 1 + random() % 40;
    const Extents tile = tile_shape(region.count, grid, most);
    EXPECT_LE((Box{Extents(rank, 0), tile}.elements()), most);
    std::map<Extents, int> seen;
    for_each_tile(region, tile, [&](const Box& box) {
      for_each_tile(box, Extents(rank, 1), [&](const Box& one) {
        ++seen[one.start];
        return true;
      });
      return true;
    });
    EXPECT_EQ(seen.size(), region.elements());
    for (const auto& [at, times] : seen) EXPECT_EQ(times, 1);
  }
}

TEST(Tiles, PreferWholeCellsAndLongRuns) {
  EXPECT_EQ(tile_shape({1000, 1000}, {1, 1}, 5000), (Extents{5, 1000}));
  EXPECT_EQ(tile_shape({1000, 1000}, {10, 10}, 5000), (Extents{10, 500}));
  EXPECT_EQ(tile_shape({1000, 1000}, {10, 10}, 25'000), (Extents{20, 1000}));
  EXPECT_EQ(tile_shape({1000, 1000}, {100, 100}, 2'500), (Extents{25, 100}));
  EXPECT_EQ(tile_shape({}, {}, 1), Extents{});
}

TEST(Tiles, StopWhenTold) {
  int visits = 0;
  EXPECT_FALSE(for_each_tile(Box{{0}, {10}}, {1}, [&](const Box&) { return ++visits < 3; }));
  EXPECT_EQ(visits, 3);
}

}  // namespace
}  // namespace peel::hdf5
