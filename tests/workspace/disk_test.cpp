// Huge sparse files, full disks, directories that cannot be written. What needs a mount says so and skips
// where it may not make one.
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstdio>

#include "scratch.h"

namespace peel::workspace::test {
namespace {

std::uint64_t allocated(const std::string& path) { return static_cast<std::uint64_t>(stat_of(path).st_blocks) * 512; }

// A small file system of its own, for as long as this lives.
class SmallDisk {
 public:
  SmallDisk(const std::string& at, const std::string& options) : at_(at) {
    ::mkdir(at.c_str(), 0700);
    mounted_ = ::mount("tmpfs", at.c_str(), "tmpfs", 0, options.c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(at_.c_str(), MNT_DETACH);
  }
  bool ok() const { return mounted_; }

 private:
  std::string at_;
  bool mounted_;
};

#define NEEDS(disk) \
  if (!(disk).ok()) GTEST_SKIP() << "no permission to mount a small file system here"

TEST(Sparse, ATebibyteWithTwoPagesOfData) {
  const Scratch dir;
  const Paths paths = dir.paths();
  constexpr off_t size = off_t{1} << 40;
  {
    const UniqueFd fd(::open(paths.file.c_str(), O_RDWR | O_CREAT, 0600));
    if (::ftruncate(fd.get(), size) != 0) GTEST_SKIP() << "this file system has no files of 1 TiB";
    ASSERT_EQ(::pwrite(fd.get(), "front", 5, 1 << 20), 5);
    ASSERT_EQ(::pwrite(fd.get(), "end", 3, size - 3), 3);
  }
  const auto report = must_commit(paths);
  EXPECT_EQ(report.result.revision.size, std::uint64_t{1} << 40);
  EXPECT_LT(report.onion_bytes, 1u << 20);
  EXPECT_EQ(state_of(paths, true), State::unmodified);

  const auto onion = open_onion(paths);
  ASSERT_OK(export_revision(*onion, "", dir / "out", {}));
  EXPECT_EQ(stat_of(dir / "out").st_size, size);
  EXPECT_LT(allocated(dir / "out"), 1u << 20);
  EXPECT_EQ(digest_file(dir / "out")->content, report.result.revision.content);

  patch_file(paths.file, std::uint64_t{1} << 39, "middle");
  EXPECT_EQ(state_of(paths), State::modified);
  DiffRequest exact;
  exact.grain = 1;
  const auto diff = diff_working(*onion, 1, paths, exact);
  ASSERT_OK(diff);
  EXPECT_EQ(diff->ranges, (std::vector<Range>{{std::uint64_t{1} << 39, 6}}));
  must_commit(paths);
  ASSERT_OK(restore(paths, "@1", {}));
  EXPECT_LT(allocated(paths.file), 1u << 20);
  EXPECT_EQ(digest_file(paths.file)->content, report.result.revision.content);
}

TEST(Sparse, DataBehindFourGibibytes) {
  const Scratch dir;
  const Paths paths = dir.paths();
  const std::uint64_t far = (std::uint64_t{1} << 32) + 12345;
  const std::string data = noise(300000);
  {
    const UniqueFd fd(::open(paths.file.c_str(), O_RDWR | O_CREAT, 0600));
    ASSERT_EQ(::pwrite(fd.get(), data.data(), data.size(), static_cast<off_t>(far)), static_cast<ssize_t>(data.size()));
  }
  must_commit(paths);
  patch_file(paths.file, far + 7, "edited");
  must_commit(paths);
  const auto onion = open_onion(paths);
  const auto diff = diff_revisions(*onion, 1, 2, {1, {}});
  ASSERT_OK(diff);
  EXPECT_EQ(diff->ranges, (std::vector<Range>{{far + 7, 6}}));
  std::string seen;
  ASSERT_OK(cat(*onion, "@1", far, data.size(), [&](Bytes bytes) -> Status {
    seen.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }));
  EXPECT_TRUE(seen == data);
  ASSERT_OK(restore(paths, "@1", {}));
  EXPECT_LT(allocated(paths.file), 2u << 20);
}

#ifdef __SANITIZE_ADDRESS__
constexpr bool sanitizer_keeps_freed_memory = true;
#else
constexpr bool sanitizer_keeps_freed_memory = false;
#endif

long peak_kib() {
  rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(Memory, StaysSmallWhateverTheFile) {
  if (sanitizer_keeps_freed_memory) GTEST_SKIP() << "a sanitizer keeps freed memory";
  const Scratch dir;
  const Paths paths = dir.paths();
  {
    const UniqueFd fd(::open(paths.file.c_str(), O_RDWR | O_CREAT, 0600));
    for (off_t i = 0; i < 128; ++i) {
      const std::string block = noise(1 << 20, static_cast<std::uint64_t>(i));
      ASSERT_EQ(::pwrite(fd.get(), block.data(), block.size(), i << 20), static_cast<ssize_t>(block.size()));
    }
  }
  const pid_t child = ::fork();  // whose peak begins with what it has now
  if (child == 0) {
    const long before = peak_kib();
    bool ok = commit(paths, {}).ok();
    patch_file(paths.file, 5, "x");
    ok = ok && commit(paths, {}).ok() && diff_working(*open_onion(paths), 1, paths).ok() && restore(paths, "@1", {}).ok() &&
         export_revision(*open_onion(paths), "@2", dir / "out", {}).ok();
    const long grown = peak_kib() - before;
    std::printf("peak grew by %ld KiB\n", grown);
    std::fflush(stdout);
    ::_exit(!ok ? 1 : grown > (64 << 10) ? 2 : 0);
  }
  int how = 0;
  ::waitpid(child, &how, 0);
  EXPECT_EQ(WEXITSTATUS(how), 0) << "1: an operation failed; 2: more than 64 MiB";
}

TEST(FullDisk, OfTheWorkingFileLeavesItAndNoTemporary) {
  const Scratch dir;
  const SmallDisk disk(dir / "small", "size=4m");
  NEEDS(disk);
  const Paths paths = *locate(dir / "small/data.h5", dir / "data.onion");
  const std::string big = noise(3 << 20);
  commit_text(paths, big);
  commit_text(paths, "small now");
  write_file(dir / "small/ballast", noise(2 << 20));
  const auto failed = restore(paths, "@1", {});
  EXPECT_FAILS(failed, ErrorKind::io);
  EXPECT_EQ(failed.error().os_error(), ENOSPC);
  EXPECT_EQ(read_file(paths.file), "small now");
  std::size_t names = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(dir / "small")) ++names;
  EXPECT_EQ(names, 2u);
  ASSERT_EQ(::unlink((dir / "small/ballast").c_str()), 0);
  ASSERT_OK(restore(paths, "@1", {}));
  EXPECT_TRUE(read_file(paths.file) == big);
}

TEST(FullDisk, OfTheOnionLosesNoRevision) {
  const Scratch dir;
  const SmallDisk disk(dir / "small", "size=4m");
  NEEDS(disk);
  const Paths paths = *locate(dir / "data.h5", dir / "small/data.onion");
  const auto first = commit_text(paths, "first");
  write_file(paths.file, noise(8 << 20));
  EXPECT_FAILS(commit(paths, {}), ErrorKind::io);
  EXPECT_EQ(content_at(paths, ""), "first");
  EXPECT_EQ(open_onion(paths)->revision_count(), first);
  EXPECT_EQ(commit_text(paths, "second"), first + 1);
}

TEST(FullDisk, OfAFirstCommitLeavesNoOnion) {
  const Scratch dir;
  const SmallDisk disk(dir / "small", "size=2m");
  NEEDS(disk);
  const Paths paths = *locate(dir / "data.h5", dir / "small/data.onion");
  write_file(paths.file, noise(8 << 20));
  EXPECT_FAILS(commit(paths, {}), ErrorKind::io);
  EXPECT_TRUE(std::filesystem::is_empty(dir / "small"));
}

TEST(FullDisk, ALargeFirstCommitIsRefusedBeforeItWrites) {
  const Scratch dir;
  const SmallDisk disk(dir / "small", "size=2m");
  NEEDS(disk);
  const Paths paths = *locate(dir / "data.h5", dir / "small/data.onion");
  write_file(paths.file, noise(8 << 20));
  CommitRequest request;
  request.large_bytes_min = 8 << 20;
  std::optional<SpaceNeed> said;
  request.on_large = [&](const SpaceNeed& need) { said = need; };
  const auto refused = commit(paths, request);
  EXPECT_FAILS(refused, ErrorKind::io);
  EXPECT_EQ(refused.error().os_error(), ENOSPC);
  ASSERT_TRUE(said);
  EXPECT_TRUE(said->first);
  EXPECT_EQ(said->file_bytes, 8u << 20);
  EXPECT_GT(said->expected_bytes, 8u << 20) << "noise does not shrink";
  EXPECT_LE(said->free_bytes, 2u << 20);
  EXPECT_TRUE(std::filesystem::is_empty(dir / "small"));

  write_file(paths.file, std::string(8 << 20, 'a'));  // as large, but nearly nothing once compressed
  said.reset();
  ASSERT_OK(commit(paths, request));
  EXPECT_LT(said->expected_bytes, 1u << 20);
  write_file(paths.file, std::string(8 << 20, 'b'));
  ASSERT_OK(commit(paths, request));
  EXPECT_FALSE(said->first);
}

TEST(ReadOnly, ADirectoryThatCannotBeWrittenAnswersAndRefuses) {
  const Scratch dir;
  const SmallDisk disk(dir / "fixed", "size=8m");
  NEEDS(disk);  // permissions would not stop root
  const Paths paths = *locate(dir / "fixed/data.h5");
  commit_text(paths, "one");
  commit_text(paths, "two");
  ASSERT_EQ(::mount(nullptr, (dir / "fixed").c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  EXPECT_EQ(state_of(paths), State::unmodified);
  EXPECT_EQ(content_at(paths, "@1"), "one");
  ASSERT_OK(export_revision(*open_onion(paths), "@1", dir / "out", {}));
  EXPECT_FAILS(restore(paths, "@1", {}), ErrorKind::io);
  EXPECT_FAILS(commit(paths, {}), ErrorKind::io);
  EXPECT_EQ(read_file(paths.file), "two");
}

TEST(ReadOnly, AHistoryThatCannotBeWrittenCanBeRestoredFrom) {
  const Scratch dir;
  const SmallDisk disk(dir / "fixed", "size=8m");
  NEEDS(disk);
  const Paths paths = *locate(dir / "data.h5", dir / "fixed/data.onion");
  commit_text(paths, "one");
  commit_text(paths, "two");
  ASSERT_EQ(::mount(nullptr, (dir / "fixed").c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  ASSERT_OK(restore(paths, "@1", {}));
  EXPECT_EQ(read_file(paths.file), "one");
  EXPECT_FAILS(switch_branch(paths, "main", {}), ErrorKind::io);
}

TEST(ReadOnly, AnOrdinaryUserWithoutWritePermission) {
  if (is_root()) GTEST_SKIP() << "root may write everywhere: the mounted variant covers this";
  const Scratch dir;
  const Paths paths = dir.paths();
  commit_text(paths, "one");
  commit_text(paths, "two");
  ASSERT_EQ(::chmod(dir.path().c_str(), 0500), 0);
  EXPECT_EQ(state_of(paths), State::unmodified);
  EXPECT_FAILS(restore(paths, "@1", {}), ErrorKind::io);
  EXPECT_EQ(read_file(paths.file), "two");
  ASSERT_EQ(::chmod(dir.path().c_str(), 0700), 0);
}

}  // namespace
}  // namespace peel::workspace::test
