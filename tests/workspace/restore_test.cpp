// Restore, switch, rollback, fast-forward: what they rewrite, and everything they must refuse.
#include <sys/wait.h>
#include <sys/xattr.h>

#include "base/cancel.h"
#include "scratch.h"

namespace peel::workspace::test {
namespace {

struct TwoStates {
  Scratch dir;
  Paths paths = dir.paths();
  std::string old_text = noise(20000, 1), new_text = noise(30000, 2);
  std::uint64_t first = commit_text(paths, old_text), second = commit_text(paths, new_text);

  std::vector<std::string> clean{"data.h5", "data.h5.onion"};
};

ReplaceRequest discarding() {
  ReplaceRequest request;
  request.discard = true;
  return request;
}

TEST(Restore, GoesBackAndForth) {
  TwoStates s;
  const auto back = restore(s.paths, at(s.first), {});
  ASSERT_OK(back);
  EXPECT_TRUE(back->file_changed);
  EXPECT_EQ(read_file(s.paths.file), s.old_text);
  EXPECT_EQ(back->revision.number, s.first);
  const auto here = status(s.paths);
  ASSERT_OK(here);
  EXPECT_EQ(here->state, State::modified) << "it is not the head";
  EXPECT_EQ(here->based_on, s.first);
  EXPECT_EQ(here->same_as, s.first);
  ASSERT_OK(restore(s.paths, "", {}));
  EXPECT_EQ(read_file(s.paths.file), s.new_text);
  EXPECT_EQ(state_of(s.paths), State::unmodified);
  EXPECT_EQ(s.dir.names(), s.clean);
  EXPECT_EQ(open_onion(s.paths)->revision_count(), 2u);
}

TEST(Restore, SetsTheRecordedTime) {
  TwoStates s;
  ASSERT_OK(restore(s.paths, at(s.first), {}));
  const auto recorded = open_onion(s.paths)->revision(s.first)->meta.mtime_ns;
  const struct stat st = stat_of(s.paths.file);
  EXPECT_EQ(st.st_mtim.tv_sec * 1'000'000'000ll + st.st_mtim.tv_nsec, recorded);
}

TEST(Restore, NothingToDoKeepsTheInode) {
  TwoStates s;
  const auto before = stat_of(s.paths.file).st_ino;
  const auto report = restore(s.paths, "", {});
  ASSERT_OK(report);
  EXPECT_FALSE(report->file_changed);
  EXPECT_EQ(stat_of(s.paths.file).st_ino, before);
}

TEST(Restore, RefusesUnsavedChangesUnlessToldTo) {
  TwoStates s;
  write_file(s.paths.file, "precious");
  EXPECT_FAILS(restore(s.paths, at(s.first), {}), ErrorKind::refused);
  EXPECT_EQ(read_file(s.paths.file), "precious");
  EXPECT_EQ(s.dir.names(), s.clean);
  ASSERT_OK(restore(s.paths, at(s.first), discarding()));
  EXPECT_EQ(read_file(s.paths.file), s.old_text);
}

TEST(Restore, AnyRecordedStateIsSaved) {
  TwoStates s;
  write_file(s.paths.file, s.old_text);
  ASSERT_OK(restore(s.paths, "", {}));
  EXPECT_EQ(read_file(s.paths.file), s.new_text);
}

TEST(Restore, NeverOverwritesAnEditThroughAMappingThatNoTimeShows) {
  TwoStates s;
  age(s.paths.file);
  must_commit(s.paths);
  ::usleep(2'100'000);
  ASSERT_EQ(state_of(s.paths), State::unmodified);  // now the stamp is proof, as far as times go
  const struct stat before = stat_of(s.paths.file);
  {
    const UniqueFd fd(::open(s.paths.file.c_str(), O_RDWR));
    void* map = ::mmap(nullptr, 30000, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    ASSERT_NE(map, MAP_FAILED);
    static_cast<char*>(map)[12345] ^= 1;
    ::munmap(map, 30000);
  }
  const timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, s.paths.file.c_str(), times, 0), 0);
  ASSERT_EQ(stat_of(s.paths.file).st_mtim.tv_nsec, before.st_mtim.tv_nsec);
  const std::string edited = read_file(s.paths.file);
  EXPECT_EQ(state_of(s.paths), State::modified);
  EXPECT_FAILS(restore(s.paths, at(s.first), {}), ErrorKind::refused);
  EXPECT_EQ(read_file(s.paths.file), edited);
}

TEST(Restore, BringsBackADeletedFileWithItsMode) {
  TwoStates s;
  ::chmod(s.paths.file.c_str(), 0600);
  write_file(s.paths.file, "third");
  must_commit(s.paths);
  ASSERT_EQ(::unlink(s.paths.file.c_str()), 0);
  const auto report = restore(s.paths, "", {});
  ASSERT_OK(report);
  EXPECT_TRUE(report->file_created);
  EXPECT_EQ(read_file(s.paths.file), "third");
  EXPECT_EQ(stat_of(s.paths.file).st_mode & 07777, 0600u);
}

TEST(Restore, RefusesASymlink) {
  TwoStates s;
  ASSERT_EQ(::rename(s.paths.file.c_str(), (s.dir / "real").c_str()), 0);
  ASSERT_EQ(::symlink("real", s.paths.file.c_str()), 0);
  EXPECT_FAILS(restore(s.paths, at(s.first), {}), ErrorKind::refused);
  EXPECT_FAILS(restore(s.paths, at(s.first), discarding()), ErrorKind::refused);
  EXPECT_EQ(read_file(s.dir / "real"), s.new_text);
}

TEST(Restore, RefusesHardLinksAndOddFiles) {
  TwoStates s;
  ASSERT_EQ(::link(s.paths.file.c_str(), (s.dir / "second").c_str()), 0);
  EXPECT_FAILS(restore(s.paths, at(s.first), discarding()), ErrorKind::refused);
  ASSERT_EQ(::unlink((s.dir / "second").c_str()), 0);
  ASSERT_EQ(::unlink(s.paths.file.c_str()), 0);
  ASSERT_EQ(::mkfifo(s.paths.file.c_str(), 0600), 0);
  EXPECT_FAILS(restore(s.paths, at(s.first), discarding()), ErrorKind::refused);
}

TEST(Restore, RefusesAFileAnotherProcessHasOpenForWriting) {
  TwoStates s;
  int ready[2], done[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(done), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const UniqueFd fd(::open(s.paths.file.c_str(), O_RDWR));
    char byte = 0;
    if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
    ::close(done[1]);
    if (::read(done[0], &byte, 1) < 0) ::_exit(1);
    ::_exit(0);
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_FAILS(restore(s.paths, at(s.first), {}), ErrorKind::refused);
  EXPECT_FAILS(restore(s.paths, at(s.first), discarding()), ErrorKind::refused);
  ReplaceRequest vouching = discarding();
  vouching.assume_closed = true;
  EXPECT_FAILS(restore(s.paths, at(s.first), vouching), ErrorKind::refused);  // known is not unknown
  EXPECT_EQ(read_file(s.paths.file), s.new_text);
  ::close(done[0]);
  ::close(done[1]);
  int how = 0;
  ::waitpid(child, &how, 0);
  ASSERT_OK(restore(s.paths, at(s.first), {}));
}

TEST(Restore, ReadersDoNotDisturb) {
  TwoStates s;
  const UniqueFd reader(::open(s.paths.file.c_str(), O_RDONLY));
  ASSERT_OK(restore(s.paths, at(s.first), {}));
  std::string seen(s.new_text.size(), '\0');
  EXPECT_EQ(::pread(reader.get(), seen.data(), seen.size(), 0), static_cast<ssize_t>(seen.size()));
  EXPECT_EQ(seen, s.new_text) << "who had the old file open goes on reading it";
}

TEST(Restore, KeepsOwnerModeAndAttributes) {
  TwoStates s;
  ASSERT_EQ(::chmod(s.paths.file.c_str(), 0751), 0);
  if (is_root()) {
    ASSERT_EQ(::chown(s.paths.file.c_str(), 1234, 2345), 0);
  }
  const bool has_xattr = ::setxattr(s.paths.file.c_str(), "user.peel.test", "kept", 4, 0) == 0;
  const bool has_acl = std::system(("setfacl -m u:4321:rw " + s.paths.file + " 2>/dev/null").c_str()) == 0;
  const auto acl_of = [&] {
    const std::string out = s.dir / "acl";
    EXPECT_EQ(std::system(("getfacl -cn --absolute-names " + s.paths.file + " > " + out + " 2>/dev/null").c_str()), 0);
    const std::string text = read_file(out);
    ::unlink(out.c_str());
    return text;
  };
  const std::string acl = has_acl ? acl_of() : "";
  const struct stat before = stat_of(s.paths.file);
  ASSERT_OK(restore(s.paths, at(s.first), {}));
  const struct stat after = stat_of(s.paths.file);
  EXPECT_EQ(read_file(s.paths.file), s.old_text);
  EXPECT_EQ(after.st_mode, before.st_mode);
  EXPECT_EQ(after.st_uid, before.st_uid);
  EXPECT_EQ(after.st_gid, before.st_gid);
  if (has_xattr) {
    char value[8] = {};
    EXPECT_EQ(::getxattr(s.paths.file.c_str(), "user.peel.test", value, sizeof value), 4);
    EXPECT_STREQ(value, "kept");
  }
  if (has_acl) {
    EXPECT_NE(acl.find("user:4321:rw"), std::string::npos) << acl;
    EXPECT_EQ(acl_of(), acl);
  }
  if (!has_xattr || !has_acl || !is_root())
    GTEST_SKIP() << "not all of it was tried: xattr " << has_xattr << ", ACL " << has_acl << ", owner " << is_root();
}

TEST(Restore, RefusesWhenAnotherUserOwnsTheFile) {
  if (!is_root()) GTEST_SKIP() << "needs root, to become two users";
  TwoStates s;
  ASSERT_EQ(::chmod(s.dir.path().c_str(), 0777), 0);
  ASSERT_EQ(::chmod(s.paths.onion.c_str(), 0666), 0);
  const auto as_nobody = [&](bool assume_closed) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(99);
      ReplaceRequest request;
      request.assume_closed = assume_closed;
      const auto done = restore(s.paths, at(s.first), request);
      ::_exit(done ? 0 : 1 + static_cast<int>(done.error().kind()));
    }
    int how = 0;
    ::waitpid(child, &how, 0);
    return WEXITSTATUS(how);
  };
  EXPECT_EQ(as_nobody(false), 1 + static_cast<int>(ErrorKind::refused)) << "who writes it cannot be known";
  EXPECT_EQ(as_nobody(true), 1 + static_cast<int>(ErrorKind::refused)) << "the owner cannot be kept";
  EXPECT_EQ(read_file(s.paths.file), s.new_text);
  EXPECT_EQ(s.dir.names(), s.clean);
}

TEST(Restore, ADefaultAclOfTheDirectoryGivesTheFileNothing) {
  TwoStates s;
  if (std::system(("setfacl -d -m u:4321:rwx " + s.dir.path() + " 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "no setfacl, or no ACLs on this file system";
  const auto mode = stat_of(s.paths.file).st_mode;
  ASSERT_OK(restore(s.paths, at(s.first), {}));
  EXPECT_EQ(stat_of(s.paths.file).st_mode, mode);
  EXPECT_LT(::getxattr(s.paths.file.c_str(), "system.posix_acl_access", nullptr, 0), 0);
}

TEST(Restore, CancelLeavesTheFileAndNoTemporary) {
  TwoStates s;
  const std::string big = noise(6 << 20);
  const auto number = commit_text(s.paths, big);
  ASSERT_OK(restore(s.paths, at(s.first), {}));
  Cancel cancel;
  ReplaceRequest request;
  request.run.cancel = &cancel;
  request.run.progress = [&](const Progress&) { cancel.request(); };
  EXPECT_FAILS(restore(s.paths, at(number), request), ErrorKind::cancelled);
  EXPECT_EQ(read_file(s.paths.file), s.old_text);
  EXPECT_EQ(s.dir.names(), s.clean);
}

TEST(Restore, UnknownRevisionOrOnion) {
  TwoStates s;
  EXPECT_FAILS(restore(s.paths, "@99", {}), ErrorKind::not_found);
  EXPECT_FAILS(restore(s.dir.paths("other"), "", {}), ErrorKind::not_found);
}

TEST(Rollback, AddsARevisionEqualToTheOldOne) {
  TwoStates s;
  const auto report = rollback(s.paths, at(s.first), {});
  ASSERT_OK(report);
  EXPECT_TRUE(report->revision_added);
  EXPECT_EQ(read_file(s.paths.file), s.old_text);
  const auto onion = open_onion(s.paths);
  ASSERT_OK(onion);
  EXPECT_EQ(onion->revision_count(), 3u);
  EXPECT_EQ(report->revision.meta.labels, label_rollback);
  EXPECT_EQ(report->revision.content, onion->revision(s.first)->content);
  EXPECT_EQ(report->revision.meta.note, "rollback to " + at(s.first));
  EXPECT_EQ(state_of(s.paths), State::unmodified);
  EXPECT_EQ(content_at(s.paths, at(s.second)), s.new_text) << "nothing is lost";
}

TEST(Rollback, RefusesUnsavedChangesAndThenAddsNothing) {
  TwoStates s;
  write_file(s.paths.file, "precious");
  EXPECT_FAILS(rollback(s.paths, at(s.first), {}), ErrorKind::refused);
  EXPECT_EQ(open_onion(s.paths)->revision_count(), 2u);
  EXPECT_EQ(read_file(s.paths.file), "precious");
}

struct TwoBranches : TwoStates {
  TwoBranches() {
    auto onion = open_onion(paths, Access::write);
    EXPECT_TRUE(create_branch(*onion, "side", at(first)).ok());
  }
};

TEST(Switch, RewritesTheFileAndMakesTheBranchCurrent) {
  TwoBranches s;
  ASSERT_OK(switch_branch(s.paths, "side", {}));
  EXPECT_EQ(read_file(s.paths.file), s.old_text);
  EXPECT_EQ(open_onion(s.paths)->current_branch(), "side");
  EXPECT_EQ(state_of(s.paths), State::unmodified);
  commit_text(s.paths, "on the side");
  ASSERT_OK(switch_branch(s.paths, "main", {}));
  EXPECT_EQ(read_file(s.paths.file), s.new_text);
  EXPECT_EQ(content_at(s.paths, "side"), "on the side");
  EXPECT_FAILS(switch_branch(s.paths, "absent", {}), ErrorKind::not_found);
}

TEST(Switch, RefusesUnsavedChanges) {
  TwoBranches s;
  write_file(s.paths.file, "precious");
  EXPECT_FAILS(switch_branch(s.paths, "side", {}), ErrorKind::refused);
  EXPECT_EQ(open_onion(s.paths)->current_branch(), "main");
  EXPECT_EQ(read_file(s.paths.file), "precious");
}

TEST(Switch, CarriesUnsavedChangesToABranchWithTheSameContent) {
  TwoBranches s;
  {
    auto onion = open_onion(s.paths, Access::write);
    ASSERT_OK(create_branch(*onion, "twin", ""));
  }
  write_file(s.paths.file, "precious");
  ASSERT_OK(switch_branch(s.paths, "twin", {}));
  EXPECT_EQ(read_file(s.paths.file), "precious");
  EXPECT_EQ(open_onion(s.paths)->current_branch(), "twin");
  EXPECT_EQ(state_of(s.paths), State::modified);
}

// As after a fetch: main stays at `first`, and what the remote has is known as another branch.
struct Fetched : TwoStates {
  RevisionId target;
  Fetched() {
    auto onion = open_onion(paths, Access::write);
    EXPECT_TRUE(create_branch(*onion, "theirs", "").ok());
    target = onion->ref(RefKind::branch, "theirs")->target;
    RefChange back;
    back.name = "main";
    back.target = onion->revision(first)->id;
    EXPECT_TRUE(onion->update_refs(std::span(&back, 1)).ok());
    write_file(paths.file, old_text);
  }
  std::uint64_t head() const { return *open_onion(paths)->resolve(""); }
};

TEST(FastForward, MovesBranchAndUnmodifiedFile) {
  Fetched s;
  const auto report = pull_fast_forward(s.paths, s.target, {});
  ASSERT_OK(report);
  EXPECT_EQ(report->before, s.first);
  EXPECT_EQ(report->after, s.second);
  EXPECT_TRUE(report->file_changed);
  EXPECT_EQ(s.head(), s.second);
  EXPECT_EQ(read_file(s.paths.file), s.new_text);
  const auto again = pull_fast_forward(s.paths, s.target, {});
  ASSERT_OK(again);
  EXPECT_EQ(again->before, again->after);
}

TEST(FastForward, WithUnsavedChangesNothingMovesUnlessTold) {
  Fetched s;
  write_file(s.paths.file, "precious");
  EXPECT_FAILS(pull_fast_forward(s.paths, s.target, {}), ErrorKind::refused);
  EXPECT_EQ(s.head(), s.first);
  FastForwardRequest request;
  request.leave_modified_file = true;
  const auto report = pull_fast_forward(s.paths, s.target, request);
  ASSERT_OK(report);
  EXPECT_TRUE(report->file_left);
  EXPECT_EQ(s.head(), s.second);
  EXPECT_EQ(read_file(s.paths.file), "precious");
}

TEST(FastForward, AMissingFileStaysMissingUnlessWanted) {
  Fetched s;
  ASSERT_EQ(::unlink(s.paths.file.c_str()), 0);
  ASSERT_OK(pull_fast_forward(s.paths, s.target, {}));
  EXPECT_EQ(s.head(), s.second);
  EXPECT_EQ(s.dir.names(), (std::vector<std::string>{"data.h5.onion"}));
  Fetched other;
  ASSERT_EQ(::unlink(other.paths.file.c_str()), 0);
  ASSERT_OK(pull_fast_forward(other.paths, other.target, {}, true));
  EXPECT_EQ(read_file(other.paths.file), other.new_text);
}

TEST(FastForward, DivergedIsAConflict) {
  Fetched s;
  commit_text(s.paths, "mine");
  EXPECT_FAILS(pull_fast_forward(s.paths, s.target, {}), ErrorKind::conflict);
  EXPECT_EQ(read_file(s.paths.file), "mine");
  EXPECT_FAILS(pull_fast_forward(s.paths, RevisionId{}, {}), ErrorKind::not_found);
}

TEST(FollowBranch, BringsAFileThatIsWhatTheBranchWas) {
  Fetched s;
  RefChange forward;
  forward.name = "main";
  forward.target = s.target;
  const RevisionId before = open_onion(s.paths)->revision(s.first)->id;
  ASSERT_OK(open_onion(s.paths, Access::write)->update_refs(std::span(&forward, 1)));
  const auto report = follow_branch(s.paths, before, {});
  ASSERT_OK(report);
  EXPECT_TRUE(report->file_changed);
  EXPECT_EQ(read_file(s.paths.file), s.new_text);
  write_file(s.paths.file, "precious");
  const auto left = follow_branch(s.paths, before, {});
  ASSERT_OK(left);
  EXPECT_TRUE(left->file_left);
  EXPECT_EQ(read_file(s.paths.file), "precious");
}

}  // namespace
}  // namespace peel::workspace::test
