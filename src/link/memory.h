// link/memory.h - two channels joined in memory, for tests of everything that talks over a channel.
//
// Contract   Bytes written at one end come out at the other. close() is seen there as an orderly end; an end
//            destroyed without close(), or a direction that reaches its cut, is a network error at both ends once
//            the bytes before it were read.
// Errors     network, as above.
// Threads    Each end has one owner; the two owners may be different threads.
// Memory     `capacity` bytes each way.
#pragma once

#include "link/channel.h"

namespace peel::link {

struct MemoryPairOptions {
  std::size_t capacity = 64 * 1024;  // each way; at least 1
  // After this many bytes have been sent by that end, the line is dead in both directions.
  std::optional<std::uint64_t> cut_first_after, cut_second_after;
};

struct MemoryPair {
  std::unique_ptr<Channel> first, second;
};

MemoryPair make_memory_pair(const MemoryPairOptions& options = {});

}  // namespace peel::link
