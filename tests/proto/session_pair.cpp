#include "tests/proto/session_pair.h"

#include <gtest/gtest.h>

namespace peel::proto::test {

ChunkName chunk_name(std::uint64_t seed, std::uint32_t length) { return {digest_of(seed + 1'000'000), length}; }

StoredChunk make_chunk(const ChunkName& name) {
  StoredChunk chunk;
  chunk.name = name;
  chunk.stored.assign(name.length, name.digest.bytes[0]);
  return chunk;
}

Layer make_layer(std::uint64_t id, std::vector<std::uint64_t> parents, std::uint64_t first_chunk, std::size_t pieces) {
  Layer layer;
  layer.info.id = digest_of(id);
  for (const auto parent : parents) layer.info.parents.push_back(digest_of(parent));
  layer.info.generation = id;
  layer.info.content = digest_of(id + 7);
  layer.info.meta.note = "revision " + std::to_string(id);
  layer.whole = parents.empty();
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < pieces; ++i) {
    Piece piece;
    piece.offset = at;
    piece.chunk = chunk_name(first_chunk + i);
    piece.length = piece.chunk.length;
    at += piece.length;
    layer.pieces.push_back(piece);
  }
  layer.info.size = at;
  return layer;
}

namespace {

struct Answer {
  HistorySession& session;
  Store& store;
  void note(std::string line) { store.log.push_back(std::move(line)); }

  void operator()(PeerHello&) { note("hello"); }
  void operator()(NeedLayer&) {
    if (store.layers_sent == store.to_send.size()) return session.end_layers();
    session.give_layer(store.to_send[store.layers_sent++]);
  }
  void operator()(NeedChunk& e) {
    note("need " + std::to_string(e.name.length));
    if (store.chunks.contains(e.name)) return session.give_chunk(make_chunk(e.name));
    session.no_chunk(e.name);
  }
  void operator()(CheckChunks& e) {
    std::vector<bool> missing;
    for (const auto& name : e.names) missing.push_back(!store.chunks.contains(name));
    note("check " + std::to_string(e.names.size()));
    session.answer_check(missing);
  }
  void operator()(ChunkArrived& e) {
    ++store.chunks_got;
    EXPECT_EQ(e.chunk.stored, make_chunk(e.chunk.name).stored);
    store.chunks.insert(e.chunk.name);
    note("chunk");
  }
  void operator()(LayerArrived& e) {
    ++store.layers_got;
    for (const auto& piece : e.layer.pieces)
      if (!piece.is_hole() && !store.chunks.contains(piece.chunk)) store.layers_in_order = false;
    note("layer " + e.layer.info.meta.note);
  }
  void operator()(AllArrived&) {
    note("all");
    if (!store.serving) return session.finish_fetch();
    std::vector<RefResult> results;
    for (const auto& update : store.updates)
      results.push_back({update.kind, RefResult::State::moved, update.name, update.expected, *update.target, ""});
    session.answer_push(results);
  }
  void operator()(OperationDone&) {
    store.done = true;
    note("done");
  }
  void operator()(Failed& e) {
    store.failure = e.error;
    store.failed_by_peer = e.by_peer;
    note("failed " + e.error.message());
  }
  void operator()(Closed&) {
    store.closed = true;
    note("closed");
  }
  void operator()(Listed& e) { note("listed " + e.entry.name); }
  void operator()(JoinAnswered& e) { note("joined as " + e.joined.name); }
  void operator()(StateArrived& e) {
    note("state " + std::to_string(e.state.refs.size()) + " " + std::to_string(e.state.haves.size()));
    if (pushing) session.send_updates(false, store.updates);
  }
  void operator()(ChunkAbsent&) { note("absent"); }
  void operator()(ResultsArrived& e) {
    store.results = std::move(e.results);
    note("results");
  }
  void operator()(LsAsked& e) {
    note("ls " + e.prefix);
    for (const auto& entry : store.listing) session.answer_ls(entry);
    session.end_ls();
  }
  void operator()(JoinAsked& e) {
    note("join " + e.join.name);
    session.answer_join({e.join.name, {{1, "lab"}}});
  }
  void operator()(FetchAsked& e) {
    note("fetch " + e.fetch.name + " " + std::to_string(e.haves.size()) + " " + std::to_string(e.shallow.size()));
    session.answer_state(store.state);
  }
  void operator()(PushAsked& e) {
    note("push " + e.push.name);
    session.answer_state(store.state);
  }
  void operator()(UpdatesArrived& e) {
    note("updates " + std::to_string(e.updates.size()));
    store.updates = std::move(e.updates);
    if (store.reject_updates)
      session.answer_push({{RefKind::branch, RefResult::State::rejected, "main", {}, {}, "no"}});
  }
  void operator()(RepairAsked& e) {
    note("repair " + e.name);
    session.answer_state(store.state);
  }

  const bool pushing;  // a client: its updates are its own
};

}  // namespace

void answer_all(HistorySession& session, Store& store) {
  Answer answer{session, store, !store.updates.empty()};
  while (auto event = session.poll()) std::visit(answer, *event);
}

Pair::Pair(SessionOptions client_options, SessionOptions server_options)
    : client((client_options.role = Role::client, client_options), now),
      server((server_options.role = Role::server, server_options), now) {
  far.serving = true;
}

std::size_t Pair::run(std::size_t step) {
  const auto move = [&](HistorySession& from, HistorySession& to, Store& to_store, Store& from_store) {
    bool moved = false;
    answer_all(from, from_store);
    while (!from.output().empty() && to.wants_input()) {
      const std::size_t n = std::min(step, from.output().size());
      to.feed(from.output().first(n), now);
      from.consume_output(n, now);
      answer_all(to, to_store);
      answer_all(from, from_store);
      moved = true;
    }
    return moved;
  };
  std::size_t turns = 0;
  while (true) {
    const bool there = move(client, server, far, near);
    const bool back = move(server, client, near, far);
    turns += (there ? 1u : 0u) + (back ? 1u : 0u);
    if (!there && !back) return turns;
  }
}

}  // namespace peel::proto::test
