#include "golden/golden_files.h"

#include <filesystem>
#include <random>

#include "base/file.h"
#include "base/hex.h"
#include "codec/crc32c.h"
#include "codec/grid_digest.h"
#include "codec/page_codec.h"
#include "onion/format.h"
#include "onion/importer.h"

namespace peel::golden {
namespace {

constexpr std::int64_t first_second = 1'700'000'000;

std::array<std::byte, 32> lineage_of(std::string_view name) {
  std::array<std::byte, 32> lineage{};
  for (std::size_t i = 0; i < name.size() && i < lineage.size(); ++i) lineage[i] = static_cast<std::byte>(name[i]);
  return lineage;
}

// Contents that different codecs like, the same on every machine.
Buffer noise(std::uint64_t seed, std::size_t n) {
  std::mt19937_64 rng(seed);
  Buffer b(n);
  for (auto& x : b) x = static_cast<std::byte>(rng() >> 24);
  return b;
}

Buffer words(std::uint64_t seed, std::size_t n) {
  static constexpr std::string_view some[] = {"temperature ", "pressure ", "run ", "7 ", "sample\n", "calibrated ", "0.25 ", "detector "};
  std::mt19937_64 rng(seed);
  std::string text;
  while (text.size() < n) text += some[rng() >> 61];
  const auto bytes = as_bytes(text).first(n);
  return {bytes.begin(), bytes.end()};
}

// 32-bit numbers that grow slowly: byte planes pay.
Buffer ramp(std::uint32_t start, std::size_t n) {
  Buffer b(n);
  for (std::size_t i = 0; i < n; ++i) b[i] = static_cast<std::byte>((start + static_cast<std::uint32_t>(i / 4) * 37u) >> 8 * (i % 4));
  return b;
}

void put(Buffer& content, std::size_t at, const Buffer& part) {
  if (content.size() < at + part.size()) content.resize(at + part.size());
  std::copy(part.begin(), part.end(), content.begin() + static_cast<std::ptrdiff_t>(at));
}

class BufferSource final : public Source {
 public:
  explicit BufferSource(const Buffer& b) : data_(b) {}
  std::uint64_t size() const override { return data_.size(); }
  Result<std::size_t> read_at(std::uint64_t offset, MutableBytes out) const override {
    const auto n = std::min<std::size_t>(out.size(), data_.size() - std::min<std::size_t>(data_.size(), offset));
    std::copy_n(data_.begin() + static_cast<std::ptrdiff_t>(offset), n, out.begin());
    return n;
  }

 private:
  const Buffer& data_;
};

// One golden file in the making: fixed metadata, a clock that ticks once a commit.
class Story {
 public:
  static Result<Story> begin(const std::string& directory, std::string name, std::uint32_t page_size) {
    Story s;
    s.name_ = std::move(name);
    s.path_ = directory + "/" + s.name_;
    std::error_code ignored;
    std::filesystem::remove(s.path_, ignored);
    CreateOptions options;
    options.page_size = page_size;
    options.lineage = lineage_of(s.name_);
    PEEL_TRY(auto onion, Onion::create(s.path_, options), "");
    s.onion_.emplace(std::move(onion));
    return s;
  }

  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }
  Onion& onion() { return *onion_; }

  CommitOptions next(std::string note, std::uint32_t labels = 0) {
    CommitOptions o;
    ++ticks_;
    o.meta.author = "Zoë <zoe@example.org>";
    o.meta.host = "bench-7";
    o.meta.note = std::move(note);
    o.meta.time_ns = (first_second + 3600 * ticks_) * 1'000'000'000 + ticks_;
    o.meta.mtime_ns = o.meta.time_ns - 1'000'000'001;
    o.meta.mode = 0640;
    o.meta.labels = labels;
    return o;
  }

