// clone, fetch, pull and push between two onions of one machine: the same sessions as over a network.
#include "tests/sync/machine.h"

namespace peel::sync::test {
namespace {

struct Local : ::testing::Test {
  Folder a, b;
  ConnectOptions options;
  std::string there = a / "data.h5.onion", here = b / "data.h5.onion";
  Url url = url_of("file://" + there);
};

TEST_F(Local, CloneBringsEverythingAndCutsAlike) {
  Onion origin = make_history(there, 20, 300'000);
  RefChange tag;
  tag.kind = RefKind::tag;
  tag.name = "v1";
  tag.target = must(origin.revision(3)).id;
  tag.value = "a note";
  must(origin.update_refs(std::span(&tag, 1)));

  const auto result = must(clone(url, here, options));
  Onion copy = open_onion(here);
  EXPECT_EQ(result.stats.revisions, 20u);
  EXPECT_EQ(result.remote_branch, "main");
  EXPECT_EQ(copy.lineage(), origin.lineage());
  EXPECT_EQ(copy.current_branch(), "main");
  EXPECT_EQ(head_of(copy), head_of(origin));
  EXPECT_EQ(head_of(copy, "origin/main", RefKind::remote), head_of(origin));
  EXPECT_EQ(copy.ref(RefKind::tag, "v1")->value, "a note");
  EXPECT_EQ(must(find_remote(copy, "")).url, url.text());
  EXPECT_EQ(copy.revision_count(), 20u);
  verify_all(copy);
  EXPECT_EQ(names_in(b.path()), std::set<std::string>{"data.h5.onion"});  // no staging, nothing half made
  EXPECT_EQ(clone(url, here, options).error().kind(), ErrorKind::exists);
}

TEST_F(Local, CloneOfAnEmptyOnion) {
  Onion origin = must(Onion::create(there));
  const auto result = must(clone(url, here, options));
  EXPECT_TRUE(result.branches.empty());
  Onion copy = open_onion(here);
  EXPECT_EQ(copy.current_branch(), "main");
  Buffer data = bytes_of(1, 1000);
  commit(copy, data, "first");
  must(must(push(copy, "origin", url, {}, options)).outcome());
  must(origin.refresh());
  EXPECT_EQ(head_of(origin), head_of(copy));
}

TEST_F(Local, NothingThere) {
  EXPECT_EQ(clone(url, here, options).error().kind(), ErrorKind::not_found);
  EXPECT_TRUE(names_in(b.path()).empty());
}

TEST_F(Local, FetchBringsOnlyWhatIsNew) {
  Onion origin = make_history(there, 30, 200'000);
  must(clone(url, here, options));
  Onion copy = open_onion(here);
  const auto idle = must(fetch(copy, "origin", url, options));
  EXPECT_EQ(idle.stats.revisions, 0u);
  EXPECT_EQ(idle.branches.at(0).state, BranchState::same);

  Buffer data = bytes_of(5, 200'000);
  for (int i = 0; i < 3; ++i) {
    data[static_cast<std::size_t>(i)] ^= std::byte{1};
    commit(origin, data, "more");
  }
  const auto result = must(fetch(copy, "origin", url, options));
  EXPECT_EQ(result.stats.revisions, 3u);
  ASSERT_EQ(result.branches.size(), 1u);
  EXPECT_EQ(result.branches[0].state, BranchState::behind);
  EXPECT_EQ(result.branches[0].behind, 3u);
  EXPECT_NE(head_of(copy), head_of(origin));  // fetch moves no local branch
  EXPECT_EQ(head_of(copy, "origin/main", RefKind::remote), head_of(origin));

  const auto pulled = must(pull(copy, "origin", url, options));
  EXPECT_TRUE(pulled.moved);
  EXPECT_EQ(pulled.after, head_of(origin));
  EXPECT_EQ(head_of(copy), head_of(origin));
  EXPECT_FALSE(must(pull(copy, "origin", url, options)).moved);
  verify_all(copy);
}

TEST_F(Local, TwoClonesCommitTheSameNumberAndBothSurvive) {
  Onion origin = make_history(there, 3, 50'000);
  const std::string second = b / "second.onion";
  must(clone(url, here, options));
  must(clone(url, second, options));
  Onion one = open_onion(here), two = open_onion(second);
  const auto first_commit = commit(one, bytes_of(11, 50'000), "by one");
  const auto second_commit = commit(two, bytes_of(12, 50'000), "by two");
  EXPECT_EQ(first_commit.number, second_commit.number);
  EXPECT_NE(first_commit.id, second_commit.id);

  must(must(push(one, "origin", url, {}, options)).outcome());
  const auto refused = must(push(two, "origin", url, {}, options));
  EXPECT_EQ(refused.outcome().error().kind(), ErrorKind::refused);
  EXPECT_NE(refused.refs.at(0).reason.find("merge"), std::string::npos);
  EXPECT_EQ(refused.stats.chunks, 0u);  // nothing was sent in vain

  const auto pulled = must(pull(two, "origin", url, options));
  EXPECT_FALSE(pulled.moved);
  ASSERT_EQ(pulled.fetched.branches.size(), 1u);
  EXPECT_EQ(pulled.fetched.branches[0].state, BranchState::diverged);
  EXPECT_EQ(pulled.fetched.branches[0].ahead, 1u);
  EXPECT_EQ(pulled.fetched.branches[0].behind, 1u);
  EXPECT_EQ(head_of(two), second_commit.id);
  EXPECT_EQ(head_of(two, "origin/main", RefKind::remote), first_commit.id);

  // A merge that descends from both may be pushed.
  CommitOptions merge;
  merge.meta.labels = label_merge;
  merge.extra_parents = {first_commit.id};
  const Buffer merged = bytes_of(13, 50'000);
  must(two.commit_scan(BufferSource(merged), merge));
  must(must(push(two, "origin", url, {}, options)).outcome());
  must(origin.refresh());
  EXPECT_EQ(head_of(origin), head_of(two));
  EXPECT_TRUE(must(origin.is_ancestor(*origin.find(first_commit.id), *origin.find(head_of(origin)))));
  verify_all(origin);
  verify_all(two);
}

TEST_F(Local, PushCreatesUnderItsNameOnlyWhenWhole) {
  Onion mine = make_history(here, 10, 100'000);
  PushOptions no_create;
  no_create.create = false;
  EXPECT_EQ(push(mine, "origin", url, no_create, options).error().kind(), ErrorKind::not_found);
  EXPECT_TRUE(names_in(a.path()).empty());
  const auto result = must(push(mine, "origin", url, {}, options));
  must(result.outcome());
  EXPECT_TRUE(result.created);
  EXPECT_EQ(result.stats.revisions, 10u);
  Onion origin = open_onion(there);
  EXPECT_EQ(head_of(origin), head_of(mine));
  EXPECT_EQ(origin.lineage(), mine.lineage());
  EXPECT_EQ(names_in(a.path()), std::set<std::string>{"data.h5.onion"});
  EXPECT_EQ(head_of(mine, "origin/main", RefKind::remote), head_of(mine));
  const auto again = must(push(mine, "origin", url, {}, options));
  EXPECT_EQ(again.refs.at(0).state, PushedRef::State::up_to_date);
  EXPECT_EQ(again.stats.revisions, 0u);
  verify_all(origin);
}

TEST_F(Local, PushBranchesTagsAndDeletes) {
  Onion mine = make_history(here, 4, 20'000);
  std::vector<RefChange> refs(2);
  refs[0].name = "side";
  refs[0].target = must(mine.revision(2)).id;
  refs[1].kind = RefKind::tag;
  refs[1].name = "v1";
  refs[1].target = must(mine.revision(1)).id;
  must(mine.update_refs(refs));
  PushOptions all;
  all.all = all.tags = true;
  const auto pushed = must(push(mine, "origin", url, all, options));
  must(pushed.outcome());
  EXPECT_EQ(pushed.refs.size(), 3u);
  Onion origin = open_onion(there);
  EXPECT_EQ(head_of(origin, "side"), *refs[0].target);
  EXPECT_EQ(head_of(origin, "v1", RefKind::tag), *refs[1].target);

  PushOptions remove;
  remove.delete_branches = {"side", "nonsense"};
  const auto removed = must(push(mine, "origin", url, remove, options));
  EXPECT_EQ(removed.refs.size(), 2u);
  EXPECT_FALSE(removed.outcome());
  must(origin.refresh());
  EXPECT_TRUE(head_of(origin, "side").is_zero());
  EXPECT_TRUE(head_of(mine, "origin/side", RefKind::remote).is_zero());

  PushOptions current;
  current.delete_branches = {"main"};
  EXPECT_FALSE(must(push(mine, "origin", url, current, options)).outcome());  // the server's current branch stays
  must(origin.refresh());
  EXPECT_EQ(head_of(origin), head_of(mine));
}

TEST_F(Local, AtomicIsAllOrNothing) {
  Onion mine = make_history(here, 3, 20'000);
  must(must(push(mine, "origin", url, {}, options)).outcome());
  // "side" here, and another "side" there that is no ancestor of it.
  Onion origin = open_onion(there);
  commit(origin, bytes_of(77, 20'000), "there", "main");
  RefChange side;
  side.name = "side";
  side.target = head_of(origin);
  must(origin.update_refs(std::span(&side, 1)));
  side.target = must(mine.revision(1)).id;
  std::vector<RefChange> mine_refs{side, side};
  mine_refs[1].name = "fresh";
  must(mine.update_refs(mine_refs));
  PushOptions both;
  both.branches = {"side", "fresh"};
  both.atomic = true;
  const auto refused = must(push(mine, "origin", url, both, options));
  EXPECT_FALSE(refused.outcome());
  must(origin.refresh());
  EXPECT_TRUE(head_of(origin, "fresh").is_zero());
  both.atomic = false;
  EXPECT_FALSE(must(push(mine, "origin", url, both, options)).outcome());
  must(origin.refresh());
  EXPECT_FALSE(head_of(origin, "fresh").is_zero());
  EXPECT_EQ(head_of(origin, "side"), head_of(origin));
}

TEST_F(Local, ForceWithLeaseReplacesOnlyWhatWasSeen) {
  Onion mine = make_history(here, 3, 20'000);
  must(must(push(mine, "origin", url, {}, options)).outcome());
  Onion origin = open_onion(there);
  RefChange back;
  back.name = "main";
  back.target = must(mine.revision(1)).id;
  must(mine.update_refs(std::span(&back, 1)));
  commit(mine, bytes_of(50, 20'000), "another way");
  PushOptions force;
  force.force_with_lease = true;
  commit(origin, bytes_of(51, 20'000), "meanwhile");
  EXPECT_FALSE(must(push(mine, "origin", url, force, options)).outcome());
  must(fetch(mine, "origin", url, options));
  must(must(push(mine, "origin", url, force, options)).outcome());
  must(origin.refresh());
  EXPECT_EQ(head_of(origin), head_of(mine));
}

TEST_F(Local, ATagThatDiffersIsReportedAndKept) {
  Onion origin = make_history(there, 3, 20'000);
  must(clone(url, here, options));
  Onion copy = open_onion(here);
  RefChange tag;
  tag.kind = RefKind::tag;
  tag.name = "v1";
  tag.target = must(origin.revision(1)).id;
  must(origin.update_refs(std::span(&tag, 1)));
  tag.target = must(origin.revision(2)).id;
  must(copy.update_refs(std::span(&tag, 1)));
  const auto result = must(fetch(copy, "origin", url, options));
  ASSERT_EQ(result.tags.size(), 1u);
  EXPECT_EQ(result.tags[0].state, TagReport::State::differs);
  EXPECT_EQ(head_of(copy, "v1", RefKind::tag), *tag.target);
  PushOptions tags;
  tags.tags = true;
  EXPECT_FALSE(must(push(copy, "origin", url, tags, options)).outcome());
}

TEST_F(Local, ABranchThatIsGoneThereIsGoneHere) {
  Onion origin = make_history(there, 2, 20'000);
  RefChange side;
  side.name = "side";
  side.target = head_of(origin);
  must(origin.update_refs(std::span(&side, 1)));
  must(clone(url, here, options));
  Onion copy = open_onion(here);
  EXPECT_FALSE(head_of(copy, "origin/side", RefKind::remote).is_zero());
  side.target.reset();
  must(origin.update_refs(std::span(&side, 1)));
  const auto result = must(fetch(copy, "origin", url, options));
  EXPECT_TRUE(head_of(copy, "origin/side", RefKind::remote).is_zero());
  EXPECT_EQ(std::count_if(result.branches.begin(), result.branches.end(),
                          [](const BranchReport& r) { return r.state == BranchState::remote_gone; }),
            1);
}

// Collection at either end leaves holes in the ancestry; what builds on them must still arrive.
TEST_F(Local, HistoriesWithCollectedRevisionsStillMeet) {
  Onion origin = make_history(there, 12, 100'000);
  must(clone(url, here, options));
  Onion copy = open_onion(here);
  GcPolicy keep;
  keep.keep_last = 3;
  must(copy.gc(keep));
  EXPECT_LT(copy.revision_count(), 12u);
  // A branch at the origin from a revision that was collected in the copy.
  RefChange old;
  old.name = "old";
  old.target = must(origin.revision(4)).id;
  must(origin.update_refs(std::span(&old, 1)));
  commit(origin, bytes_of(60, 100'000), "on old", "old");
  must(fetch(copy, "origin", url, options));
  EXPECT_EQ(head_of(copy, "origin/old", RefKind::remote), head_of(origin, "old"));
  verify_all(copy);

  // And a clone of the collected one.
  const std::string third = b / "third.onion";
  must(clone(url_of("file://" + here), third, options));
  Onion clone_of_copy = open_onion(third);
  EXPECT_EQ(head_of(clone_of_copy), head_of(copy));
  verify_all(clone_of_copy);
  commit(clone_of_copy, bytes_of(61, 100'000), "from the third");
  must(must(push(clone_of_copy, "up", url, {}, options)).outcome());
  must(origin.refresh());
  EXPECT_EQ(head_of(origin), head_of(clone_of_copy));
  verify_all(origin);
}

TEST_F(Local, RepairTakesChunksFromTheCopy) {
  Onion origin = make_history(there, 2, 300'000);
  must(clone(url, here, options));
  Onion copy = open_onion(here);
  const auto pieces = must(must(copy.open_revision(1)).pieces(0, 300'000));
  RepairSource source = must(RepairSource::open(url, options));
  const StoredChunk got = must(source.chunk(pieces.at(0).chunk));
  EXPECT_EQ(got.stored, must(copy.stored_chunk(pieces[0].locator)).stored);
  ChunkName nonsense = pieces[0].chunk;
  nonsense.digest.bytes[0] ^= std::byte{1};
  EXPECT_EQ(source.chunk(nonsense).error().kind(), ErrorKind::not_found);
  EXPECT_TRUE(source.chunk(pieces.at(1).chunk));
}

TEST_F(Local, LargeFilesMoveInManyFrames) {
  Onion origin = make_history(there, 3, 6'000'000);
  const auto result = must(clone(url, here, options));
  EXPECT_GT(result.stats.bytes_received, 5'000'000u);
  verify_all(open_onion(here));
}

TEST_F(Local, CancelStopsATransfer) {
  make_history(there, 3, 3'000'000);
  Cancel cancel;
  options.cancel = &cancel;
  cancel.request();
  EXPECT_EQ(clone(url, here, options).error().kind(), ErrorKind::cancelled);
  EXPECT_FALSE(std::filesystem::exists(here));
}

TEST(Remotes, AreKeptInTheOnion) {
  Folder folder;
  Onion onion = must(Onion::create(folder / "x.onion"));
  EXPECT_EQ(find_remote(onion, "").error().kind(), ErrorKind::not_found);
  must(set_remote(onion, "lab", url_of("peel://hub/x")));
  EXPECT_EQ(must(find_remote(onion, "")).name, "lab");  // the only one
  must(set_remote(onion, "origin", url_of("peel://hub/y")));
  EXPECT_EQ(must(find_remote(onion, "")).name, "origin");
  EXPECT_EQ(remotes(onion).size(), 2u);
  EXPECT_EQ(set_remote(onion, "-x", url_of("peel://hub/y")).error().kind(), ErrorKind::usage);
  must(remove_remote(onion, "lab"));
  EXPECT_EQ(remotes(onion).size(), 1u);
}

}  // namespace
}  // namespace peel::sync::test
