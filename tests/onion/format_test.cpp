// Every decoder of docs/FORMAT.md: golden bytes, round trips, all truncations, bit flips, limits.
#include "onion/format.h"

#include <gtest/gtest.h>

#include "base/hex.h"
#include "onion/node.h"
#include "testing/sample_data.h"

using namespace peel;
using namespace peel::onion;

namespace {

// Bytes made from docs/FORMAT.md by another program, not by the encoders under test.
struct Golden {
  const char *name, *hex;
};
constexpr Golden golden_bytes[] = {
    {"superblock",
     "5045454c4f4e4931010000000300000000000000000000000500000000000000000102030405060708090a0b0c0d0e0f0909090909090909"
     "090909090909090909090909090909090909090909090909070000000000000000400000000000000c000000000000002823000000000000"
     "00400000000000000050000000000000bbf1e549"},
    {"record_header", "50454c310200000064000000030000000c00000000000000443322112b0b1e39"},
    {"chunk_header", "01010101010101010101010101010101010101010101010101010101010101010010000004080000"},
    {"commit",
     "0600000000000000040000000000000040e20100000000000820000000000000d02000000000000009030000000000000202020202020202"
     "0202020202020202020202020202020202020202020202020303030303030303030303030303030303030303030303030303030303030303"
     "0e00020004040404040404040404040404040404040404040404040404040404040404046c20000000000000050000000000000005050505"
     "0505050505050505050505050505050505050505050505050505050500000000000000000000000000000000fbffffffffffffff00002a36"
     "fe9c9717a40100000300000003006164610400686f7374060061206e6f7465"},
    {"ref",
     "0200020076310606060606060606060606060606060606060606060606060606060606060606070707070707070707070707070707070707"
     "0707070707070707070707070707d0200000000000006c2000000000000063000000000000000500000076616c7565030061646103007768"
     "79"},
    {"checkpoint",
     "09000000000000000800000000000000d0200000000000003421000000000000982100000000000002000000fc210000000000000a000000"
     "000000006022000000000000140000000000000001000000c4220000000000000800000000000000010000000104006d61696e0808080808"
     "080808080808080808080808080808080808080808080808080808d02000000000000000000000"},
    {"revision_row",
     "0101010101010101010101010101010101010101010101010101010101010101020202020202020202020202020202020202020202020202"
     "02020202020202020600000000000000040000000000000040e2010000000000fbffffffffffffff0500000000000000d020000000000000"
     "08200000000000000e020000000000000000000000000000"},
    {"leaf",
     "000c050002000000010101010101010101010101010101010101010101010101010101010101010102020202020202020202020202020202"
     "020202020202020202020202020202020020000000000000c8000000000000000010000000000000d020000000000000a00f000000200000"
     "6400000032000000"},
    {"inner",
     "020d018000000000010101010101010101010101010101010101010101010101010101010101010102020202020202020202020202020202"
     "0202020202020202020202020202020200200000000000002823000000000000"},
    {"gc_mark", "020000000000000003000000000000000000000000010000"},
    {"end", "0500000000000000efbeadde00000000"},
};

Buffer golden(std::string_view name) {
  for (const Golden& g : golden_bytes)
    if (name == g.name) return from_hex(g.hex).value();
  ADD_FAILURE() << name;
  return {};
}

Salt salt_of_golden() {
  Salt salt;
  for (std::size_t i = 0; i < salt.size(); ++i) salt[i] = static_cast<std::byte>(i);
  return salt;
}

Digest filled(unsigned value) {
  Digest d;
  d.bytes.fill(static_cast<std::byte>(value));
  return d;
}

// --- encoders with one face ---------------------------------------------------------------------

template <class T>
Buffer encoded(const T& value) {
  Buffer out;
  encode(value, out);
  return out;
}
Buffer encoded(const Superblock& s) {
  const auto bytes = encode(s);
  return {bytes.begin(), bytes.end()};
}
Buffer encoded(const RecordHeader& h) {
  Buffer out(record_header_size);
  encode(h, crc_seed(salt_of_golden(), h.epoch), out.data());
  return out;
}
Buffer encoded(const ChunkHeader& h) {
  Buffer out(chunk_header_size);
  encode(h, out.data());
  return out;
}
Buffer encoded(const std::vector<std::uint64_t>& numbers) {
  Buffer out;
  encode_gc_mark(numbers, out);
  return out;
}

Result<RecordHeader> decode_header(Bytes bytes) { return decode_record_header(bytes, salt_of_golden()); }

// A decoder followed by its encoder: all that the general tests below need.
using Recode = std::function<Result<Buffer>(Bytes)>;
template <class Decode>
Recode recode(Decode decode) {
  return [decode](Bytes in) -> Result<Buffer> {
    PEEL_TRY(const auto value, decode(in), "");
    return encoded(value);
  };
}

struct Decoder {
  const char* name;
  Recode recode;
};
std::vector<Decoder> decoders() {
  return {{"superblock", recode(decode_superblock)},
          {"record_header", recode(decode_header)},
          {"chunk_header", recode(decode_chunk_header)},
          {"commit", recode(decode_commit)},
          {"ref", recode(decode_ref)},
          {"checkpoint", recode(decode_checkpoint)},
          {"revision_row", recode(decode_revision_row)},
          {"leaf", recode(decode_node)},
          {"inner", recode(decode_node)},
          {"gc_mark", recode(decode_gc_mark)},
          {"end", recode(decode_end)}};
}

TEST(Format, GoldenBytesDecodeAndEncodeBack) {
  for (const auto& d : decoders()) {
    SCOPED_TRACE(d.name);
    const Buffer bytes = golden(d.name);
    const auto again = d.recode(bytes);
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(to_hex(*again), to_hex(bytes));
  }
}

TEST(Format, EveryTruncationFails) {
  for (const auto& d : decoders()) {
    SCOPED_TRACE(d.name);
    const Buffer bytes = golden(d.name);
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      // A copy of just this size, so that a sanitizer sees any look beyond it.
      const Buffer cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
      const auto result = d.recode(cut);
      ASSERT_FALSE(result) << "cut to " << n;
      EXPECT_TRUE(result.error().kind() == ErrorKind::truncated || result.error().kind() == ErrorKind::corrupt)
          << result.error().message();
    }
  }
}

