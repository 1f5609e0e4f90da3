// Checking a whole onion in one pass over the file, and mending chunks from bytes a peer still has.
//
// The records of a healthy file follow each other without a gap, so a linear scan sees every byte once, in
// bounded memory. Only when something is damaged are the trees walked, to say which revision and range need it.
// Errors     io, cancelled. Damage is a result, not an error.
#include <algorithm>
#include <unordered_set>

#include "base/random.h"
#include "codec/crc32c.h"
#include "codec/page_codec.h"
#include "onion/impl.h"

namespace peel {

using namespace onion;

namespace {

bool all_zero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

class Check {
 public:
  Check(Onion::Impl& m, const VerifyOptions& options, VerifyReport& report) : m_(m), options_(options), report_(report) {}

  Status run() {
    const std::uint64_t end = m_.position.end;
    PEEL_CHECK(check_ends(end), "");
    RecordScanner scanner(m_.store->file(), m_.super.salt);
    for (std::uint64_t at = records_begin; at < end;) {
      if (options_.cancel) PEEL_CHECK(options_.cancel->check(), "");
      if (options_.progress) options_.progress({at, end});
      PEEL_TRY(const auto record, scanner.at(at), m_.path);
      if (record) {
        look_at(*record);
        PEEL_CHECK(check_padding(*record), "");
        at = record->end();
        report_.bytes += record->end() - record->offset;
        continue;
      }
      PEEL_TRY(at, damaged_record(scanner, at, end), "");
    }
    PEEL_CHECK(check_revisions(), "");
    if (options_.deep && options_.sample >= 1.0) PEEL_CHECK(check_trees(), "");
    if (!report_.damage.empty()) PEEL_CHECK(name_ranges(), "");
    return {};
  }

 private:
  void add(std::uint64_t offset, std::string what, const ChunkName& name = {}) {
    Damage d;
    d.locator = offset;
    d.chunk = name;
    d.what = std::move(what);
    report_.damage.push_back(std::move(d));
  }

  // What the superblocks say, what nothing uses, and what lies behind the last group.
  Status check_ends(std::uint64_t end) {
    for (const Damage& d : m_.damage)
      if (d.locator < records_begin) report_.damage.push_back(d);
    for (unsigned slot = 0; slot < 2; ++slot) {
      Buffer unused(superblock_stride - superblock_size);
      PEEL_CHECK(read_exactly(m_.store->file(), slot * superblock_stride + superblock_size, unused), m_.path);
      if (!all_zero(unused))
        PEEL_CHECK(unused_damaged(slot * superblock_stride + superblock_size, unused.size(), "unused bytes behind a superblock are not zero"), "");
    }
    PEEL_TRY(const auto size, m_.store->file().size(), m_.path);
    report_.unfinished = size - std::min(size, end);
    if (size < end) add(size, "the file ends here, but " + std::to_string(end) + " bytes were acknowledged");
    return {};
  }

  Status check_padding(const RecordScanner::Record& r) {
    std::array<std::byte, 8> padding{};
    const std::uint64_t from = r.offset + record_header_size + r.header.length;
    if (from == r.end()) return {};
    PEEL_TRY([[maybe_unused]] const auto got, m_.store->file().read_at(from, MutableBytes(padding).first(r.end() - from)), m_.path);
    if (all_zero(padding)) return {};
    return unused_damaged(from, r.end() - from, "padding behind a record is not zero");
  }

  // Nothing was lost, but a flipped bit here says that there may be others.
  Status unused_damaged(std::uint64_t at, std::size_t size, std::string what) {
    add(at, std::move(what));
    if (!options_.repair_from) return {};
    PEEL_CHECK(m_.store->file().write_at(at, Buffer(size)), m_.path);
    report_.repaired.push_back(std::move(report_.damage.back()));
    report_.damage.pop_back();
    return {};
  }

  void look_at(const RecordScanner::Record& r) {
    if (r.header.type != RecordType::chunk) return;
    ++report_.chunks;
    if (!options_.deep) return;
    if (options_.sample < 1.0) {
      const auto draw = WireReader::load<std::uint32_t>(random_array<4>().data());
      if (static_cast<double>(draw) > options_.sample * 4294967295.0) return;
    }
    const auto header = decode_chunk_header(r.payload);
    if (!header) return add(r.offset, header.error().message());
    plain_.resize(header->name.length);
    const auto decoded = codec::decode(static_cast<codec::Codec>(header->codec), header->width, r.payload.subspan(chunk_header_size), plain_);
    if (!decoded) return add(r.offset, decoded.error().message(), header->name);
    if (codec::chunk_digest(plain_) != header->name.digest) add(r.offset, "chunk does not match its digest", header->name);
  }

