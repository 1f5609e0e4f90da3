#include "hdf5/protocol.h"

namespace peel::hdf5 {

Buffer encode(const FrameHeader& header) {
  WireWriter out;
  out.integer(static_cast<std::uint8_t>(header.kind)).integer(header.source).integer(std::uint16_t{0});
  out.integer(header.length).integer(header.offset);
  return std::move(out).take();
}

Result<FrameHeader> decode_frame_header(Bytes bytes) {
  WireReader in(bytes);
  PEEL_TRY(const auto kind, in.integer<std::uint8_t>(), "frame");
  PEEL_TRY(const auto source, in.integer<std::uint8_t>(), "frame");
  PEEL_TRY(const auto zero, in.integer<std::uint16_t>(), "frame");
  PEEL_TRY(const auto length, in.integer<std::uint32_t>(), "frame");
  PEEL_TRY(const auto offset, in.integer<std::uint64_t>(), "frame");
  if (zero != 0) return fail(ErrorKind::corrupt, "frame: reserved bytes are not zero");
  switch (static_cast<FrameKind>(kind)) {
    case FrameKind::read:
      if (source > 1 || length == 0 || length > read_size_max) return fail(ErrorKind::corrupt, "frame: read out of bounds");
      break;
    case FrameKind::answer:
      if (source != 0 || offset != 0 || length > answer_size_max) {
        return fail(ErrorKind::corrupt, "frame: answer out of bounds");
      }
      break;
    default: return fail(ErrorKind::corrupt, "frame: unknown kind");
  }
  return FrameHeader{static_cast<FrameKind>(kind), source, length, offset};
}

Buffer encode(const Request& request) {
  WireWriter out;
  out.integer(protocol_version).integer(static_cast<std::uint8_t>(request.question));
  out.integer(request.memory_bytes_max).integer(request.cpu_seconds_max).integer(request.time_ms);
  out.integer(request.items_max);
  out.integer(static_cast<std::uint8_t>(request.sizes.size()));
  for (const std::uint64_t size : request.sizes) out.integer(size);
  out.string16(request.path);
  out.integer(static_cast<std::uint8_t>(request.changed ? 1 : 0));
  if (request.changed) {
    out.integer(static_cast<std::uint32_t>(request.changed->size()));
    for (const Range& range : *request.changed) out.integer(range.offset).integer(range.length);
  }
  return std::move(out).take();
}

Result<Request> decode_request(Bytes bytes) {
  WireReader in(bytes);
  Request out;
  PEEL_TRY(const auto version, in.integer<std::uint8_t>(), "request");
  if (version != protocol_version) return fail(ErrorKind::unsupported, "request of another version");
  PEEL_TRY(const auto question, in.integer<std::uint8_t>(), "request");
  if (question < 1 || question > 3) return fail(ErrorKind::corrupt, "request: unknown question");
  out.question = static_cast<Question>(question);
  PEEL_TRY(out.memory_bytes_max, in.integer<std::uint64_t>(), "request");
  PEEL_TRY(out.cpu_seconds_max, in.integer<std::uint32_t>(), "request");
  PEEL_TRY(out.time_ms, in.integer<std::uint32_t>(), "request");
  PEEL_TRY(out.items_max, in.integer<std::uint32_t>(), "request");
  PEEL_TRY(const auto sources, in.integer<std::uint8_t>(), "request");
  if (sources != (out.question == Question::compare ? 2 : 1)) {
    return fail(ErrorKind::corrupt, "request: wrong number of sources");
  }
  for (int i = 0; i < sources; ++i) {
    PEEL_TRY(const auto size, in.integer<std::uint64_t>(), "request");
    out.sizes.push_back(size);
  }
  PEEL_TRY(out.path, in.string16(), "request");
  PEEL_TRY(const auto with_ranges, in.integer<std::uint8_t>(), "request");
  if (with_ranges > 1) return fail(ErrorKind::corrupt, "request: flag");
  if (with_ranges == 1) {
    PEEL_TRY(const auto count, in.integer<std::uint32_t>(), "request");
    if (count > changed_ranges_max || in.rest().size() != std::size_t{count} * 16) {
      return fail(ErrorKind::corrupt, "request: number of ranges");
    }
    out.changed.emplace(count);
    for (Range& range : *out.changed) {
      PEEL_TRY(range.offset, in.integer<std::uint64_t>(), "request");
      PEEL_TRY(range.length, in.integer<std::uint64_t>(), "request");
    }
  }
  if (!in.empty()) return fail(ErrorKind::corrupt, "request: bytes left over");
  return out;
}

}  // namespace peel::hdf5
