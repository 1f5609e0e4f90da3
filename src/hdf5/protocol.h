// hdf5/protocol.h - the conversation between peel and its HDF5 helper, over one stream socket.
//
// Contract   peel -> helper   u32 length, request (below); once, first
//            helper -> peel   frame header, 16 bytes:
//                               0  u8   kind: 1 read, 2 answer
//                               1  u8   read: source (0 before or only, 1 after)
//                               2  u16  zero
//                               4  u32  read: how many bytes, 1 .. read_size_max
//                                       answer: length of what follows, at most answer_size_max
//                               8  u64  read: offset; answer: zero
//                             A read never goes beyond the size the request states.
//            peel -> helper   after a read: u32 count, bytes; fewer than asked only if the source shrank
//            After the answer the helper is done, whatever it does.
//            Both programs come from one build; protocol_version catches a mixed installation.
// Errors     decode_request: truncated, corrupt, unsupported (another version).
// Threads    Pure functions.
// Memory     The request holds its ranges: 16 bytes each, at most changed_ranges_max.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/wire.h"
#include "peel/onion.h"

namespace peel::hdf5 {

inline constexpr std::uint8_t protocol_version = 1;
inline constexpr int helper_socket_fd = 3;
inline constexpr std::size_t frame_header_size = 16;
inline constexpr std::uint32_t read_size_max = 1u << 20;
inline constexpr std::uint32_t answer_size_max = 32u << 20;
inline constexpr std::uint32_t request_size_max = 32u << 20;
inline constexpr std::size_t changed_ranges_max = 1u << 20;
inline constexpr std::size_t path_size_max = 0xffff;

// What a helper that cannot do its work says by exiting, when there is no other way to say it.
enum HelperExit : int {
  exit_not_started_by_peel = 2,
  exit_out_of_memory = 40,
  exit_not_confined = 41,
  exit_bad_request = 42,
};

enum class FrameKind : std::uint8_t { read = 1, answer = 2 };

struct FrameHeader {
  FrameKind kind = FrameKind::read;
  std::uint8_t source = 0;
  std::uint32_t length = 0;
  std::uint64_t offset = 0;
};

Buffer encode(const FrameHeader& header);
// corrupt unless every field is within the bounds above.
Result<FrameHeader> decode_frame_header(Bytes bytes);

enum class Question : std::uint8_t { inspect = 1, list = 2, compare = 3 };

struct Request {
  Question question = Question::inspect;
  std::uint64_t memory_bytes_max = 0;
  std::uint32_t cpu_seconds_max = 0;
  std::uint32_t time_ms = 0;            // after which the helper answers with what it has
  std::uint32_t items_max = 0;
  std::vector<std::uint64_t> sizes;     // of the sources, one or two
  std::string path;
  std::optional<std::vector<Range>> changed;
  bool operator==(const Request&) const = default;
};

Buffer encode(const Request& request);
Result<Request> decode_request(Bytes bytes);

}  // namespace peel::hdf5
