// Export and cat: exact bytes, never over something else, nothing half-made.
#include <sys/wait.h>

#include "base/cancel.h"
#include "scratch.h"

namespace peel::workspace::test {
namespace {

struct History {
  Scratch dir;
  Paths paths = dir.paths();
  std::string old_text = noise(20000, 1), new_text = noise(30000, 2);
  std::uint64_t first = commit_text(paths, old_text), second = commit_text(paths, new_text);
};

TEST(Export, WritesTheBytesAndTheTime) {
  History s;
  const auto onion = open_onion(s.paths);
  const auto report = export_revision(*onion, at(s.first), s.dir / "out", {});
  ASSERT_OK(report);
  EXPECT_EQ(report->number, s.first);
  EXPECT_EQ(report->size, s.old_text.size());
  EXPECT_EQ(read_file(s.dir / "out"), s.old_text);
  const auto info = onion->revision(s.first);
  EXPECT_EQ(report->content, info->content);
  const struct stat st = stat_of(s.dir / "out");
  EXPECT_EQ(st.st_mtim.tv_sec * 1'000'000'000ll + st.st_mtim.tv_nsec, info->meta.mtime_ns);
  EXPECT_EQ(s.dir.names(), (std::vector<std::string>{"data.h5", "data.h5.onion", "out"}));
}

TEST(Export, OverwritesOnlyByForce) {
  History s;
  const auto onion = open_onion(s.paths);
  write_file(s.dir / "out", "mine");
  EXPECT_FAILS(export_revision(*onion, "", s.dir / "out", {}), ErrorKind::exists);
  EXPECT_EQ(read_file(s.dir / "out"), "mine");
  ExportRequest force;
  force.force = true;
  ASSERT_OK(export_revision(*onion, "", s.dir / "out", force));
  EXPECT_EQ(read_file(s.dir / "out"), s.new_text);
  EXPECT_FAILS(export_revision(*onion, "", s.dir.path(), force), ErrorKind::usage);
}

TEST(Export, NeverOverTheHistoryOrTheWorkingFile) {
  History s;
  const auto onion = open_onion(s.paths);
  ExportRequest force;
  force.force = true;
  write_file(s.paths.file, "precious");
  EXPECT_FAILS(export_revision(*onion, "", s.paths.file, force), ErrorKind::refused);
  EXPECT_FAILS(export_revision(*onion, "", s.paths.onion, force), ErrorKind::refused);
  EXPECT_FAILS(export_onion(s.paths, s.paths.onion, force), ErrorKind::refused);
  EXPECT_EQ(read_file(s.paths.file), "precious");
  EXPECT_EQ(content_at(s.paths, ""), s.new_text);
}

TEST(Export, StreamsIntoAPipe) {
  History s;
  const auto onion = open_onion(s.paths);
  ASSERT_EQ(::mkfifo((s.dir / "pipe").c_str(), 0600), 0);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(read_file(s.dir / "pipe") == s.new_text ? 0 : 1);
  ASSERT_OK(export_revision(*onion, "", s.dir / "pipe", {}));
  int how = 0;
  ::waitpid(child, &how, 0);
  EXPECT_EQ(WEXITSTATUS(how), 0);
}

TEST(Export, CancelLeavesNothing) {
  History s;
  const auto onion = open_onion(s.paths);
  Cancel cancel;
  cancel.request();
  ExportRequest request;
  request.run.cancel = &cancel;
  EXPECT_FAILS(export_revision(*onion, "", s.dir / "out", request), ErrorKind::cancelled);
  EXPECT_EQ(s.dir.names(), (std::vector<std::string>{"data.h5", "data.h5.onion"}));
}

TEST(ExportOnion, IsAHistoryOfItsOwn) {
  History s;
  const auto report = export_onion(s.paths, s.dir / "copy.onion", {});
  ASSERT_OK(report);
  const Paths copy = *locate(s.dir / "copy.onion");
  EXPECT_EQ(content_at(copy, at(s.first)), s.old_text);
  EXPECT_EQ(content_at(copy, at(s.second)), s.new_text);
  write_file(copy.file, "and on it goes");
  EXPECT_TRUE(must_commit(copy).result.added);
  EXPECT_EQ(open_onion(s.paths)->revision_count(), 2u);
}

TEST(ExportOnion, IsConsistentWhileOthersCommit) {
  History s;
  const pid_t child = ::fork();
  if (child == 0) {
    for (int i = 0; i < 60; ++i) {
      write_file(s.paths.file, noise(60000, static_cast<std::uint64_t>(i)));
      if (!commit(s.paths, {})) ::_exit(1);
    }
    ::_exit(0);
  }
  for (int i = 0; i < 10; ++i) {
    const std::string out = s.dir / ("copy" + std::to_string(i) + ".onion");
    ASSERT_OK(export_onion(s.paths, out, {}));
    const Paths copy = *locate(out);
    const auto onion = open_onion(copy);
    ASSERT_OK(onion);
    const auto head = onion->resolve("");
    ASSERT_OK(head);
    const auto reader = onion->open_revision(*head);
    ASSERT_OK(reader);
    ASSERT_OK(reader->verify());
  }
  int how = 0;
  ::waitpid(child, &how, 0);
  EXPECT_EQ(WEXITSTATUS(how), 0);
}

TEST(Cat, AnyWindow) {
  History s;
  const auto onion = open_onion(s.paths);
  const auto window = [&](std::uint64_t offset, std::uint64_t length) {
    std::string out;
    auto done = cat(*onion, at(s.first), offset, length, [&](Bytes data) -> Status {
      out.append(reinterpret_cast<const char*>(data.data()), data.size());
      return {};
    });
    EXPECT_TRUE(done.ok());
    EXPECT_EQ(*done, out.size());
    return out;
  };
  EXPECT_EQ(window(0, 1), s.old_text.substr(0, 1));
  EXPECT_EQ(window(4000, 5000), s.old_text.substr(4000, 5000));
  EXPECT_EQ(window(19999, 100), s.old_text.substr(19999));
  EXPECT_EQ(window(20000, 1), "");
  EXPECT_EQ(window(~0ull, ~0ull), "");
  EXPECT_FAILS(cat(*onion, "", 0, 10, [](Bytes) -> Status { return fail(ErrorKind::io, "full"); }), ErrorKind::io);
}

}  // namespace
}  // namespace peel::workspace::test
