// Files as h5py and its users leave them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/hdf5/support.h"

namespace peel::hdf5::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Interop : public ::testing::Test {
 protected:
  // One run of the script for all tests: starting Python is the slow part.
  static void SetUpTestSuite() {
    directory_ = new TempDirectory;
    const std::string command = "/usr/bin/python3 " PEEL_MAKE_FILES " '" + (*directory_ / "") + "' 2>/dev/null";
    made_ = std::system(command.c_str()) == 0;
  }
  static void TearDownTestSuite() { delete std::exchange(directory_, nullptr); }
  void SetUp() override {
    if (!made_) GTEST_SKIP() << "/usr/bin/python3 has no h5py here";
  }

  static MemorySource file(const std::string& name) { return MemorySource::of_file(*directory_ / name + ".h5"); }
  static Health health(const std::string& name) {
    const auto result = inspect(file(name));
    EXPECT_TRUE(result) << result.error().message();
    return result ? *result : Health{};
  }

  static inline TempDirectory* directory_ = nullptr;
  static inline bool made_ = false;
};

TEST_F(Interop, EveryKindOfDataset) {
  for (const char* name : {"mixed", "mixed_latest"}) {
    const auto before = file(name + std::string(".before")), after = file(name + std::string(".after"));
    const auto diff = compare(before, after);
    ASSERT_TRUE(diff) << diff.error().message();
    EXPECT_TRUE(diff->complete);
    EXPECT_THAT(lines(*diff),
                ElementsAre("values changed dataset /complex 1 of 2", "values changed dataset /flags 1 of 2",
                            "values changed dataset /half 1 of 3 max 0.5", "values changed dataset /lists 1 of 2",
                            "values changed dataset /lzf: filter 32000 (lzf) is not available: 3 of 3 chunks differ as stored",
                            "values changed dataset /words 1 of 3"));
    const auto same = compare(before, before);
    ASSERT_TRUE(same);
    EXPECT_THAT(lines(*same), ElementsAre());
  }
  const auto across = compare(file("mixed.before"), file("mixed_latest.before"));
  ASSERT_TRUE(across);
  EXPECT_THAT(lines(*across), ElementsAre());
}

TEST_F(Interop, NothingOutsideTheFileIsTouched) {
  const auto listing = list(file("mixed.before"));
  ASSERT_TRUE(listing) << listing.error().message();
  int seen = 0;
  for (const Object& object : listing->objects) {
    if (object.path == "/external") {
      EXPECT_EQ(object.target, "external link to elsewhere.h5:/x (not followed)");
      ++seen;
    }
    if (object.path == "/virtual") {
      EXPECT_EQ(object.layout, "virtual");
      EXPECT_THAT(object.target, HasSubstr("elsewhere.h5"));
      ++seen;
    }
    if (object.path == "/outside") {
      EXPECT_EQ(object.layout, "external");
      EXPECT_THAT(object.target, HasSubstr("elsewhere.raw"));
      ++seen;
    }
  }
  EXPECT_EQ(seen, 3);
}

TEST_F(Interop, DimensionScalesSurviveBeingMoved) {
  const auto diff = compare(file("scales.before"), file("scales.after"));
  ASSERT_TRUE(diff) << diff.error().message();
  EXPECT_THAT(lines(*diff), ElementsAre("added dataset /first ( -> float64 [10], contiguous)"));
}

TEST_F(Interop, WritersThatWereKilled) {
  EXPECT_EQ(health("killed_swmr").state, HealthState::open_for_writing);
  EXPECT_TRUE(health("killed_swmr").swmr);
  EXPECT_EQ(health("killed_latest").state, HealthState::open_for_writing);
  EXPECT_FALSE(health("killed_latest").swmr);
  EXPECT_EQ(health("killed_latest_early").state, HealthState::open_for_writing);
  EXPECT_THAT(health("killed_latest_early").text, HasSubstr("promises"));
  // The old format carries no mark: flushed, it looks whole; not flushed, it is short.
  EXPECT_EQ(health("killed_old").state, HealthState::healthy);
  EXPECT_EQ(health("killed_old_early").state, HealthState::truncated);
  EXPECT_EQ(health("swmr").state, HealthState::healthy);

  const auto diff = compare(file("killed_swmr"), file("swmr"));
  ASSERT_TRUE(diff) << diff.error().message();
  EXPECT_THAT(lines(*diff), ElementsAre("reshaped dataset /x ([200] -> [100])", "values changed dataset /x 99 of 100 max 96"));
}

}  // namespace
}  // namespace peel::hdf5::test
