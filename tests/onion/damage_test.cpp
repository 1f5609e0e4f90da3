// Flipped bits, lost sectors, files that were cut: never a shorter history without a word, and what is whole can be read.
#include "onion/impl.h"
#include "onion_scenario.h"

using namespace peel;

namespace {

// A history of random edits, the last commits of it behind the last checkpoint.
class DamageTest : public ::testing::Test {
protected:
  // A handle that is closed acknowledges what it wrote; one that is killed does not.
  void build(int commits, int beyond, bool killed = false) {
    World world(machine_);
    std::mt19937_64 random(5);
    ASSERT_TRUE(create_onion(world));
    Buffer content = random_bytes(random, 40'000);
    for (int i = 0; i < commits; ++i) {
      if (i == commits - beyond) {
        ASSERT_TRUE(world.open().value()->flush());
      }
      if (killed) torn_from_ = size();
      const Buffer edit = random_bytes(random, 3000);
      std::copy(edit.begin(), edit.end(), content.begin() + static_cast<std::ptrdiff_t>(random() % 30'000));
      ASSERT_TRUE(commit_scan_step(content, "note " + std::to_string(i))(world));
      ends_.push_back(size());
    }
    if (killed) machine_.kill();
    world.onion.reset();
    whole_ = *machine_.contents(onion_path);
    state_ = look_at(machine_);
    ASSERT_EQ(state_.revisions.size(), static_cast<std::size_t>(commits));
  }

  std::uint64_t size() const {
    const auto bytes = machine_.contents(onion_path);
    return bytes ? bytes->size() : 0;
  }
  OpenOptions options(bool damaged_too, Access access = Access::read) {
    OpenOptions o;
    o.access = access;
    o.file_system = &machine_;
    o.damaged_too = damaged_too;
    return o;
  }
  void overwrite(std::uint64_t at, Bytes bytes) {
    ASSERT_TRUE((*machine_.open(onion_path, OpenMode::read_write))->write_at(at, bytes));
  }
  void restore() {
    overwrite(0, whole_);
    ASSERT_TRUE((*machine_.open(onion_path, OpenMode::read_write))->truncate(whole_.size()));
  }

  // The bytes from `at` on may be damaged, those before are not.
  void expect_honest(std::uint64_t at) {
    const auto strict = Onion::open(onion_path, options(false));
    if (!strict) {
      EXPECT_EQ(strict.error().kind(), ErrorKind::corrupt) << strict.error().message();
    }
    auto onion = Onion::open(onion_path, options(true));
    ASSERT_TRUE(onion) << onion.error().message();
    const auto rows = onion->list();
    ASSERT_TRUE(rows) << rows.error().message();
    const bool torn = at >= torn_from_;  // looks like an interrupted write, and is told as that
    if (rows->size() < state_.revisions.size() && !torn) {
      EXPECT_FALSE(onion->is_complete()) << "history got shorter without a word";
      EXPECT_FALSE(strict && strict->list()) << "history got shorter without a word";
    }
    for (std::size_t i = 0; i < state_.revisions.size() && ends_[i] <= at; ++i) {
      ASSERT_LT(i, rows->size()) << "a revision before the damage is not listed";
      EXPECT_EQ((*rows)[i].id, state_.revisions[i].id);
      const auto reader = onion->open_revision((*rows)[i].number);
      ASSERT_TRUE(reader) << reader.error().message();
      EXPECT_EQ(reader->content(), state_.revisions[i].content);
      EXPECT_TRUE(reader->verify());
    }
    const auto report = onion->verify({.deep = true});
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_TRUE(!report->damage.empty() || (torn && report->unfinished > 0)) << "verification says sound";
    expect_writing_is_safe(onion->is_complete());
  }

  // A damaged history is not built upon; one whose commits are all there may be.
  void expect_writing_is_safe(bool complete) {
    const Buffer before = *machine_.contents(onion_path);
    auto writer = Onion::open(onion_path, options(true, Access::write));
    ASSERT_TRUE(writer);
    RefChange change;
    change.kind = RefKind::setting;
    change.name = "x";
    change.value = "y";
    const auto written = writer->update_refs(std::span(&change, 1));
    EXPECT_EQ(written.ok(), complete) << (written ? "" : written.error().message());
    if (!written) {
      EXPECT_EQ(written.error().kind(), ErrorKind::corrupt);
    }
    writer = fail(ErrorKind::usage, "closed");
    if (!complete) {
      EXPECT_EQ(*machine_.contents(onion_path), before);
    }
    restore();
  }

  void flip_everywhere(std::uint64_t from, std::uint64_t stride) {
    std::mt19937_64 random(stride);
    for (std::uint64_t at = from + random() % stride; at < whole_.size() && !HasFailure(); at += 1 + random() % (2 * stride)) {
      SCOPED_TRACE("byte " + std::to_string(at) + " of " + std::to_string(whole_.size()));
      machine_.flip(onion_path, at, static_cast<std::byte>(1u << random() % 8));
      expect_honest(at);
      restore();
    }
  }

  FaultyFileSystem machine_;
  Buffer whole_;
  HistoryState state_;
  std::vector<std::uint64_t> ends_;   // of the file after each commit
  std::uint64_t torn_from_ = ~0ull;   // the last group of a killed process
};

constexpr std::uint64_t records_begin = onion::records_begin;

TEST_F(DamageTest, BeforeTheCheckpoint) {
  build(8, 0);
  flip_everywhere(records_begin, 150);
}

TEST_F(DamageTest, BehindTheCheckpoint) {
  build(9, 6);
  flip_everywhere(ends_[2], 60);
}

TEST_F(DamageTest, BehindItWhenGroupsFollow) {
  build(9, 6, true);
  flip_everywhere(ends_[2], 60);
}

// Each byte of the two superblocks and of what lies behind them: told, and mended by the next commit or by a repair.
TEST_F(DamageTest, Superblocks) {
  build(5, 2);
  for (std::uint64_t at = 0; at < records_begin && !HasFailure(); at += at % 4096 < 140 ? 1 : 271) {
    SCOPED_TRACE("byte " + std::to_string(at));
    machine_.flip(onion_path, at, std::byte{4});
    EXPECT_EQ(look_at(*Onion::open(onion_path, options(false)), false).text(), state_.text());
    const bool in_slot = at % 4096 < onion::superblock_size;
    EXPECT_EQ(Onion::open(onion_path, options(false))->damage().size(), in_slot ? 1u : 0u);
    expect_honest(whole_.size());
    machine_.flip(onion_path, at, std::byte{4});
    auto onion = Onion::open(onion_path, options(false, Access::write));
    const auto report = onion->verify({.repair_from = [](const ChunkName&) -> Result<StoredChunk> { return fail(ErrorKind::not_found, ""); }});
    ASSERT_TRUE(report);
    EXPECT_EQ(report->repaired.size(), 1u);
    EXPECT_TRUE(report->damage.empty());
    onion = Onion::open(onion_path, options(false));
    EXPECT_TRUE(onion->damage().empty());
    EXPECT_TRUE(onion->verify({})->damage.empty());
    restore();
  }
  for (const std::uint64_t slot : {0u, 4096u}) {
    overwrite(slot, Buffer(512));
    World world(machine_);
    ASSERT_TRUE(commit_writes_step(3, "heals")(world));
    world.onion.reset();
    EXPECT_TRUE(Onion::open(onion_path, options(false))->verify({})->damage.empty());
    restore();
  }
  overwrite(0, Buffer(512));
  overwrite(4096, Buffer(512));
  EXPECT_EQ(Onion::open(onion_path, options(true)).error().kind(), ErrorKind::corrupt);
}

// A file that was cut, with both superblocks and with one: the other still knows how far history went.
TEST_F(DamageTest, ShorterFile) {
  build(6, 3);
  for (const int zeroed : {-1, 0, 1})
    for (std::uint64_t cut = records_begin; cut < whole_.size() && !HasFailure(); cut += 397) {
      SCOPED_TRACE("cut to " + std::to_string(cut) + ", superblock " + std::to_string(zeroed) + " lost");
      if (zeroed >= 0) overwrite(static_cast<std::uint64_t>(zeroed) * 4096, Buffer(512));
      ASSERT_TRUE((*machine_.open(onion_path, OpenMode::read_write))->truncate(cut));
      const auto strict = Onion::open(onion_path, options(false));
      ASSERT_FALSE(strict);
      EXPECT_EQ(strict.error().kind(), ErrorKind::corrupt);
      expect_honest(cut);
      restore();
    }
}

// Of a process that was killed: beyond what is acknowledged, the groups that are whole.
TEST_F(DamageTest, ShorterFileOfAKilledProcess) {
  build(6, 3, true);
  const std::uint64_t acknowledged = onion::read_superblocks(*machine_.open(onion_path, OpenMode::read).value())->current.acknowledged;
  ASSERT_LT(acknowledged, whole_.size());
  for (std::uint64_t cut = 0; cut < whole_.size(); cut += 97) {
    SCOPED_TRACE("cut to " + std::to_string(cut));
    ASSERT_TRUE((*machine_.open(onion_path, OpenMode::read_write))->truncate(cut));
    const auto onion = Onion::open(onion_path, options(false));
    if (cut < acknowledged) {
      ASSERT_FALSE(onion);
      EXPECT_EQ(onion.error().kind(), ErrorKind::corrupt);
    } else {
      ASSERT_TRUE(onion) << onion.error().message();
      const auto seen = look_at(*onion, false);
      EXPECT_TRUE(std::equal(seen.revisions.begin(), seen.revisions.end(), state_.revisions.begin()));
    }
    restore();
  }
}

// Sectors of zeros, as a disk that lost them gives them.
TEST_F(DamageTest, LostSectors) {
  build(9, 6);
  for (std::uint64_t at = records_begin; at + 512 < whole_.size() && !HasFailure(); at += 512) {
    SCOPED_TRACE("sector at " + std::to_string(at));
    overwrite(at, Buffer(512));
    expect_honest(at);
    restore();
  }
}

// Whatever part of a chunk's bytes is gone, a copy brings the file back as it was.
TEST_F(DamageTest, ChunksAreMendedFromACopy) {
  build(9, 6);
  FaultyFileSystem other;
  ASSERT_TRUE(other.open(onion_path, OpenMode::create_new).value()->write_at(0, whole_));
  OpenOptions read;
  read.file_system = &other;
  const auto copy = Onion::open(onion_path, read);
  bool raw_copy = false;
  const auto chunk_of_copy = [&](const ChunkName& name) -> Result<StoredChunk> {
    const auto at = copy->find_chunk(name);
    if (!at) return fail(ErrorKind::not_found, "no such chunk");
    PEEL_TRY(auto chunk, copy->stored_chunk(*at), "");
    if (raw_copy) {  // a copy that stores it otherwise
      Buffer plain;
      PEEL_CHECK(copy->impl().store->read_chunk(*at, 0, plain), "");
      chunk.codec = chunk.width = 0;
      chunk.stored = std::move(plain);
    }
    return chunk;
  };
  std::size_t tried = 0;
  const auto file = other.open(onion_path, OpenMode::read);
  onion::RecordScanner scanner(**file, copy->impl().super.salt);
  for (std::uint64_t at = records_begin; at < whole_.size() && !HasFailure();) {
    const auto record = *scanner.at(at);
    ASSERT_TRUE(record);
    at = record->end();
    if (record->header.type != onion::RecordType::chunk) continue;
    SCOPED_TRACE("chunk at " + std::to_string(record->offset));
    const std::uint64_t body = record->offset + onion::record_header_size + onion::chunk_header_size;
    for (const std::uint64_t bad : {record->offset + 9, record->offset + 24, body + 1, record->end() - 1}) {
      raw_copy = !raw_copy;
      machine_.flip(onion_path, bad, std::byte{8});
      auto onion = Onion::open(onion_path, options(true, Access::write));
      ASSERT_TRUE(onion);
      const auto report = onion->verify({.repair_from = chunk_of_copy});
      ASSERT_TRUE(report) << report.error().message();
      EXPECT_TRUE(report->damage.empty()) << report->damage[0].what << " byte " << bad - record->offset;
      EXPECT_EQ(report->repaired.size(), 1u);
      EXPECT_TRUE(onion->is_complete());
      onion = fail(ErrorKind::usage, "closed");
      EXPECT_EQ(*machine_.contents(onion_path), whole_);
      ++tried;
    }
  }
  EXPECT_GT(tried, 20u);
}

}  // namespace
