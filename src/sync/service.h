// sync/service.h - what a server is made of, as the responder sees it: who may do what, where onions live.
// One object per connection. The hub has one behind trust and a folder; file:// URLs have one behind a path.
//
// Errors     authorize: refused. open: not_found. Messages reach the peer: they name onions, never paths.
// Threads    As the connection: one.
#pragma once

#include <functional>
#include <string>

#include "peel/onion.h"
#include "proto/session.h"
#include "trust/trust_file.h"

namespace peel::sync {

class Service {
public:
  virtual ~Service() = default;

  // At the hello. A refusal leaves the peer nothing but a join; its message is the answer to anything else.
  virtual Status admit(const proto::Hello& hello) = 0;
  // Asked for each operation, and again while it lasts.
  virtual Status authorize(trust::Level level, const std::string& name) = 0;
  // Between frames, about once a second: an error (peer no longer trusted, server stopping) ends the session.
  virtual Status check() = 0;

  virtual Result<Onion> open(const std::string& name, Access access) = 0;
  // An onion nobody sees under `name` before publish(); the same again after an interruption. refused: this
  // server makes none.
  virtual Result<Onion> open_unpublished(const std::string& name, const std::array<std::byte, 32>& lineage) = 0;
  // exists: somebody else made one of that name meanwhile.
  virtual Status publish(const std::string& name) = 0;
  // Of a push that brought nothing: what open_unpublished() made goes.
  virtual void forget_unpublished(const std::string& name) = 0;

  virtual Status list(const std::string& prefix, const std::function<Status(const proto::LsEntry&)>& sink) = 0;
  virtual Result<proto::Joined> join(const proto::Join& request) = 0;

  // Memory for layers of a push that is not applied yet, from a budget that all connections share. False: none
  // left. Given back by the same amount.
  virtual bool take_memory(std::uint64_t bytes) = 0;
  virtual void give_memory(std::uint64_t bytes) = 0;

  virtual std::string staging_key() const = 0;  // who pushes
  virtual std::uint64_t staging_quota() const = 0;
  virtual std::string peer_label() const = 0;  // for reflogs: "push from LABEL"
  // One thing done or failed, for the access log.
  virtual void note(const std::string& operation, const std::string& onion, const std::string& text) = 0;
};

}  // namespace peel::sync