// What carries its own checksum notices each flipped bit. What does not (its record does) may accept it, and then means
// something that stays the same through encoding and decoding.
TEST(Format, EveryFlippedBitIsNoticedOrHarmless) {
  for (const auto& d : decoders()) {
    SCOPED_TRACE(d.name);
    const bool checked = std::string_view(d.name) == "superblock" || std::string_view(d.name) == "record_header";
    Buffer bytes = golden(d.name);
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
      const auto once = d.recode(bytes);
      ASSERT_FALSE(checked && once) << "bit " << bit;
      if (once) {
        const auto twice = d.recode(*once);
        ASSERT_TRUE(twice) << "bit " << bit << ": " << twice.error().message();
        ASSERT_EQ(to_hex(*twice), to_hex(*once)) << "bit " << bit;
      }
      bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    }
  }
}

TEST(Format, RandomBytesNeverCrash) {
  for (const std::uint64_t seed : test_seeds(50)) {
    std::mt19937_64 random(seed);
    for (const auto& d : decoders())
      for (int i = 0; i < 40; ++i) {
        Buffer bytes = random() % 2 ? golden(d.name) : random_bytes(random, random() % 300);
        for (unsigned n = 0; n < random() % 6 && !bytes.empty(); ++n)
          bytes[random() % bytes.size()] = static_cast<std::byte>(random());
        (void)d.recode(bytes).ok();
      }
  }
}

// --- what the golden bytes say -------------------------------------------------------------------

TEST(Format, Superblock) {
  const auto s = decode_superblock(golden("superblock"));
  ASSERT_TRUE(s);
  EXPECT_EQ(s->epoch, 3u);
  EXPECT_EQ(s->compatible, 5u);
  EXPECT_EQ(s->salt, salt_of_golden());
  EXPECT_EQ(s->lineage, filled(9).bytes);
  EXPECT_EQ(s->sequence, 7u);
  EXPECT_EQ(s->tail, 16384u);
  EXPECT_EQ(s->group, 12u);
  EXPECT_EQ(s->checkpoint, 9000u);
  EXPECT_EQ(s->page_size, 16384u);
  EXPECT_EQ(s->acknowledged, 20480u);
}

