// Servers that lie, over a plain link: what they say is noticed, and nothing of it becomes visible.
#include <thread>

#include "link/tcp.h"
#include "sync/pump.h"
#include "sync/transfer.h"
#include "tests/sync/machine.h"

namespace peel::sync::test {
namespace {

using Clock = std::chrono::steady_clock;

// Serves one connection out of a real onion, with one lie.
class Liar {
public:
  std::function<void(proto::PeerState&)> bend_state = [](auto&) {};
  std::function<void(proto::Layer&)> bend_layer = [](auto&) {};
  std::function<void(StoredChunk&)> bend_chunk = [](auto&) {};
  std::vector<proto::RefResult> results;
  bool keep_chunks = false;  // claims layers, never sends a chunk

  explicit Liar(const Onion& onion) : onion_(onion), listener_(must(link::TcpListener::listen("127.0.0.1", 0))) {}
  ~Liar() {
    cancel_.request();
    if (thread_.joinable()) thread_.join();
  }
  Url start() {
    thread_ = std::thread([this] { serve(); });
    return url_of("peel://127.0.0.1:" + std::to_string(listener_.port()) + "/d");
  }

private:
  void serve() {
    auto channel = listener_.accept(Clock::now() + std::chrono::seconds(10), &cancel_);
    if (!channel) return;
    proto::SessionOptions options;
    options.role = proto::Role::server;
    proto::HistorySession session(options, Clock::now());
    Pump pump(session, **channel, {&cancel_, std::chrono::milliseconds(50), std::chrono::seconds(10), {}});
    while (true) {
      auto event = pump.next();
      if (!event || std::holds_alternative<proto::Closed>(*event)) break;
      answer(*event, session);
    }
    pump.goodbye();
  }
  void answer(proto::Event& event, proto::HistorySession& session) {
    if (std::holds_alternative<proto::FetchAsked>(event) || std::holds_alternative<proto::PushAsked>(event)) {
      proto::PeerState state{{true, onion_.lineage(), "main"}, shared_refs(onion_, true), {}, {}};
      bend_state(state);
      session.answer_state(state);
    } else if (std::holds_alternative<proto::NeedLayer>(event)) {
      if (next_ > onion_.revision_count()) return session.end_layers();
      auto real = must(make_layer(onion_, next_++));
      proto::Layer layer{std::move(real.info), real.whole, std::move(real.pieces)};
      bend_layer(layer);
      session.give_layer(std::move(layer));
    } else if (auto* need = std::get_if<proto::NeedChunk>(&event)) {
      if (keep_chunks) return;
      auto chunk = must(chunk_of(onion_, need->name));
      bend_chunk(chunk);
      session.give_chunk(chunk);
    } else if (auto* check = std::get_if<proto::CheckChunks>(&event)) {
      session.answer_check(std::vector<bool>(check->names.size(), true));
    } else if (std::holds_alternative<proto::AllArrived>(event)) {
      session.answer_push(results);
    }
  }

  const Onion& onion_;
  link::TcpListener listener_;
  Cancel cancel_;
  std::thread thread_;
  std::uint64_t next_ = 1;
};

struct Lies : ::testing::Test {
  Folder far, near;
  Onion onion = make_history(far / "d.onion", 3, 100'000);
  std::string here = near / "d.onion";
  ConnectOptions options;
  Lies() {
    options.insecure = true;
    options.idle_timeout = std::chrono::milliseconds(5000);
  }
  ErrorKind clone_fails(Liar& liar) {
    auto result = clone(liar.start(), here, options);
    EXPECT_FALSE(result);
    EXPECT_FALSE(std::filesystem::exists(here));
    return result ? ErrorKind::partial : result.error().kind();
  }
};

TEST_F(Lies, TheTruthGoesThrough) {
  Liar honest(onion);
  must(clone(honest.start(), here, options));
  verify_all(open_onion(here));
}

TEST_F(Lies, OtherBytesUnderAChunksName) {
  Liar liar(onion);
  liar.bend_chunk = [](StoredChunk& chunk) { chunk.stored.back() ^= std::byte{1}; };
  EXPECT_EQ(clone_fails(liar), ErrorKind::corrupt);
}

TEST_F(Lies, AnUnknownCodec) {
  Liar liar(onion);
  liar.bend_chunk = [](StoredChunk& chunk) { chunk.codec = 200; };
  EXPECT_EQ(clone_fails(liar), ErrorKind::unsupported);
}

TEST_F(Lies, ARevisionThatSaysSomethingElse) {
  Liar liar(onion);
  liar.bend_layer = [](proto::Layer& layer) { layer.info.meta.note += "!"; };
  EXPECT_EQ(clone_fails(liar), ErrorKind::corrupt);
}

TEST_F(Lies, ContentThatIsNotWhatTheRevisionNames) {
  Liar liar(onion);
  liar.bend_layer = [](proto::Layer& layer) { layer.pieces.erase(layer.pieces.begin()); };
  EXPECT_EQ(clone_fails(liar), ErrorKind::corrupt);
}

TEST_F(Lies, ALayerOnAParentThatNeverCame) {
  Liar liar(onion);
  liar.bend_layer = [](proto::Layer& layer) { layer.whole = false; };
  EXPECT_EQ(clone_fails(liar), ErrorKind::corrupt);
}

TEST_F(Lies, ABranchWhoseRevisionNeverCame) {
  Liar liar(onion);
  liar.bend_state = [](proto::PeerState& state) { state.refs[0].target.bytes[0] ^= std::byte{1}; };
  EXPECT_EQ(clone_fails(liar), ErrorKind::corrupt);
}

TEST_F(Lies, NamesOfBranchesThatAreNoNames) {
  for (const char* name : {"../../x", "a\nb", "-rf", "x//y", "\x1b[2J"}) {
    Liar liar(onion);
    liar.bend_state = [&](proto::PeerState& state) { state.refs[0].name = name; };
    EXPECT_EQ(clone_fails(liar), ErrorKind::refused) << name;
  }
}

TEST_F(Lies, ChunksThatNeverCome) {
  Liar liar(onion);
  liar.keep_chunks = true;
  options.idle_timeout = std::chrono::milliseconds(300);
  EXPECT_EQ(clone_fails(liar), ErrorKind::timeout);
}

TEST_F(Lies, ResultsOfAnotherQuestion) {
  must(clone(url_of("file://" + onion.path()), here, options));
  Onion mine = open_onion(here);
  const auto before = head_of(mine, "origin/main", RefKind::remote);
  commit(mine, bytes_of(3, 100'000), "mine");
  for (const int lie : {0, 1, 2}) {
    Liar liar(onion);
    proto::RefResult result{RefKind::branch, proto::RefResult::State::moved, "main", before, head_of(mine), ""};
    if (lie == 1) result.name = "other";
    if (lie == 2) result.after = before;
    if (lie > 0) liar.results = {result};
    EXPECT_EQ(push(mine, "origin", liar.start(), {}, options).error().kind(), ErrorKind::corrupt) << lie;
    EXPECT_EQ(head_of(mine, "origin/main", RefKind::remote), before);
  }
}

}  // namespace
}  // namespace peel::sync::test