  // Something is wrong at `at`: mend it if it is a chunk and the caller has its bytes; say where to go on.
  Result<std::uint64_t> damaged_record(RecordScanner& scanner, std::uint64_t at, std::uint64_t end) {
    std::array<std::byte, record_header_size + chunk_header_size> raw{};
    PEEL_TRY([[maybe_unused]] const auto got, m_.store->file().read_at(at, raw), m_.path);
    auto header = decode_record_header(raw, m_.super.salt);
    std::uint64_t next = end;
    RecordHeader group;  // a chunk is never the last of its group: the record behind it belongs to the same
    if (header && at + record_size(header->length) <= end) {
      next = at + record_size(header->length);
    } else {
      PEEL_TRY(const auto found, scanner.find_header(at + 8, 0), m_.path);
      if (found) next = std::min(end, found->offset);
      if (found) group = found->header;
    }
    const auto chunk = decode_chunk_header(Bytes(raw).subspan(record_header_size));
    const bool may_be_chunk = (!header || header->type == RecordType::chunk) && chunk;
    const std::size_t before = report_.damage.size();
    add(at, header ? "checksum mismatch" : "record header damaged", may_be_chunk ? chunk->name : ChunkName{});
    if (may_be_chunk && options_.repair_from) {
      PEEL_TRY(const bool mended, mend(at, next, *chunk, header ? std::optional(*header) : std::nullopt, group), "");
      if (mended) {
        report_.repaired.push_back(report_.damage.back());
        report_.damage.resize(before);
      }
    }
    return next;
  }

  // Only a record identical to the lost one may take its place: its header checksum is part of its group's. A copy that was
  // fetched or pushed has the very bytes; else the plain bytes are encoded again as they were.
  Result<bool> mend(std::uint64_t at, std::uint64_t next, const ChunkHeader& lost, const std::optional<RecordHeader>& header, const RecordHeader& group) {
    const auto copy = options_.repair_from(lost.name);
    if (!copy) return false;
    Buffer plain(lost.name.length);
    if (!codec::decode(static_cast<codec::Codec>(copy->codec), copy->width, copy->stored, plain) || codec::chunk_digest(plain) != lost.name.digest) return false;
    const auto write_if_same = [&](std::uint8_t codec, std::uint8_t width, Bytes stored) -> Result<bool> {
      Buffer record(record_header_size + chunk_header_size);
      encode(ChunkHeader{lost.name, codec, width}, record.data() + record_header_size);
      record.insert(record.end(), stored.begin(), stored.end());
      const Bytes payload = Bytes(record).subspan(record_header_size);
      RecordHeader rebuilt = header ? *header : group;
      rebuilt.type = RecordType::chunk;
      rebuilt.length = static_cast<std::uint32_t>(payload.size());
      const auto seed = crc_seed(m_.super.salt, rebuilt.epoch);
      rebuilt.payload_crc = codec::crc32c(seed, payload);
      const bool fits = codec == lost.codec && width == lost.width && at + record_size(payload.size()) == next;
      if (header ? rebuilt != *header : !fits) return false;
      record.resize(record_size(payload.size()));
      encode(rebuilt, seed, record.data());
      PEEL_CHECK(m_.store->file().write_at(at, record), m_.path);
      PEEL_CHECK(m_.store->file().sync_data(), m_.path);
      return true;
    };
    PEEL_TRY(bool mended, write_if_same(copy->codec, copy->width, copy->stored), "");
    for (const auto effort : {codec::Effort::fast, codec::Effort::balanced, codec::Effort::thorough}) {
      if (mended) break;
      Buffer stored;
      if (!codec::encode_as(static_cast<codec::Codec>(lost.codec), lost.width, effort, plain, stored)) break;
      PEEL_TRY(mended, write_if_same(lost.codec, lost.width, stored), "");
    }
    return mended;
  }

