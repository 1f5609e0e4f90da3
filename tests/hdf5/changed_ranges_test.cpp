// A caller that knows which bytes differ pays only for those, and gets the same answer.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/hdf5/support.h"

namespace peel::hdf5::test {
namespace {

class ChangedRanges : public ::testing::Test {
 protected:
  static constexpr hsize_t n = 400'000;

  // Compares a.h5 and b.h5 with and without ranges: same changes. Returns the report made with them.
  FileDiff both_ways() {
    const auto a = MemorySource::of_file(dir_ / "a.h5"), b = MemorySource::of_file(dir_ / "b.h5");
    const auto plain = compare(a, b);
    CompareOptions options;
    options.changed = changed_ranges(a, b);
    const auto informed = compare(a, b, options);
    EXPECT_TRUE(plain && informed);
    if (!plain || !informed) return {};
    EXPECT_EQ(informed->changes, plain->changes);
    EXPECT_LE(informed->bytes_read, plain->bytes_read);
    return *informed;
  }
  void copy_a_to_b() { std::filesystem::copy_file(dir_ / "a.h5", dir_ / "b.h5", std::filesystem::copy_options::overwrite_existing); }

  TempDirectory dir_;
};

TEST_F(ChangedRanges, EditInPlaceReadsOneChunk) {
  for (const FileMaker::Options& options : {FileMaker::Options{}, FileMaker::Options{.latest = true}, FileMaker::Options{.user_block = 2048}}) {
    {
      FileMaker f(dir_ / "a.h5", options);
      f.dataset("/chunks", {n}, counting<double>(n), {.chunk = {10'000}});
      f.dataset("/packed", {n}, counting<double>(n), {.chunk = {10'000}, .gzip = 1});
      f.dataset("/untouched", {n}, counting<double>(n), {.chunk = {10'000}});
    }
    copy_a_to_b();
    {
      FileMaker f = FileMaker::edit(dir_ / "b.h5");
      f.put("/chunks", {123'456}, 0.5);
      f.put("/packed", {399'999}, 0.5);
    }
    const FileDiff report = both_ways();
    EXPECT_EQ(lines(report), (std::vector<std::string>{"values changed dataset /chunks 1 of 400000 max 123456",
                                                       "values changed dataset /packed 1 of 400000 max 399998"}));
    // The chunk of 80,000 bytes on two sides, the packed one, and neighbours that share 64 bytes with a change.
    EXPECT_LE(report.bytes_read, 6u * 80'000);
    EXPECT_GE(report.bytes_read, 2u * 80'000);
  }
}

TEST_F(ChangedRanges, ContiguousReadsTheTilesThatChanged) {
  const hsize_t rows = 3'000, columns = 1'000;  // 24 MB: six tiles
  {
    FileMaker f(dir_ / "a.h5", {.user_block = 512});
    f.dataset("/flat", {rows, columns}, counting<double>(rows * columns));
    f.dataset("/scalar", {}, std::vector<double>{3});
  }
  copy_a_to_b();
  {
    FileMaker f = FileMaker::edit(dir_ / "b.h5");
    f.put("/flat", {2'999, 999}, -1.0);
  }
  const FileDiff report = both_ways();
  EXPECT_EQ(lines(report), (std::vector<std::string>{"values changed dataset /flat 1 of 3000000 max 3e+06"}));
  EXPECT_LE(report.bytes_read, 2u * (5u << 20));
}

TEST_F(ChangedRanges, NothingChangedNeedsNoHelper) {
  const MemorySource nonsense(Buffer(100));
  CompareOptions options;
  options.changed.emplace();
  const auto report = compare(nonsense, nonsense, options);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->changes.empty());
}

TEST_F(ChangedRanges, AppendedRowsAndNewObjects) {
  {
    FileMaker f(dir_ / "a.h5");
    f.dataset("/x", {n}, counting<double>(n), {.chunk = {10'000}, .most = {H5S_UNLIMITED}});
  }
  copy_a_to_b();
  {
    FileMaker f = FileMaker::edit(dir_ / "b.h5");
    const hid_t dataset = H5Dopen2(f.id(), "/x", H5P_DEFAULT);
    const hsize_t longer = n + 5;
    H5Dset_extent(dataset, &longer);
    H5Dclose(dataset);
    f.dataset("/y", {10}, counting<double>(10));
  }
  const FileDiff report = both_ways();
  EXPECT_EQ(lines(report), (std::vector<std::string>{"reshaped dataset /x ([400000] -> [400005])",
                                                     "added dataset /y ( -> float64 [10], contiguous)"}));
  EXPECT_LE(report.bytes_read, 2u * 80'000);  // at most the chunk before what was appended
}

// The pointers of variable-length data stay where they are when only the heap they point into changes.
TEST_F(ChangedRanges, VariableLengthDataIsAlwaysRead) {
  {
    FileMaker f(dir_ / "a.h5");
    f.strings("/x", std::vector<std::string>(100, "some text"));
  }
  const auto a = MemorySource::of_file(dir_ / "a.h5");
  MemorySource b = a;
  const std::string_view all(reinterpret_cast<const char*>(b.bytes.data()), b.bytes.size());
  const std::size_t at = all.find("some text");
  ASSERT_NE(at, std::string_view::npos);
  b.bytes[at] = std::byte{'S'};
  CompareOptions options;
  options.changed = changed_ranges(a, b);
  const auto report = compare(a, b, options);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->changes.size(), 1u);
  EXPECT_EQ(report->changes[0].changed, 1u);
}

TEST_F(ChangedRanges, RewrittenFile) {
  {
    FileMaker f(dir_ / "a.h5");
    f.dataset("/first", {50}, counting<double>(50));
    f.dataset("/x", {n}, counting<double>(n), {.chunk = {10'000}});
  }
  {
    FileMaker f(dir_ / "b.h5");
    auto values = counting<double>(n);
    values[7] = 70;
    f.dataset("/x", {n}, values, {.chunk = {10'000}});
    f.dataset("/first", {50}, counting<double>(50));
  }
  EXPECT_EQ(lines(both_ways()), (std::vector<std::string>{"values changed dataset /x 1 of 400000 max 63"}));
}

}  // namespace
}  // namespace peel::hdf5::test
