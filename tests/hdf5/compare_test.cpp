// What compare() says about pairs of files whose difference is known, word for word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/hdf5/support.h"

namespace peel::hdf5::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Compare : public ::testing::Test {
 protected:
  using Write = std::function<void(FileMaker&)>;

  FileDiff diff(const Write& before, const Write& after, const CompareOptions& options = {}) {
    return diff({}, before, {}, after, options);
  }
  FileDiff diff(const FileMaker::Options& a, const Write& before, const FileMaker::Options& b, const Write& after,
                const CompareOptions& options = {}) {
    {
      FileMaker file(dir_ / "a.h5", a);
      before(file);
    }
    {
      FileMaker file(dir_ / "b.h5", b);
      after(file);
    }
    return compared(options);
  }
  FileDiff compared(const CompareOptions& options) {
    auto result = compare(MemorySource::of_file(dir_ / "a.h5"), MemorySource::of_file(dir_ / "b.h5"), options);
    EXPECT_TRUE(result) << result.error().message();
    if (!result) return {};
    EXPECT_TRUE(result->complete) << result->incomplete_because;
    return std::move(*result);
  }

  TempDirectory dir_;
};

TEST_F(Compare, EqualFilesInDifferentFormats) {
  const Write write = [](FileMaker& f) {
    f.dataset("/deep/down/x", {10, 10}, counting<double>(100), {.chunk = {3, 4}, .gzip = 6, .shuffle = true});
    f.dataset("/flat", {5}, counting<std::int32_t>(5));
    f.strings("/names", {"a", "", "long enough to be somewhere else"});
    f.text_attribute("/deep", "unit", "K");
  };
  EXPECT_THAT(lines(diff({}, write, {.latest = true, .user_block = 1024}, write)), IsEmpty());
}

TEST_F(Compare, CountsChangedElementsAndTheGreatestDifference) {
  const auto values = counting<double>(1000);
  auto edited = values;
  edited[3] += 0.25;
  edited[998] -= 7.5;
  for (const Stored& stored : {Stored{}, Stored{.chunk = {13}}, Stored{.chunk = {128}, .gzip = 1, .shuffle = true}, Stored{.compact = true}}) {
    const auto report = diff([&](FileMaker& f) { f.dataset("/x", {1000}, values, stored); },
                             [&](FileMaker& f) { f.dataset("/x", {1000}, edited, stored); });
    EXPECT_THAT(lines(report), ElementsAre("values changed dataset /x 2 of 1000 max 7.5"));
    EXPECT_EQ(report.datasets_compared, 1u);
  }
}

TEST_F(Compare, EveryNumberTypeAtItsEnds) {
  const auto extremes = [&]<class T>(T low, T high) {
    return diff([&](FileMaker& f) { f.dataset("/x", {2}, std::vector<T>{low, 0}); },
                [&](FileMaker& f) { f.dataset("/x", {2}, std::vector<T>{high, 0}); })
        .changes.at(0).max_difference.value();
  };
  EXPECT_EQ(extremes(std::int8_t{-128}, std::int8_t{127}), 255.0);
  EXPECT_EQ(extremes(std::uint8_t{0}, std::uint8_t{255}), 255.0);
  EXPECT_EQ(extremes(INT32_MIN, INT32_MAX), 4294967295.0);
  EXPECT_EQ(extremes(INT64_MIN, INT64_MAX), 18446744073709551615.0);
  EXPECT_EQ(extremes(std::uint64_t{0}, UINT64_MAX), 18446744073709551615.0);
  EXPECT_EQ(extremes(-1.5f, 2.0f), 3.5);
  EXPECT_EQ(extremes(-1e300, 1e300), 2e300);
  EXPECT_EQ(extremes(0.0L, 0.5L), 0.5);
}

TEST_F(Compare, BigEndianAndOddWidthIntegers) {
  const hid_t three_bytes = H5Tcopy(H5T_STD_I32BE);
  H5Tset_precision(three_bytes, 24);
  H5Tset_size(three_bytes, 3);
  const Stored stored{.file_type = three_bytes};
  const auto report = diff([&](FileMaker& f) { f.dataset("/x", {3}, std::vector<std::int32_t>{1, -8'000'000, 3}, stored); },
                           [&](FileMaker& f) { f.dataset("/x", {3}, std::vector<std::int32_t>{1, 8'000'000, 3}, stored); });
  EXPECT_THAT(lines(report), ElementsAre("values changed dataset /x 1 of 3 max 1.6e+07"));
  H5Tclose(three_bytes);
}