TEST(Format, SuperblockOfTheFutureIsRefused) {
  Superblock s;
  s.compatible = ~0ull;
  EXPECT_TRUE(decode_superblock(encoded(s)));
  s.incompatible = 1u << 9;
  EXPECT_EQ(decode_superblock(encoded(s)).error().kind(), ErrorKind::unsupported);
}

TEST(Format, SuperblockFieldsOutOfRange) {
  for (const std::uint64_t tail : {std::uint64_t{0}, records_begin - 8, records_begin + 1}) {
    Superblock s;
    s.tail = s.acknowledged = tail;
    EXPECT_EQ(decode_superblock(encoded(s)).error().kind(), ErrorKind::corrupt);
  }
  for (const std::uint32_t page : {1u, 2048u, 5000u, 131072u}) {
    Superblock s;
    s.page_size = page;
    EXPECT_EQ(decode_superblock(encoded(s)).error().kind(), ErrorKind::corrupt);
  }
  Superblock s;
  s.tail = records_begin + 800;
  s.acknowledged = records_begin;
  EXPECT_EQ(decode_superblock(encoded(s)).error().kind(), ErrorKind::corrupt);
}

TEST(Format, RecordHeader) {
  const auto h = decode_header(golden("record_header"));
  ASSERT_TRUE(h);
  EXPECT_EQ(*h, (RecordHeader{RecordType::node, 100, 3, 12, 0x11223344}));
  Salt other = salt_of_golden();
  other[3] ^= std::byte{1};
  EXPECT_FALSE(decode_record_header(golden("record_header"), other)) << "a record of another onion";
  EXPECT_FALSE(decode_header(encoded(RecordHeader{RecordType::node, payload_size_max + 1, 1, 1, 0})));
  EXPECT_TRUE(decode_header(encoded(RecordHeader{static_cast<RecordType>(77), payload_size_max, 1, 1, 0})));
}

TEST(Format, Commit) {
  const auto c = decode_commit(golden("commit"));
  ASSERT_TRUE(c);
  EXPECT_EQ(c->number, 6u);
  EXPECT_EQ(c->generation, 4u);
  EXPECT_EQ(c->size, 123456u);
  EXPECT_EQ(c->root, 8200u);
  EXPECT_EQ(c->previous_commit, 8400u);
  EXPECT_EQ(c->bytes_added, 777u);
  EXPECT_EQ(c->content, filled(2));
  EXPECT_EQ(c->id, filled(3));
  EXPECT_EQ(c->page_log2, 14u);
  EXPECT_EQ(c->parents, (std::vector<ParentLink>{{filled(4), 8300, 5}, {filled(5), 0, 0}}));
  EXPECT_EQ(c->meta.time_ns, -5);
  EXPECT_EQ(c->meta.mtime_ns, 1'700'000'000'000'000'000);
  EXPECT_EQ(c->meta.mode, 0644u);
  EXPECT_EQ(c->meta.labels, 3u);
  EXPECT_EQ(c->meta.author + "," + c->meta.host + "," + c->meta.note, "ada,host,a note");
}

TEST(Format, CommitLimits) {
  CommitRecord c;
  c.number = 2;
  c.generation = 1;
  c.parents.assign(64, ParentLink{});
  EXPECT_TRUE(decode_commit(encoded(c)));
  c.parents.assign(65, ParentLink{});
  EXPECT_EQ(decode_commit(encoded(c)).error().kind(), ErrorKind::corrupt);
  c.parents = {{filled(1), 8200, 2}};
  EXPECT_EQ(decode_commit(encoded(c)).error().kind(), ErrorKind::corrupt) << "its own parent";
  c.parents.clear();
  c.size = file_size_max + 1;
  EXPECT_EQ(decode_commit(encoded(c)).error().kind(), ErrorKind::corrupt);
  c.size = file_size_max;
  EXPECT_TRUE(decode_commit(encoded(c)));
  c.page_log2 = 17;
  EXPECT_EQ(decode_commit(encoded(c)).error().kind(), ErrorKind::corrupt);
}

