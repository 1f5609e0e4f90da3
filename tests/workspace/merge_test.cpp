// Merges: disjoint words join, the same words collide, and nothing moves when they do.
#include <algorithm>

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

TEST(Merge, DisjointWordsOfOnePageJoin) {
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
  EXPECT_EQ(report->conflicts, (std::vector<Range>{{104, 8}}));
  EXPECT_FALSE(report->size_conflict);
  EXPECT_EQ(read_file(s.paths.file), s.ours);
  EXPECT_EQ(open_onion(s.paths)->revision_count(), before);

  const auto preferred = merge(s.paths, s.request(Side::ours));
  ASSERT_OK(preferred);
  EXPECT_EQ(preferred->outcome, MergeOutcome::merged);
  EXPECT_EQ(read_file(s.paths.file), s.with(s.ours, 20000, "more"));
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

// A number is never put together from two.
template <class T>
void expect_number_conflict(T base, T ours, T theirs) {
  const auto number = [](T value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); };
  constexpr std::size_t at = 8000 - sizeof(T);  // the last of its word
  Forked s;
  s.base.replace(at, sizeof(T), number(base));
  s.commit_both(s.with(s.base, at, number(ours)), s.with(s.base, at, number(theirs)));
  const auto report = merge(s.paths, s.request());
  ASSERT_OK(report);
  EXPECT_EQ(report->outcome, MergeOutcome::conflict);
  EXPECT_EQ(report->conflicts, (std::vector<Range>{{7992, 8}}));
  EXPECT_EQ(read_file(s.paths.file), s.ours);
  ASSERT_OK(merge(s.paths, s.request(Side::theirs)));
  EXPECT_EQ(read_file(s.paths.file), s.theirs);
}

TEST(Merge, DifferentBytesOfOneNumberCollide) {
  expect_number_conflict<std::int32_t>(0, 256, 1);
  expect_number_conflict<std::int16_t>(0, 256, 1);
  expect_number_conflict<double>(1.0, 2.0, 1.0 + 1.0 / (1ll << 50));
}

TEST(Merge, UnalignedTextCollidesOnlyWhereAWordIsShared) {
  {
    Forked s;
    s.commit_both(s.with(s.base, 101, "our text"), s.with(s.base, 109, "their text"));
    const auto report = merge(s.paths, s.request());
    ASSERT_OK(report);
    EXPECT_EQ(report->conflicts, (std::vector<Range>{{104, 8}}));
  }
  {
    Forked s;
    s.commit_both(s.with(s.base, 101, "our text"), s.with(s.base, 113, "their text"));
    const auto report = merge(s.paths, s.request());
    ASSERT_OK(report);
    EXPECT_EQ(report->outcome, MergeOutcome::merged);
    EXPECT_EQ(read_file(s.paths.file), s.with(s.ours, 113, "their text"));
  }
  {  // the last word is cut at the end of the file
    Forked s;
    s.base.resize(29995);
    s.commit_both(s.with(s.base, 29992, "O"), s.with(s.base, 29994, "T"));
    const auto report = merge(s.paths, s.request());
    ASSERT_OK(report);
    EXPECT_EQ(report->conflicts, (std::vector<Range>{{29992, 3}}));
  }
}

TEST(Merge, WhatTheCheckCallsUnsoundChangesNothing) {
  Forked s;
  s.commit_both(s.with(s.base, 100, "OURS"), s.with(s.base, 200, "THEIRS"));
  const std::string wanted = s.with(s.ours, 200, "THEIRS");
  const auto before = open_onion(s.paths)->revision_count();
  MergeRequest request = s.request();
  int calls = 0;
  request.check = [&](const MergeParts& parts) -> Result<std::optional<std::string>> {
    ++calls;
    const auto all = [](const Source& source) {
      std::string text(static_cast<std::size_t>(source.size()), '?');
      const auto got = source.read_at(0, std::as_writable_bytes(std::span(text)));
      EXPECT_TRUE(got.ok() && *got == text.size());
      return text;
    };
    EXPECT_EQ(all(parts.base), s.base);
    EXPECT_EQ(all(parts.ours), s.ours);
    EXPECT_EQ(all(parts.theirs), s.theirs);
    EXPECT_EQ(all(parts.merged), wanted);
    EXPECT_EQ(parts.base_ours, (std::vector<Range>{{96, 8}}));
    EXPECT_EQ(parts.theirs_merged, parts.base_ours);
    EXPECT_EQ(parts.base_theirs, (std::vector<Range>{{200, 8}}));
    EXPECT_EQ(parts.ours_merged, parts.base_theirs);
    return std::optional<std::string>("no good");
  };
  const auto report = merge(s.paths, request);
  ASSERT_OK(report);
  EXPECT_EQ(report->outcome, MergeOutcome::unsound);
  EXPECT_EQ(report->unsound, "no good");
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(read_file(s.paths.file), s.ours);
  EXPECT_EQ(open_onion(s.paths)->revision_count(), before);

  MergeRequest failing = s.request();
  failing.check = [](const MergeParts&) -> Result<std::optional<std::string>> { return fail(ErrorKind::cancelled, "stop"); };
  EXPECT_FAILS(merge(s.paths, failing), ErrorKind::cancelled);
  EXPECT_EQ(open_onion(s.paths)->revision_count(), before);

  request.even_if_unsound = true;
  const auto forced = merge(s.paths, request);
  ASSERT_OK(forced);
  EXPECT_EQ(forced->outcome, MergeOutcome::merged);
  EXPECT_EQ(forced->unsound, "no good");
  EXPECT_EQ(forced->revision->meta.labels, label_merge | label_unhealthy);
  EXPECT_EQ(forced->revision->meta.note, "merge side\n[unhealthy: no good]");
  EXPECT_EQ(read_file(s.paths.file), wanted);
}

