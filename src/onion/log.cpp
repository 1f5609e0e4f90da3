#include "onion/log.h"

#include <algorithm>

#include "codec/crc32c.h"

namespace peel::onion {
namespace {

constexpr std::size_t window_size = 1u << 20;

// The key the chunk index knows a digest by.
std::uint64_t key_of(const Digest& d) { return WireReader::load<std::uint64_t>(d.bytes.data()); }

// Records of one group, until its END proves them.
class GroupCollector {
 public:
  explicit GroupCollector(std::uint64_t begin) { group_.begin = begin; }

  Status add(const RecordScanner::Record& r) {
    std::array<std::byte, 4> word;
    WireWriter::store(word.data(), r.header_crc);
    if (r.header.type != RecordType::end) {
      checksum_ = codec::crc32c(checksum_, word);
      ++records_;
    }
    switch (r.header.type) {
      case RecordType::chunk: {
        PEEL_TRY(const auto header, decode_chunk_header(r.payload), "");
        group_.chunks.push_back({key_of(header.name.digest), r.offset});
        break;
      }
      case RecordType::commit: {
        PEEL_TRY(auto commit, decode_commit(r.payload), "");
        group_.commits.emplace_back(r.offset, std::move(commit));
        break;
      }
      case RecordType::ref: {
        PEEL_TRY(auto ref, decode_ref(r.payload), "");
        group_.refs.emplace_back(r.offset, std::move(ref));
        break;
      }
      case RecordType::checkpoint: {
        PEEL_TRY(auto checkpoint, decode_checkpoint(r.payload), "");
        group_.checkpoint.emplace(r.offset, std::move(checkpoint));
        break;
      }
      case RecordType::gc_mark: {
        PEEL_TRY(auto mark, decode_gc_mark(r.payload), "");
        group_.gc_marks.emplace_back(r.offset, std::move(mark));
        break;
      }
      default: break;  // nodes, runs and types of compatible newer writers
    }
    return {};
  }

  // Its header checks, its payload does not.
  void add_unsound(const RecordScanner::Record& r) {
    std::array<std::byte, 4> word;
    WireWriter::store(word.data(), r.header_crc);
    checksum_ = codec::crc32c(checksum_, word);
    ++records_;
    const bool content_only = r.header.type == RecordType::chunk || r.header.type == RecordType::node;
    add_lost(r.offset, r.end(), "checksum mismatch", content_only);
  }
  void add_lost(std::uint64_t begin, std::uint64_t end, const char* what, bool content_only = false) {
    group_.lost.push_back({begin, end, what});
    group_.complete = group_.complete && content_only;
  }

  bool closed_by(const EndRecord& end) const { return end.records == records_ && end.checksum == checksum_; }
  SeenGroup take(std::uint64_t end, std::uint32_t end_crc) && {
    group_.end = end;
    group_.end_crc = end_crc;
    return std::move(group_);
  }

 private:
  SeenGroup group_;
  std::uint32_t records_ = 0, checksum_ = 0;
};

struct GroupReading {
  SeenGroup group;
  std::uint32_t epoch = 0;
  bool closed = false;  // END agrees with all headers; payloads in `group.lost` may still be bad
  bool whole() const { return closed && group.lost.empty(); }
};

Result<GroupReading> read_group(RecordScanner& scanner, const LogPosition& position) {
  GroupReading reading;
  GroupCollector collector(position.end);
  std::uint64_t at = position.end;
  reading.epoch = position.epoch;
  while (true) {
    PEEL_TRY(const auto record, scanner.at_unsound(at), "");
    if (!record || record->header.group != position.group + 1 || record->header.epoch < reading.epoch) return reading;
    reading.epoch = record->header.epoch;
    at = record->end();
    if (record->header.type != RecordType::end) {
      if (record->sound) PEEL_CHECK(collector.add(*record), "offset " + std::to_string(record->offset));
      else collector.add_unsound(*record);
      continue;
    }
    if (!record->sound) return reading;
    PEEL_TRY(const auto end, decode_end(record->payload), "");
    reading.closed = collector.closed_by(end);
    reading.group = std::move(collector).take(at, record->header_crc);
    return reading;
  }
}

// The first record header of a group behind the one expected at `position`.
Result<std::optional<RecordScanner::Record>> find_later_group(RecordScanner& scanner, const LogPosition& position) {
  for (std::uint64_t at = position.end;;) {
    PEEL_TRY(const auto header, scanner.find_header(at, position.epoch), "");
    if (!header || header->header.group > position.group + 1) return header;
    at = header->offset + 8;
  }
}

// Whatever still checks, record by record, of damaged groups up to `last_group` in [position.end, end).
Result<SeenGroup> salvage(RecordScanner& scanner, const LogPosition& position, std::uint64_t last_group, std::uint64_t end) {
  GroupCollector collector(position.end);
  const auto belongs = [&](const std::optional<RecordScanner::Record>& r) {
    return r && r->end() <= end && r->header.group > position.group && r->header.group <= last_group;
  };
  for (std::uint64_t at = position.end; at < end;) {
    PEEL_TRY(const auto record, scanner.at_unsound(at), "");
    if (belongs(record)) {
      if (!record->sound) collector.add_unsound(*record);
      else if (!collector.add(*record)) collector.add_lost(record->offset, record->end(), "record does not decode");
      at = record->end();
      continue;
    }
    const std::uint64_t lost_from = at;
    for (std::optional<RecordScanner::Record> next; at < end && !belongs(next);) {
      PEEL_TRY(next, scanner.find_header(at + 8, position.epoch), "");
      at = next ? std::min(end, next->offset) : end;
    }
    collector.add_lost(lost_from, at, "record header damaged");
  }
  auto group = std::move(collector).take(end, 0);
  if (group.lost.empty()) group.lost.push_back({position.end, end, "group does not close"});
  group.complete = false;
  return group;
}

}  // namespace

Result<SuperblockSlots> read_superblocks(const File& file) {
  std::array<std::byte, superblock_size> raw;
  SuperblockSlots slots;
  std::array<std::optional<Superblock>, 2> valid;
  std::optional<Error> first_error;
  for (unsigned slot = 0; slot < 2; ++slot) {
    PEEL_TRY(const auto got, file.read_at(slot * superblock_stride, raw), "");
    auto decoded = decode_superblock(Bytes(raw).first(got));
    if (decoded) {
      valid[slot] = *decoded;
    } else {
      slots.bad = slot;
      if (!first_error || decoded.error().kind() == ErrorKind::unsupported) first_error = std::move(decoded.error());
    }
  }
  const bool newer = first_error && first_error->kind() == ErrorKind::unsupported;
  if (newer || (!valid[0] && !valid[1])) {
    if (first_error->kind() == ErrorKind::truncated) return fail(ErrorKind::corrupt, "this is no history of peel, or one that was cut off: too short");
    return std::move(*first_error);
  }
  const bool second = valid[1] && (!valid[0] || valid[1]->sequence > valid[0]->sequence);
  slots.current = second ? *valid[1] : *valid[0];
  if (!slots.bad) slots.acknowledged_twice = std::min(valid[0]->acknowledged, valid[1]->acknowledged);
  return slots;
}

Status write_superblock(File& file, const Superblock& s) {
  return file.write_at((s.sequence & 1) * superblock_stride, encode(s));
}

Result<Bytes> RecordScanner::window(std::uint64_t offset, std::size_t size) {
  if (offset < buffer_at_ || offset + size > buffer_at_ + buffer_.size()) {
    PEEL_TRY(const auto end, file_.size(), "");  // no room for more than the file has
    buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(std::max(size, window_size), end - std::min(end, offset))));
    PEEL_TRY(const auto got, file_.read_at(offset, buffer_), "");
    buffer_.resize(got);
    buffer_at_ = offset;
  }
  const auto skip = static_cast<std::size_t>(offset - buffer_at_);
  return Bytes(buffer_).subspan(skip, std::min(size, buffer_.size() - skip));
}

