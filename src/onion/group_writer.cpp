#include "onion/group_writer.h"

#include "codec/crc32c.h"

namespace peel::onion {

GroupWriter::GroupWriter(File& file, const Salt& salt, std::uint32_t epoch, std::uint64_t group, std::uint64_t offset,
                         Buffer&& reuse)
    : file_(file), seed_(crc_seed(salt, epoch)), epoch_(epoch), group_(group), begin_offset_(offset), flushed_(offset),
      buffer_(std::move(reuse)) {
  buffer_.clear();
}

std::uint64_t GroupWriter::begin(RecordType type) {
  type_ = type;
  record_at_ = buffer_.size();
  buffer_.resize(record_at_ + record_header_size);
  return flushed_ + record_at_;
}

Status GroupWriter::end() {
  const std::size_t length = buffer_.size() - record_at_ - record_header_size;
  if (length > payload_size_max) return fail(ErrorKind::limit, "record of " + std::to_string(length) + " bytes");
  const Bytes payload = Bytes(buffer_).subspan(record_at_ + record_header_size);
  const RecordHeader header{type_, static_cast<std::uint32_t>(length), epoch_, group_, codec::crc32c(seed_, payload)};
  buffer_.resize(record_at_ + record_size(length));
  std::uint32_t header_crc = 0;
  encode(header, seed_, buffer_.data() + record_at_, &header_crc);
  if (type_ != RecordType::end) {
    std::array<std::byte, 4> word;
    WireWriter::store(word.data(), header_crc);
    checksum_ = codec::crc32c(checksum_, word);
    ++records_;
  }
  if (buffer_.size() >= buffer_size_max) return flush();
  return {};
}

Result<std::uint64_t> GroupWriter::append(RecordType type, Bytes payload) {
  const auto at = begin(type);
  buffer_.insert(buffer_.end(), payload.begin(), payload.end());
  PEEL_CHECK(end(), "");
  return at;
}

Status GroupWriter::close() {
  begin(RecordType::end);
  encode(EndRecord{records_, checksum_}, buffer_);
  PEEL_CHECK(end(), "");
  return flush();
}

Status GroupWriter::flush() {
  if (buffer_.empty()) return {};
  wrote_ = true;
  PEEL_CHECK(file_.write_at(flushed_, buffer_), "");
  flushed_ += buffer_.size();
  buffer_.clear();
  return {};
}

void GroupWriter::abandon() {
  // Best effort: leftovers beyond the tail are dead anyway, but on a full disk their space is wanted back.
  if (wrote_) (void)file_.truncate(begin_offset_).ok();
  buffer_.clear();
}

Bytes GroupWriter::buffered(std::uint64_t offset, std::size_t size) const {
  if (offset < flushed_ || offset + size > this->offset()) return {};
  return Bytes(buffer_).subspan(static_cast<std::size_t>(offset - flushed_), size);
}

}  // namespace peel::onion