TEST(Merge, AWholeSideIsNotChecked) {
  for (const Side side : {Side::ours, Side::theirs}) {
    Forked s;
    s.commit_both(s.with(s.base, 100, "OURS") + "ours", s.with(s.base, 100, "NOPE") + "theirs");
    MergeRequest request = s.request(side);
    request.check = [](const MergeParts&) -> Result<std::optional<std::string>> { return std::optional<std::string>("asked"); };
    const auto report = merge(s.paths, request);
    ASSERT_OK(report);
    EXPECT_EQ(report->outcome, MergeOutcome::merged);
    EXPECT_FALSE(report->unsound);
    EXPECT_EQ(report->whole, side);
    EXPECT_EQ(read_file(s.paths.file), side == Side::ours ? s.ours : s.theirs);
  }
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
    EXPECT_EQ(report->conflicts, (std::vector<Range>{{20000, 8}}));
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

// Every mixture of small edits and sizes, against a merge done word by word.
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
      for (std::uint64_t n = draw(4); n > 0; --n) text[draw(60) * 150 + draw(9)] = static_cast<char>('A' + draw(2));
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
      const auto end_of = [&](const std::string& text) { return std::max(text.size(), base.size()); };
      const auto changed_word = [&](const std::string& text, std::size_t i) {
        if (i >= end_of(text)) return false;
        for (std::size_t k = i - i % 8; k < std::min(i - i % 8 + 8, end_of(text)); ++k)
          if (changed(text, k)) return true;
        return false;
      };
      const auto collides = [&](std::size_t i) {
        if (!changed_word(ours, i) || !changed_word(theirs, i)) return false;
        for (std::size_t k = i - i % 8; k < std::min({i - i % 8 + 8, end_of(ours), end_of(theirs)}); ++k)
          if (!same(k)) return true;
        return false;
      };
      bool conflict = ours.size() != theirs.size() && ours.size() != base.size() && theirs.size() != base.size();
      for (std::size_t i = 0; i < 10000; ++i) conflict |= collides(i);
      EXPECT_EQ(!plan->conflicts.empty(), conflict) << round;
      const auto our_reader = onion->open_revision(o), their_reader = onion->open_revision(t);
      const MergedSource merged(*our_reader, *their_reader, *plan);
      Buffer bytes(static_cast<std::size_t>(merged.size()));
      const auto got = merged.read_at(0, bytes);
      ASSERT_OK(got);
      ASSERT_EQ(*got, bytes.size());
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        const char have = static_cast<char>(bytes[i]);
        const std::string& wanted = collides(i) ? (prefer == Side::ours ? ours : theirs) : changed_word(theirs, i) ? theirs : ours;
        if (i >= wanted.size()) continue;
        ASSERT_EQ(have, wanted[i]) << round << " at " << i;
      }
      const auto listed = [](const std::vector<Range>& ranges, std::size_t i) {
        return std::any_of(ranges.begin(), ranges.end(), [&](const Range& r) { return i >= r.offset && i - r.offset < r.length; });
      };
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        const char have = static_cast<char>(bytes[i]);
        ASSERT_TRUE(listed(plan->unlike_theirs, i) || (i < theirs.size() && have == theirs[i])) << round << " at " << i;
        ASSERT_TRUE(listed(plan->take, i) || (i < ours.size() && have == ours[i])) << round << " at " << i;
      }
      if (conflict) continue;
      EXPECT_EQ(merged.size(), theirs.size() == base.size() ? ours.size() : theirs.size());
    }
  }
}

}  // namespace
}  // namespace peel::workspace::test
