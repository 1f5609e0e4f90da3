// onion/group_writer.h - appends one group of records: buffered, closed by END, visible all at once or not at all.
//
// Contract   Offsets handed out are final. close() writes the END record and what is still buffered; sync is
//            the caller's. A writer dropped without close() leaves bytes beyond the tail that nothing reads.
// Errors     io. After an error the writer is useless and abandon() should be called.
// Threads    One owner, who holds the onion's writer lock.
// Memory     buffer_size_max plus one record.
#pragma once

#include "base/file.h"
#include "onion/format.h"

namespace peel::onion {

class GroupWriter {
 public:
  static constexpr std::size_t buffer_size_max = 4u << 20;

  // `reuse` is a buffer from an earlier group, so that small commits allocate nothing.
  GroupWriter(File& file, const Salt& salt, std::uint32_t epoch, std::uint64_t group, std::uint64_t offset, Buffer&& reuse);

  // begin() returns where the record will be; append its payload to payload(), then end().
  std::uint64_t begin(RecordType type);
  Buffer& payload() { return buffer_; }
  Status end();
  // A record whose payload is at hand.
  Result<std::uint64_t> append(RecordType type, Bytes payload);

  Status close();
  // Gives the bytes written so far back to the file system.
  void abandon();

  std::uint64_t begin_offset() const { return begin_offset_; }
  std::uint64_t offset() const { return flushed_ + buffer_.size(); }
  std::uint64_t bytes() const { return offset() - begin_offset_; }
  // A record of this group that may still be in the buffer; empty when it has been written out.
  Bytes buffered(std::uint64_t offset, std::size_t size) const;
  Status flush();
  Buffer take_buffer() && { return std::move(buffer_); }

 private:
  File& file_;
  std::uint32_t seed_, epoch_;
  std::uint64_t group_, begin_offset_, flushed_;
  std::size_t record_at_ = 0;  // in buffer_
  RecordType type_ = RecordType::end;
  std::uint32_t records_ = 0, checksum_ = 0;
  bool wrote_ = false;
  Buffer buffer_;
};

}  // namespace peel::onion
