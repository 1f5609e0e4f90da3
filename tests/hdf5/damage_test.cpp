// Damaged and hostile files through the real helper: whatever the bytes, the caller gets an answer or an error,
// soon, and no process stays behind.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <random>

#include "tests/hdf5/support.h"

namespace peel::hdf5::test {
namespace {

using Clock = std::chrono::steady_clock;

// Small, with one of everything, so that most bytes mean something.
MemorySource rich_file(const std::string& path, const FileMaker::Options& options) {
  {
    FileMaker f(path, options);
    f.dataset("/g/packed", {20, 20}, counting<double>(400), {.chunk = {7, 6}, .gzip = 2, .shuffle = true});
    f.dataset("/grown", {30}, counting<std::int32_t>(30), {.chunk = {4}, .most = {H5S_UNLIMITED}});
    f.dataset("/compact", {3}, counting<float>(3), {.compact = true});
    f.dataset("/flat", {50}, counting<std::int64_t>(50));
    f.strings("/text", {"some", "text", "in a heap"});
    f.text_attribute("/flat", "unit", "K");
    f.attribute("/g", "number", 2.5);
    H5Lcreate_soft("/flat", f.id(), "/soft", H5P_DEFAULT, H5P_DEFAULT);
    hobj_ref_t reference;
    H5Rcreate(&reference, f.id(), "/flat", H5R_OBJECT, -1);
    f.raw_attribute("/g", "ref", {}, H5T_STD_REF_OBJ, &reference);
  }
  return MemorySource::of_file(path);
}

class Damage : public ::testing::Test {
 protected:
  // Asks everything; returns how it ended.
  void ask(const MemorySource& whole, const MemorySource& damaged) {
    const auto begin = Clock::now();
    const Limits limits{.time_max = std::chrono::seconds(2)};
    count(inspect(damaged, limits));
    count(compare(whole, damaged, {.limits = limits}));
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(10));
  }
  template <class T>
  void count(const Result<T>& result) {
    ++outcomes_[result ? "answered" : result.error().message().substr(0, 40)];
    if (result) return;
    const ErrorKind kind = result.error().kind();
    EXPECT_TRUE(kind == ErrorKind::corrupt || kind == ErrorKind::limit || kind == ErrorKind::timeout) << result.error().message();
  }
  void TearDown() override {
    for (const auto& [how, times] : outcomes_) std::printf("  %5d %s\n", times, how.c_str());
  }

  TempDirectory dir_;
  std::map<std::string, int> outcomes_;
};

TEST_F(Damage, FlippedBytes) {
  std::mt19937 random(20);
  for (const bool latest : {false, true}) {
    const MemorySource whole = rich_file(dir_ / "x.h5", {.latest = latest});
    for (int round = 0; round < 90; ++round) {
      MemorySource damaged = whole;
      const int flips = 1 + static_cast<int>(random() % 4);
      for (int i = 0; i < flips; ++i) {
        // Half of them where the structure is densest.
        const std::size_t at = random() % (random() % 2 ? damaged.bytes.size() : 2048);
        damaged.bytes[at] = static_cast<std::byte>(random() % 3 == 0 ? 0xff : random());
      }
      ask(whole, damaged);
    }
  }
}

TEST_F(Damage, Truncated) {
  const MemorySource whole = rich_file(dir_ / "x.h5", {});
  for (std::size_t n = 0; n < whole.bytes.size(); n += whole.bytes.size() / 23) {
    MemorySource damaged = whole;
    damaged.bytes.resize(n);
    const Limits limits{.time_max = std::chrono::seconds(20)};
    const auto health = inspect(damaged, limits);
    ASSERT_TRUE(health);
    EXPECT_NE(health->state, HealthState::healthy) << n;
    count(compare(whole, damaged, {.limits = limits}));
  }
}

TEST_F(Damage, HolesOfZerosAndNoise) {
  std::mt19937 random(3);
  const MemorySource whole = rich_file(dir_ / "x.h5", {});
  for (int round = 0; round < 30; ++round) {
    MemorySource damaged = whole;
    const std::size_t begin = 96 + random() % (damaged.bytes.size() - 96);
    const std::size_t end = std::min<std::size_t>(damaged.bytes.size(), begin + 64 + random() % 1024);
    for (std::size_t i = begin; i < end; ++i) damaged.bytes[i] = round % 2 ? std::byte{0} : static_cast<std::byte>(random());
    ask(whole, damaged);
  }
}

// What cannot be read is said, not passed over: a chunk that does not unpack is no "no change".
TEST_F(Damage, AChunkThatDoesNotUnpackIsReported) {
  {
    FileMaker f(dir_ / "x.h5");
    std::vector<std::int64_t> values(10'000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i * i * 2654435761u);
    f.dataset("/x", {10'000}, values, {.chunk = {1'000}, .gzip = 6});
  }
  const auto whole = MemorySource::of_file(dir_ / "x.h5");
  MemorySource damaged = whole;
  for (std::size_t i = 0; i < 500; ++i) damaged.bytes[damaged.bytes.size() / 2 + i] ^= std::byte{0x5a};
  CompareOptions options;
  for (const bool with_ranges : {false, true}) {
    if (with_ranges) options.changed = changed_ranges(whole, damaged);
    const auto diff = compare(whole, damaged, options);
    ASSERT_TRUE(diff) << diff.error().message();
    ASSERT_FALSE(diff->changes.empty());
    EXPECT_EQ(diff->changes.back().what, What::not_compared);
    EXPECT_NE(diff->changes.back().note.find("in the file after"), std::string::npos) << diff->changes.back().note;
  }
}

TEST_F(Damage, ValuesBeyondTheEndAreNotZeros) {
  {
    FileMaker f(dir_ / "x.h5");
    f.dataset("/x", {10'000}, std::vector<double>(10'000, 0.0));
  }
  const auto whole = MemorySource::of_file(dir_ / "x.h5");
  MemorySource cut = whole;
  cut.bytes.resize(cut.bytes.size() - 1000);
  const auto diff = compare(whole, cut);
  ASSERT_TRUE(diff) << diff.error().message();
  ASSERT_EQ(diff->changes.size(), 1u);
  EXPECT_EQ(diff->changes[0].what, What::not_compared);
}

}  // namespace
}  // namespace peel::hdf5::test
