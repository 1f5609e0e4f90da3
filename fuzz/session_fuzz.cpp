// Property: no byte string crashes a session of either role, and where it is cut never changes which events come
// out, nor their order.
#include <cstdlib>
#include <string>

#include "base/hex.h"
#include "proto/session.h"

using namespace peel;
using namespace peel::proto;

namespace {

// Answers every question the cheapest legal way and writes down what happened.
struct Driver {
  HistorySession& session;
  std::string& log;
  bool serving, pushing;
  int layers = 0;

  void operator()(PeerHello&) { log += "hello\n"; }
  void operator()(NeedLayer&) {
    if (++layers > 3) return session.end_layers();
    Layer layer;
    layer.info.id.bytes[0] = static_cast<std::byte>(layers);
    session.give_layer(std::move(layer));
  }
  void operator()(NeedChunk& e) {
    log += "need " + to_hex(e.name.digest) + "\n";
    StoredChunk chunk;
    chunk.name = e.name;
    session.give_chunk(chunk);
  }
  void operator()(CheckChunks& e) {
    log += "check " + std::to_string(e.names.size()) + "\n";
    session.answer_check(std::vector<bool>(e.names.size(), true));
  }
  void operator()(ChunkArrived& e) { log += "chunk " + std::to_string(e.chunk.stored.size()) + "\n"; }
  void operator()(LayerArrived& e) { log += "layer " + std::to_string(e.layer.pieces.size()) + "\n"; }
  void operator()(AllArrived&) {
    log += "all\n";
    if (serving) return session.answer_push({});
    session.finish_fetch();
  }
  void operator()(OperationDone&) { log += "done\n"; }
  void operator()(Failed& e) { log += "failed " + e.error.message() + "\n"; }
  void operator()(Closed&) { log += "closed\n"; }
  void operator()(Listed& e) { log += "listed " + e.entry.name + "\n"; }
  void operator()(JoinAnswered& e) { log += "joined " + e.joined.name + "\n"; }
  void operator()(StateArrived& e) {
    log += "state " + std::to_string(e.state.refs.size()) + "\n";
    if (pushing) session.send_updates(false, {});
  }
  void operator()(ChunkAbsent&) { log += "absent\n"; }
  void operator()(ResultsArrived& e) { log += "results " + std::to_string(e.results.size()) + "\n"; }
  void operator()(LsAsked& e) {
    log += "ls " + e.prefix + "\n";
    session.end_ls();
  }
  void operator()(JoinAsked& e) {
    log += "join " + e.join.name + "\n";
    session.answer_join({});
  }
  void operator()(FetchAsked& e) {
    log += "fetch " + e.fetch.name + " " + std::to_string(e.haves.size()) + "\n";
    session.answer_state({{true, {}, "main"}, {}, {}, {}});
  }
  void operator()(PushAsked& e) {
    log += "push " + e.push.name + "\n";
    session.answer_state({{true, {}, "main"}, {}, {}, {}});
  }
  void operator()(UpdatesArrived& e) { log += "updates " + std::to_string(e.updates.size()) + "\n"; }
  void operator()(RepairAsked& e) {
    log += "repair " + e.name + "\n";
    session.answer_state({{true, {}, "main"}, {}, {}, {}});
  }
};

std::string run(Bytes in, std::size_t step, unsigned scene) {
  Instant now{};
  SessionOptions options;
  options.role = scene == 0 ? Role::server : Role::client;
  HistorySession session(options, now);
  switch (scene) {
    case 1:
      session.fetch({"d", true}, {}, {});
      break;
    case 2:
      session.push({"d", true, {}});
      break;
    case 3:
      session.list("");
      break;
    case 4:
      session.repair("d");
      break;
    default:
      break;
  }
  std::string log;
  Driver driver{session, log, scene == 0, scene == 2};
  const auto drain = [&] {
    while (auto event = session.poll()) {
      std::visit(driver, *event);
      session.consume_output(session.output().size(), now);
    }
    session.consume_output(session.output().size(), now);
  };
  for (std::size_t at = 0; at < in.size(); at += step) {
    session.feed(in.subspan(at, std::min(step, in.size() - at)), now);
    drain();
  }
  session.on_closed(now);
  drain();
  return log;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const Bytes in(reinterpret_cast<const std::byte*>(data) + 2, size - 2);
  const unsigned scene = data[0] % 5;
  const std::size_t step = 1 + data[1];
  if (run(in, in.size() + 1, scene) != run(in, step, scene)) std::abort();
  return 0;
}
