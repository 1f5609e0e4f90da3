// Merges: disjoint bytes join, the same bytes collide, and nothing moves when they do.
#include "base/file.h"
#include "scratch.h"
#include "workspace/merge_plan.h"

namespace peel::workspace::test {
namespace {

// So that every letter written into it is a change.
std::string unlike_letters(std::string text) {
  for (char& c : text) c = static_cast<char>(c | 0x80);
  return text;
}

// main and side, both from one base.
struct Forked {
  Scratch dir;
  Paths paths = dir.paths();
  std::string base = unlike_letters(noise(30000));
  std::string ours, theirs;

  void commit_both(const std::string& our_text, const std::string& their_text) {
    ours = our_text;
    theirs = their_text;
    commit_text(paths, base);
    {
      auto onion = open_onion(paths, Access::write);
      ASSERT_OK(create_branch(*onion, "side", ""));
    }
    ASSERT_OK(switch_branch(paths, "side", {}));
    if (theirs != base) commit_text(paths, theirs);
    ASSERT_OK(switch_branch(paths, "main", {}));
    if (ours != base) commit_text(paths, ours);
    ASSERT_EQ(state_of(paths), State::unmodified);
  }
  MergeRequest request(Side side = Side::neither) const {
    MergeRequest out;
    out.other = "side";
    out.on_conflict = side;
    return out;
  }
  std::string with(std::string text, std::size_t offset, std::string_view patch) const { return text.replace(offset, patch.size(), patch); }
};

TEST(Merge, DisjointBytesOfOnePageJoin) {
  Forked s;
  s.commit_both(s.with(s.base, 100, "OURS"), s.with(s.base, 104, "THEIRS"));
  const auto report = merge(s.paths, s.request());
  ASSERT_OK(report);
  EXPECT_EQ(report->outcome, MergeOutcome::merged);
  EXPECT_TRUE(report->file_changed);
  const std::string wanted = s.with(s.with(s.base, 100, "OURS"), 104, "THEIRS");
  EXPECT_EQ(read_file(s.paths.file), wanted);
  EXPECT_EQ(content_at(s.paths, ""), wanted);
  ASSERT_TRUE(report->revision);
  EXPECT_EQ(report->revision->parents.size(), 2u);
  EXPECT_EQ(report->revision->meta.labels, label_merge);
  EXPECT_EQ(report->revision->meta.note, "merge side");
  EXPECT_EQ(state_of(s.paths), State::unmodified);
  const auto again = merge(s.paths, s.request());
  ASSERT_OK(again);
  EXPECT_EQ(again->outcome, MergeOutcome::up_to_date);
}

TEST(Merge, ConflictsAreListedAndNothingMoves) {
  Forked s;
  s.commit_both(s.with(s.base, 100, "OURSOURS"), s.with(s.with(s.base, 104, "THEIRS"), 20000, "more"));
  const auto before = open_onion(s.paths)->revision_count();
  const auto report = merge(s.paths, s.request());
  ASSERT_OK(report);
  EXPECT_EQ(report->outcome, MergeOutcome::conflict);
  EXPECT_EQ(report->conflicts, (std::vector<Range>{{104, 4}}));
  EXPECT_FALSE(report->size_conflict);
  EXPECT_EQ(read_file(s.paths.file), s.ours);
  EXPECT_EQ(open_onion(s.paths)->revision_count(), before);

  const auto preferred = merge(s.paths, s.request(Side::ours));
  ASSERT_OK(preferred);
  EXPECT_EQ(preferred->outcome, MergeOutcome::merged);
  EXPECT_EQ(read_file(s.paths.file), s.with(s.with(s.with(s.base, 104, "THEIRS"), 20000, "more"), 100, "OURSOURS"));
}

TEST(Merge, TheirsWinsWhereAsked) {
  Forked s;
  s.commit_both(s.with(s.base, 100, "OURSOURS"), s.with(s.base, 104, "THEIRS"));
  const auto report = merge(s.paths, s.request(Side::theirs));
  ASSERT_OK(report);
  EXPECT_EQ(read_file(s.paths.file), s.with(s.with(s.base, 100, "OURSOURS"), 104, "THEIRS"));
}

TEST(Merge, TheSameChangeOnBothSidesIsNoConflict) {
  Forked s;
  s.commit_both(s.with(s.with(s.base, 100, "SAME"), 200, "ours"), s.with(s.base, 100, "SAME"));
  const auto report = merge(s.paths, s.request());
  ASSERT_OK(report);
  EXPECT_EQ(report->outcome, MergeOutcome::merged);
  EXPECT_EQ(read_file(s.paths.file), s.ours);
}

TEST(Merge, OneSideMayAppendOrShrink) {
  {
    Forked s;
    s.commit_both(s.with(s.base, 100, "OURS"), s.base + "appended");
    ASSERT_OK(merge(s.paths, s.request()));
    EXPECT_EQ(read_file(s.paths.file), s.with(s.base, 100, "OURS") + "appended");
  }
  {
    Forked s;
    s.commit_both(s.base + "appended", s.with(s.base, 100, "THEIRS"));
    ASSERT_OK(merge(s.paths, s.request()));
    EXPECT_EQ(read_file(s.paths.file), s.with(s.base, 100, "THEIRS") + "appended");
  }
  {
    Forked s;
    s.commit_both(s.with(s.base, 100, "OURS"), s.base.substr(0, 10000));
    ASSERT_OK(merge(s.paths, s.request()));
    EXPECT_EQ(read_file(s.paths.file), s.with(s.base, 100, "OURS").substr(0, 10000));
  }
}

TEST(Merge, TwoDifferentNewSizesCollide) {
  Forked s;
  s.commit_both(s.base + "ours", s.base + "theirs!");
  const auto report = merge(s.paths, s.request());
  ASSERT_OK(report);
  EXPECT_EQ(report->outcome, MergeOutcome::conflict);
  EXPECT_TRUE(report->size_conflict);
  EXPECT_EQ(read_file(s.paths.file), s.ours);
  ASSERT_OK(merge(s.paths, s.request(Side::theirs)));
  EXPECT_EQ(read_file(s.paths.file), s.theirs);
}

TEST(Merge, AnEditInWhatTheOtherSideCutOffCollides) {
  for (const Side side : {Side::ours, Side::theirs}) {
    Forked s;
    s.commit_both(s.base.substr(0, 10000), s.with(s.base, 20000, "THEIRS"));
    const auto report = merge(s.paths, s.request());
    ASSERT_OK(report);
    EXPECT_EQ(report->outcome, MergeOutcome::conflict);
    EXPECT_EQ(report->conflicts, (std::vector<Range>{{20000, 6}}));
    ASSERT_OK(merge(s.paths, s.request(side)));
    EXPECT_EQ(read_file(s.paths.file), side == Side::ours ? s.ours : s.theirs);
  }
}

TEST(Merge, FastForwardsWhenOursIsTheBase) {
  Forked s;
  s.commit_both(s.base, s.with(s.base, 100, "THEIRS"));
  const auto report = merge(s.paths, s.request());
  ASSERT_OK(report);
  EXPECT_EQ(report->outcome, MergeOutcome::fast_forward);
  EXPECT_EQ(read_file(s.paths.file), s.theirs);
  EXPECT_EQ(open_onion(s.paths)->revision_count(), 2u);
  EXPECT_EQ(open_onion(s.paths)->current_branch(), "main");
}

TEST(Merge, RefusesAModifiedFileAndLeavesAMissingOneMissing) {
  Forked s;
  s.commit_both(s.with(s.base, 100, "OURS"), s.with(s.base, 200, "THEIRS"));
  write_file(s.paths.file, "precious");
  EXPECT_FAILS(merge(s.paths, s.request()), ErrorKind::refused);
  EXPECT_EQ(read_file(s.paths.file), "precious");
  ASSERT_EQ(::unlink(s.paths.file.c_str()), 0);
  const auto report = merge(s.paths, s.request());
  ASSERT_OK(report);
  EXPECT_EQ(report->outcome, MergeOutcome::merged);
  EXPECT_EQ(state_of(s.paths), State::missing);
}

TEST(Merge, LargeOnesAreScannedWithTheSameResult) {
  Forked s;
  s.base = noise(40 << 20);
  std::string theirs = s.base;
  theirs.replace(1 << 20, 20 << 20, noise(20 << 20, 5));
  s.commit_both(s.with(s.base, 35 << 20, "OURS"), theirs);
  const auto report = merge(s.paths, s.request());
  ASSERT_OK(report);
  EXPECT_GT(report->bytes_taken, 16u << 20);
  EXPECT_TRUE(read_file(s.paths.file) == s.with(theirs, 35 << 20, "OURS"));
}

// Every mixture of small edits and sizes, against a merge done byte by byte.
TEST(MergePlan, AgreesWithTheObviousMerge) {
  std::uint64_t seed = 7;
  const auto draw = [&](std::uint64_t below) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (seed >> 33) % below;
  };
  const auto memory = make_memory_file_system();
  CreateOptions create;
  create.file_system = memory.get();
  auto onion = Onion::create("data.onion", create);
  ASSERT_OK(onion);
  const auto record = [&](const std::string& text) {
    CommitOptions options;
    options.even_if_same = true;
    const Write whole{0, as_bytes(text)};
    auto result = onion->commit_writes(std::span(&whole, text.empty() ? 0 : 1), text.size(), options);
    EXPECT_TRUE(result.ok()) << result.error().message();
    return result->revision.number;
  };
  for (int round = 0; round < 100; ++round) {
    const std::string base = unlike_letters(noise(9000, static_cast<std::uint64_t>(round)));
    const auto edited = [&] {
      std::string text = base;
      for (std::uint64_t n = draw(4); n > 0; --n) text[draw(text.size())] = static_cast<char>('A' + draw(2));
      if (draw(3) == 0) text.resize(8000 + draw(2000), 'z');
      return text;
    };
    const std::string ours = edited(), theirs = edited();
    const auto b = record(base), o = record(ours), t = record(theirs);
    for (const Side prefer : {Side::ours, Side::theirs}) {
      const auto plan = plan_merge(*onion, b, o, t, prefer, {});
      ASSERT_OK(plan);
      const auto changed = [&](const std::string& text, std::size_t i) {
        return i >= text.size() ? i < base.size() : i >= base.size() || text[i] != base[i];
      };
      const auto same = [&](std::size_t i) {
        const bool has_ours = i < ours.size(), has_theirs = i < theirs.size();
        return has_ours == has_theirs && (!has_ours || ours[i] == theirs[i]);
      };
      bool conflict = ours.size() != theirs.size() && ours.size() != base.size() && theirs.size() != base.size();
      for (std::size_t i = 0; i < 10000; ++i) conflict |= changed(ours, i) && changed(theirs, i) && !same(i);
      EXPECT_EQ(!plan->conflicts.empty(), conflict) << round;
      const auto our_reader = onion->open_revision(o), their_reader = onion->open_revision(t);
      const MergedSource merged(*our_reader, *their_reader, *plan);
      Buffer bytes(static_cast<std::size_t>(merged.size()));
      const auto got = merged.read_at(0, bytes);
      ASSERT_OK(got);
      ASSERT_EQ(*got, bytes.size());
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        const char have = static_cast<char>(bytes[i]);
        const bool both = changed(ours, i) && changed(theirs, i);
        const std::string& wanted = both ? (prefer == Side::ours ? ours : theirs) : changed(theirs, i) ? theirs : ours;
        if (i >= wanted.size()) continue;
        ASSERT_EQ(have, wanted[i]) << round << " at " << i;
      }
      if (conflict) continue;
      EXPECT_EQ(merged.size(), theirs.size() == base.size() ? ours.size() : theirs.size());
    }
  }
}