TEST_F(Compare, NotANumberAndInfinity) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const auto report = diff([&](FileMaker& f) { f.dataset("/x", {6}, std::vector<double>{nan, nan, inf, 0.0, 1, inf}); },
                           [&](FileMaker& f) { f.dataset("/x", {6}, std::vector<double>{-nan, 1, inf, -0.0, 1.5, -1}); });
  // NaN is NaN whatever its sign, 0 is -0; a NaN that went away counts, but has no distance.
  ASSERT_EQ(report.changes.size(), 1u);
  EXPECT_EQ(report.changes[0].changed, 3u);
  EXPECT_EQ(report.changes[0].max_difference, inf);
}

TEST_F(Compare, OnlyNaNsChangedHasNoDifference) {
  const auto report = diff([](FileMaker& f) { f.dataset("/x", {2}, std::vector<double>{1, 2}); },
                           [](FileMaker& f) { f.dataset("/x", {2}, std::vector<double>{std::nan(""), 2}); });
  EXPECT_THAT(lines(report), ElementsAre("values changed dataset /x 1 of 2"));
}

TEST_F(Compare, AddedRemovedAndReplacedObjects) {
  const auto report = diff(
      [](FileMaker& f) {
        f.dataset("/gone/inside/x", {2}, counting<float>(2));
        f.group("/now_a_dataset");
        f.dataset("/stays", {1}, counting<float>(1));
      },
      [](FileMaker& f) {
        f.dataset("/new", {}, std::vector<double>{1}, {});
        f.dataset("/now_a_dataset", {3}, counting<std::int64_t>(3), {.chunk = {2}, .gzip = 3});
        f.dataset("/stays", {1}, counting<float>(1));
      });
  EXPECT_THAT(lines(report), ElementsAre("removed group /gone", "removed group /gone/inside",
                                         "removed dataset /gone/inside/x (float32 [2], contiguous -> )",
                                         "added dataset /new ( -> float64 scalar, contiguous)", "removed group /now_a_dataset",
                                         "added dataset /now_a_dataset ( -> int64 [3], chunked [2], gzip 3)"));
}

TEST_F(Compare, Reshaped) {
  const Stored stored{.chunk = {2, 2}, .most = {H5S_UNLIMITED, H5S_UNLIMITED}};
  const auto report = diff([&](FileMaker& f) { f.dataset("/x", {3, 4}, std::vector<float>(12, 1), stored); },
                           [&](FileMaker& f) {
                             std::vector<float> values(5 * 3, 1);
                             values[1] = 4;   // [0, 1]: in both
                             values[14] = 9;  // [4, 2]: only in the new shape
                             f.dataset("/x", {5, 3}, values, stored);
                           });
  EXPECT_THAT(lines(report), ElementsAre("reshaped dataset /x ([3, 4] -> [5, 3])", "values changed dataset /x 1 of 9 max 3"));
}

TEST_F(Compare, AnotherRankIsNotCompared) {
  const auto report = diff([](FileMaker& f) { f.dataset("/x", {4}, counting<float>(4)); },
                           [](FileMaker& f) { f.dataset("/x", {2, 2}, counting<float>(4, 9)); });
  EXPECT_THAT(lines(report),
              ElementsAre("reshaped dataset /x ([4] -> [2, 2]): values are not compared between shapes of different rank"));
}

TEST_F(Compare, MaximumShapeAlone) {
  const auto report = diff([](FileMaker& f) { f.dataset("/x", {4}, counting<float>(4), {.chunk = {2}, .most = {8}}); },
                           [](FileMaker& f) { f.dataset("/x", {4}, counting<float>(4), {.chunk = {2}, .most = {H5S_UNLIMITED}}); });
  EXPECT_THAT(lines(report), ElementsAre("storage changed dataset /x (chunked [2], at most [8] -> chunked [2], at most [unlimited])"));
}

TEST_F(Compare, TypeChangedBetweenNumbers) {
  const auto report = diff([](FileMaker& f) { f.dataset("/x", {3}, std::vector<std::int32_t>{1, 2, 3}); },
                           [](FileMaker& f) { f.dataset("/x", {3}, std::vector<double>{1, 2.5, 3}); });
  EXPECT_THAT(lines(report), ElementsAre("type changed dataset /x (int32 -> float64)",
                                         "values changed dataset /x 1 of 3 max 0.5: compared after conversion"));
}

TEST_F(Compare, WideningKeepsEveryBitOfAnInteger) {
  const auto report = diff([](FileMaker& f) { f.dataset("/x", {1}, std::vector<std::int64_t>{INT64_MAX}); },
                           [](FileMaker& f) { f.dataset("/x", {1}, std::vector<std::uint64_t>{INT64_MAX}); });
  EXPECT_THAT(lines(report), ElementsAre("type changed dataset /x (int64 -> uint64)"));
}

