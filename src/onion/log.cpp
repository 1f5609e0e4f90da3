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

// Reads the group at `position`; absent when it is not whole.
Result<std::optional<SeenGroup>> read_group(RecordScanner& scanner, const LogPosition& position, std::uint32_t& epoch) {
  GroupCollector collector(position.end);
  std::uint64_t at = position.end;
  epoch = position.epoch;
  while (true) {
    PEEL_TRY(const auto record, scanner.at(at), "");
    if (!record || record->header.group != position.group + 1 || record->header.epoch < epoch) return std::optional<SeenGroup>();
    epoch = record->header.epoch;
    PEEL_CHECK(collector.add(*record), "offset " + std::to_string(at));
    at = record->end();
    if (record->header.type != RecordType::end) continue;
    PEEL_TRY(const auto end, decode_end(record->payload), "");
    if (!collector.closed_by(end)) return std::optional<SeenGroup>();
    return std::optional<SeenGroup>(std::move(collector).take(at, record->header_crc));
  }
}

}  // namespace

Result<Superblock> read_superblock(const File& file) {
  std::array<std::byte, superblock_size> raw;
  std::optional<Superblock> best;
  std::optional<Error> first_error;
  for (unsigned slot = 0; slot < 2; ++slot) {
    PEEL_TRY(const auto got, file.read_at(slot * superblock_stride, raw), "");
    auto decoded = decode_superblock(Bytes(raw).first(got));
    if (decoded) {
      if (!best || decoded->sequence > best->sequence) best = *decoded;
    } else if (!first_error || decoded.error().kind() == ErrorKind::unsupported) {
      first_error = std::move(decoded.error());
    }
  }
  if (best && !(first_error && first_error->kind() == ErrorKind::unsupported)) return *best;
  Error error = std::move(*first_error);
  if (error.kind() == ErrorKind::truncated) return fail(ErrorKind::corrupt, "too short to be an onion");
  return error;
}

Status write_superblock(File& file, const Superblock& s) {
  return file.write_at((s.sequence & 1) * superblock_stride, encode(s));
}

Result<Bytes> RecordScanner::window(std::uint64_t offset, std::size_t size) {
  if (offset < buffer_at_ || offset + size > buffer_at_ + buffer_.size()) {
    if (size > window_size) {  // no room for more than the file has
      PEEL_TRY(const auto end, file_.size(), "");
      size = static_cast<std::size_t>(std::min<std::uint64_t>(size, end - std::min(end, offset)));
    }
    buffer_.resize(std::max(size, window_size));
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
  PEEL_TRY(const auto head, window(offset, record_header_size), "");
  auto header = decode_record_header(head, salt_);
  if (!header) return std::optional<Record>();
  Record record{offset, *header, WireReader::load<std::uint32_t>(head.data() + 28), {}};
  PEEL_TRY(const auto whole, window(offset, record_header_size + header->length), "");
  if (whole.size() < record_header_size + header->length) return std::optional<Record>();
  record.payload = whole.subspan(record_header_size);
  if (codec::crc32c(crc_seed(salt_, header->epoch), record.payload) != header->payload_crc) return std::optional<Record>();
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
        return std::optional<Record>(Record{at + i, *header, WireReader::load<std::uint32_t>(bytes.data() + i + 28), {}});
    }
    // Step so that a header across the border is seen whole.
    at += (bytes.size() - record_header_size + 8) & ~std::size_t{7};
  }
}

Status scan_groups(const File& file, const Salt& salt, LogPosition& position,
                   const std::function<Status(SeenGroup&&)>& on_group) {
  RecordScanner scanner(file, salt);
  while (true) {
    std::uint32_t epoch = position.epoch;
    PEEL_TRY(auto group, read_group(scanner, position, epoch), "");
    if (!group) {
      // Torn, or damaged? Something of a later group says damaged - unless a writer finished between two looks.
      std::uint64_t at = position.end;
      std::optional<std::uint64_t> later;
      while (!later) {
        PEEL_TRY(const auto header, scanner.find_header(at, position.epoch), "");
        if (!header) return {};
        if (header->header.group > position.group + 1) later = header->offset;
        at = header->offset + 8;
      }
      RecordScanner fresh(file, salt);
      PEEL_TRY(group, read_group(fresh, position, epoch), "");
      if (!group)
        return fail(ErrorKind::corrupt, "damage between offsets " + std::to_string(position.end) + " and " +
                                            std::to_string(*later) + ": a commit there cannot be read");
    }
    position = {group->end, position.group + 1, epoch, group->end_crc};
    PEEL_CHECK(on_group(std::move(*group)), "");
  }
}

}  // namespace peel::onion
