// onion/store.h - the reading side of one onion file: verified nodes and chunks by offset.
//
// Contract   A record never changes once its group is visible, so everything here may be cached for ever.
// Errors     corrupt (names the offset), io, truncated as corrupt.
// Threads    All const methods: any thread.
// Memory     The node cache: at most cache_nodes nodes (about 1.3 KB each, 43 MB when full), filled by use.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/file.h"
#include "onion/node.h"

namespace peel::onion {

inline constexpr std::size_t cache_nodes_default = 32768;

class Store {
 public:
  Store(std::string path, std::unique_ptr<File> file, const Salt& salt, std::size_t cache_nodes = cache_nodes_default);

  const std::string& path() const { return path_; }
  File& file() const { return *file_; }
  const Salt& salt() const { return salt_; }

  // A checked record: header and payload. `type` must match.
  struct Record {
    RecordHeader header;
    Buffer raw;  // the header's bytes and the payload
    Bytes payload() const { return Bytes(raw).subspan(record_header_size, header.length); }
  };
  Result<Record> read_record(std::uint64_t offset, RecordType type) const;

  Result<std::shared_ptr<const Node>> node(std::uint64_t offset) const;
  void remember(std::uint64_t offset, std::shared_ptr<const Node> node) const;
  // A node to change into its successor, no longer cached: itself when nobody else holds it, else a copy.
  std::shared_ptr<Node> edit(std::uint64_t offset, std::shared_ptr<const Node> node) const;
  // A commit that is given up must take its nodes out again.
  void forget_from(std::uint64_t offset) const;

  // Decodes the whole chunk of `slice` into `out` (resized) and verifies it against its name.
  Status read_chunk(std::uint64_t offset, std::uint32_t record_size_hint, Buffer& out) const;
  // A CHUNK record that is in memory already; only its headers are checked.
  struct ChunkView {
    ChunkHeader header;
    Bytes stored;
  };
  Result<ChunkView> view_chunk(std::uint64_t offset, Bytes record) const;
  struct ChunkPlace {
    ChunkHeader header;
    std::uint32_t record_size = 0;
  };
  Result<ChunkPlace> probe_chunk(std::uint64_t offset) const;
  // Whether the chunk of this name is at `offset` and its record's checksum holds; its record size then, else 0.
  std::uint32_t sound_chunk(std::uint64_t offset, const ChunkName& name) const;
  // The chunk as stored, unverified.
  Result<ChunkHeader> read_stored(std::uint64_t offset, Buffer& stored) const;

 private:
  Result<ChunkHeader> load_chunk(std::uint64_t offset, std::uint32_t record_size_hint, Buffer& raw, Bytes& stored) const;
  Error damaged(std::uint64_t offset, std::string what) const;

  std::string path_;
  std::unique_ptr<File> file_;
  Salt salt_;

  // Four ways a set, the least recently used leaves.
  struct Set {
    static constexpr std::size_t ways = 4;
    std::array<std::uint64_t, ways> offset{};
    std::array<std::shared_ptr<const Node>, ways> node;  // most recently used first
    void put(std::uint64_t at, std::shared_ptr<const Node> n);
  };
  // Stripes are locked and allocated one by one, so that opening an onion costs nothing for its cache.
  struct Stripe {
    std::mutex mutex;
    std::unique_ptr<Set[]> sets;
  };
  static constexpr std::size_t stripes = 64;
  struct Locked {
    std::unique_lock<std::mutex> lock;
    Set* set;
  };
  Locked set_of(std::uint64_t offset) const;
  std::size_t sets_per_stripe_;
  mutable std::array<Stripe, stripes> cache_;
};

}  // namespace peel::onion
