#include "onion/format.h"

#include <algorithm>

#include "codec/blake3.h"
#include "codec/crc32c.h"

namespace peel::onion {
namespace {

constexpr char superblock_magic[] = "PEELONI1";
constexpr std::uint16_t format_version = 1;
constexpr std::size_t superblock_crc_offset = superblock_size - 4;
constexpr std::size_t refs_max = 1u << 22;
constexpr std::size_t runs_max = 1u << 16;
constexpr std::size_t parents_max = 64;

void put_string32(WireWriter& w, std::string_view s) {
  w.integer(static_cast<std::uint32_t>(s.size())).bytes(as_bytes(s));
}

Result<std::string> get_string32(WireReader& r) {
  PEEL_TRY(const auto n, r.integer<std::uint32_t>(), "");
  PEEL_TRY(const auto b, r.bytes(n), "");
  return std::string(reinterpret_cast<const char*>(b.data()), b.size());
}

Result<RefKind> get_kind(WireReader& r) {
  PEEL_TRY(const auto kind, r.integer<std::uint8_t>(), "ref kind");
  if (kind < 1 || kind > 4) return fail(ErrorKind::unsupported, "unknown ref kind");
  return static_cast<RefKind>(kind);
}

// Appends to `out` in place: WireWriter adopts the buffer and gives it back.
template <class F>
void append(Buffer& out, F&& write) {
  WireWriter w(std::move(out));
  write(w);
  out = std::move(w).take();
}

void put_meta(WireWriter& w, const RevisionMeta& m) {
  w.signed64(m.time_ns).signed64(m.mtime_ns).integer(m.mode).integer(m.labels);
  w.string16(m.author).string16(m.host).string16(m.note);
}

}  // namespace

std::array<std::byte, superblock_size> encode(const Superblock& s) {
  WireWriter w;
  w.bytes(as_bytes(std::string_view(superblock_magic, 8))).integer(format_version).integer(std::uint16_t{0});
  w.integer(s.epoch).integer(s.incompatible).integer(s.compatible).bytes(s.salt).bytes(s.lineage);
  w.integer(s.sequence).integer(s.tail).integer(s.group).integer(s.checkpoint);
  w.integer(s.page_size).integer(std::uint32_t{0}).integer(s.acknowledged);
  const auto body = std::move(w).take();
  assert(body.size() == superblock_crc_offset);
  std::array<std::byte, superblock_size> out;
  std::copy(body.begin(), body.end(), out.begin());
  WireWriter::store(out.data() + superblock_crc_offset, codec::crc32c(0, body));
  return out;
}

Result<Superblock> decode_superblock(Bytes bytes) {
  if (bytes.size() < superblock_size) return fail(ErrorKind::truncated, "superblock");
  if (std::memcmp(bytes.data(), superblock_magic, 8) != 0) return fail(ErrorKind::corrupt, "this is no history of peel, or its beginning was overwritten");
  const auto crc = WireReader::load<std::uint32_t>(bytes.data() + superblock_crc_offset);
  if (crc != codec::crc32c(0, bytes.first(superblock_crc_offset))) return fail(ErrorKind::corrupt, "superblock checksum");
  WireReader r(bytes.subspan(8));
  Superblock s;
  PEEL_TRY(const auto version, r.integer<std::uint16_t>(), "");
  PEEL_TRY([[maybe_unused]] const auto reserved, r.integer<std::uint16_t>(), "");
  PEEL_TRY(s.epoch, r.integer<std::uint32_t>(), "");
  PEEL_TRY(s.incompatible, r.integer<std::uint64_t>(), "");
  PEEL_TRY(s.compatible, r.integer<std::uint64_t>(), "");
  PEEL_TRY(s.salt, r.array<16>(), "");
  PEEL_TRY(s.lineage, r.array<32>(), "");
  PEEL_TRY(s.sequence, r.integer<std::uint64_t>(), "");
  PEEL_TRY(s.tail, r.integer<std::uint64_t>(), "");
  PEEL_TRY(s.group, r.integer<std::uint64_t>(), "");
  PEEL_TRY(s.checkpoint, r.integer<std::uint64_t>(), "");
  PEEL_TRY(s.page_size, r.integer<std::uint32_t>(), "");
  PEEL_TRY([[maybe_unused]] const auto reserved_too, r.integer<std::uint32_t>(), "");
  PEEL_TRY(s.acknowledged, r.integer<std::uint64_t>(), "");
  if (version != format_version || s.incompatible != 0)
    return fail(ErrorKind::unsupported, "written by a newer peel; upgrade to read it");
  const bool page_ok = s.page_size == 0 || (s.page_size >= 1u << page_log2_min && s.page_size <= 1u << page_log2_max &&
                                            (s.page_size & (s.page_size - 1)) == 0);
  if (s.tail < records_begin || s.tail % 8 != 0 || s.acknowledged < s.tail || !page_ok) return fail(ErrorKind::corrupt, "superblock field out of range");
  return s;
}

std::uint32_t crc_seed(const Salt& salt, std::uint32_t epoch) {
  std::array<std::byte, 20> bytes;
  std::copy(salt.begin(), salt.end(), bytes.begin());
  WireWriter::store(bytes.data() + 16, epoch);
  return codec::crc32c(0, bytes);
}

void encode(const RecordHeader& h, std::uint32_t seed, std::byte* out, std::uint32_t* header_crc) {
  WireWriter::store(out, record_magic);
  WireWriter::store(out + 4, static_cast<std::uint16_t>(h.type));
  WireWriter::store(out + 6, std::uint16_t{0});
  WireWriter::store(out + 8, h.length);
  WireWriter::store(out + 12, h.epoch);
  WireWriter::store(out + 16, h.group);
  WireWriter::store(out + 24, h.payload_crc);
  const auto crc = codec::crc32c(seed, Bytes(out, 28));
  WireWriter::store(out + 28, crc);
  if (header_crc) *header_crc = crc;
}

Result<RecordHeader> decode_record_header(Bytes bytes, const Salt& salt) {
  if (bytes.size() < record_header_size) return fail(ErrorKind::truncated, "record header");
  const std::byte* p = bytes.data();
  if (WireReader::load<std::uint32_t>(p) != record_magic) return fail(ErrorKind::corrupt, "no record here");
  RecordHeader h;
  h.type = static_cast<RecordType>(WireReader::load<std::uint16_t>(p + 4));
  h.length = WireReader::load<std::uint32_t>(p + 8);
  h.epoch = WireReader::load<std::uint32_t>(p + 12);
  h.group = WireReader::load<std::uint64_t>(p + 16);
  h.payload_crc = WireReader::load<std::uint32_t>(p + 24);
  if (WireReader::load<std::uint32_t>(p + 28) != codec::crc32c(crc_seed(salt, h.epoch), bytes.first(28)))
    return fail(ErrorKind::corrupt, "record header checksum");
  if (WireReader::load<std::uint16_t>(p + 6) != 0) return fail(ErrorKind::unsupported, "record flag of a newer format");
  if (h.length > payload_size_max) return fail(ErrorKind::corrupt, "record length out of range");
  return h;
}

void encode(const ChunkHeader& h, std::byte* out) {
  std::copy(h.name.digest.bytes.begin(), h.name.digest.bytes.end(), out);
  WireWriter::store(out + 32, h.name.length);
  out[36] = static_cast<std::byte>(h.codec);
  out[37] = static_cast<std::byte>(h.width);
  out[38] = out[39] = std::byte{0};
}

Result<ChunkHeader> decode_chunk_header(Bytes payload) {
  if (payload.size() < chunk_header_size) return fail(ErrorKind::truncated, "chunk header");
  ChunkHeader h;
  std::copy_n(payload.begin(), 32, h.name.digest.bytes.begin());
  h.name.length = WireReader::load<std::uint32_t>(payload.data() + 32);
  h.codec = std::to_integer<std::uint8_t>(payload[36]);
  h.width = std::to_integer<std::uint8_t>(payload[37]);
  if (h.name.length == 0 || h.name.length > (16u << 20)) return fail(ErrorKind::corrupt, "chunk length out of range");
  return h;
}

void encode(const CommitRecord& c, Buffer& out) {
  append(out, [&](WireWriter& w) {
    w.integer(c.number).integer(c.generation).integer(c.size).integer(c.root).integer(c.previous_commit).integer(c.bytes_added);
    w.digest(c.content).digest(c.id);
    w.integer(c.page_log2).integer(std::uint8_t{0}).integer(static_cast<std::uint16_t>(c.parents.size()));
    for (const auto& p : c.parents) w.digest(p.id).integer(p.commit).integer(p.number);
    put_meta(w, c.meta);
  });
}

Result<CommitRecord> decode_commit(Bytes payload) {
  WireReader r(payload);
  CommitRecord c;
  PEEL_TRY(c.number, r.integer<std::uint64_t>(), "commit");
  PEEL_TRY(c.generation, r.integer<std::uint64_t>(), "commit");
  PEEL_TRY(c.size, r.integer<std::uint64_t>(), "commit");
  PEEL_TRY(c.root, r.integer<std::uint64_t>(), "commit");
  PEEL_TRY(c.previous_commit, r.integer<std::uint64_t>(), "commit");
  PEEL_TRY(c.bytes_added, r.integer<std::uint64_t>(), "commit");
  PEEL_TRY(c.content, r.digest(), "commit");
  PEEL_TRY(c.id, r.digest(), "commit");
  PEEL_TRY(c.page_log2, r.integer<std::uint8_t>(), "commit");
  PEEL_TRY([[maybe_unused]] const auto reserved, r.integer<std::uint8_t>(), "commit");
  PEEL_TRY(const auto parents, r.integer<std::uint16_t>(), "commit");
  if (parents > parents_max) return fail(ErrorKind::corrupt, "commit: too many parents");
  if (c.page_log2 < page_log2_min || c.page_log2 > page_log2_max) return fail(ErrorKind::corrupt, "commit: page size");
  if (c.size > file_size_max || c.generation > counter_max || c.number > counter_max) return fail(ErrorKind::corrupt, "commit: field out of range");
  for (unsigned i = 0; i < parents; ++i) {
    ParentLink p;
    PEEL_TRY(p.id, r.digest(), "commit parent");
    PEEL_TRY(p.commit, r.integer<std::uint64_t>(), "commit parent");
    PEEL_TRY(p.number, r.integer<std::uint64_t>(), "commit parent");
    if (p.commit != 0 && p.number >= c.number) return fail(ErrorKind::corrupt, "commit: a parent that comes after its child");
    c.parents.push_back(p);
  }
  auto& m = c.meta;
  PEEL_TRY(m.time_ns, r.signed64(), "commit");
  PEEL_TRY(m.mtime_ns, r.signed64(), "commit");
  PEEL_TRY(m.mode, r.integer<std::uint32_t>(), "commit");
  PEEL_TRY(m.labels, r.integer<std::uint32_t>(), "commit");
  PEEL_TRY(m.author, r.string16(), "commit");
  PEEL_TRY(m.host, r.string16(), "commit");
  PEEL_TRY(m.note, r.string16(), "commit");
  return c;
}

RevisionId revision_id(const std::vector<RevisionId>& parents, std::uint64_t size, const Digest& content,
                       const RevisionMeta& meta) {
  static const codec::Key key = codec::blake3(as_bytes("peel 1 revision")).bytes;
  thread_local Buffer reuse;
  reuse.clear();
  WireWriter w(std::move(reuse));
  w.integer(static_cast<std::uint16_t>(parents.size()));
  for (const auto& p : parents) w.digest(p);
  w.integer(size).digest(content);
  put_meta(w, meta);
  const auto id = codec::blake3_keyed(key, w.view());
  reuse = std::move(w).take();
  return id;
}

void encode(const RefRecord& r, Buffer& out) {
  append(out, [&](WireWriter& w) {
    w.integer(static_cast<std::uint8_t>(r.kind)).integer(std::uint8_t{r.removed}).string16(r.name);
    w.digest(r.before).digest(r.after).integer(r.after_commit).integer(r.previous_ref).signed64(r.time_ns);
    put_string32(w, r.value);
    w.string16(r.who).string16(r.reason);
  });
}

Result<RefRecord> decode_ref(Bytes payload) {
  WireReader r(payload);
  RefRecord f;
  PEEL_TRY(f.kind, get_kind(r), "ref");
  PEEL_TRY(const auto removed, r.integer<std::uint8_t>(), "ref");
  f.removed = removed != 0;
  PEEL_TRY(f.name, r.string16(), "ref");
  PEEL_TRY(f.before, r.digest(), "ref");
  PEEL_TRY(f.after, r.digest(), "ref");
  PEEL_TRY(f.after_commit, r.integer<std::uint64_t>(), "ref");
  PEEL_TRY(f.previous_ref, r.integer<std::uint64_t>(), "ref");
  PEEL_TRY(f.time_ns, r.signed64(), "ref");
  PEEL_TRY(f.value, get_string32(r), "ref");
  PEEL_TRY(f.who, r.string16(), "ref");
  PEEL_TRY(f.reason, r.string16(), "ref");
  return f;
}

RevisionRow row_of(const CommitRecord& commit, std::uint64_t offset) {
  RevisionRow row;
  row.summary = {commit.number, commit.id, commit.generation, commit.size, commit.meta.time_ns, std::nullopt};
  if (!commit.parents.empty() && commit.parents[0].commit != 0) row.summary.first_parent = commit.parents[0].number;
  row.content = commit.content;
  row.commit = offset;
  row.root = commit.root;
  row.page_log2 = commit.page_log2;
  row.parents = static_cast<std::uint8_t>(commit.parents.size());
  return row;
}

void encode(const RevisionRow& row, Buffer& out) {
  append(out, [&](WireWriter& w) {
    const auto& s = row.summary;
    w.digest(s.id).digest(row.content).integer(s.number).integer(s.generation).integer(s.size).signed64(s.time_ns);
    w.integer(s.first_parent ? *s.first_parent : std::uint64_t{0}).integer(row.commit).integer(row.root);
    w.integer(row.page_log2).integer(row.parents).bytes(std::array<std::byte, 14>{});
  });
}

Result<RevisionRow> decode_revision_row(Bytes bytes) {
  WireReader r(bytes);
  RevisionRow row;
  auto& s = row.summary;
  PEEL_TRY(s.id, r.digest(), "revision row");
  PEEL_TRY(row.content, r.digest(), "revision row");
  PEEL_TRY(s.number, r.integer<std::uint64_t>(), "revision row");
  PEEL_TRY(s.generation, r.integer<std::uint64_t>(), "revision row");
  PEEL_TRY(s.size, r.integer<std::uint64_t>(), "revision row");
  PEEL_TRY(s.time_ns, r.signed64(), "revision row");
  PEEL_TRY(const auto parent, r.integer<std::uint64_t>(), "revision row");
  PEEL_TRY(row.commit, r.integer<std::uint64_t>(), "revision row");
  PEEL_TRY(row.root, r.integer<std::uint64_t>(), "revision row");
  PEEL_TRY(row.page_log2, r.integer<std::uint8_t>(), "revision row");
  PEEL_TRY(row.parents, r.integer<std::uint8_t>(), "revision row");
  PEEL_TRY([[maybe_unused]] const auto reserved, r.bytes(14), "revision row");
  if (parent != 0) s.first_parent = parent;  // numbers start at 1
  if (parent >= s.number || s.size > file_size_max || s.generation > counter_max) return fail(ErrorKind::corrupt, "revision row");
  if (row.page_log2 < page_log2_min || row.page_log2 > page_log2_max) return fail(ErrorKind::corrupt, "revision row");
  return row;
}

void encode(const CheckpointRecord& c, Buffer& out) {
  append(out, [&](WireWriter& w) {
    w.integer(c.next_number).integer(c.revision_count).integer(c.last_commit).integer(c.last_ref).integer(c.gc_mark);
    for (const auto* runs : {&c.chunk_runs, &c.revision_runs}) {
      w.integer(static_cast<std::uint32_t>(runs->size()));
      for (const auto& run : *runs) w.integer(run.offset).integer(run.count);
    }
    w.integer(static_cast<std::uint32_t>(c.refs.size()));
    for (const auto& s : c.refs) {
      w.integer(static_cast<std::uint8_t>(s.ref.kind)).string16(s.ref.name).digest(s.ref.target).integer(s.commit);
      put_string32(w, s.ref.value);
    }
  });
}

Result<CheckpointRecord> decode_checkpoint(Bytes payload) {
  WireReader r(payload);
  CheckpointRecord c;
  PEEL_TRY(c.next_number, r.integer<std::uint64_t>(), "checkpoint");
  PEEL_TRY(c.revision_count, r.integer<std::uint64_t>(), "checkpoint");
  PEEL_TRY(c.last_commit, r.integer<std::uint64_t>(), "checkpoint");
  PEEL_TRY(c.last_ref, r.integer<std::uint64_t>(), "checkpoint");
  PEEL_TRY(c.gc_mark, r.integer<std::uint64_t>(), "checkpoint");
  for (auto* runs : {&c.chunk_runs, &c.revision_runs}) {
    PEEL_TRY(const auto n, r.integer<std::uint32_t>(), "checkpoint");
    if (n > runs_max) return fail(ErrorKind::corrupt, "checkpoint: too many runs");
    for (std::uint32_t i = 0; i < n; ++i) {
      RunLocation run;
      PEEL_TRY(run.offset, r.integer<std::uint64_t>(), "checkpoint run");
      PEEL_TRY(run.count, r.integer<std::uint64_t>(), "checkpoint run");
      if (run.count > payload_size_max) return fail(ErrorKind::corrupt, "checkpoint: a run of impossible size");
      runs->push_back(run);
    }
  }
  PEEL_TRY(const auto n, r.integer<std::uint32_t>(), "checkpoint");
  if (n > refs_max) return fail(ErrorKind::corrupt, "checkpoint: too many refs");
  for (std::uint32_t i = 0; i < n; ++i) {
    StoredRef s;
    PEEL_TRY(s.ref.kind, get_kind(r), "checkpoint ref");
    PEEL_TRY(s.ref.name, r.string16(), "checkpoint ref");
    PEEL_TRY(s.ref.target, r.digest(), "checkpoint ref");
    PEEL_TRY(s.commit, r.integer<std::uint64_t>(), "checkpoint ref");
    PEEL_TRY(s.ref.value, get_string32(r), "checkpoint ref");
    c.refs.push_back(std::move(s));
  }
  return c;
}

void encode_gc_mark(const std::vector<std::uint64_t>& numbers, Buffer& out) {
  const std::size_t at = out.size();
  out.resize(at + 8 + numbers.size() * 8);
  WireWriter::store(out.data() + at, std::uint64_t{numbers.size()});
  for (std::size_t i = 0; i < numbers.size(); ++i) WireWriter::store(out.data() + at + 8 + i * 8, numbers[i]);
}

Result<std::vector<std::uint64_t>> decode_gc_mark(Bytes payload) {
  WireReader r(payload);
  PEEL_TRY(const auto n, r.integer<std::uint64_t>(), "gc mark");
  if (n > r.rest().size() / 8) return fail(ErrorKind::truncated, "gc mark");
  std::vector<std::uint64_t> numbers(n);
  for (auto& number : numbers) {
    PEEL_TRY(number, r.integer<std::uint64_t>(), "gc mark");
  }
  return numbers;
}

void encode(const EndRecord& e, Buffer& out) {
  append(out, [&](WireWriter& w) {
    w.integer(e.records).integer(std::uint32_t{0}).integer(e.checksum).integer(std::uint32_t{0});
  });
}

Result<EndRecord> decode_end(Bytes payload) {
  if (payload.size() != end_payload_size) return fail(ErrorKind::corrupt, "end record");
  return EndRecord{WireReader::load<std::uint32_t>(payload.data()), WireReader::load<std::uint32_t>(payload.data() + 8)};
}

unsigned page_log2_for(std::uint64_t size) {
  if (size <= std::uint64_t{1} << 30) return 12;
  return size <= std::uint64_t{1} << 36 ? 14 : 16;
}

unsigned tree_levels(std::uint64_t size, unsigned page_log2) {
  unsigned levels = 1;
  while (page_log2 + 4 * levels < 64 && (std::uint64_t{1} << (page_log2 + 4 * levels)) < size) ++levels;
  return levels;
}

}  // namespace peel::onion