TEST(Format, Ref) {
  const auto r = decode_ref(golden("ref"));
  ASSERT_TRUE(r);
  EXPECT_EQ(r->kind, RefKind::tag);
  EXPECT_FALSE(r->removed);
  EXPECT_EQ(r->name, "v1");
  EXPECT_EQ(r->before, filled(6));
  EXPECT_EQ(r->after, filled(7));
  EXPECT_EQ(r->after_commit, 8400u);
  EXPECT_EQ(r->previous_ref, 8300u);
  EXPECT_EQ(r->time_ns, 99);
  EXPECT_EQ(r->value + "," + r->who + "," + r->reason, "value,ada,why");
  Buffer unknown = golden("ref");
  unknown[0] = std::byte{9};
  EXPECT_EQ(decode_ref(unknown).error().kind(), ErrorKind::unsupported);
}

TEST(Format, Checkpoint) {
  const auto c = decode_checkpoint(golden("checkpoint"));
  ASSERT_TRUE(c);
  EXPECT_EQ(c->next_number, 9u);
  EXPECT_EQ(c->revision_count, 8u);
  EXPECT_EQ(c->last_commit, 8400u);
  EXPECT_EQ(c->last_ref, 8500u);
  EXPECT_EQ(c->gc_mark, 8600u);
  EXPECT_EQ(c->chunk_runs, (std::vector<RunLocation>{{8700, 10}, {8800, 20}}));
  EXPECT_EQ(c->revision_runs, (std::vector<RunLocation>{{8900, 8}}));
  ASSERT_EQ(c->refs.size(), 1u);
  EXPECT_EQ(c->refs[0].ref.name, "main");
  EXPECT_EQ(c->refs[0].ref.target, filled(8));
  EXPECT_EQ(c->refs[0].commit, 8400u);
}

// Counts that promise more than the bytes hold must not make room for it.
TEST(Format, CountsWithoutBytes) {
  for (const std::uint32_t count : {1u << 16, 0xffffffffu}) {
    Buffer many_runs = golden("checkpoint");
    WireWriter::store(many_runs.data() + 40, count);
    EXPECT_FALSE(decode_checkpoint(many_runs));
    Buffer many_refs = golden("checkpoint");
    WireWriter::store(many_refs.data() + 40 + 4 + 32 + 4 + 16, count);
    EXPECT_FALSE(decode_checkpoint(many_refs));
  }
  for (const std::uint64_t count : {std::uint64_t{3}, std::uint64_t{1} << 61, ~std::uint64_t{0}}) {
    Buffer mark = golden("gc_mark");
    WireWriter::store(mark.data(), count);
    EXPECT_FALSE(decode_gc_mark(mark));
  }
}

TEST(Format, RevisionRow) {
  const auto r = decode_revision_row(golden("revision_row"));
  ASSERT_TRUE(r);
  EXPECT_EQ(r->summary.id, filled(1));
  EXPECT_EQ(r->content, filled(2));
  EXPECT_EQ(r->summary.number, 6u);
  EXPECT_EQ(r->summary.generation, 4u);
  EXPECT_EQ(r->summary.size, 123456u);
  EXPECT_EQ(r->summary.time_ns, -5);
  EXPECT_EQ(r->summary.first_parent, std::optional<std::uint64_t>(5));
  EXPECT_EQ(r->commit, 8400u);
  EXPECT_EQ(r->root, 8200u);
  EXPECT_EQ(r->page_log2, 14u);
  EXPECT_EQ(r->parents, 2u);
  RevisionRow bad = *r;
  bad.summary.first_parent = 6;
  EXPECT_EQ(decode_revision_row(encoded(bad)).error().kind(), ErrorKind::corrupt) << "its own parent";
}

TEST(Format, Nodes) {
  const auto leaf = decode_node(golden("leaf"));
  ASSERT_TRUE(leaf);
  EXPECT_EQ(leaf->level, 0u);
  EXPECT_EQ(leaf->page_log2, 12u);
  EXPECT_EQ(leaf->mask, 5u);
  EXPECT_EQ(leaf->child_digest(0), filled(1));
  EXPECT_EQ(leaf->child_digest(2), filled(2));
  EXPECT_EQ(leaf->child_digest(1), codec::zero_subtree(0));
  EXPECT_EQ(leaf->slices, (std::vector<Slice>{{8192, 200, 0, 4096, 0}, {8400, 4000, 8192, 100, 50}}));
  const auto inner = decode_node(golden("inner"));
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->level, 2u);
  EXPECT_EQ(inner->child[0], 8192u);
  EXPECT_EQ(inner->child[15], 9000u);
  EXPECT_EQ(inner->child_digest(15), filled(2));
  // The digests above are those of the whole tree below, absent children as zeros.
  const auto absent = codec::zero_subtree(inner->child_height());
  std::array<Digest, 16> row;
  row.fill(absent);
  row[0] = filled(1);
  row[15] = filled(2);
  for (std::size_t width = 16; width > 1; width /= 2)
    for (std::size_t i = 0; i < width / 2; ++i) row[i] = codec::parent_digest(row[2 * i], row[2 * i + 1]);
  EXPECT_EQ(inner->own_digest(), row[0]);
}

