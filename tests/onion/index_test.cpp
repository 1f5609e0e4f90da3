// The tables beside the trees: chunk index, revision table, staging file.
#include <gtest/gtest.h>

#include <map>

#include "codec/grid_digest.h"
#include "codec/page_codec.h"
#include "onion/chunk_index.h"
#include "onion/revision_table.h"
#include "onion/staging.h"
#include "testing/sample_data.h"

using namespace peel;
using namespace peel::onion;

namespace {

// A file to write runs to.
class RunFile {
public:
  RunFile() {
    auto file = fs_->open("x", OpenMode::create_new).value();
    EXPECT_TRUE(file->write_at(0, Buffer(records_begin)));
    store_ = std::make_unique<Store>("x", std::move(file), Salt{});
  }
  const Store& store() const { return *store_; }

  // What a checkpoint does: the table writes its runs inside a group.
  template <class Table>
  void checkpoint(Table& table) {
    GroupWriter writer(store_->file(), Salt{}, 1, ++group_, end_, {});
    const auto written = table.write_runs(*store_, writer);
    ASSERT_TRUE(written) << written.error().message();
    ASSERT_TRUE(writer.close());
    end_ = writer.offset();
  }
  void flip(std::uint64_t offset, std::byte mask) {
    std::array<std::byte, 1> b;
    ASSERT_TRUE(read_exactly(store_->file(), offset, b));
    b[0] ^= mask;
    ASSERT_TRUE(store_->file().write_at(offset, b));
  }
  std::uint64_t end() const { return end_; }

private:
  std::unique_ptr<FileSystem> fs_ = make_memory_file_system();
  std::unique_ptr<Store> store_;
  std::uint64_t end_ = records_begin, group_ = 0;
};

std::optional<std::uint64_t> find(const ChunkIndex& index, const RunFile& file, std::uint64_t key,
                                  std::uint64_t wanted) {
  return index.find(file.store(), key, [&](std::uint64_t offset) { return offset == wanted; });
}

TEST(ChunkIndex, FindsEverythingThroughManyCheckpoints) {
  for (const std::uint64_t seed : test_seeds(4)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    RunFile file;
    ChunkIndex index;
    index.reset({});
    std::map<std::uint64_t, std::uint64_t> all;
    std::uint64_t offset = records_begin;
    for (int round = 0; round < 60; ++round) {
      for (std::size_t i = 0; i < 1 + random() % 300; ++i) {
        const std::uint64_t key = random();
        all[key] = offset += 8;
        index.add(key, offset);
      }
      file.checkpoint(index);
      if (random() % 4 == 0) {  // another process: all it has is what the checkpoint names
        const auto runs = index.runs();
        index = ChunkIndex();
        index.reset(runs);
      }
    }
    EXPECT_LE(index.runs().size(), 24u) << "runs are not merged";
    std::uint64_t total = 0;
    for (const auto& run : index.runs()) total += run.count;
    EXPECT_EQ(total, all.size());
    for (const auto& [key, at] : all) ASSERT_EQ(find(index, file, key, at), std::optional(at));
    for (int i = 0; i < 2000; ++i) EXPECT_EQ(find(index, file, random(), 0), std::nullopt);
    index.load(file.store());
    for (const auto& [key, at] : all) ASSERT_EQ(find(index, file, key, at), std::optional(at));
  }
}

// The same key twice: the newest is offered first, the older when that is refused.
TEST(ChunkIndex, OffersTheNewestFirst) {
  RunFile file;
  ChunkIndex index;
  index.reset({});
  index.add(42, 8200);
  file.checkpoint(index);
  const auto runs = index.runs();
  index.reset(runs);
  index.add(42, 9000);
  std::vector<std::uint64_t> offered;
  index.find(file.store(), 42, [&](std::uint64_t offset) {
    offered.push_back(offset);
    return false;
  });
  EXPECT_EQ(offered, (std::vector<std::uint64_t>{9000, 8200}));
}

TEST(ChunkIndex, ForgetsWhatWasGivenUp) {
  RunFile file;
  ChunkIndex index;
  index.reset({});
  index.add(1, 8200);
  index.add(2, 9000);
  index.forget_from(9000);
  file.checkpoint(index);
  ASSERT_EQ(index.runs().size(), 1u);
  EXPECT_EQ(index.runs()[0].count, 1u);
}

// More entries than a run, than the recent ones and than what is loaded may be: runs are bounded, all is found still,
// the last through a search on disk.
TEST(ChunkIndex, MillionsOfEntries) {
  constexpr std::uint64_t count = (ChunkIndex::loaded_bytes_max / 16) + (1u << 19);
  ASSERT_GT(count, 3 * ChunkIndex::run_entries_max);
  const auto key_of = [](std::uint64_t i) { return (i + 1) * 0x9e3779b97f4a7c15u; };
  RunFile file;
  ChunkIndex index;
  index.reset({});
  for (std::uint64_t i = 0; i < count; ++i) {
    index.add(key_of(i), 8 * (i + 2000));
    if (i % 1'300'000 == 1'299'999) file.checkpoint(index);
  }
  file.checkpoint(index);
  for (const auto& run : index.runs()) EXPECT_LE(run.count, ChunkIndex::run_entries_max);
  const auto runs = index.runs();
  EXPECT_LE(runs.size(), 8u);
  index = ChunkIndex();
  index.reset(runs);
  index.load(file.store());
  for (std::uint64_t i = 0; i < count; i += 173)
    ASSERT_EQ(find(index, file, key_of(i), 8 * (i + 2000)), std::optional(8 * (i + 2000))) << i;
  for (std::uint64_t i = 1; i < 3000; ++i) EXPECT_EQ(find(index, file, key_of(i) + 1, 0), std::nullopt);
}

// Hints: a damaged run costs hits, never a crash or a wrong end.
TEST(ChunkIndex, DamagedRuns) {
  std::mt19937_64 random(9);
  RunFile file;
  ChunkIndex index;
  index.reset({});
  std::vector<std::uint64_t> keys;
  for (int i = 0; i < 500; ++i) {
    keys.push_back(random());
    index.add(keys.back(), records_begin + 8 * keys.size());
  }
  file.checkpoint(index);
  const auto runs = index.runs();
  for (std::uint64_t at = records_begin; at < file.end(); at += at < records_begin + 100 ? 1 : 37) {
    const auto mask = static_cast<std::byte>(1u << random() % 8);
    file.flip(at, mask);
    ChunkIndex other;
    other.reset(runs);
    std::size_t found = 0;
    for (std::size_t i = 0; i < keys.size(); i += 7)
      found += find(other, file, keys[i], records_begin + 8 * (i + 1)).has_value();
    EXPECT_LE(found, keys.size() / 7 + 1);
    file.flip(at, mask);
  }
}

TEST(HintMap, LastValueOfAKey) {
  std::mt19937_64 random(2);
  HintMap map;
  std::map<std::uint64_t, std::uint64_t> model;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t key = random() % 3 ? random() % 5000 + 2 : random() | 2;
    map.put(key, static_cast<std::uint64_t>(i));
    model[key] = static_cast<std::uint64_t>(i);
  }
  EXPECT_EQ(map.size(), model.size());
  for (const auto& [key, value] : model) ASSERT_EQ(map.get(key), std::optional(value));
  EXPECT_EQ(map.get(1), std::nullopt);
  map.put(0, 7);  // zero and one are one
  EXPECT_EQ(map.get(0), std::optional<std::uint64_t>(7));
  map.clear();
  EXPECT_EQ(map.get(0), std::nullopt);
}

