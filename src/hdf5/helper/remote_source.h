// hdf5/helper/remote_source.h - a Source whose bytes come from peel over the socket, with a cache of blocks.
//
// Contract   Small reads are served from blocks of block_size; when they go on in order, up to read_ahead_blocks
//            are fetched at once. Large reads go straight through. A broken socket ends the process: without
//            peel there is nobody to answer.
// Errors     io: the source gave fewer bytes than its size promises.
// Threads    One thread (read_at is const but changes the cache).
// Memory     cache_blocks * block_size a source.
// Source     hdf5/protocol.h
#pragma once

#include <list>
#include <unordered_map>

#include "peel/onion.h"

namespace peel::hdf5 {

class RemoteSource : public Source {
 public:
  static constexpr std::size_t block_size = 64u << 10;
  static constexpr std::size_t cache_blocks = 128;
  static constexpr std::size_t read_ahead_blocks = 16;

  RemoteSource(int socket, std::uint8_t index, std::uint64_t size) : socket_(socket), index_(index), size_(size) {}

  std::uint64_t size() const override { return size_; }
  Result<std::size_t> read_at(std::uint64_t offset, MutableBytes out) const override;

 private:
  struct Block {
    std::uint64_t number;
    Buffer bytes;
  };

  Status fetch(std::uint64_t offset, MutableBytes out) const;
  Result<const Block*> block(std::uint64_t number) const;
  Status load(std::uint64_t number, std::size_t blocks) const;

  int socket_;
  std::uint8_t index_;
  std::uint64_t size_;
  mutable std::list<Block> recent_;  // last used first
  mutable std::unordered_map<std::uint64_t, std::list<Block>::iterator> by_number_;
  mutable std::uint64_t last_loaded_ = UINT64_MAX;
};

// Plain blocking transfers on the socket; on failure the process ends.
void receive_or_exit(int socket, MutableBytes out);
void send_or_exit(int socket, Bytes bytes);

}  // namespace peel::hdf5