  Status check_revisions() {
    PEEL_CHECK(m_.load_history(), "");
    for (std::size_t i = 0; i < m_.table.size(); ++i) {
      ++report_.revisions;
      const auto commit = m_.read_commit(m_.table.extra(i).commit);
      const auto bad = [&](std::string what) {
        add(m_.table.extra(i).commit, std::move(what));
        report_.damage.back().revision = m_.table.summaries()[i].number;
      };
      if (!commit) { bad(commit.error().message()); continue; }
      std::vector<RevisionId> parents;
      for (const auto& p : (*commit)->parents) parents.push_back(p.id);
      const CommitRecord& c = **commit;
      if (revision_id(parents, c.size, c.content, c.meta) != c.id) bad("revision id does not match what it names");
      DigestCursor digests(*m_.store, peel::tree_of(c));
      const auto subtree = digests.digest(codec::content_height(c.size), 0);
      if (!subtree) bad(subtree.error().message());
      else if (codec::content_digest(c.size, *subtree) != c.content) bad("tree does not match the content digest");
    }
    return {};
  }

  // That the digests a revision's content digest is made of are those of the bytes its slices name. Record checksums
  // cannot say so: what a faulty writer wrote has good ones. Each subtree is walked once.
  Status check_trees() {
    std::unordered_set<std::uint64_t> seen;
    for (std::size_t i = 0; i < m_.table.size(); ++i) {
      const auto& row = m_.table.summaries()[i];
      const auto& extra = m_.table.extra(i);
      const Tree tree{extra.root, row.size, extra.page_log2};
      if (extra.root != 0) PEEL_CHECK(check_node(tree, extra.root, tree.levels() - 1, 0, nullptr, row.number, seen), "");
    }
    return {};
  }

  Status check_node(const Tree& tree, std::uint64_t ref, unsigned level, std::uint64_t begin, const Digest* claimed, std::uint64_t number,
                    std::unordered_set<std::uint64_t>& seen) {
    if (options_.cancel) PEEL_CHECK(options_.cancel->check(), "");
    const bool seen_before = !seen.insert(ref).second;
    if (seen_before && !claimed) return {};
    const auto bad = [&](std::string what, Range range) {
      add(ref, std::move(what));
      report_.damage.back().revision = number;
      report_.damage.back().range = range;
    };
    const auto record = m_.store->read_record(ref, RecordType::node);
    const auto node = record ? decode_node(record->payload()) : Result<Node>(record.error());
    const std::uint64_t span = tree.leaf_size() << (4 * level);
    if (!node) {
      if (node.error().kind() != ErrorKind::corrupt) return Error(node.error());
      return {};  // damage of a record, reported already
    }
    if (node->level != level || node->page_log2 != tree.page_log2 || (claimed && node->own_digest() != *claimed)) {
      bad("node is not the one its parent names", {begin, span});
      return {};
    }
    if (seen_before) return {};
    if (level == 0) return check_leaf(tree, *node, begin, bad);
    for (unsigned i = 0; i < fanout; ++i)
      if (node->has(i))
        PEEL_CHECK(check_node(tree, node->child[i], level - 1, begin + i * (span >> 4), &node->child_digest(i), number, seen), "");
    return {};
  }

  template <class Bad>
  Status check_leaf(const Tree& tree, const Node& leaf, std::uint64_t begin, const Bad& bad) {
    Buffer bytes(tree.leaf_size());
    for (const Slice& s : leaf.slices) {
      if (memory_.offset != s.chunk) {
        memory_.offset = 0;
        const auto read = m_.store->read_chunk(s.chunk, s.record_size, memory_.plain);
        if (!read && read.error().kind() != ErrorKind::corrupt) return read;
        if (!read) return {};  // a damaged chunk, reported already
        memory_.offset = s.chunk;
      }
      if (std::uint64_t{s.chunk_offset} + s.length > memory_.plain.size()) {
        bad("slice beyond its chunk", {begin + s.start, s.length});
        return {};
      }
      std::copy_n(memory_.plain.begin() + s.chunk_offset, s.length, bytes.begin() + s.start);
    }
    std::array<Digest, fanout> digests;
    codec::page_digests(bytes, tree.page_height(), digests);
    for (unsigned i = 0; i < fanout; ++i)
      if (digests[i] != leaf.child_digest(i)) bad("page does not match its digest", {begin + i * tree.page_size(), tree.page_size()});
    return {};
  }