TEST(Format, SlicesOutOfOrderOrPlace) {
  const Slice a{8192, 100, 0, 4096, 0};
  for (const Slice& b : {Slice{8192, 100, 4095, 10, 0}, Slice{8192, 100, 5000, 0, 0}, Slice{8192, 100, 65535, 2, 0},
                         Slice{8192, 100, 0xffffffff, 0xffffffff, 0}}) {
    Node n = Node::empty(0, 12);
    n.set_child(0, 0, filled(1));
    n.slices = {a, b};
    EXPECT_EQ(decode_node(encoded(n)).error().kind(), ErrorKind::corrupt);
  }
}

TEST(Format, ChunkLengths) {
  for (const std::uint32_t length : {0u, (16u << 20) + 1, 0xffffffffu}) {
    EXPECT_EQ(decode_chunk_header(encoded(ChunkHeader{{filled(1), length}, 0, 1})).error().kind(), ErrorKind::corrupt);
  }
  EXPECT_TRUE(decode_chunk_header(encoded(ChunkHeader{{filled(1), 16u << 20}, 0, 1})));
}

// A revision id depends on each thing it names.
TEST(Format, RevisionIdNamesEverything) {
  const auto base = *decode_commit(golden("commit"));
  const auto id_of = [](const CommitRecord& c) {
    std::vector<RevisionId> parents;
    for (const auto& p : c.parents) parents.push_back(p.id);
    return revision_id(parents, c.size, c.content, c.meta);
  };
  const auto id = id_of(base);
  const auto differs = [&](auto change) {
    CommitRecord c = base;
    change(c);
    return id_of(c) != id;
  };
  EXPECT_TRUE(differs([](CommitRecord& c) { c.size += 1; }));
  EXPECT_TRUE(differs([](CommitRecord& c) { c.content = filled(7); }));
  EXPECT_TRUE(differs([](CommitRecord& c) { c.parents.pop_back(); }));
  EXPECT_TRUE(differs([](CommitRecord& c) { std::swap(c.parents[0], c.parents[1]); }));
  EXPECT_TRUE(differs([](CommitRecord& c) { c.meta.note += "!"; }));
  EXPECT_TRUE(differs([](CommitRecord& c) { std::swap(c.meta.author, c.meta.host); }));
  EXPECT_TRUE(differs([](CommitRecord& c) { c.meta.mode ^= 1; }));
  EXPECT_TRUE(differs([](CommitRecord& c) { c.meta.labels ^= 1; }));
  EXPECT_TRUE(differs([](CommitRecord& c) { c.meta.time_ns += 1; }));
  EXPECT_TRUE(differs([](CommitRecord& c) { c.meta.mtime_ns += 1; }));
  // Where things are kept is not part of it.
  EXPECT_FALSE(differs([](CommitRecord& c) {
    c.number += 1;
    c.root += 8;
    c.previous_commit += 8;
    c.parents[0].commit += 8;
    c.generation += 1;
  }));
}

TEST(Format, TreeShapes) {
  EXPECT_EQ(tree_levels(0, 12), 1u);
  EXPECT_EQ(tree_levels(65536, 12), 1u);
  EXPECT_EQ(tree_levels(65537, 12), 2u);
  EXPECT_EQ(tree_levels(std::uint64_t{1} << 40, 16), 6u);
  EXPECT_LE(tree_levels(~std::uint64_t{0}, 12), 13u);
  EXPECT_EQ(page_log2_for(std::uint64_t{1} << 30), 12u);
  EXPECT_EQ(page_log2_for((std::uint64_t{1} << 30) + 1), 14u);
  EXPECT_EQ(page_log2_for((std::uint64_t{1} << 36) + 1), 16u);
}

}  // namespace
