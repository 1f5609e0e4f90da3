// Files written by every released format stay readable: committed files and freshly written ones have the same facts.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/hex.h"
#include "golden/golden_files.h"
#include "peel/onion.h"

using namespace peel;
using golden::Facts;

namespace {

std::string golden_directory() {
  const char* source = std::getenv("PEEL_SOURCE_DIR");
  return std::string(source ? source : ".") + "/tests/golden";
}

Facts manifest() {
  std::ifstream in(golden_directory() + "/manifest.json");
  return Facts::parse(in, nullptr, false);
}

struct ScratchDirectory {
  std::string path;
  ScratchDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "peel-golden-XXXXXX").string();
    path = ::mkdtemp(name.data()) ? name : "";
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
};

// Everything of `onion` but what only the file itself can say (its mark).
void expect_facts(const Onion& onion, Facts expected, const std::string& name) {
  expected["marked"] = Facts::array();
  const auto facts = golden::describe(onion);
  ASSERT_TRUE(facts) << name << ": " << facts.error().message();
  EXPECT_EQ(*facts, expected) << name;
}

// `torn`: one of its superblocks was written to be broken.
void expect_whole(Onion& onion, const std::string& name, bool torn = false) {
  const auto rows = onion.list();
  ASSERT_TRUE(rows) << name;
  for (const auto& row : *rows) {
    const auto reader = onion.open_revision(row.number);
    ASSERT_TRUE(reader) << name << " @" << row.number << ": " << reader.error().message();
    const auto verified = reader->verify();
    EXPECT_TRUE(verified) << name << " @" << row.number << ": " << verified.error().message();
  }
  const auto report = onion.verify({.deep = true});
  ASSERT_TRUE(report) << name << ": " << report.error().message();
  EXPECT_EQ(report->damage.size(), torn ? 1u : 0u) << name << (report->damage.empty() ? "" : ": " + report->damage[0].what);
  EXPECT_EQ(report->revisions, rows->size()) << name;
}

// Each file of the manifest, opened from `directory`.
void for_each_file(const std::string& directory, const std::function<void(Onion&, const Facts&, const std::string&)>& look) {
  const Facts all = manifest();
  ASSERT_GE(all.size(), 15u) << "manifest.json is missing or damaged";
  for (const auto& [name, facts] : all.items()) {
    auto onion = Onion::open(directory + "/" + name);
    if (facts.contains("unsupported")) {
      ASSERT_FALSE(onion) << name;
      EXPECT_EQ(onion.error().kind(), ErrorKind::unsupported) << name;
      continue;
    }
    ASSERT_TRUE(onion) << name << ": " << onion.error().message();
    look(*onion, facts, name);
  }
}

}  // namespace

TEST(Golden, EveryFileReadsAsItsManifestSays) {
  for_each_file(golden_directory(), [](Onion& onion, const Facts& facts, const std::string& name) {
    expect_facts(onion, facts, name);
    expect_whole(onion, name, name == "fallback.onion");
  });
}

TEST(Golden, TogetherTheyUseEveryCodecAndPageSizeOfNote) {
  std::set<std::string> codecs;
  std::size_t holes = 0;
  for_each_file(golden_directory(), [&](Onion& onion, const Facts&, const std::string& name) {
    const auto rows = onion.list();
    ASSERT_TRUE(rows) << name;
    for (const auto& row : *rows) {
      const auto storage = onion.storage(row.number);
      ASSERT_TRUE(storage) << name;
      for (const auto& r : storage->rows) r.codec == "hole" ? void(++holes) : void(codecs.insert(r.codec));
    }
  });
  EXPECT_EQ(codecs, (std::set<std::string>{"raw", "const", "lz4", "zstd", "shuf+zstd", "shuf+lz4", "dbp", "delta+shuf+zstd", "planes"}));
  EXPECT_GT(holes, 0u);
}

TEST(Golden, TheyStaySmall) {
  std::uintmax_t total = 0;
  for (const auto& entry : std::filesystem::directory_iterator(golden_directory())) {
    if (entry.path().extension() != ".onion") continue;
    EXPECT_LT(entry.file_size(), 100'000u) << entry.path();
    EXPECT_TRUE(manifest().contains(entry.path().filename().string())) << entry.path() << " is not in the manifest";
    total += entry.file_size();
  }
  EXPECT_LT(total, 400'000u);
}

// Ids and digests depend on content, parents and metadata alone: what is written today has the old names.
TEST(Golden, FreshFilesHaveTheSameFacts) {
  const ScratchDirectory scratch;
  const auto made = golden::make_golden_files(scratch.path);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(*made, manifest());
  for_each_file(scratch.path, [](Onion& onion, const Facts& facts, const std::string& name) {
    expect_facts(onion, facts, name);
    expect_whole(onion, name, name == "fallback.onion");
  });
}

// An old file is not only read: history goes on in it and nothing old changes.
TEST(Golden, HistoryGoesOn) {
  const ScratchDirectory scratch;
  const Facts all = manifest();
  for (const auto& [name, facts] : all.items()) {
    if (facts.contains("unsupported")) continue;
    const std::string path = scratch.path + "/" + name;
    std::filesystem::copy_file(golden_directory() + "/" + name, path);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    auto onion = Onion::open(path, {.access = Access::write});
    ASSERT_TRUE(onion) << name << ": " << onion.error().message();
    const std::string text = "appended by today's library";
    const Write w{7, as_bytes(text)};
    const auto added = onion->commit_writes(std::span(&w, 1), 40'000, {});
    ASSERT_TRUE(added) << name << ": " << added.error().message();
    ASSERT_TRUE(added->added) << name;
    auto again = Onion::open(path);
    ASSERT_TRUE(again) << name << ": " << again.error().message();
    auto now = golden::describe(*again);
    ASSERT_TRUE(now) << name;
    ASSERT_EQ((*now)["revisions"].size(), facts["revisions"].size() + 1) << name;
    EXPECT_EQ((*now)["revisions"].back()["id"], to_hex(added->revision.id)) << name;
    (*now)["revisions"].erase(facts["revisions"].size());
    EXPECT_EQ((*now)["revisions"], facts["revisions"]) << name;
    onion = fail(ErrorKind::usage, "closed");
    again = Onion::open(path);
    ASSERT_TRUE(again) << name;
    expect_whole(*again, name);  // also fallback.onion: closing mended its superblock
  }
}

// The mark in marked.onion is carried out by the next flush, but for what got a name since.
TEST(Golden, ADeferredMarkIsCarriedOut) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path + "/marked.onion";
  std::filesystem::copy_file(golden_directory() + "/marked.onion", path);
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  const Facts facts = manifest()["marked.onion"];
  ASSERT_EQ(facts["marked"], Facts::parse("[1,3,4]"));
  auto onion = Onion::open(path, {.access = Access::write});
  ASSERT_TRUE(onion) << onion.error().message();
  const auto flushed = onion->flush();
  ASSERT_TRUE(flushed) << flushed.error().message();
  std::vector<std::uint64_t> left;
  const auto rows = onion->list();
  ASSERT_TRUE(rows);
  for (const auto& row : *rows) left.push_back(row.number);
  EXPECT_EQ(left, (std::vector<std::uint64_t>{2, 4, 5, 6}));
  expect_whole(*onion, "marked.onion");
}