TEST_F(Compare, ByteOrderIsAType) {
  const auto report = diff([](FileMaker& f) { f.dataset("/x", {3}, counting<std::int32_t>(3)); },
                           [](FileMaker& f) { f.dataset("/x", {3}, counting<std::int32_t>(3), {.file_type = H5T_STD_I32BE}); });
  EXPECT_THAT(lines(report), ElementsAre("type changed dataset /x (int32 -> int32 BE)"));
}

TEST_F(Compare, TypeChangedBetweenUnlikeTypes) {
  const auto report = diff([](FileMaker& f) { f.dataset("/x", {3}, counting<std::int32_t>(3)); },
                           [](FileMaker& f) { f.strings("/x", {"0", "1", "2"}); });
  EXPECT_THAT(lines(report), ElementsAre("type changed dataset /x (int32 -> string (variable))"));
}

TEST_F(Compare, StorageChangedValuesNot) {
  const auto report = diff([](FileMaker& f) { f.dataset("/x", {9}, counting<float>(9)); },
                           [](FileMaker& f) { f.dataset("/x", {9}, counting<float>(9), {.chunk = {4}, .gzip = 9, .shuffle = true}); });
  EXPECT_THAT(lines(report), ElementsAre("storage changed dataset /x (contiguous -> chunked [4], shuffle, gzip 9)"));
}

TEST_F(Compare, VariableStrings) {
  const auto report = diff([](FileMaker& f) { f.strings("/x", {"one", "two", "three"}); },
                           [](FileMaker& f) { f.strings("/x", {"one", "too", "threefold"}); });
  EXPECT_THAT(lines(report), ElementsAre("values changed dataset /x 2 of 3"));
}

TEST_F(Compare, WhatFollowsTheEndOfAStringDoesNotCount) {
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, 8);
  const auto report = diff([&](FileMaker& f) { f.raw_dataset("/x", {2}, type, "abc\0****abc\0...."); },
                           [&](FileMaker& f) { f.raw_dataset("/x", {2}, type, "abc\0????abd\0...."); });
  EXPECT_THAT(lines(report), ElementsAre("values changed dataset /x 1 of 2"));
  H5Tclose(type);
}

TEST_F(Compare, RecordsWithPaddingAndLists) {
  struct Row {
    std::int8_t a;
    double b;
    hvl_t list;
  };
  const hid_t list = H5Tvlen_create(H5T_NATIVE_INT32), type = H5Tcreate(H5T_COMPOUND, sizeof(Row));
  H5Tinsert(type, "a", HOFFSET(Row, a), H5T_NATIVE_INT8);
  H5Tinsert(type, "b", HOFFSET(Row, b), H5T_NATIVE_DOUBLE);
  H5Tinsert(type, "list", HOFFSET(Row, list), list);
  std::int32_t items[] = {1, 2, 3}, others[] = {1, 2, 4};
  Row rows[4];
  std::memset(rows, 0x55, sizeof rows);
  for (int i = 0; i < 4; ++i) {
    rows[i].a = static_cast<std::int8_t>(i);
    rows[i].b = i;
    rows[i].list = {3, items};
  }
  Row edited[4];
  std::memcpy(edited, rows, sizeof rows);
  std::memset(reinterpret_cast<char*>(edited) + 1, 0x66, 7);  // padding behind the first a
  edited[1].b = std::nan("");
  edited[2].list.p = others;
  edited[3].list.len = 2;
  const auto report = diff([&](FileMaker& f) { f.raw_dataset("/x", {4}, type, rows); },
                           [&](FileMaker& f) { f.raw_dataset("/x", {4}, type, edited); });
  EXPECT_THAT(lines(report), ElementsAre("values changed dataset /x 3 of 4"));
  H5Tclose(type);
  H5Tclose(list);
}