// --- revisions ---------------------------------------------------------------------------------------

RevisionRow row_of(std::uint64_t number) {
  RevisionRow row;
  row.summary.number = number;
  for (std::size_t i = 0; i < 8; ++i)
    row.summary.id.bytes[i] = static_cast<std::byte>(number * 0x9e3779b97f4a7c15u >> (8 * i));
  row.summary.generation = number;
  row.summary.size = number * 100;
  if (number > 1) row.summary.first_parent = number - 1;
  row.commit = 8192 + 8 * number;
  row.root = 8192;
  return row;
}

TEST(RevisionTable, RunsAndRowsInMemoryAreOneTable) {
  for (const std::uint64_t seed : test_seeds(6)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    RunFile file;
    RevisionTable table;
    table.reset({});
    std::vector<std::uint64_t> numbers;
    std::uint64_t next = 1;
    for (int round = 0; round < 100; ++round) {
      for (std::size_t i = 0; i < random() % 30; ++i) {
        if (random() % 10 == 0) next += random() % 5;  // a collection left gaps
        numbers.push_back(next);
        table.add(row_of(next++));
      }
      file.checkpoint(table);
      if (random() % 5 == 0) {
        const auto runs = table.runs();
        table.reset(runs);
      }
    }
    EXPECT_LE(table.runs().size(), 24u);
    ASSERT_TRUE(table.load(file.store()));
    ASSERT_EQ(table.size(), numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const RevisionRow want = row_of(numbers[i]);
      EXPECT_EQ(table.summaries()[i].number, numbers[i]);
      EXPECT_EQ(table.summaries()[i].id, want.summary.id);
      EXPECT_EQ(table.extra(i).commit, want.commit);
      ASSERT_EQ(table.index_of(numbers[i]), std::optional(i));
      ASSERT_EQ(table.index_of(want.summary.id), std::optional(i));
    }
    EXPECT_EQ(table.index_of(next), std::nullopt);
    EXPECT_EQ(table.index_of(row_of(next).summary.id), std::nullopt);
    // Added after loading.
    table.add(row_of(next));
    EXPECT_EQ(table.index_of(next), std::optional(numbers.size()));
    EXPECT_EQ(table.index_of(row_of(next).summary.id), std::optional(numbers.size()));
  }
}