  Status write(std::string note, std::uint64_t offset, const Buffer& data, std::uint64_t size) {
    const Write w{offset, data};
    PEEL_CHECK(onion_->commit_writes(std::span(&w, data.empty() ? 0 : 1), size, next(std::move(note))), name_);
    return {};
  }
  Status scan(const CommitOptions& options, const Buffer& content) {
    PEEL_CHECK(onion_->commit_scan(BufferSource(content), options), name_);
    return {};
  }
  Status scan(std::string note, const Buffer& content) { return scan(next(std::move(note)), content); }
  Status refs(std::vector<RefChange> changes) { return onion_->update_refs(changes); }
  RevisionId id(std::uint64_t number) {
    const auto info = onion_->revision(number);
    return info ? info->id : RevisionId{};
  }

  void close() { onion_.reset(); }
  Status open() {
    OpenOptions options;
    options.access = Access::write;
    PEEL_TRY(auto onion, Onion::open(path_, options), "");
    onion_.emplace(std::move(onion));
    return {};
  }
  std::uint64_t file_size() const { return std::filesystem::file_size(path_); }
  void cut_file(std::uint64_t size) const { std::filesystem::resize_file(path_, size); }

 private:
  std::string name_, path_;
  std::optional<Onion> onion_;
  std::int64_t ticks_ = 0;
};

RefChange change(RefKind kind, std::string name, std::optional<RevisionId> target, std::optional<std::string> value = {}) {
  RefChange c;
  c.kind = kind;
  c.name = std::move(name);
  c.target = target;
  c.value = std::move(value);
  c.reason = "golden";
  return c;
}

// --- the stories ---------------------------------------------------------------------------------

Status nothing_recorded(Story&) { return {}; }

// Described writes: an edit across a page border, growth with a hole, a shrink inside a page, growth over what was cut
// off, an empty file, one byte.
Status edits(Story& s) {
  Buffer first = words(1, 20'000);
  put(first, 20'000, ramp(5, 9'000));
  PEEL_CHECK(s.write("first", 0, first, first.size()), "");
  PEEL_CHECK(s.write("across a border", 4'090, noise(2, 12), first.size()), "");
  PEEL_CHECK(s.write("grown, with a hole", 299'000, noise(3, 1'000), 300'000), "");
  PEEL_CHECK(s.write("shrunk inside a page", 0, {}, 10'001), "");
  PEEL_CHECK(s.write("grown again: zeros", 0, {}, 30'000), "");
  PEEL_CHECK(s.write("empty", 0, {}, 0), "");
  return s.write("one byte", 0, noise(4, 1), 1);
}

Status large_pages(Story& s) {
  PEEL_CHECK(s.write("less than a block", 0, words(5, 100), 100), "");
  PEEL_CHECK(s.write("two pages", 60'000, words(6, 10'000), 70'000), "");
  PEEL_CHECK(s.write("two levels", 3'000'000, ramp(7, 5'000), 3'200'000), "");
  return s.write("back in one leaf", 0, {}, 65'537);
}

// Page size by file size; most of the tree absent.
Status sparse(Story& s) {
  PEEL_CHECK(s.write("small", 0, words(8, 5'000), 5'000), "");
  PEEL_CHECK(s.write("a TiB", (1ull << 40) - 3'000, noise(9, 3'000), 1ull << 40), "");
  PEEL_CHECK(s.write("the middle", 1ull << 39, words(10, 4'000), 1ull << 40), "");
  PEEL_CHECK(s.write("nothing but zeros left", 0, Buffer(5'000), (1ull << 30) + 17), "");
  return s.write("odd size", (1ull << 30) + 17, words(11, 3), (1ull << 30) + 20);
}

// Content-defined chunks, then pages over them, then the first content again.
Status moved_bytes(Story& s) {
  Buffer content = words(12, 90'000);
  put(content, 40'000, ramp(13, 20'000));
  PEEL_CHECK(s.scan("first", content), "");
  const Buffer inserted = noise(14, 100);
  content.insert(content.begin() + 500, inserted.begin(), inserted.end());
  PEEL_CHECK(s.scan("100 bytes put in", content), "");
  put(content, 50'000, noise(15, 300));
  PEEL_CHECK(s.scan("edited in place", content), "");
  std::fill(content.begin() + 8'192, content.begin() + 24'576, std::byte{0});
  PEEL_CHECK(s.scan("zeros inside", content), "");
  PEEL_CHECK(s.onion().commit_copy(1, s.next("back", label_rollback)), "");
  return {};
}

// Every kind of ref and label, merges with two and three parents, a note that spans several hash chunks.
Status branches(Story& s) {
  Buffer content = words(16, 9'000);
  PEEL_CHECK(s.scan("root", content), "");
  PEEL_CHECK(s.refs({change(RefKind::branch, "trial", s.id(1)), change(RefKind::branch, "größer", s.id(1)),
                     change(RefKind::setting, "branch", {}, "trial"), change(RefKind::setting, "remote.origin", {}, "peel://host/x")}), "");
  put(content, 0, noise(17, 200));
  PEEL_CHECK(s.scan("on trial", content), "");
  auto other = s.next(std::string(1500, 'n') + "é", label_unhealthy | label_torn);
  other.branch = "größer";
  put(content, 5'000, noise(18, 200));
  PEEL_CHECK(s.scan(other, content), "");
  auto merge = s.next("three into one", label_merge);
  merge.branch = "main";
  merge.extra_parents = {s.id(2), s.id(3)};
  PEEL_CHECK(s.scan(merge, content), "");
  auto snapshot = s.next("", label_snapshot);
  snapshot.branch = "main";
  snapshot.even_if_same = true;
  snapshot.tag = "v1";
  PEEL_CHECK(s.scan(snapshot, content), "");
  return s.refs({change(RefKind::tag, "old", s.id(1), "a note\nof two lines"), change(RefKind::remote, "origin/main", s.id(3)),
                 change(RefKind::branch, "trial", {}), change(RefKind::setting, "branch", {}, "main"),
                 change(RefKind::setting, "remote.origin", {}), change(RefKind::setting, "stamp", {}, std::string("\0\1\x7f", 3))});
}

Status six_states(Story& s) {
  Buffer content = words(19, 12'000);
  for (int i = 0; i < 6; ++i) {
    put(content, static_cast<std::size_t>(i) * 2'000, noise(20 + static_cast<std::uint64_t>(i), 50));
    PEEL_CHECK(s.scan("state " + std::to_string(i), content), "");
  }
  return s.refs({change(RefKind::tag, "kept", s.id(2))});
}

// Parents that are not there any more; numbers with gaps; then life goes on.
Status collected(Story& s) {
  PEEL_CHECK(six_states(s), "");
  GcPolicy policy;
  policy.keep_last = 2;
  PEEL_CHECK(s.onion().gc(policy), "");
  return s.write("after the collection", 0, noise(30, 10), 12'000);
}

// Marked, not yet compacted; a tag saves one of the marked.
Status marked(Story& s, Facts& facts) {
  PEEL_CHECK(six_states(s), "");
  GcPolicy policy;
  policy.keep_last = 2;
  policy.defer = true;
  PEEL_TRY(const auto report, s.onion().gc(policy), "");
  facts = report.removed;
  return s.refs({change(RefKind::tag, "saved", s.id(4))});
}

struct WantedChunk {
  codec::Codec codec;
  std::uint8_t width;
  Buffer plain;
};

// Chunks exactly in the wanted codecs, brought in as if by a peer; then a revision with a piece from inside the fourth.
Status one_of_each(Story& s, std::span<const WantedChunk> wanted, std::size_t at, std::uint32_t inside, std::size_t length) {
  PEEL_TRY(auto importer, Importer::begin(s.onion(), {.staging_key = "golden"}), "");
  Buffer content;
  std::vector<Piece> pieces;
  for (const WantedChunk& w : wanted) {
    StoredChunk chunk;
    chunk.name = {codec::chunk_digest(w.plain), static_cast<std::uint32_t>(w.plain.size())};
    PEEL_TRY(const auto encoded, codec::encode_as(w.codec, w.width, codec::Effort::fast, w.plain, chunk.stored), "");
    chunk.codec = static_cast<std::uint8_t>(encoded.codec);
    chunk.width = encoded.width;
    PEEL_CHECK(importer.add_chunk(chunk), "");
    pieces.push_back({content.size(), w.plain.size(), chunk.name, 0, 0});
    put(content, content.size(), w.plain);
  }
  std::vector<RevisionId> parents;
  const auto add = [&](std::vector<Piece> of, const Buffer& bytes, std::string note) -> Status {
    RevisionLayer layer;
    codec::ContentHasher hasher;
    hasher.update(bytes);
    layer.info.parents = parents;
    layer.info.size = bytes.size();
    layer.info.content = hasher.finish();
    layer.info.meta = s.next(std::move(note)).meta;
    layer.info.id = onion::revision_id(parents, bytes.size(), layer.info.content, layer.info.meta);
    layer.whole = parents.empty();
    layer.pieces = std::move(of);
    parents = {layer.info.id};
    return importer.add_revision(std::move(layer));
  };
  PEEL_CHECK(add(pieces, content, "one of each"), "");
  std::copy_n(wanted[3].plain.begin() + inside, length, content.begin() + static_cast<std::ptrdiff_t>(at));
  PEEL_CHECK(add({{at, length, pieces[3].chunk, inside, 0}}, content, "a piece of a chunk"), "");
  return importer.finish(std::vector{change(RefKind::branch, "main", parents[0])});
}

Status codecs(Story& s) {
  using codec::Codec;
  Buffer eights(4'099);
  for (std::size_t i = 0; i < eights.size(); ++i) eights[i] = static_cast<std::byte>(i % 8 * 31 + 1);
  const WantedChunk wanted[] = {{Codec::raw, 1, noise(31, 1'000)}, {Codec::constant, 8, eights}, {Codec::lz4, 1, words(32, 5'000)},
                                {Codec::zstd, 1, words(33, 5'001)}, {Codec::shuffle_zstd, 8, ramp(34, 5'003)},
                                {Codec::shuffle_lz4, 4, ramp(35, 4'097)}, {Codec::constant, 1, Buffer(70'000, std::byte{7})}};
  return one_of_each(s, wanted, 2'000, 1'111, 3'333);
}

// The codecs for numbers, in chunks of their own and with odd tails.
Status numeric_codecs(Story& s) {
  using codec::Codec;
  const WantedChunk wanted[] = {{Codec::dbp, 4, ramp(60, 5'003)}, {Codec::dbp, 8, ramp(61, 4'096)}, {Codec::dbp, 2, ramp(62, 3'001)},
                           {Codec::dbp, 1, ramp(63, 2'000)}, {Codec::delta_zstd, 4, ramp(64, 5'001)},
                           {Codec::delta_zstd, 8, ramp(65, 4'097)}, {Codec::planes, 4, ramp(66, 8'195)}, {Codec::planes, 2, words(67, 6'001)}};
  return one_of_each(s, wanted, 2'500, 777, 1'111);
}

// More groups than one checkpoint spans, an explicit checkpoint, and groups after it.
Status many_groups(Story& s) {
  for (unsigned i = 0; i < 70; ++i) {
    PEEL_CHECK(s.write("step " + std::to_string(i), i % 5 * 9, noise(100 + i, 9), 50), "");
    if (i == 66) PEEL_CHECK(s.onion().flush(), "");
  }
  return {};
}

Status patch_superblocks(const std::string& path, const std::function<void(onion::Superblock&)>& patch);

// The last group cut in the middle, as a power cut leaves it: nobody acknowledged it, so it was never begun.
Status torn(Story& s) {
  PEEL_CHECK(s.write("whole", 0, words(40, 3'000), 3'000), "");
  const auto before = s.file_size();
  PEEL_CHECK(s.write("torn", 0, noise(41, 20'000), 20'000), "");
  s.close();
  s.cut_file(before + (s.file_size() - before) / 2);
  return patch_superblocks(s.path(), [](onion::Superblock& b) { b.acknowledged = b.tail; });
}

// Written on after a torn group: a later epoch, with leftovers of the earlier one behind it.
Status recovered(Story& s) {
  PEEL_CHECK(torn(s), "");
  PEEL_CHECK(s.open(), "");
  PEEL_CHECK(s.write("in the second epoch", 10, noise(42, 20), 3'000), "");
  PEEL_CHECK(s.onion().flush(), "");
  return s.write("after its checkpoint", 20, noise(43, 20), 3'000);
}

// The newest superblock does not check: the one before it and a longer scan say the same.
Status fallback(Story& s) {
  PEEL_CHECK(six_states(s), "");
  PEEL_CHECK(s.onion().flush(), "");
  PEEL_CHECK(s.write("then", 0, noise(44, 10), 12'000), "");
  PEEL_CHECK(s.onion().flush(), "");
  s.close();
  PEEL_TRY(auto file, posix_file_system().open(s.path(), OpenMode::read_write), "");
  std::array<std::byte, 8> sequence[2];
  for (unsigned slot = 0; slot < 2; ++slot) PEEL_CHECK(read_exactly(*file, slot * 4096 + 80, sequence[slot]), "");
  const unsigned newest = sequence[1][0] > sequence[0][0] ? 1 : 0;
  return file->write_at(newest * 4096 + 88, Buffer(20, std::byte{0xee}));
}

Status patch_superblocks(const std::string& path, const std::function<void(onion::Superblock&)>& patch) {
  PEEL_TRY(auto file, posix_file_system().open(path, OpenMode::read_write), "");
  for (unsigned slot = 0; slot < 2; ++slot) {
    std::array<std::byte, onion::superblock_size> raw;
    PEEL_CHECK(read_exactly(*file, slot * onion::superblock_stride, raw), "");
    PEEL_TRY(auto super, onion::decode_superblock(raw), "");
    patch(super);
    PEEL_CHECK(file->write_at(slot * onion::superblock_stride, onion::encode(super)), "");
  }
  return {};
}

// A group of a compatible newer writer: a record of an unknown type between known groups.
Status extended(Story& s) {
  PEEL_CHECK(s.write("before", 0, words(45, 2'000), 2'000), "");
  s.close();
  PEEL_TRY(auto file, posix_file_system().open(s.path(), OpenMode::read_write), "");
  std::array<std::byte, onion::superblock_size> raw;
  PEEL_CHECK(read_exactly(*file, onion::superblock_stride, raw), "");
  PEEL_TRY(const auto super, onion::decode_superblock(raw), "");
  const auto seed = onion::crc_seed(super.salt, super.epoch);
  const Buffer unknown = noise(46, 77);
  Buffer group, end;
  const auto record = [&](std::uint16_t type, const Buffer& payload) {
    const std::size_t at = group.size();
    group.resize(at + onion::record_size(payload.size()));
    std::uint32_t header_crc = 0;
    onion::encode(onion::RecordHeader{static_cast<onion::RecordType>(type), static_cast<std::uint32_t>(payload.size()), super.epoch,
                                      super.group + 2, codec::crc32c(seed, payload)}, seed, group.data() + at, &header_crc);
    std::copy(payload.begin(), payload.end(), group.begin() + static_cast<std::ptrdiff_t>(at + onion::record_header_size));
    return header_crc;
  };
  std::array<std::byte, 4> word;
  WireWriter::store(word.data(), record(4711, unknown));
  onion::encode(onion::EndRecord{1, codec::crc32c(0, word)}, end);
  record(static_cast<std::uint16_t>(onion::RecordType::end), end);
  PEEL_CHECK(file->write_at(s.file_size(), group), "");
  PEEL_CHECK(patch_superblocks(s.path(), [](onion::Superblock& b) { b.compatible = 1ull << 63; }), "");
  PEEL_CHECK(s.open(), "");
  return s.write("after", 100, noise(47, 30), 2'000);
}

Status refused(Story& s) {
  PEEL_CHECK(s.write("of the future", 0, words(48, 500), 500), "");
  s.close();
  return patch_superblocks(s.path(), [](onion::Superblock& b) { b.incompatible = 1ull << 40; });
}

}  // namespace

Result<Facts> describe(const Onion& onion) {
  Facts facts{{"lineage", to_hex(onion.lineage())}, {"revisions", Facts::array()}, {"refs", Facts::array()}, {"marked", Facts::array()}};
  PEEL_TRY(const auto rows, onion.list(), "");
  for (const auto& row : rows) {
    PEEL_TRY(const auto r, onion.revision(row.number), "");
    Facts parents = Facts::array();
    for (const auto& p : r.parents) parents.push_back(to_hex(p.bytes));
    Facts first = nullptr;
    if (r.first_parent) first = *r.first_parent;
    facts["revisions"].push_back({{"number", r.number}, {"id", to_hex(r.id.bytes)}, {"size", r.size}, {"content", to_hex(r.content.bytes)},
                                  {"parents", parents}, {"first_parent", first}, {"generation", r.generation}, {"time_ns", r.meta.time_ns},
                                  {"mtime_ns", r.meta.mtime_ns}, {"mode", r.meta.mode}, {"labels", r.meta.labels},
                                  {"author", r.meta.author}, {"host", r.meta.host}, {"note", r.meta.note}});
  }
  for (const auto& ref : onion.refs())
    if (ref.kind != RefKind::setting || (ref.name != "cut" && ref.name != "chunk-size"))  // how to cut is the writer's choice, no fact
    facts["refs"].push_back({{"kind", static_cast<unsigned>(ref.kind)}, {"name", ref.name},
                             {"target", ref.target.is_zero() ? "" : to_hex(ref.target.bytes)}, {"value", ref.value}});
  return facts;
}

Result<Facts> make_golden_files(const std::string& directory) {
  struct Plan { const char* name; std::uint32_t page_size; std::function<Status(Story&)> tell; };
  Facts marks;
  const Plan plans[] = {{"empty.onion", 0, nothing_recorded}, {"edits-4k.onion", 4096, edits}, {"pages-64k.onion", 65536, large_pages},
                        {"sparse.onion", 0, sparse}, {"moved-bytes.onion", 0, moved_bytes}, {"branches.onion", 0, branches},
                        {"collected.onion", 4096, collected}, {"marked.onion", 4096, [&](Story& s) { return marked(s, marks); }},
                        {"codecs.onion", 4096, codecs}, {"numeric-codecs.onion", 4096, numeric_codecs}, {"many-groups.onion", 4096, many_groups}, {"torn.onion", 4096, torn},
                        {"recovered.onion", 4096, recovered}, {"fallback.onion", 4096, fallback}, {"extended.onion", 4096, extended},
                        {"refused.onion", 4096, refused}};
  Facts all = Facts::object();
  for (const Plan& plan : plans) {
    PEEL_TRY(auto story, Story::begin(directory, plan.name, plan.page_size), plan.name);
    PEEL_CHECK(plan.tell(story), plan.name);
    story.close();
    const auto onion = Onion::open(story.path());
    if (!onion && onion.error().kind() == ErrorKind::unsupported) {
      all[plan.name] = {{"unsupported", true}};
      continue;
    }
    if (!onion) return fail(onion.error().kind(), onion.error().message());
    PEEL_TRY(all[plan.name], describe(*onion), plan.name);
  }
  all["marked.onion"]["marked"] = marks;
  return all;
}

}  // namespace peel::golden