  // First revision and range that need each damaged record.
  Status name_ranges() {
    std::unordered_map<std::uint64_t, std::vector<Damage*>> wanted;
    for (Damage& d : report_.damage)
      if (!d.revision) wanted[d.locator].push_back(&d);
    std::unordered_set<std::uint64_t> seen;
    for (std::size_t i = 0; i < m_.table.size() && !wanted.empty(); ++i) {
      const auto& extra = m_.table.extra(i);
      if (extra.root != 0) walk(extra.root, 0, m_.table.summaries()[i].number, wanted, seen, std::nullopt);
    }
    return {};
  }

  void walk(std::uint64_t ref, std::uint64_t begin, std::uint64_t number, std::unordered_map<std::uint64_t, std::vector<Damage*>>& wanted,
            std::unordered_set<std::uint64_t>& seen, std::optional<std::uint64_t> span, unsigned below = tree_levels_max) {
    if (!seen.insert(ref).second) return;
    const auto name = [&](std::uint64_t offset, Range range) {
      const auto it = wanted.find(offset);
      if (it == wanted.end()) return;
      for (Damage* d : it->second) { d->revision = number; d->range = range; }
      wanted.erase(it);
    };
    name(ref, {begin, span.value_or(0)});
    const auto node = m_.store->node(ref);
    if (!node || (*node)->level >= below) return;
    const Node& n = **node;
    if (n.level == 0) {
      for (const Slice& s : n.slices) name(s.chunk, {begin + s.start, s.length});
      return;
    }
    const std::uint64_t child_span = n.page_size() << (4 * n.level);
    for (unsigned i = 0; i < fanout; ++i)
      if (n.has(i)) walk(n.child[i], begin + i * child_span, number, wanted, seen, child_span, n.level);
  }

  Onion::Impl& m_;
  const VerifyOptions& options_;
  VerifyReport& report_;
  Buffer plain_;
  ChunkMemory memory_;
};

}  // namespace

Result<VerifyReport> Onion::verify(const VerifyOptions& options) {
  Impl& m = *impl_;
  VerifyReport report;
  if (options.repair_from) {
    PEEL_TRY(const auto lock, m.take_lock(options.cancel, Impl::Purpose::repair), "");
    PEEL_CHECK(Check(m, options, report).run(), "");
    PEEL_CHECK(m.store->file().sync_data(), m.path);
    PEEL_CHECK(m.load_state(), "");  // what was mended counts from here
    if (m.bad_slot && !m.broken) {
      PEEL_CHECK(m.acknowledge_twice(), "");
      const auto slot = std::find_if(report.damage.begin(), report.damage.end(), [](const Damage& d) { return d.locator == 0 || d.locator == superblock_stride; });
      if (slot != report.damage.end()) {
        report.repaired.push_back(std::move(*slot));
        report.damage.erase(slot);
      }
      PEEL_CHECK(m.load_state(), "");
    }
  } else {
    PEEL_CHECK(Check(m, options, report).run(), "");
  }
  return report;
}

Result<StorageReport> Onion::storage(std::uint64_t number) const {
  const Impl& m = *impl_;
  PEEL_TRY(const auto tree, m.tree_of(number), "");
  StorageReport report;
  PEEL_TRY(report.file_bytes, m.store->file().size(), m.path);
  std::map<std::string, StorageReport::Row> rows;
  std::unordered_set<std::uint64_t> seen;
  LeafCursor cursor(*m.store, tree);
  PEEL_CHECK(visit_slices(cursor, 0, tree.size, [&](std::uint64_t, std::uint64_t length, const Slice* s) -> Status {
    if (!s) {
      auto& holes = rows["hole"];
      holes.codec = "hole";
      holes.plain_bytes += length;
      return {};
    }
    if (!seen.insert(s->chunk).second) return {};
    PEEL_TRY(const auto place, m.store->probe_chunk(s->chunk), "");
    auto& row = rows[codec::codec_name(static_cast<codec::Codec>(place.header.codec))];
    row.codec = codec::codec_name(static_cast<codec::Codec>(place.header.codec));
    ++row.chunks;
    row.plain_bytes += place.header.name.length;
    row.stored_bytes += place.record_size;
    return {};
  }), "");
  for (auto& [name, row] : rows) report.rows.push_back(std::move(row));
  return report;
}

}  // namespace peel