// What is wrong in a run is an error, and asking again gives it again.
TEST(RevisionTable, DamagedRuns) {
  RunFile file;
  RevisionTable table;
  table.reset({});
  for (std::uint64_t n = 1; n <= 20; ++n) table.add(row_of(n));
  file.checkpoint(table);
  const auto runs = table.runs();
  const std::uint64_t last = runs[0].offset + record_size(8 + 20 * revision_row_size);
  for (std::uint64_t at = runs[0].offset; at < last; at += 11) {
    file.flip(at, std::byte{4});
    RevisionTable other;
    other.reset(runs);
    EXPECT_EQ(other.load(file.store()).error().kind(), ErrorKind::corrupt) << at;
    EXPECT_FALSE(other.load(file.store()));
    EXPECT_EQ(other.size(), 0u);
    file.flip(at, std::byte{4});
  }
  for (auto claim : {RunLocation{runs[0].offset, 19}, RunLocation{runs[0].offset, ~0ull / revision_row_size + 21},
                     RunLocation{8, 20}, RunLocation{~0ull - 7, 20}}) {
    RevisionTable other;
    other.reset({claim});
    EXPECT_EQ(other.load(file.store()).error().kind(), ErrorKind::corrupt);
  }
}

// --- staging -------------------------------------------------------------------------------------------

std::vector<StoredChunk> some_chunks(std::size_t count) {
  std::mt19937_64 random(6);
  std::vector<StoredChunk> chunks;
  for (std::size_t i = 0; i < count; ++i) {
    const Buffer plain = random_bytes(random, 1 + random() % 200);
    StoredChunk chunk;
    chunk.name = {codec::chunk_digest(plain), static_cast<std::uint32_t>(plain.size())};
    chunk.stored = plain;
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}

TEST(Staging, CutAtEveryByteAndResumed) {
  const auto chunks = some_chunks(6);
  Buffer whole;
  std::vector<std::uint64_t> ends;
  {
    const auto fs = make_memory_file_system();
    auto staging = Staging::open(*fs, "s", ~0ull);
    ASSERT_TRUE(staging);
    for (const auto& chunk : chunks) {
      ASSERT_TRUE(staging->add(chunk));
      ASSERT_TRUE(staging->add(chunk));  // again: nothing
      ends.push_back(staging->bytes());
    }
    whole.resize(staging->bytes());
    ASSERT_TRUE(read_exactly(*fs->open("s", OpenMode::read).value(), 0, whole));
  }
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const auto fs = make_memory_file_system();
    ASSERT_TRUE(fs->open("s", OpenMode::create_new).value()->write_at(0, Bytes(whole).first(size)));
    auto staging = Staging::open(*fs, "s", ~0ull);
    ASSERT_TRUE(staging) << size;
    const auto kept = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), size) - ends.begin());
    ASSERT_EQ(staging->count(), kept) << size;
    for (const auto& chunk : chunks) ASSERT_TRUE(staging->add(chunk));
    for (const auto& chunk : chunks) {
      const auto back = staging->get(chunk.name);
      ASSERT_TRUE(back);
      ASSERT_EQ(back->stored, chunk.stored);
    }
    Buffer resumed(whole.size());
    ASSERT_EQ(staging->bytes(), whole.size());
    ASSERT_TRUE(read_exactly(*fs->open("s", OpenMode::read).value(), 0, resumed));
    ASSERT_TRUE(resumed == whole);
  }
}