Result<Bytes> RecordScanner::buffered_from(std::uint64_t offset) {
  PEEL_TRY([[maybe_unused]] const auto head, window(offset, record_header_size), "");
  return Bytes(buffer_).subspan(static_cast<std::size_t>(offset - buffer_at_));
}

Result<std::optional<RecordScanner::Record>> RecordScanner::at(std::uint64_t offset) {
  PEEL_TRY(auto record, at_unsound(offset), "");
  if (record && !record->sound) record.reset();
  return record;
}

Result<std::optional<RecordScanner::Record>> RecordScanner::at_unsound(std::uint64_t offset) {
  PEEL_TRY(const auto head, window(offset, record_header_size), "");
  auto header = decode_record_header(head, salt_);
  if (!header) return std::optional<Record>();
  Record record{offset, *header, WireReader::load<std::uint32_t>(head.data() + 28), {}, true};
  PEEL_TRY(const auto whole, window(offset, record_header_size + header->length), "");
  if (whole.size() < record_header_size + header->length) return std::optional<Record>();
  record.payload = whole.subspan(record_header_size);
  record.sound = codec::crc32c(crc_seed(salt_, header->epoch), record.payload) == header->payload_crc;
  return std::optional<Record>(record);
}

Result<std::optional<RecordScanner::Record>> RecordScanner::find_header(std::uint64_t offset, std::uint32_t epoch) {
  std::array<std::byte, 4> magic;
  WireWriter::store(magic.data(), record_magic);
  for (std::uint64_t at = (offset + 7) & ~std::uint64_t{7};;) {
    PEEL_TRY(const auto bytes, buffered_from(at), "");  // a full window each time would cost its size for each record
    if (bytes.size() < record_header_size) return std::optional<Record>();
    for (std::size_t i = 0; i + record_header_size <= bytes.size(); i += 8) {
      if (std::memcmp(bytes.data() + i, magic.data(), 4) != 0) continue;
      auto header = decode_record_header(bytes.subspan(i), salt_);
      if (header && header->epoch >= epoch)
        return std::optional<Record>(Record{at + i, *header, WireReader::load<std::uint32_t>(bytes.data() + i + 28), {}, false});
    }
    // Step so that a header across the border is seen whole.
    at += (bytes.size() - record_header_size + 8) & ~std::size_t{7};
  }
}

Status scan_groups(const File& file, const Salt& salt, std::uint64_t proven_end, LogPosition& position,
                   const std::function<Status(SeenGroup&&)>& on_group) {
  RecordScanner scanner(file, salt);
  while (true) {
    PEEL_TRY(auto reading, read_group(scanner, position), "");
    std::uint64_t last_group = position.group + 1;
    if (!reading.whole()) {
      PEEL_TRY(const auto later, find_later_group(scanner, position), "");
      if (!later && position.end >= proven_end) return {};  // a torn write
      RecordScanner fresh(file, salt);                      // or a writer finished between two looks
      PEEL_TRY(reading, read_group(fresh, position), "");
      if (!reading.closed) {
        if (later) last_group = later->header.group - 1;
        PEEL_TRY(reading.group, salvage(fresh, position, last_group, later ? later->offset : proven_end), "");
      }
    }
    position = {reading.group.end, last_group, reading.epoch, reading.group.end_crc};
    PEEL_CHECK(on_group(std::move(reading.group)), "");
  }
}

}  // namespace peel::onion
