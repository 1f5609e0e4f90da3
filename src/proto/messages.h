// proto/messages.h - every message of protocol version 1 that opens, steers and ends an operation. Those that
// carry history are in proto/history_messages.h.
//
// Contract   decode(encode(m)) == m. decode() takes exactly one body: bytes left over are corrupt. Integers
//            are little-endian; "string" is u16 length and bytes; counts are checked against limits and
//            against the bytes that are there before anything is allocated.
// Errors     decode: truncated, corrupt, limit.
// Threads    Value types.
// Source     docs/PROTOCOL.md, Messages
#pragma once

#include <string>
#include <vector>

#include "base/wire.h"
#include "peel/onion.h"
#include "proto/limits.h"

namespace peel::proto {

// Numbers never change meaning.
enum class MessageType : std::uint8_t {
  hello = 1,
  abort = 2,
  alive = 3,
  done = 4,
  ls = 16,
  ls_entry = 17,
  join = 18,
  joined = 19,
  fetch = 32,
  push = 33,
  repair = 34,
  haves = 35,
  refs = 36,
  onion_state = 37,
  updates = 38,
  results = 39,
  layer = 48,
  pieces = 49,
  layers_end = 50,
  credit = 51,
  want = 52,
  chunk = 53,
  absent = 54,
};

// The first frame each way.
//   4 magic "PEEL" · 2 version_min · 2 version_max · string software
//   2 n · n * string capability · 2 m · m * (2 size · bytes) statement
struct Hello {
  static constexpr MessageType type = MessageType::hello;
  std::uint16_t lowest = version_min, highest = version_max;
  std::string software;                   // for logs
  std::vector<std::string> capabilities;  // unknown ones are ignored
  std::vector<Buffer> statements;         // signed key successions, opaque here
  bool operator==(const Hello&) const = default;
  void encode(WireWriter& w) const;
  static Result<Hello> decode(Bytes body);
};

// Ends the connection. `text` is for people and escaped where it is shown.
//   1 kind · string text
struct Abort {
  static constexpr MessageType type = MessageType::abort;
  ErrorKind kind = ErrorKind::network;
  std::string text;
  bool operator==(const Abort&) const = default;
  void encode(WireWriter& w) const;
  static Result<Abort> decode(Bytes body);
};

// "Still working." No body. Done: the sender of it has everything it wanted. No body.
struct Alive {
  static constexpr MessageType type = MessageType::alive;
  bool operator==(const Alive&) const = default;
  void encode(WireWriter&) const {}
  static Result<Alive> decode(Bytes body);
};
struct Done {
  static constexpr MessageType type = MessageType::done;
  bool operator==(const Done&) const = default;
  void encode(WireWriter&) const {}
  static Result<Done> decode(Bytes body);
};

//   string prefix
struct Ls {
  static constexpr MessageType type = MessageType::ls;
  std::string prefix;
  bool operator==(const Ls&) const = default;
  void encode(WireWriter& w) const;
  static Result<Ls> decode(Bytes body);
};

//   string name · string current_branch · 4 n · n * (string branch · 32 head)
struct LsEntry {
  static constexpr MessageType type = MessageType::ls_entry;
  struct Head {
    std::string branch;
    RevisionId id;
    bool operator==(const Head&) const = default;
  };
  std::string name, current_branch;
  std::vector<Head> heads;
  bool operator==(const LsEntry&) const = default;
  void encode(WireWriter& w) const;
  static Result<LsEntry> decode(Bytes body);
};

//   16 secret · string name
struct Join {
  static constexpr MessageType type = MessageType::join;
  std::array<std::byte, 16> secret{};
  std::string name;  // the joiner's wish
  bool operator==(const Join&) const = default;
  void encode(WireWriter& w) const;
  static Result<Join> decode(Bytes body);
};

//   string name · 2 n · n * (1 level · string prefix)
struct Joined {
  static constexpr MessageType type = MessageType::joined;
  struct Grant {
    std::uint8_t level = 0;  // 1 read, 2 append, 3 write, 4 admin
    std::string prefix;
    bool operator==(const Grant&) const = default;
  };
  std::string name;  // what the server calls the joiner
  std::vector<Grant> grants;
  bool operator==(const Joined&) const = default;
  void encode(WireWriter& w) const;
  static Result<Joined> decode(Bytes body);
};

//   1 flags (1: tags too) · string name
struct Fetch {
  static constexpr MessageType type = MessageType::fetch;
  std::string name;
  bool tags = true;
  bool operator==(const Fetch&) const = default;
  void encode(WireWriter& w) const;
  static Result<Fetch> decode(Bytes body);
};

//   1 flags (1: create when absent) · string name · 32 lineage
struct Push {
  static constexpr MessageType type = MessageType::push;
  std::string name;
  bool create = false;
  std::array<std::byte, 32> lineage{};  // for a new onion
  bool operator==(const Push&) const = default;
  void encode(WireWriter& w) const;
  static Result<Push> decode(Bytes body);
};

//   string name
struct Repair {
  static constexpr MessageType type = MessageType::repair;
  std::string name;
  bool operator==(const Repair&) const = default;
  void encode(WireWriter& w) const;
  static Result<Repair> decode(Bytes body);
};

// The byte that stands for a kind in ABORT; numbers never change meaning. Unknown numbers read as `network`.
std::uint8_t abort_code(ErrorKind kind);
ErrorKind kind_of_abort_code(std::uint8_t code);

// Building blocks shared with proto/history_messages.cpp.
Status finish_decode(const WireReader& r);                         // corrupt when bytes are left
Result<std::string> read_string(WireReader& r, std::size_t most);  // limit
// u32 or u16 count of entries that take at least `entry_size_min` bytes each.
Result<std::size_t> read_count32(WireReader& r, std::size_t most, std::size_t entry_size_min);
Result<std::size_t> read_count16(WireReader& r, std::size_t most, std::size_t entry_size_min);

}  // namespace peel::proto