TEST(Staging, FlippedBytesEndTheFileThere) {
  const auto chunks = some_chunks(4);
  const auto fs = make_memory_file_system();
  std::vector<std::uint64_t> ends;
  {
    auto staging = Staging::open(*fs, "s", ~0ull);
    for (const auto& chunk : chunks) {
      ASSERT_TRUE(staging->add(chunk));
      ends.push_back(staging->bytes());
    }
  }
  auto file = fs->open("s", OpenMode::read_write).value();
  Buffer whole(ends.back());
  ASSERT_TRUE(read_exactly(*file, 0, whole));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    Buffer bad = whole;
    bad[at] ^= std::byte{1};
    if (!fs->identify("s")) file = fs->open("s", OpenMode::create_new).value();  // no chunk was left of the last one
    ASSERT_TRUE(file->write_at(0, bad));
    auto staging = Staging::open(*fs, "s", ~0ull);
    ASSERT_TRUE(staging);
    const auto first_bad =
        at < 8 ? std::size_t{0}
               : static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), at) - ends.begin());
    EXPECT_EQ(staging->count(), first_bad) << at;
  }
}

TEST(Staging, QuotaAndOneOwner) {
  const auto chunks = some_chunks(3);
  const auto fs = make_memory_file_system();
  auto staging = Staging::open(*fs, "s", 8 + 48 + chunks[0].stored.size());
  ASSERT_TRUE(staging);
  EXPECT_TRUE(staging->add(chunks[0]));
  EXPECT_EQ(staging->add(chunks[1]).error().kind(), ErrorKind::limit);
  EXPECT_EQ(Staging::open(*fs, "s", ~0ull).error().kind(), ErrorKind::conflict);
  EXPECT_EQ(staging->get(chunks[2].name).error().kind(), ErrorKind::not_found);
  EXPECT_TRUE(staging->remove());
  EXPECT_EQ(fs->identify("s").error().kind(), ErrorKind::not_found);
}

TEST(Staging, WithoutChunksLeavesNoFile) {
  const auto chunks = some_chunks(1);
  const auto fs = make_memory_file_system();
  { ASSERT_TRUE(Staging::open(*fs, "s", ~0ull)); }
  EXPECT_EQ(fs->identify("s").error().kind(), ErrorKind::not_found);
  { ASSERT_TRUE(Staging::open(*fs, "s", ~0ull)->add(chunks[0])); }
  EXPECT_EQ(Staging::open(*fs, "s", ~0ull)->count(), 1u);
}

// A file system in which somebody removes the file just before its lock is ours.
class Vanishing final : public FileSystem {
 public:
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode, unsigned permissions) override {
    auto file = files_->open(path, mode, permissions);
    if (file && vanish_ > 0) {
      --vanish_;
      EXPECT_TRUE(files_->remove(path));
    }
    return file;
  }
  Result<FileIdentity> identify(const std::string& path) override { return files_->identify(path); }
  Status rename(const std::string& from, const std::string& to, bool replace) override { return files_->rename(from, to, replace); }
  Status remove(const std::string& path) override { return files_->remove(path); }
  Status sync_directory_of(const std::string& path) override { return files_->sync_directory_of(path); }
  Result<std::uint64_t> free_space(const std::string& path) override { return files_->free_space(path); }
  int vanish_ = 0;

 private:
  std::unique_ptr<FileSystem> files_ = make_memory_file_system();
};

TEST(Staging, NeverWritesIntoAFileThatLostItsName) {
  const auto chunks = some_chunks(1);
  Vanishing fs;
  fs.vanish_ = 3;
  {
    auto staging = Staging::open(fs, "s", ~0ull);
    ASSERT_TRUE(staging) << staging.error().message();
    ASSERT_TRUE(staging->add(chunks[0]));
  }
  EXPECT_EQ(Staging::open(fs, "s", ~0ull)->count(), 1u);
}

}  // namespace
