// Whole behaviour of an onion through its public face, on an in-memory file system, against a plain model.
#include "peel/onion.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/cancel.h"
#include "base/file.h"
#include "base/hex.h"
#include "codec/grid_digest.h"
#include "codec/page_codec.h"
#include "onion/format.h"
#include "onion/importer.h"

using namespace peel;

namespace {

class BufferSource final : public Source {
 public:
  explicit BufferSource(const Buffer& b) : data_(b) {}
  std::uint64_t size() const override { return data_.size(); }
  Result<std::size_t> read_at(std::uint64_t offset, MutableBytes out) const override {
    if (offset >= data_.size()) return std::size_t{0};
    const auto n = std::min<std::size_t>(out.size(), data_.size() - offset);
    std::copy_n(data_.begin() + static_cast<std::ptrdiff_t>(offset), n, out.begin());
    return n;
  }

 private:
  const Buffer& data_;
};

Buffer random_bytes(std::mt19937_64& rng, std::size_t n) {
  Buffer b(n);
  for (auto& x : b) x = static_cast<std::byte>(rng());
  return b;
}

Digest digest_of(const Buffer& b) {
  codec::ContentHasher h;
  h.update(b);
  return h.finish();
}

Buffer read_all(const Onion& onion, std::uint64_t number) {
  auto reader = onion.open_revision(number);
  EXPECT_TRUE(reader) << reader.error().message();
  Buffer out(reader->size());
  auto n = reader->read(0, out);
  EXPECT_TRUE(n) << n.error().message();
  return out;
}

CommitOptions note(std::string text) {
  CommitOptions o;
  o.meta.note = std::move(text);
  o.meta.author = "tester";
  return o;
}

struct Memory {
  std::unique_ptr<FileSystem> fs = make_memory_file_system();
  Onion create(std::uint32_t page_size = 0) {
    CreateOptions o;
    o.file_system = fs.get();
    o.page_size = page_size;
    auto onion = Onion::create("x.onion", o);
    EXPECT_TRUE(onion) << onion.error().message();
    return std::move(onion).value();
  }
  Onion open() {
    auto onion = Onion::open("x.onion", {Access::write, fs.get(), false});
    EXPECT_TRUE(onion) << onion.error().message();
    return std::move(onion).value();
  }
};

// A commit must give exactly these bytes, the right digest, and the id must depend on them.
void expect_revision(const Onion& onion, std::uint64_t number, const Buffer& want) {
  auto info = onion.revision(number);
  ASSERT_TRUE(info) << info.error().message();
  EXPECT_EQ(info->size, want.size());
  EXPECT_EQ(to_hex(info->content), to_hex(digest_of(want)));
  EXPECT_TRUE(read_all(onion, number) == want);
  auto reader = onion.open_revision(number);
  ASSERT_TRUE(reader);
  auto ok = reader->verify();
  EXPECT_TRUE(ok) << ok.error().message();
}

}  // namespace

TEST(Onion, FirstRevisionReadsBack) {
  Memory m;
  auto onion = m.create();
  std::mt19937_64 rng(1);
  const Buffer data = random_bytes(rng, 10'000);
  auto r = onion.commit_scan(BufferSource(data), note("first"));
  ASSERT_TRUE(r) << r.error().message();
  EXPECT_TRUE(r->added);
  EXPECT_EQ(r->revision.number, 1u);
  expect_revision(onion, 1, data);
  // Nothing new: no revision.
  auto again = onion.commit_scan(BufferSource(data), note("again"));
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->added);
  EXPECT_EQ(onion.revision_count(), 1u);
}

