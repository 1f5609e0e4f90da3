// One conformance suite for every FileSystem: what an onion may rely on.
#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

namespace peel {
namespace {

// A file system and a directory in it to write to.
class Place {
 public:
  virtual ~Place() = default;
  virtual FileSystem& files() = 0;
  virtual std::string path(const std::string& name) = 0;
};

class PosixPlace final : public Place {
 public:
  PosixPlace() {
    std::string pattern = (std::filesystem::temp_directory_path() / "peel-file-test-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~PosixPlace() override { std::filesystem::remove_all(root_); }
  FileSystem& files() override { return posix_file_system(); }
  std::string path(const std::string& name) override { return root_ + "/" + name; }

 private:
  std::string root_;
};

class MemoryPlace final : public Place {
 public:
  FileSystem& files() override { return *files_; }
  std::string path(const std::string& name) override { return name; }

 private:
  std::unique_ptr<FileSystem> files_ = make_memory_file_system();
};

template <class P>
class FileTest : public testing::Test {
 protected:
  FileSystem& files() { return place_.files(); }
  std::string path(const std::string& name) { return place_.path(name); }
  std::unique_ptr<File> create(const std::string& name, std::string_view content = "") {
    auto file = files().open(path(name), OpenMode::create_new);
    EXPECT_TRUE(file.ok()) << file.error().message();
    EXPECT_TRUE((*file)->write_at(0, as_bytes(content)).ok());
    return std::move(file).value();
  }
  std::string content(const std::string& name) {
    auto file = files().open(path(name), OpenMode::read);
    if (!file) return "(" + file.error().message() + ")";
    return all_of(**file);
  }
  static std::string all_of(const File& file) {
    std::string text(*file.size(), '?');
    EXPECT_TRUE(read_exactly(file, 0, std::as_writable_bytes(std::span(text.data(), text.size()))).ok());
    return text;
  }

 private:
  P place_;
};
using Places = testing::Types<PosixPlace, MemoryPlace>;
TYPED_TEST_SUITE(FileTest, Places);

TYPED_TEST(FileTest, WhatIsWrittenIsRead) {
  auto file = this->create("a", "hello");
  EXPECT_EQ(this->all_of(*file), "hello");
  EXPECT_TRUE(file->write_at(3, as_bytes("LO, world")).ok());  // across the end
  EXPECT_EQ(this->all_of(*file), "helLO, world");
  EXPECT_TRUE(file->sync_data().ok());
  EXPECT_EQ(this->content("a"), "helLO, world");
  EXPECT_TRUE(file->write_at(12, {}).ok());
  EXPECT_EQ(*file->size(), 12u);
}

TYPED_TEST(FileTest, ReadsAreShortOnlyAtTheEnd) {
  auto file = this->create("a", "0123456789");
  std::array<std::byte, 8> out;
  EXPECT_EQ(*file->read_at(0, out), 8u);
  EXPECT_EQ(*file->read_at(6, out), 4u);
  EXPECT_EQ(*file->read_at(10, out), 0u);
  EXPECT_EQ(*file->read_at(1000, out), 0u);
  EXPECT_TRUE(read_exactly(*file, 2, out).ok());
  const Status status = read_exactly(*file, 6, out);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind(), ErrorKind::truncated);
}

TYPED_TEST(FileTest, AGapReadsAsZeros) {
  auto file = this->create("a", "x");
  EXPECT_TRUE(file->write_at(5, as_bytes("y")).ok());
  EXPECT_EQ(this->all_of(*file), std::string("x\0\0\0\0y", 6));
  EXPECT_TRUE(file->truncate(3).ok());
  EXPECT_TRUE(file->truncate(6).ok());
  EXPECT_EQ(this->all_of(*file), std::string("x\0\0\0\0\0", 6));
}

TYPED_TEST(FileTest, OpenModes) {
  EXPECT_EQ(this->files().open(this->path("no"), OpenMode::read).error().kind(), ErrorKind::not_found);
  EXPECT_EQ(this->files().open(this->path("no"), OpenMode::read_write).error().kind(), ErrorKind::not_found);
  this->create("a", "1");
  EXPECT_EQ(this->files().open(this->path("a"), OpenMode::create_new).error().kind(), ErrorKind::exists);
  auto again = this->files().open(this->path("a"), OpenMode::read_write);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE((*again)->write_at(1, as_bytes("2")).ok());
  EXPECT_EQ(this->content("a"), "12");
}

TYPED_TEST(FileTest, RenameReplacesOnlyWhenAsked) {
  this->create("a", "A");
  this->create("b", "B");
  const Status kept = this->files().rename(this->path("a"), this->path("b"), false);
  ASSERT_FALSE(kept.ok());
  EXPECT_EQ(kept.error().kind(), ErrorKind::exists);
  EXPECT_EQ(this->content("a") + this->content("b"), "AB");
  EXPECT_TRUE(this->files().rename(this->path("a"), this->path("b"), true).ok());
  EXPECT_EQ(this->content("b"), "A");
  EXPECT_EQ(this->files().identify(this->path("a")).error().kind(), ErrorKind::not_found);
  EXPECT_TRUE(this->files().rename(this->path("b"), this->path("c"), false).ok());
  EXPECT_EQ(this->content("c"), "A");
  EXPECT_FALSE(this->files().rename(this->path("no"), this->path("d"), true).ok());
  EXPECT_TRUE(this->files().sync_directory_of(this->path("c")).ok());
}

TYPED_TEST(FileTest, AnOpenFileOutlivesItsName) {
  auto file = this->create("a", "old");
  const FileIdentity old = *file->identity();
  EXPECT_EQ(*this->files().identify(this->path("a")), old);
  this->create("b", "new");
  ASSERT_TRUE(this->files().rename(this->path("b"), this->path("a"), true).ok());
  EXPECT_NE(*this->files().identify(this->path("a")), old);
  EXPECT_EQ(this->all_of(*file), "old");
  ASSERT_TRUE(this->files().remove(this->path("a")).ok());
  EXPECT_EQ(this->all_of(*file), "old");
  EXPECT_EQ(this->files().remove(this->path("a")).error().kind(), ErrorKind::not_found);
}

TYPED_TEST(FileTest, LocksExcludeOtherHandles) {
  auto first = this->create("a", "x");
  auto second = this->files().open(this->path("a"), OpenMode::read_write);
  ASSERT_TRUE(second.ok());
  ASSERT_TRUE(first->lock(false).ok());
  ASSERT_TRUE(first->lock(false).ok()) << "taking one's own lock again is no conflict";
  const Status taken = (*second)->lock(false);
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().kind(), ErrorKind::conflict);
  (*second)->unlock();  // not the owner: nothing happens
  EXPECT_FALSE((*second)->lock(false).ok());
  first->unlock();
  EXPECT_TRUE((*second)->lock(false).ok());
  EXPECT_FALSE(first->lock(false).ok());
  second->reset();  // closing releases
  EXPECT_TRUE(first->lock(true).ok());
}

TYPED_TEST(FileTest, FreeSpaceIsKnown) { EXPECT_GT(*this->files().free_space(this->path("a")), 0u); }

TEST(PosixFile, RefusesWhatIsNoRegularFile) {
  PosixPlace place;
  ASSERT_EQ(::mkdir(place.path("dir").c_str(), 0700), 0);
  const auto directory = posix_file_system().open(place.path("dir"), OpenMode::read);
  ASSERT_FALSE(directory.ok());
  EXPECT_EQ(directory.error().kind(), ErrorKind::refused);
}

TEST(PosixFile, NothingIsWaitedFor) {
  PosixPlace place;
  const std::string fifo = place.path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const OpenMode mode : {OpenMode::read, OpenMode::read_write}) {
    for (const std::string& path : {fifo, place.path("."), std::string("/dev/null")}) {
      const auto file = posix_file_system().open(path, mode);
      ASSERT_FALSE(file) << path;
      EXPECT_EQ(file.error().kind(), ErrorKind::refused) << path;
    }
  }
}

// open_probe.h holds a lease for an instant; whoever opens the file for writing just then must get it all the same.
TEST(PosixFile, ALeaseIsWaitedOut) {
  PosixPlace place;
  const std::string path = place.path("f");
  ASSERT_TRUE(posix_file_system().open(path, OpenMode::create_new));
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  ::fcntl(fd, F_SETSIG, SIGURG);
  if (::fcntl(fd, F_SETLEASE, F_RDLCK) != 0) GTEST_SKIP() << "no leases here";
  std::thread later([fd] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    ::fcntl(fd, F_SETLEASE, F_UNLCK);
  });
  EXPECT_TRUE(posix_file_system().open(path, OpenMode::read_write));
  later.join();
  ::close(fd);
}

