// sync/responder.h - the serving end of one connection: answers a client's operations out of a Service.
//
// Contract   Returns when the client leaves, breaks the rules, is silent for too long, or the service says stop.
//            A push is applied by the onion's own lock: all of its accepted refs in one step, after everything
//            is verified. What a broken connection leaves is a staging file.
// Errors     What ended the session; success when the client left in order. Already logged through note().
// Threads    One per connection; it blocks its caller.
// Source     docs/PROTOCOL.md
#pragma once

#include "base/cancel.h"
#include "link/channel.h"
#include "sync/pump.h"
#include "sync/service.h"
#include "sync/transfer.h"

namespace peel::sync {

struct ResponderOptions {
  std::chrono::milliseconds idle_timeout{120'000};
  std::chrono::milliseconds hello_timeout{15'000};
  std::vector<Buffer> statements;  // key successions to present
  const Cancel* cancel = nullptr;  // ends what is under way between two events; the service says when to end sessions
};

class Responder {
public:
  Responder(Service& service, link::Channel& channel, const ResponderOptions& options);
  ~Responder();
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;
  Status run();
  std::uint64_t bytes_received() const { return session_.bytes_received(); }
  std::uint64_t bytes_sent() const { return session_.bytes_sent(); }

private:
  struct Serving {  // an onion and what a fetch or repair needs of it
    Onion onion;
    std::optional<LayerSource> source;
  };
  struct Pushing;  // sync/push_state.h

  Status dispatch(proto::Event& event);
  Status on_hello(proto::PeerHello& event);
  Status on_ls(proto::LsAsked& event);
  Status on_join(proto::JoinAsked& event);
  Status on_fetch(proto::FetchAsked& event);
  Status on_repair(proto::RepairAsked& event);
  Status on_chunk_asked(proto::NeedChunk& event);
  Status on_push(proto::PushAsked& event);
  Status on_updates(proto::UpdatesArrived& event);
  Status on_all_arrived();
  void on_done();
  Status begin_operation(trust::Level level, const char* operation, const std::string& name);
  Status open_pushed(const proto::Push& push);
  Status on_layer(proto::LayerArrived& event);
  Status apply_push();
  void drop_push();
  Status conclude_push();

  Service& service_;
  link::Channel& channel_;
  proto::HistorySession session_;
  Pump pump_;
  const Cancel* cancel_;
  std::string operation_, name_;
  std::optional<trust::Level> level_;  // of the operation going on
  TransferStats stats_;
  std::optional<Serving> serving_;
  std::unique_ptr<Pushing> pushing_;
};

}  // namespace peel::sync
