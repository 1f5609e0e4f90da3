#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tests/trust/scratch_config.h"

namespace peel::trust::test {
namespace {

using ConfigDirectoryTest = ScratchConfig;

TEST_F(ConfigDirectoryTest, EverythingIsPrivate) {
  const ConfigDirectory d = directory();
  ASSERT_TRUE(d.write("a", as_bytes("x")));
  ASSERT_TRUE(d.write("sub/dir/b", as_bytes("y")));
  ASSERT_TRUE(d.lock());
  EXPECT_EQ(mode_of(path()), 0700u);
  EXPECT_EQ(mode_of(path() + "/sub"), 0700u);
  EXPECT_EQ(mode_of(path() + "/sub/dir"), 0700u);
  for (const char* name : {"/a", "/sub/dir/b", "/lock"}) EXPECT_EQ(mode_of(path() + name), 0600u) << name;
  EXPECT_FALSE(std::filesystem::exists(path() + "/a.new"));
}

TEST_F(ConfigDirectoryTest, WiderModesAreNarrowed) {
  ASSERT_TRUE(directory().write("a", as_bytes("x")));
  std::filesystem::permissions(path(), std::filesystem::perms(0755));
  std::filesystem::permissions(path() + "/a", std::filesystem::perms(0644));
  ASSERT_TRUE(directory().read("a", 10));
  EXPECT_EQ(mode_of(path()), 0700u);
  EXPECT_EQ(mode_of(path() + "/a"), 0600u);
}

TEST_F(ConfigDirectoryTest, ReadsWhatWasWrittenWithinTheLimit) {
  const ConfigDirectory d = directory();
  const auto absent = d.read("a", 10);
  ASSERT_TRUE(absent);
  EXPECT_FALSE(absent->has_value());
  ASSERT_TRUE(d.write("a", as_bytes("first and long")));
  ASSERT_TRUE(d.write("a", as_bytes("second")));
  const auto content = d.read("a", 6);
  ASSERT_TRUE(content);
  EXPECT_EQ(**content, Buffer(as_bytes("second").begin(), as_bytes("second").end()));
  const auto large = d.read("a", 5);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().kind(), ErrorKind::limit);
  ASSERT_TRUE(d.remove("a"));
  ASSERT_TRUE(d.remove("a"));
  EXPECT_FALSE(d.read("a", 10)->has_value());
}

TEST_F(ConfigDirectoryTest, WhatACrashLeftBehindDoesNotStopAWrite) {
  const ConfigDirectory d = directory();
  put_text("a.new", "half a wri");
  ASSERT_TRUE(d.write("a", as_bytes("whole")));
  EXPECT_EQ(text_of("a"), "whole");
}

TEST_F(ConfigDirectoryTest, ADirectoryWhereAFileBelongsIsRefused) {
  const ConfigDirectory d = directory();
  std::filesystem::create_directory(path() + "/a");
  EXPECT_FALSE(d.read("a", 10));
  const auto file_as_directory = [&] {
    put_text("f", "");
    return ConfigDirectory::open_at(path() + "/f");
  }();
  EXPECT_FALSE(file_as_directory);
}

TEST_F(ConfigDirectoryTest, TheEnvironmentNamesThePlace) {
  ::setenv("HOME", (root_ + "/home").c_str(), 1);
  ::setenv("XDG_CONFIG_HOME", (root_ + "/xdg").c_str(), 1);
  ::setenv("PEEL_CONFIG_DIR", (root_ + "/own/").c_str(), 1);
  EXPECT_EQ(ConfigDirectory::open()->path(), root_ + "/own");
  ::unsetenv("PEEL_CONFIG_DIR");
  EXPECT_EQ(ConfigDirectory::open()->path(), root_ + "/xdg/peel");
  ::setenv("XDG_CONFIG_HOME", "relative", 1);
  EXPECT_EQ(ConfigDirectory::open()->path(), root_ + "/home/.config/peel");
  ::unsetenv("XDG_CONFIG_HOME");
  ::unsetenv("HOME");
  EXPECT_EQ(ConfigDirectory::open().error().kind(), ErrorKind::usage);
}

TEST_F(ConfigDirectoryTest, TheLockExcludesThreads) {
  const ConfigDirectory d = directory();
  int inside = 0, seen_together = 0;
  const auto work = [&] {
    for (int i = 0; i < 50; ++i) {
      const auto lock = d.lock();
      if (++inside != 1) ++seen_together;
      std::this_thread::yield();
      --inside;
    }
  };
  std::thread one(work), two(work);
  one.join();
  two.join();
  EXPECT_EQ(seen_together, 0);
}

}  // namespace
}  // namespace peel::trust::test