TEST(Refs, BranchesAndTags) {
  const Scratch dir;
  const Paths paths = dir.paths();
  commit_text(paths, "one");
  auto onion = open_onion(paths, Access::write);
  ASSERT_OK(onion);
  ASSERT_OK(create_branch(*onion, "side", ""));
  EXPECT_FAILS(create_branch(*onion, "side", ""), ErrorKind::exists);
  EXPECT_FAILS(create_branch(*onion, "other", "@9"), ErrorKind::not_found);
  ASSERT_OK(rename_branch(*onion, "main", "trunk"));
  EXPECT_EQ(onion->current_branch(), "trunk");
  EXPECT_FALSE(onion->ref(RefKind::branch, "main"));
  EXPECT_FAILS(rename_branch(*onion, "trunk", "side"), ErrorKind::exists);
  EXPECT_FAILS(delete_branch(*onion, "trunk"), ErrorKind::refused);
  ASSERT_OK(delete_branch(*onion, "side"));
  EXPECT_FAILS(delete_branch(*onion, "side"), ErrorKind::not_found);
  ASSERT_OK(create_tag(*onion, "v1", "trunk", "good"));
  EXPECT_EQ(onion->ref(RefKind::tag, "v1")->value, "good");
  EXPECT_FAILS(create_tag(*onion, "v1", "", ""), ErrorKind::exists);
  ASSERT_OK(delete_tag(*onion, "v1"));
  EXPECT_FAILS(delete_tag(*onion, "v1"), ErrorKind::not_found);
}

}  // namespace
}  // namespace peel::workspace::test
