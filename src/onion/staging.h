// onion/staging.h - chunks of a transfer that is not finished: they survive an interruption and are never sent twice.
//
// File       "PEELSTG1", then entries: digest 32, length u32, codec u8, width u8, reserved u16, stored size u32,
//            crc32c u32 over the 44 bytes before it and the stored bytes; then the stored bytes. A file that ends in
//            the middle of an entry is cut there when it is opened again.
// Errors     io, limit (quota).
// Threads    One owner. A second owner of the same file is refused (conflict): the file is locked.
// Memory     About 64 bytes a chunk.
#pragma once

#include <unordered_map>

#include "base/cancel.h"
#include "base/file.h"
#include "peel/onion.h"

namespace peel::onion {

class Staging {
 public:
  // `cancel` ends the reading of what a former transfer left.
  static Result<Staging> open(FileSystem& fs, const std::string& path, std::uint64_t quota, const Cancel* cancel = nullptr);
  Staging() = default;
  Staging(Staging&&) = default;
  Staging& operator=(Staging&&) = default;
  ~Staging();  // a file without chunks goes: it is of no use to a later transfer

  bool has(const ChunkName& name) const { return places_.count(name) != 0; }
  Status add(const StoredChunk& chunk);  // trusted to match its name
  Result<StoredChunk> get(const ChunkName& name) const;
  Status sync();
  Status remove();
  std::uint64_t bytes() const { return end_; }
  std::size_t count() const { return places_.size(); }

 private:
  struct NameHash {
    std::size_t operator()(const ChunkName& n) const { return DigestHash()(n.digest); }
  };
  struct Place {
    std::uint64_t offset = 0;  // of the stored bytes
    std::uint32_t stored = 0;
    std::uint8_t codec = 0, width = 1;
  };
  Status load(const Cancel* cancel);

  FileSystem* fs_ = nullptr;
  std::string path_;
  std::unique_ptr<File> file_;
  std::uint64_t quota_ = 0, end_ = 0;
  bool removed_ = false;  // the name may be somebody else's by now
  std::unordered_map<ChunkName, Place, NameHash> places_;
};

}  // namespace peel::onion
