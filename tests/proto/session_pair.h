// tests/proto/session_pair.h - two sessions wired in memory, each with a toy store instead of an onion.
#pragma once

#include <map>
#include <string>

#include "proto/session.h"

namespace peel::proto::test {

inline Digest digest_of(std::uint64_t seed) {
  Digest d;
  WireWriter::store(d.bytes.data(), seed * 0x9e3779b97f4a7c15u + 1);
  WireWriter::store(d.bytes.data() + 8, seed);
  d.bytes[31] = std::byte{1};
  return d;
}
ChunkName chunk_name(std::uint64_t seed, std::uint32_t length = 100);
StoredChunk make_chunk(const ChunkName& name);
// A revision of `pieces` chunks, numbered from `first_chunk`.
Layer make_layer(std::uint64_t id, std::vector<std::uint64_t> parents, std::uint64_t first_chunk, std::size_t pieces);

// What an end has, and everything that happened to it.
struct Store {
  bool serving = false;
  std::vector<Layer> to_send;
  std::set<ChunkName> chunks;  // here
  PeerState state;
  std::vector<RefUpdate> updates;
  std::vector<LsEntry> listing;
  bool reject_updates = false;  // answers a push before its data came

  std::vector<std::string> log;  // one line per event
  std::size_t layers_sent = 0, layers_got = 0, chunks_got = 0, wants_most = 0;
  bool layers_in_order = true;
  std::vector<RefResult> results;
  std::optional<Error> failure;
  bool failed_by_peer = false, done = false, closed = false;
};

// Answers everything `session` asks out of `store`, until it asks nothing more.
void answer_all(HistorySession& session, Store& store);

struct Pair {
  explicit Pair(SessionOptions client_options = {}, SessionOptions server_options = {});
  HistorySession client, server;
  Store near, far;  // the client's, the server's
  Instant now{};

  // Moves bytes, at most `step` at a time each way, until nothing moves. Returns the number of times the
  // direction changed with everything delivered: twice the round trips.
  std::size_t run(std::size_t step = 1 << 20);
};

}  // namespace peel::proto::test