TEST_F(Compare, ArraysOfNumbersHaveADifferenceEnumerationsNone) {
  const hsize_t three = 3;
  const hid_t array = H5Tarray_create2(H5T_NATIVE_FLOAT, 1, &three), label = H5Tenum_create(H5T_NATIVE_INT32);
  for (const int value : {0, 7}) H5Tenum_insert(label, value ? "ON" : "OFF", &value);
  const float old_rows[] = {1, 2, 3, 4, 5, 6}, new_rows[] = {1, 2, 3, 4, 9, 8};
  const int old_labels[] = {0, 7}, new_labels[] = {7, 7};
  const auto report = diff(
      [&](FileMaker& f) {
        f.raw_dataset("/array", {2}, array, old_rows);
        f.raw_dataset("/label", {2}, label, old_labels);
      },
      [&](FileMaker& f) {
        f.raw_dataset("/array", {2}, array, new_rows);
        f.raw_dataset("/label", {2}, label, new_labels);
      });
  EXPECT_THAT(lines(report), ElementsAre("values changed dataset /array 1 of 2 max 4", "values changed dataset /label 1 of 2"));
  H5Tclose(array);
  H5Tclose(label);
}

TEST_F(Compare, Attributes) {
  const auto report = diff(
      [](FileMaker& f) {
        f.dataset("/x", {1}, counting<float>(1));
        f.text_attribute("/x", "unit", "K");
        f.attribute("/x", "gain", 1.5);
        f.attribute("/x", "same", 4.0);
        f.attribute("/x", "retyped", 4.0);
        f.attribute("/", "root", std::int32_t{1});
      },
      [](FileMaker& f) {
        f.dataset("/x", {1}, counting<float>(1));
        f.text_attribute("/x", "unit", "C");
        f.attribute("/x", "gain", 1.75);
        f.attribute("/x", "same", 4.0);
        f.attribute("/x", "retyped", std::int32_t{4});
        f.attribute("/x", "new", std::uint8_t{200});
      });
  EXPECT_THAT(lines(report), ElementsAre("removed attribute /@root (int32 = 1 -> )", "values changed attribute /x@gain (1.5 -> 1.75) 1 of 1 max 0.25",
                                         "added attribute /x@new ( -> uint8 = 200)",
                                         "type changed attribute /x@retyped (float64 = 4 -> int32 = 4)",
                                         "values changed attribute /x@unit ('K' -> 'C') 1 of 1"));
}

TEST_F(Compare, LinksAreComparedNotFollowed) {
  const auto links = [](FileMaker& f, const char* soft, const char* file) {
    f.dataset("/x", {1}, counting<float>(1));
    H5Lcreate_soft(soft, f.id(), "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external(file, "/there", f.id(), "external", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/nowhere", f.id(), "dangling", H5P_DEFAULT, H5P_DEFAULT);
  };
  const auto report = diff([&](FileMaker& f) { links(f, "/x", "/etc/passwd"); }, [&](FileMaker& f) { links(f, "/y", "a.h5"); });
  EXPECT_THAT(lines(report),
              ElementsAre("target changed link /external (external link to /etc/passwd:/there (not followed) -> external link to a.h5:/there (not followed))",
                          "target changed link /soft (soft link to /x -> soft link to /y)"));
}

