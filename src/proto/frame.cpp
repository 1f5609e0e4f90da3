#include "proto/frame.h"

#include "proto/messages.h"

namespace peel::proto {

void FrameReader::feed(Bytes bytes) {
  if (used_ == input_.size()) {
    input_.clear();
    used_ = 0;
  } else if (used_ >= (1u << 20)) {  // moving the rest is paid for by a megabyte of taken frames
    input_.erase(input_.begin(), input_.begin() + static_cast<std::ptrdiff_t>(used_));
    used_ = 0;
  }
  input_.insert(input_.end(), bytes.begin(), bytes.end());
}

namespace {
std::size_t length_max(std::uint8_t type) {
  return type == static_cast<std::uint8_t>(MessageType::chunk) ? chunk_frame_size_max : frame_size_max;
}
}  // namespace

std::optional<std::uint8_t> FrameReader::next_type() const {
  if (buffered() < 5) return std::nullopt;
  return std::to_integer<std::uint8_t>(input_[used_ + 4]);
}

bool FrameReader::frame_ready() const {
  const Bytes rest = Bytes(input_).subspan(used_);
  if (rest.size() < 5) return false;
  const auto length = WireReader::load<std::uint32_t>(rest.data());
  return length == 0 || length > length_max(std::to_integer<std::uint8_t>(rest[4])) || rest.size() - 4 >= length;
}

Result<std::optional<Frame>> FrameReader::next() {
  const Bytes rest = Bytes(input_).subspan(used_);
  if (rest.size() < 5) return std::optional<Frame>();
  const auto length = WireReader::load<std::uint32_t>(rest.data());
  const auto type = std::to_integer<std::uint8_t>(rest[4]);
  if (length == 0) return fail(ErrorKind::corrupt, "empty frame");
  if (length > length_max(type))
    return fail(ErrorKind::limit, "frame of " + std::to_string(length) + " bytes, type " + std::to_string(type));
  if (rest.size() - 4 < length) return std::optional<Frame>();
  used_ += 4 + std::size_t{length};
  return std::optional<Frame>(Frame{type, rest.subspan(5, length - 1)});
}

}  // namespace peel::proto
