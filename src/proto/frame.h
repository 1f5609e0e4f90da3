// proto/frame.h - where one message ends and the next begins.
//
//   offset size
//   0      4    length: of everything after this field, 1 .. frame_size_max (CHUNK: chunk_frame_size_max)
//   4      1    type (proto/messages.h)
//   5      ...  body
//
// Contract   FrameReader takes bytes cut anywhere and gives whole frames. The length is judged as soon as
//            the type is known, before the body is waited for; memory grows only with bytes that came.
// Errors     limit (too long), corrupt (length 0). Sticky: after an error there are no frames.
// Threads    One owner.
// Memory     What was fed and not yet taken; a frame's body is a view until the next call.
#pragma once

#include <optional>

#include "base/wire.h"
#include "proto/limits.h"

namespace peel::proto {

struct Frame {
  std::uint8_t type = 0;
  Bytes body;  // valid until the next feed() or next()
};

class FrameReader {
public:
  void feed(Bytes bytes);
  // No value: more bytes are needed.
  Result<std::optional<Frame>> next();
  // Bytes fed and not yet part of a returned frame.
  std::size_t buffered() const { return input_.size() - used_; }
  // The type of the next frame, as soon as it is known.
  std::optional<std::uint8_t> next_type() const;
  // Whether next() would give a frame or an error rather than ask for more.
  bool frame_ready() const;

private:
  Buffer input_;
  std::size_t used_ = 0;  // front of input_ already returned
};

// Appends one frame to `out`. `encode` writes the body.
template <class Encode>
void append_frame(Buffer& out, std::uint8_t type, const Encode& encode) {
  const std::size_t start = out.size();
  WireWriter w(std::move(out));
  w.integer(std::uint32_t{0}).integer(type);
  encode(w);
  out = std::move(w).take();
  WireWriter::store(out.data() + start, static_cast<std::uint32_t>(out.size() - start - 4));
}

}  // namespace peel::proto