TEST_F(Compare, HardLinksAndCycles) {
  const auto write = [](FileMaker& f, float first) {
    f.dataset("/g/x", {2}, std::vector<float>{first, 2});
    H5Lcreate_hard(f.id(), "/g/x", f.id(), "/again", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(f.id(), "/", f.id(), "/g/up", H5P_DEFAULT, H5P_DEFAULT);
  };
  EXPECT_THAT(lines(diff([&](FileMaker& f) { write(f, 1); }, [&](FileMaker& f) { write(f, 3); })),
              ElementsAre("values changed dataset /again 1 of 2 max 2"));
  // A whole cycle that appears is listed once.
  EXPECT_THAT(lines(diff([](FileMaker&) {},
                         [&](FileMaker& f) {
                           f.group("/g/h");
                           H5Lcreate_hard(f.id(), "/g", f.id(), "/g/h/g", H5P_DEFAULT, H5P_DEFAULT);
                         })),
              ElementsAre("added group /g", "added group /g/h", "added group /g/h/g: its contents are listed at another path"));
}

TEST_F(Compare, ReferencesMeanWhatTheyName) {
  const auto write = [](FileMaker& f, bool other_order, const char* target) {
    if (other_order) f.dataset("/b", {100}, counting<float>(100));
    f.dataset("/a", {1}, counting<float>(1));
    if (!other_order) f.dataset("/b", {100}, counting<float>(100));
    hobj_ref_t reference;
    H5Rcreate(&reference, f.id(), target, H5R_OBJECT, -1);
    f.raw_attribute("/a", "ref", {}, H5T_STD_REF_OBJ, &reference);
  };
  EXPECT_THAT(lines(diff([&](FileMaker& f) { write(f, false, "/b"); }, [&](FileMaker& f) { write(f, true, "/b"); })), IsEmpty());
  EXPECT_THAT(lines(diff([&](FileMaker& f) { write(f, false, "/b"); }, [&](FileMaker& f) { write(f, true, "/a"); })),
              ElementsAre("values changed attribute /a@ref 1 of 1"));
}

TEST_F(Compare, NamedTypesAndEmptyDatasets) {
  const auto report = diff(
      [](FileMaker& f) {
        const hid_t type = H5Tcopy(H5T_STD_I16LE);
        H5Tcommit2(f.id(), "/t", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        H5Tclose(type);
        f.raw_dataset("/none", {0}, H5T_NATIVE_FLOAT, nullptr, {.chunk = {4}, .most = {H5S_UNLIMITED}});
        f.raw_dataset("/never_written", {4}, H5T_NATIVE_FLOAT, nullptr);
      },
      [](FileMaker& f) {
        const hid_t type = H5Tcopy(H5T_STD_I32LE);
        H5Tcommit2(f.id(), "/t", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        H5Tclose(type);
        f.raw_dataset("/none", {0}, H5T_NATIVE_FLOAT, nullptr, {.chunk = {4}, .most = {H5S_UNLIMITED}});
        f.dataset("/never_written", {4}, std::vector<float>{0, 0, 0, 5});
      });
  EXPECT_THAT(lines(report), ElementsAre("values changed dataset /never_written 1 of 4 max 5", "type changed named type /t (int16 -> int32)"));
}

TEST_F(Compare, OnePathOnly) {
  const auto write = [](FileMaker& f, float v) {
    f.dataset("/g/x", {1}, std::vector<float>{v});
    f.dataset("/g/xx", {1}, std::vector<float>{v});
    f.dataset("/other", {1}, std::vector<float>{v});
    f.attribute("/g", "a", v);
    f.attribute("/", "a", v);
  };
  const Write before = [&](FileMaker& f) { write(f, 1); }, after = [&](FileMaker& f) { write(f, 2); };
  EXPECT_THAT(lines(diff(before, after, {.path = "/g/x"})), ElementsAre("values changed dataset /g/x 1 of 1 max 1"));
  EXPECT_THAT(lines(diff(before, after, {.path = "g/"})),
              ElementsAre("values changed attribute /g@a (1 -> 2) 1 of 1 max 1", "values changed dataset /g/x 1 of 1 max 1",
                          "values changed dataset /g/xx 1 of 1 max 1"));
  const auto missing = compare(MemorySource::of_file(dir_ / "a.h5"), MemorySource::of_file(dir_ / "b.h5"), {.path = "/g/y"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind(), ErrorKind::not_found);
}

TEST_F(Compare, MoreThanOneTile) {
  // 12 MB in one dataset, chunks larger than a tile, rows that do not divide anything evenly.
  const hsize_t rows = 1031, columns = 1500;
  auto values = counting<double>(rows * columns);
  const Stored big_chunks{.chunk = {700, 1100}};
  const Write before = [&](FileMaker& f) {
    f.dataset("/flat", {rows, columns}, values);
    f.dataset("/chunks", {rows, columns}, values, big_chunks);
    f.dataset("/small", {rows, columns}, values, {.chunk = {7, 11}});
  };
  auto edited = values;
  edited.front() += 1;
  edited.back() += 2;
  edited[rows * columns / 2] += 3;
  const Write after = [&](FileMaker& f) {
    f.dataset("/flat", {rows, columns}, edited);
    f.dataset("/chunks", {rows, columns}, edited, big_chunks);
    f.dataset("/small", {rows, columns}, edited, {.chunk = {7, 11}});
  };
  EXPECT_THAT(lines(diff(before, after)), ElementsAre("values changed dataset /chunks 3 of 1546500 max 3", "values changed dataset /flat 3 of 1546500 max 3",
                                                      "values changed dataset /small 3 of 1546500 max 3"));
}

TEST_F(Compare, ReportsNoMoreThanAllowed) {
  const auto write = [](FileMaker& f, float v) {
    for (int i = 0; i < 30; ++i) f.dataset("/x" + std::to_string(100 + i), {1}, std::vector<float>{v});
  };
  {
    FileMaker a(dir_ / "a.h5"), b(dir_ / "b.h5");
    write(a, 1);
    write(b, 2);
  }
  CompareOptions options;
  options.limits.items_max = 10;
  const auto report = compare(MemorySource::of_file(dir_ / "a.h5"), MemorySource::of_file(dir_ / "b.h5"), options);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->changes.size(), 10u);
  EXPECT_FALSE(report->complete);
  EXPECT_EQ(report->incomplete_because, "the report would be too long");
}

}  // namespace
}  // namespace peel::hdf5::test