// Random edits, growth, shrinks, holes, by scan and by writes, over all page sizes; every revision must read
// back at the end, after reopening, and after a collection.
TEST(Onion, RandomHistoryMatchesModel) {
  for (const std::uint32_t page_size : {4096u, 16384u, 65536u, 0u})
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      SCOPED_TRACE("page size " + std::to_string(page_size) + " seed " + std::to_string(seed));
      std::mt19937_64 rng(seed * 1000 + page_size);
      Memory m;
      auto onion = m.create(page_size);
      std::map<std::uint64_t, Buffer> model;
      Buffer now;
      for (int step = 0; step < 40; ++step) {
        const auto kind = rng() % 8;
        Result<CommitResult> r = fail(ErrorKind::usage, "");
        if (kind < 3 && !now.empty()) {  // described writes
          std::vector<Write> writes;
          std::vector<Buffer> kept;
          std::uint64_t size = now.size();
          if (rng() % 4 == 0) size = rng() % 300'000 + 1;
          now.resize(size);
          for (unsigned i = 0; i < 1 + rng() % 4; ++i) {
            const std::uint64_t offset = rng() % size, n = 1 + rng() % std::min<std::uint64_t>(size - offset, 20'000);
            kept.push_back(random_bytes(rng, n));
            if (rng() % 5 == 0) std::fill(kept.back().begin(), kept.back().end(), std::byte{0});
            std::copy(kept.back().begin(), kept.back().end(), now.begin() + static_cast<std::ptrdiff_t>(offset));
            writes.push_back({offset, {}});
          }
          for (std::size_t i = 0; i < writes.size(); ++i) writes[i].data = kept[i];
          r = onion.commit_writes(writes, size, note("writes"));
        } else {
          if (kind == 3) now = random_bytes(rng, rng() % 400'000);
          if (kind == 4) { const Buffer front = random_bytes(rng, rng() % 9000); now.insert(now.begin(), front.begin(), front.end()); }
          if (kind == 5) now.resize(rng() % 500'000);
          if (kind == 6 && !now.empty()) for (int i = 0; i < 5; ++i) now[rng() % now.size()] ^= std::byte{1};
          if (kind == 7) { const Buffer tail = random_bytes(rng, rng() % 100'000); now.insert(now.end(), tail.begin(), tail.end()); }
          r = onion.commit_scan(BufferSource(now), note("scan"));
        }
        ASSERT_TRUE(r) << r.error().message();
        EXPECT_EQ(to_hex(r->revision.content), to_hex(digest_of(now)));
        model[r->revision.number] = now;
      }
      for (const auto& [number, want] : model) expect_revision(onion, number, want);
      auto reopened = m.open();
      EXPECT_EQ(reopened.revision_count(), onion.revision_count());
      for (const auto& [number, want] : model) expect_revision(reopened, number, want);
      // Differences are exactly where bytes differ, on page borders.
      for (std::uint64_t n = 2; n <= reopened.revision_count(); n += 3) {
        const Buffer &a = model[n - 1], &b = model[n];
        auto ranges = reopened.diff(n - 1, n);
        ASSERT_TRUE(ranges) << ranges.error().message();
        std::vector<bool> covered(std::max(a.size(), b.size()), false);
        for (const Range& range : *ranges)
          for (std::uint64_t i = range.offset; i < range.offset + range.length; ++i) covered.at(i) = true;
        for (std::size_t i = 0; i < covered.size(); ++i) {
          const bool differs = i >= a.size() || i >= b.size() || a[i] != b[i];
          if (differs) { ASSERT_TRUE(covered[i]) << "byte " << i << " of " << n; }
        }
      }
      auto report = reopened.verify({.deep = true});
      ASSERT_TRUE(report);
      EXPECT_TRUE(report->damage.empty()) << report->damage[0].what;
      GcPolicy policy;
      policy.keep_last = 7;
      auto collected = reopened.gc(policy);
      ASSERT_TRUE(collected) << collected.error().message();
      EXPECT_EQ(collected->revisions_kept, std::min<std::uint64_t>(7, model.size()));
      auto list = reopened.list();
      ASSERT_TRUE(list);
      for (const auto& s : *list) expect_revision(reopened, s.number, model[s.number]);
      report = reopened.verify({.deep = true});
      ASSERT_TRUE(report);
      EXPECT_TRUE(report->damage.empty()) << report->damage[0].what;
      // History goes on after it.
      now.push_back(std::byte{1});
      auto more = reopened.commit_scan(BufferSource(now), note("after gc"));
      ASSERT_TRUE(more) << more.error().message();
      expect_revision(reopened, more->revision.number, now);
    }
}

TEST(Onion, ManyCommitsSurviveCheckpoints) {
  Memory m;
  auto onion = m.create();
  std::mt19937_64 rng(5);
  Buffer now = random_bytes(rng, 50'000);
  ASSERT_TRUE(onion.commit_scan(BufferSource(now), note("0")));
  std::vector<Buffer> states{now};
  for (int i = 0; i < 500; ++i) {
    const Buffer page = random_bytes(rng, 4096);
    const std::uint64_t offset = rng() % 12 * 4096;
    std::copy(page.begin(), page.end(), now.begin() + static_cast<std::ptrdiff_t>(offset));
    const Write w{offset, page};
    auto r = onion.commit_writes({&w, 1}, now.size(), note(std::to_string(i)));
    ASSERT_TRUE(r) << r.error().message();
    states.push_back(now);
  }
  auto other = m.open();
  for (std::size_t i = 0; i < states.size(); i += 37) expect_revision(other, i + 1, states[i]);
  auto at = other.resolve("@10~3");
  ASSERT_TRUE(at);
  EXPECT_EQ(*at, 7u);
  EXPECT_EQ(*other.resolve("main"), 501u);
  EXPECT_EQ(*other.resolve(""), 501u);
  EXPECT_EQ(*other.resolve(short_hex(other.revision(33)->id)), 33u);
  EXPECT_EQ(*other.resolve("=" + to_hex(other.revision(34)->id)), 34u);
  EXPECT_EQ(other.resolve("nope").error().kind(), ErrorKind::not_found);
  EXPECT_EQ(other.resolve("@9999").error().kind(), ErrorKind::not_found);
  EXPECT_EQ(other.resolve("@10" + std::string(300'000, '~')).error().kind(), ErrorKind::not_found);
  EXPECT_EQ(other.resolve("main@{99999-01-01}").error().kind(), ErrorKind::usage);
  EXPECT_EQ(*other.resolve("main@{9999-01-01}"), 501u);
  EXPECT_TRUE(*other.is_ancestor(3, 400));
  EXPECT_FALSE(*other.is_ancestor(400, 3));
}

TEST(Onion, RefsTagsReflogAndConflicts) {
  Memory m;
  auto onion = m.create();
  std::mt19937_64 rng(6);
  ASSERT_TRUE(onion.commit_scan(BufferSource(random_bytes(rng, 9000)), note("1")));
  const auto first = onion.revision(1)->id;
  RefChange branch{RefKind::branch, "side", RevisionId{}, first, std::nullopt, "branch"};
  ASSERT_TRUE(onion.update_refs({&branch, 1}));
  auto again = onion.update_refs({&branch, 1});
  EXPECT_EQ(again.error().kind(), ErrorKind::conflict);
  CommitOptions on_side = note("side");
  on_side.branch = "side";
  on_side.tag = "v1";
  ASSERT_TRUE(onion.commit_scan(BufferSource(random_bytes(rng, 9000)), on_side));
  ASSERT_TRUE(onion.commit_scan(BufferSource(random_bytes(rng, 9000)), note("main 2")));
  EXPECT_EQ(**onion.merge_base(2, 3), 1u);
  EXPECT_FALSE(*onion.is_ancestor(2, 3));
  CommitOptions merge = note("merge");
  merge.extra_parents = {onion.ref(RefKind::branch, "side")->target};
  ASSERT_TRUE(onion.commit_scan(BufferSource(random_bytes(rng, 9000)), merge));
  EXPECT_TRUE(*onion.is_ancestor(2, 4));
  EXPECT_EQ(*onion.resolve("v1"), 2u);
  auto log = onion.reflog();
  ASSERT_TRUE(log);
  EXPECT_GE(log->size(), 6u);
  EXPECT_EQ((*log)[0].name, "main");
  auto reopened = m.open();
  EXPECT_EQ(*reopened.resolve("v1"), 2u);
  EXPECT_EQ(*reopened.resolve("side"), 2u);
  // A tag protects what no branch reaches.
  RefChange gone{RefKind::branch, "side", std::nullopt, std::nullopt, std::nullopt, "delete"};
  ASSERT_TRUE(reopened.update_refs({&gone, 1}));
  GcPolicy policy;
  policy.keep_last = 1;
  auto report = reopened.gc(policy);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->revisions_kept, 2u);
  EXPECT_EQ(*reopened.resolve("v1"), 2u);
}

TEST(Onion, DeferredCollectionHappensAtFlush) {
  Memory m;
  auto onion = m.create();
  std::mt19937_64 rng(7);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(onion.commit_scan(BufferSource(random_bytes(rng, 20'000)), note("")));
  GcPolicy policy;
  policy.keep_last = 3;
  policy.defer = true;
  auto report = onion.gc(policy);
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->compacted);
  EXPECT_EQ(onion.revision_count(), 20u);
  auto other = m.open();  // the mark survives a restart
  ASSERT_TRUE(other.flush());
  EXPECT_EQ(other.revision_count(), 3u);
  expect_revision(other, 20, read_all(onion, 20));  // the old handle still reads the old file
}

TEST(Onion, ImportGivesTheSameHistory) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    Memory a, b;
    auto from = a.create();
    std::map<std::uint64_t, Buffer> model;
    Buffer now = random_bytes(rng, 200'000);
    for (int i = 0; i < 25; ++i) {
      if (rng() % 3 == 0) now.resize(rng() % 400'000);
      else if (rng() % 2) now.insert(now.begin() + static_cast<std::ptrdiff_t>(now.size() / 3), 777, std::byte{9});
      else if (!now.empty()) now[rng() % now.size()] ^= std::byte{3};
      auto r = from.commit_scan(BufferSource(now), note(std::to_string(i)));
      ASSERT_TRUE(r) << r.error().message();
      model[r->revision.number] = now;
    }
    CreateOptions co;
    co.file_system = b.fs.get();
    co.lineage = from.lineage();
    auto to = Onion::create("x.onion", co);
    ASSERT_TRUE(to);
    auto importer = Importer::begin(*to, {"peer", ~0ull});
    ASSERT_TRUE(importer) << importer.error().message();
    for (std::uint64_t n = 1; n <= from.revision_count(); ++n) {
      auto layer = make_layer(from, n);
      ASSERT_TRUE(layer) << layer.error().message();
      for (const Piece& p : layer->pieces)
        if (!p.is_hole() && !importer->has_chunk(p.chunk)) {
          auto chunk = from.stored_chunk(p.locator);
          ASSERT_TRUE(chunk);
          auto added = importer->add_chunk(*chunk);
          ASSERT_TRUE(added) << added.error().message();
        }
      auto added = importer->add_revision(*layer);
      ASSERT_TRUE(added) << added.error().message();
    }
    EXPECT_EQ(to->revision_count(), 0u);
    RefChange head{RefKind::branch, "main", RevisionId{}, from.revision(from.revision_count())->id, std::nullopt, "clone"};
    auto done = importer->finish({&head, 1});
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(to->revision_count(), from.revision_count());
    for (std::uint64_t n = 1; n <= from.revision_count(); ++n) {
      EXPECT_EQ(to_hex(to->revision(n)->id), to_hex(from.revision(n)->id));
      expect_revision(*to, n, model[n]);
    }
  }
}

// Small bytes that stand for much content: one chunk, again and again.
struct Amplified {
  Memory source, target;
  std::optional<Onion> to;
  StoredChunk chunk;
  RevisionLayer layer;

  explicit Amplified(std::uint64_t bytes) {
    std::mt19937_64 rng(3);
    auto from = source.create();
    EXPECT_TRUE(from.commit_scan(BufferSource(random_bytes(rng, 1000 * 1000)), note("")));
    const auto small = make_layer(from, 1);
    const Piece part = small->pieces.front();
    chunk = *from.stored_chunk(part.locator);
    layer = *small;
    layer.pieces.clear();
    layer.whole = true;
    Buffer plain(part.chunk.length);
    EXPECT_TRUE(codec::decode(static_cast<codec::Codec>(chunk.codec), chunk.width, chunk.stored, plain));
    codec::ContentHasher hasher;
    const std::uint64_t copies = bytes / plain.size();
    for (std::uint64_t i = 0; i < copies; ++i) {
      layer.pieces.push_back({i * plain.size(), plain.size(), part.chunk, 0, 0});
      hasher.update(plain);
    }
    layer.info.size = copies * plain.size();
    layer.info.content = hasher.finish();
    name_it();
    CreateOptions co;
    co.file_system = target.fs.get();
    to = Onion::create("x.onion", co).value();
  }
  void name_it() {
    layer.info.id = onion::revision_id(layer.info.parents, layer.info.size, layer.info.content, layer.info.meta);
  }
  Status import(const Cancel* cancel = nullptr) {
    PEEL_TRY(auto importer, Importer::begin(*to, {"peer", ~0ull, cancel}), "");
    PEEL_CHECK(importer.add_chunk(chunk), "");
    PEEL_CHECK(importer.add_revision(layer), "");
    RefChange head{RefKind::branch, "main", RevisionId{}, layer.info.id, std::nullopt, "push"};
    return importer.finish({&head, 1});
  }
};

TEST(Onion, ImportOfRepeatedContentIsRight) {
  for (const std::uint64_t bytes : {3'000'000u, 100'000'000u}) {  // without and with a look before the lock
    Amplified push(bytes);
    const auto done = push.import();
    ASSERT_TRUE(done) << done.error().message();
    const auto reader = push.to->open_revision(1);
    ASSERT_TRUE(reader);
    codec::ContentHasher hasher;
    ASSERT_TRUE(reader->stream(0, reader->size(), [&](std::uint64_t, Bytes data, std::uint64_t hole) -> Status {
      if (data.empty()) hasher.skip_zeros(hole);
      else hasher.update(data);
      return {};
    }));
    EXPECT_EQ(hasher.finish(), push.layer.info.content);
    VerifyOptions deep;
    deep.deep = true;
    EXPECT_TRUE(push.to->verify(deep)->damage.empty());
  }
}

TEST(Onion, FalseClaimOfMuchContentDoesNotReachTheLock) {
  Amplified push(100'000'000);
  push.layer.info.content.bytes[0] ^= std::byte{1};
  push.name_it();
  auto other = push.target.fs->open("x.onion", OpenMode::read_write);
  ASSERT_TRUE((*other)->lock(false));  // somebody writes all the while
  const auto done = push.import();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind(), ErrorKind::corrupt);
}

TEST(Onion, ImportStopsWhenAsked) {
  Amplified push(100'000'000);
  Cancel cancel;
  cancel.request();
  EXPECT_EQ(push.import(&cancel).error().kind(), ErrorKind::cancelled);
  EXPECT_EQ(push.to->revision_count(), 0u);
  Cancel later;
  ASSERT_TRUE(push.import(&later));
  EXPECT_EQ(push.to->revision_count(), 1u);
}

TEST(Onion, FlippedByteInAcknowledgedRecordIsDamage) {
  std::mt19937_64 rng(9);
  Memory m;
  {
    auto onion = m.create();
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(onion.commit_scan(BufferSource(random_bytes(rng, 6000)), note("")));
  }
  auto file = m.fs->open("x.onion", OpenMode::read_write);
  ASSERT_TRUE(file);
  const std::uint64_t size = *(*file)->size();
  int silent = 0, damage = 0;
  for (std::uint64_t at = 8192; at + 1 < size; at += 97) {
    std::array<std::byte, 1> b;
    ASSERT_TRUE((*file)->read_at(at, b));
    const auto before = b[0];
    b[0] ^= std::byte{0x10};
    ASSERT_TRUE((*file)->write_at(at, b));
    auto onion = Onion::open("x.onion", {Access::read, m.fs.get(), false});
    if (!onion) {
      EXPECT_EQ(onion.error().kind(), ErrorKind::corrupt);
      ++damage;
    } else {
      auto report = onion->verify({.deep = true});
      if (onion->revision_count() == 10 && report && report->damage.empty()) ++silent;  // padding
      else if (onion->revision_count() == 10) ++damage;
      // Only the very last group may look torn.
      else { EXPECT_EQ(onion->revision_count(), 9u); }
    }
    b[0] = before;
    ASSERT_TRUE((*file)->write_at(at, b));
  }
  EXPECT_GT(damage, 100);
  EXPECT_LT(silent, damage / 20);
}