TEST(PosixFile, CreateNewDoesNotFollowLinks) {
  PosixPlace place;
  ASSERT_EQ(::symlink("elsewhere", place.path("link").c_str()), 0);
  EXPECT_FALSE(posix_file_system().open(place.path("link"), OpenMode::create_new).ok());
  EXPECT_EQ(posix_file_system().identify(place.path("elsewhere")).error().kind(), ErrorKind::not_found);
}

TEST(PosixFile, PermissionsAreThoseAskedFor) {
  PosixPlace place;
  ASSERT_TRUE(posix_file_system().open(place.path("secret"), OpenMode::create_new, 0600).ok());
  struct stat st;
  ASSERT_EQ(::stat(place.path("secret").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777u, 0600u);
}

TEST(Paths, NamesBesideFitAndDiffer) {
  EXPECT_EQ(name_beside("a/f", ".x"), "a/f.x");
  const std::string fits(250, 'a'), longer = fits + "bcdefg", other = fits + "bcdefh";
  EXPECT_EQ(name_beside("a/" + fits, ".1234"), "a/" + fits + ".1234");
  const std::string cut = name_beside("a/" + longer, ".1234");
  EXPECT_EQ(base_name_of(cut).size(), name_bytes_max);
  EXPECT_TRUE(cut.starts_with("a/aaaa") && cut.ends_with(".1234"));
  EXPECT_EQ(cut, name_beside("a/" + longer, ".1234"));
  EXPECT_NE(cut, name_beside("a/" + other, ".1234"));
  std::string umlauts;
  for (int i = 0; i < 126; ++i) umlauts += "\xc3\xa4";
  for (std::size_t most : {100u, 101u}) {
    const std::string name = name_beside(umlauts, ".x", most);
    EXPECT_LE(name.size(), most);
    EXPECT_EQ(name.find('~') % 2, 0u) << "cut within a character";
  }
}

TEST(Paths, DirectoryAndName) {
  EXPECT_EQ(directory_of("a"), ".");
  EXPECT_EQ(directory_of("/a"), "/");
  EXPECT_EQ(directory_of("/a/b/c"), "/a/b");
  EXPECT_EQ(directory_of("a/b"), "a");
  EXPECT_EQ(base_name_of("a"), "a");
  EXPECT_EQ(base_name_of("/a/b/c.h5"), "c.h5");
  EXPECT_EQ(base_name_of("/"), "");
}

}  // namespace
}  // namespace peel
