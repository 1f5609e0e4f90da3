// Health of files in every state a writer can leave them in, listings, and what the helper is allowed to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/hdf5/support.h"

namespace peel::hdf5::test {
namespace {

using ::testing::HasSubstr;

class Inspect : public ::testing::Test {
 protected:
  Health health_of(const MemorySource& source) {
    const auto result = inspect(source);
    EXPECT_TRUE(result) << result.error().message();
    return result ? *result : Health{};
  }
  MemorySource file(const FileMaker::Options& options) {
    {
      FileMaker f(dir_ / "x.h5", options);
      f.dataset("/g/x", {100}, counting<double>(100), {.chunk = {10}, .gzip = 1});
      f.attribute("/g", "a", 1.5);
    }
    return MemorySource::of_file(dir_ / "x.h5");
  }

  TempDirectory dir_;
};

TEST_F(Inspect, WholeFilesOfEveryFormat) {
  for (const FileMaker::Options& options : {FileMaker::Options{}, FileMaker::Options{.latest = true}, FileMaker::Options{.user_block = 512},
                                            FileMaker::Options{.latest = true, .user_block = 4096}}) {
    const MemorySource source = file(options);
    const Health health = health_of(source);
    EXPECT_EQ(health.state, HealthState::healthy) << health.text;
    EXPECT_EQ(health.size, source.size());
    EXPECT_EQ(health.expected_size, source.size());
  }
}

TEST_F(Inspect, CutShortAnywhere) {
  for (const FileMaker::Options& options : {FileMaker::Options{}, FileMaker::Options{.latest = true}, FileMaker::Options{.user_block = 512}}) {
    const MemorySource whole = file(options);
    const std::size_t begin = options.user_block;
    for (const std::size_t left : {begin + 8, begin + 20, begin + 60, begin + 500, whole.bytes.size() / 2, whole.bytes.size() - 1}) {
      MemorySource cut = whole;
      cut.bytes.resize(left);
      EXPECT_EQ(health_of(cut).state, HealthState::truncated) << left;
    }
    MemorySource longer = whole;
    longer.bytes.resize(whole.bytes.size() + 100);
    EXPECT_EQ(health_of(longer).state, HealthState::healthy);
  }
}

TEST_F(Inspect, SomethingPutInFrontOfTheFile) {
  const MemorySource whole = file({});
  MemorySource moved(Buffer(512));
  moved.bytes.insert(moved.bytes.end(), whole.bytes.begin(), whole.bytes.end());
  EXPECT_EQ(health_of(moved).state, HealthState::healthy);
  EXPECT_EQ(health_of(moved).expected_size, moved.size());
  moved.bytes.pop_back();
  EXPECT_EQ(health_of(moved).state, HealthState::truncated);
}

TEST_F(Inspect, OpenForWriting) {
  FileMaker f(dir_ / "w.h5", {.latest = true});
  f.dataset("/x", {4}, counting<double>(4), {.chunk = {2}, .most = {H5S_UNLIMITED}});
  H5Fflush(f.id(), H5F_SCOPE_GLOBAL);
  const Health writing = health_of(MemorySource::of_file(dir_ / "w.h5"));
  EXPECT_EQ(writing.state, HealthState::open_for_writing);
  EXPECT_FALSE(writing.swmr);
  EXPECT_THAT(writing.text, HasSubstr("h5clear"));

  ASSERT_GE(H5Fstart_swmr_write(f.id()), 0);
  const auto source = MemorySource::of_file(dir_ / "w.h5");
  EXPECT_EQ(health_of(source).state, HealthState::open_for_writing);
  EXPECT_TRUE(health_of(source).swmr);
  // What is there can be looked at all the same.
  const auto listing = list(source);
  ASSERT_TRUE(listing) << listing.error().message();
  EXPECT_EQ(listing->objects.size(), 2u);

  f.close();
  EXPECT_EQ(health_of(MemorySource::of_file(dir_ / "w.h5")).state, HealthState::healthy);
}

TEST_F(Inspect, RootGroupDestroyed) {
  MemorySource source = file({});
  for (std::size_t i = 96; i < 800; ++i) source.bytes[i] = std::byte{0xee};
  EXPECT_EQ(health_of(source).state, HealthState::unreadable);
  source.bytes[8] = std::byte{77};
  EXPECT_EQ(health_of(source).state, HealthState::unreadable);
  EXPECT_THAT(health_of(source).text, HasSubstr("version 77"));
}

TEST_F(Inspect, ListsWhatThereIs) {
  {
    FileMaker f(dir_ / "x.h5");
    f.dataset("/g/x", {4, 6}, counting<float>(24), {.chunk = {2, 3}, .most = {H5S_UNLIMITED, 6}, .gzip = 4, .shuffle = true});
    f.text_attribute("/g/x", "unit", "m/s");
    const std::int32_t many[] = {1, 2, 3, 4, 5, 6, 7};
    f.raw_attribute("/g/x", "many", {7}, H5T_NATIVE_INT32, many);
    H5Lcreate_hard(f.id(), "/g/x", f.id(), "/g/y", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("other.h5", "/z", f.id(), "/away", H5P_DEFAULT, H5P_DEFAULT);
  }
  const auto listing = list(MemorySource::of_file(dir_ / "x.h5"));
  ASSERT_TRUE(listing) << listing.error().message();
  EXPECT_TRUE(listing->complete);
  ASSERT_EQ(listing->objects.size(), 5u);
  EXPECT_EQ(listing->objects[0].path, "/");
  EXPECT_EQ(listing->objects[1].path, "/away");
  EXPECT_EQ(listing->objects[1].target, "external link to other.h5:/z (not followed)");
  EXPECT_EQ(listing->objects[2].path, "/g");
  const Object& x = listing->objects[3];
  EXPECT_EQ(x.path, "/g/x");
  EXPECT_EQ(x.kind, ObjectKind::dataset);
  EXPECT_EQ(x.type, "float32");
  EXPECT_EQ(x.shape, (std::vector<std::uint64_t>{4, 6}));
  EXPECT_EQ(x.shape_max, (std::vector<std::uint64_t>{UINT64_MAX, 6}));
  EXPECT_EQ(x.layout, "chunked");
  EXPECT_EQ(x.chunk, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(x.filters, "shuffle, gzip 4");
  EXPECT_GT(x.storage_bytes, 0u);
  ASSERT_EQ(x.attributes.size(), 2u);
  EXPECT_EQ(x.attributes[0], (Attribute{.name = "many", .type = "int32", .shape = {7}, .value = "[1, 2, 3, 4, 5, 6, ...]"}));
  EXPECT_EQ(x.attributes[1], (Attribute{.name = "unit", .type = "string[4]", .value = "'m/s'"}));
  EXPECT_EQ(listing->objects[4].target, "same object as /g/x");
}

TEST_F(Inspect, AListThatWouldBeTooLongIsCutAndSaysSo) {
  {
    FileMaker f(dir_ / "x.h5");
    for (int i = 0; i < 50; ++i) f.group("/g" + std::to_string(i));
  }
  Limits limits;
  limits.items_max = 10;
  const auto listing = list(MemorySource::of_file(dir_ / "x.h5"), limits);
  ASSERT_TRUE(listing);
  EXPECT_LE(listing->objects.size(), 10u);
  EXPECT_FALSE(listing->complete);
}

TEST_F(Inspect, GroupsInGroupsWithoutEnd) {
  {
    FileMaker f(dir_ / "x.h5");
    std::string path;
    for (int i = 0; i < 300; ++i) path += "/g";
    f.group(path);
  }
  const auto source = MemorySource::of_file(dir_ / "x.h5");
  const auto listing = list(source);
  ASSERT_TRUE(listing);
  EXPECT_FALSE(listing->complete);
  EXPECT_THAT(listing->incomplete_because, HasSubstr("nested too deeply"));
  const auto diff = compare(source, source);
  ASSERT_TRUE(diff);
  EXPECT_FALSE(diff->complete);
}

// Looks at the helper from outside while it waits for its first bytes.
class Peeping : public MemorySource {
 public:
  explicit Peeping(const MemorySource& other) : MemorySource(other) {}
  Result<std::size_t> read_at(std::uint64_t offset, MutableBytes out) const override {
    std::ifstream children("/proc/thread-self/children");
    int pid = 0;
    if (status.empty() && children >> pid) {
      const std::string process = "/proc/" + std::to_string(pid);
      std::ifstream in(process + "/status");
      for (std::string line; std::getline(in, line);) status += line + "\n";
      std::ifstream bounds(process + "/limits");
      for (std::string line; std::getline(bounds, line);) limits += line + "\n";
    }
    return MemorySource::read_at(offset, out);
  }
  mutable std::string status, limits;
};

TEST_F(Inspect, TheHelperIsConfinedBeforeItSeesAByte) {
  const Peeping source(file({}));
  ASSERT_TRUE(inspect(source));
  EXPECT_THAT(source.status, HasSubstr("Seccomp:\t2"));
  EXPECT_THAT(source.status, HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(source.status, HasSubstr("Threads:\t1\n"));
#if !defined(__SANITIZE_ADDRESS__)  // sanitizers need more room, helper/confine.cpp
  EXPECT_THAT(source.limits, ::testing::ContainsRegex("Max open files +0 +0"));
  EXPECT_THAT(source.limits, ::testing::ContainsRegex("Max address space +1073741824 +1073741824"));
#endif
  EXPECT_THAT(source.limits, ::testing::ContainsRegex("Max file size +0 +0"));
  EXPECT_THAT(source.limits, ::testing::ContainsRegex("Max cpu time +31 +31"));
}

TEST_F(Inspect, MemoryIsBounded) {
  {
    FileMaker f(dir_ / "x.h5");
    // A chunk of 40 MB, of which the file holds next to nothing: compressed files can be bombs.
    f.raw_dataset("/x", {10'000'000}, H5T_NATIVE_FLOAT, nullptr, {.chunk = {10'000'000}, .gzip = 1});
    f.put("/x", {5}, 1.0f);
  }
  const auto source = MemorySource::of_file(dir_ / "x.h5");
  ASSERT_LT(source.size(), 200'000u);
  CompareOptions options;
  options.limits.helper_bytes_max = 64u << 20;
  const auto tight = compare(source, source, options);
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "sanitizers reserve all the address space there is";
#endif
  if (tight) {
    ASSERT_EQ(tight->changes.size(), 1u);
    EXPECT_EQ(tight->changes[0].what, What::not_compared);
  } else {
    EXPECT_EQ(tight.error().kind(), ErrorKind::limit) << tight.error().message();
  }
  const auto roomy = compare(source, source);
  ASSERT_TRUE(roomy) << roomy.error().message();
  EXPECT_TRUE(roomy->changes.empty());
}

}  // namespace
}  // namespace peel::hdf5::test
