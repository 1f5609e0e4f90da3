// proto/session.h - one end of a connection that moves histories. Sans-IO: no socket, disk, clock or thread.
//
// Contract   The driver pushes bytes and time in, and pulls bytes, events and a deadline out:
//
//              session.feed(bytes, now);                  // as they come, cut anywhere, while wants_input()
//              while (auto event = session.poll()) ...    // answered at once, by the call the event names
//              session.consume_output(write(session.output()), now);
//              session.on_deadline(now);                  // when now >= next_deadline() and nothing came
//
//            Where the bytes were cut never changes which events come out, nor their order. The client starts
//            operations, one at a time, each ended by OperationDone. Calls that do not fit the phase are bugs
//            of the driver (assert). `now` never goes back.
// Phases     named in session.cpp; failed and closed are sticky: no more events, and what is left in output() is
//            the goodbye.
// Errors     Failed{kind}: corrupt (the peer breaks the protocol), limit, timeout, unsupported (no common version),
//            network (cut), or the peer's own abort. feed() itself cannot fail.
// Threads    None. One owner.
// Memory     One frame of input, 256 KiB of output plus one frame, the peer's outstanding wants (36 bytes each, at
//            most wants_outstanding_max), one layer being sent, and LayerReceiver's when receiving.
// Source     docs/PROTOCOL.md
#pragma once

#include <chrono>

#include "proto/frame.h"
#include "proto/layer_receiver.h"
#include "proto/layer_sender.h"
#include "proto/session_events.h"

namespace peel::proto {

using Instant = std::chrono::time_point<std::chrono::steady_clock>;
using Duration = std::chrono::nanoseconds;

enum class Role : std::uint8_t { client, server };

struct SessionOptions {
  Role role = Role::client;
  Duration idle_timeout = std::chrono::seconds(120);  // no frame and no progress
  Duration hello_timeout = std::chrono::seconds(15);  // server: until the first request; client: until the hello
  Duration alive_timeout = std::chrono::hours(1);     // nothing but "still working"
  std::string software;
  std::vector<std::string> capabilities;
  std::vector<Buffer> statements;
  LayerReceiver::Limits limits;
};

class HistorySession {
public:
  HistorySession(SessionOptions options, Instant now);

  // --- bytes and time ------------------------------------------------------------------------
  void feed(Bytes bytes, Instant now);
  // False while a megabyte waits to be polled: stop reading, so that the peer feels it.
  bool wants_input() const;
  void on_closed(Instant now);  // the channel ended in order
  void on_deadline(Instant now);
  std::optional<Instant> next_deadline() const;
  // The driver itself was busy so long: the peer's silence meanwhile is not held against it.
  void excuse(Duration busy);
  Bytes output() const { return Bytes(output_).subspan(output_sent_); }
  void consume_output(std::size_t bytes, Instant now);
  std::optional<Event> poll();

  bool over() const { return phase_ == Phase::failed || phase_ == Phase::closed; }
  bool idle() const { return phase_ == Phase::idle; }
  std::uint64_t bytes_received() const { return bytes_received_; }
  std::uint64_t bytes_sent() const { return bytes_sent_; }

  // --- either end ----------------------------------------------------------------------------
  // Ends the session and tells the peer why. No Failed event: the driver knows.
  void abort(const Error& error);
  void keep_alive();  // "still working", while an answer takes long
  void give_layer(Layer layer);
  void end_layers();
  void give_chunk(const StoredChunk& chunk);
  void no_chunk(const ChunkName& name);  // in a repair
  void answer_check(const std::vector<bool>& missing);

  // --- client --------------------------------------------------------------------------------
  void list(const std::string& prefix);
  void join(const Join& request);
  void fetch(const Fetch& request, const std::vector<RevisionId>& haves, const std::vector<RevisionId>& shallow);
  void finish_fetch();  // everything is durable
  void push(const Push& request);
  void send_updates(bool atomic, const std::vector<RefUpdate>& updates);
  void repair(const std::string& name);
  void ask_chunk(const ChunkName& name);
  void end_repair();
  bool repair_idle() const { return phase_ == Phase::repair_asking && repair_asked_.empty(); }

  // --- server --------------------------------------------------------------------------------
  // To be called at PeerHello for a key that is not trusted: anything but JOIN then fails as refused, with `why`.
  void admit_join_only(std::string why) { join_only_ = std::move(why); }
  void answer_ls(const LsEntry& entry);
  void end_ls();
  void answer_join(const Joined& joined);
  void answer_state(const PeerState& state);
  void answer_push(const std::vector<RefResult>& results);

private:
  // Whose move it is is in the name: `asked` waits for the peer, `answering` and `choosing` for our driver.
  enum class Phase : std::uint8_t {
    idle,
    ls_asked,
    join_asked,
    state_asked,
    choosing_updates,
    finishing_fetch,
    repair_asking,  // client
    ls_answering,
    join_answering,
    state_answering,
    updates_asked,
    results_answering,  // server
    skipping,           // server: the push is answered; what still comes of it is ignored until DONE
    repair_serving,     // server
    sending,
    receiving,
    failed,
    closed,
  };
  enum class Operation : std::uint8_t { none, ls, join, fetch, push, repair };

  template <class Message>
  void send(const Message& message);
  template <class Message>
  bool take(Bytes body, Message& out);
  void send_ids(Haves::Kind kind, const std::vector<RevisionId>& ids);
  void begin(Operation operation, Phase phase);
  void end_operation();
  bool our_move() const;
  bool room() const { return output().size() < output_room; }
  std::optional<Event> ask(Event question);

  bool parse_one();
  void dispatch(const Frame& frame);
  bool dispatch_request(const Frame& frame);
  bool dispatch_answer(const Frame& frame);
  bool dispatch_sending(const Frame& frame);
  bool dispatch_receiving(const Frame& frame);
  bool dispatch_repair(const Frame& frame);
  bool on_description(const Frame& frame);
  void on_state(Bytes body);
  void on_updates(Bytes body);
  void on_results(Bytes body);
  void on_hello(Bytes body);
  void on_want(Bytes body);
  void on_chunk(Bytes body);
  std::optional<Event> next_sending();
  std::optional<Event> next_receiving();
  void send_wants_and_credit(bool all);
  void fail_with(ErrorKind kind, const std::string& what);
  bool check(const Status& status);

  SessionOptions options_;
  std::optional<std::string> join_only_;
  Phase phase_ = Phase::idle;
  Operation operation_ = Operation::none;
  bool hello_seen_ = false, request_seen_ = false, question_open_ = false, peer_closed_ = false;
  Instant started_, fed_, heard_, heard_real_;  // heard: any frame or progress; real: anything but ALIVE
  std::size_t fed_since_frame_ = 0;

  FrameReader reader_;
  Buffer output_;
  std::size_t output_sent_ = 0;
  std::uint64_t bytes_received_ = 0, bytes_sent_ = 0;
  std::deque<Event> events_;

  PeerState collected_;  // HAVES and REFS that came before their message
  std::size_t collected_bytes_ = 0;
  std::vector<RefUpdate> updates_;
  std::vector<RefResult> results_;
  std::optional<LayerSender> sender_;
  std::optional<LayerReceiver> receiver_;
  std::deque<ChunkName> wants_;         // the peer asked for; not yet sent
  std::deque<ChunkName> repair_asked_;  // we asked for; not yet here
};

}  // namespace peel::proto
