#include "sync/responder.h"

#include <cerrno>

#include "base/hex.h"
#include "peel/version.h"
#include "sync/push_state.h"

namespace peel::sync {
namespace {

constexpr std::size_t ls_output_most = 256u << 10;

proto::SessionOptions session_options(const ResponderOptions& options) {
  proto::SessionOptions out;
  out.role = proto::Role::server;
  out.idle_timeout = options.idle_timeout;
  out.hello_timeout = options.hello_timeout;
  out.software = std::string("peel ") + version_string;
  out.statements = options.statements;
  return out;
}

// To the client an I/O error of ours is a failing peer, but a full disk is a limit that waiting does not lift.
Error named_full(Error error) {
  if (error.os_error() != ENOSPC && error.os_error() != EDQUOT) return error;
  return fail(ErrorKind::limit, "no space left on the disk of this server: " + error.message());
}

}  // namespace

Responder::Responder(Service& service, link::Channel& channel, const ResponderOptions& options)
    : service_(service),
      channel_(channel),
      session_(session_options(options), std::chrono::steady_clock::now()),
      pump_(session_, channel,
            {nullptr,
             std::chrono::milliseconds(1000),
             options.idle_timeout,
             [this]() -> Status {
               PEEL_CHECK(service_.check(), "");
               return level_ ? service_.authorize(*level_, name_) : Status();
             },
             {}}),
      cancel_(options.cancel) {}

Responder::~Responder() = default;

Status Responder::run() {
  Status outcome;
  while (true) {
    auto event = pump_.next();
    if (!event) {
      outcome = std::move(event.error());
      break;
    }
    if (std::holds_alternative<proto::Closed>(*event)) break;
    if (auto status = dispatch(*event); !status) {
      outcome = pump_.abort(named_full(std::move(status.error())));
      break;
    }
  }
  if (pushing_) (void)pushing_->importer.sync_staged().ok();  // what came is not sent again; best effort
  const bool told = !outcome && operation_ == "join" && outcome.error().kind() == ErrorKind::refused;  // with the reason
  if (!outcome && !told) {
    const bool turned_away = operation_.empty() && outcome.error().kind() == ErrorKind::refused;
    service_.note(turned_away          ? "refuse"
                  : operation_.empty() ? "error"
                                       : operation_,
                  name_, "failed: " + outcome.error().message());
  }
  serving_.reset();
  drop_push();
  pump_.goodbye();
  return outcome;
}

Status Responder::dispatch(proto::Event& event) {
  if (auto* e = std::get_if<proto::PeerHello>(&event)) return on_hello(*e);
  if (auto* e = std::get_if<proto::LsAsked>(&event)) return on_ls(*e);
  if (auto* e = std::get_if<proto::JoinAsked>(&event)) return on_join(*e);
  if (auto* e = std::get_if<proto::FetchAsked>(&event)) return on_fetch(*e);
  if (auto* e = std::get_if<proto::RepairAsked>(&event)) return on_repair(*e);
  if (auto* e = std::get_if<proto::PushAsked>(&event)) return on_push(*e);
  if (auto* e = std::get_if<proto::UpdatesArrived>(&event)) return on_updates(*e);
  if (auto* e = std::get_if<proto::NeedLayer>(&event)) return serving_->source->answer(*e, session_);
  if (auto* e = std::get_if<proto::NeedChunk>(&event)) return on_chunk_asked(*e);
  if (auto* e = std::get_if<proto::CheckChunks>(&event)) return pushing_->sink.answer(*e, session_);
  if (auto* e = std::get_if<proto::ChunkArrived>(&event)) return pushing_->sink.answer(*e);
  if (auto* e = std::get_if<proto::LayerArrived>(&event)) return on_layer(*e);
  if (std::holds_alternative<proto::AllArrived>(event)) return on_all_arrived();
  if (std::holds_alternative<proto::OperationDone>(event)) on_done();
  return {};
}

Status Responder::on_hello(proto::PeerHello& event) {
  if (auto admitted = service_.admit(event.hello); !admitted) session_.admit_join_only(admitted.error().message());
  return {};
}

// Rights are judged before the name touches a disk: a peer learns nothing about onions it may not read.
Status Responder::begin_operation(trust::Level level, const char* operation, const std::string& name) {
  operation_ = operation;
  name_ = name;
  stats_ = TransferStats{};
  PEEL_CHECK(service_.authorize(level, name), "");
  level_ = level;
  return {};
}

void Responder::on_done() {
  if (operation_ == "fetch" || operation_ == "repair")
    service_.note(operation_, name_,
                  amount_text(stats_) + " sent");
  serving_.reset();
  drop_push();
  operation_.clear();
  name_.clear();
  level_.reset();
}

Status Responder::on_ls(proto::LsAsked& event) {
  operation_ = "ls";
  name_ = event.prefix;
  std::size_t listed = 0;
  PEEL_CHECK(service_.list(event.prefix,
                           [&](const proto::LsEntry& entry) -> Status {
                             ++listed;
                             session_.answer_ls(entry);
                             return session_.output().size() < ls_output_most ? Status()
                                                                              : pump_.flush(ls_output_most / 2);
                           }),
             "");
  session_.end_ls();
  service_.note("ls", event.prefix, std::to_string(listed) + (listed == 1 ? " onion" : " onions"));
  return {};
}

Status Responder::on_join(proto::JoinAsked& event) {
  operation_ = "join";
  PEEL_TRY(const auto joined, service_.join(event.join), "");
  session_.answer_join(joined);
  service_.note("join", "", "as " + escape_for_terminal(joined.name));
  return {};
}

Status Responder::on_fetch(proto::FetchAsked& event) {
  PEEL_CHECK(begin_operation(trust::Level::read, "fetch", event.fetch.name), "");
  PEEL_TRY(auto onion, service_.open(name_, Access::read), "");
  serving_.emplace(Serving{std::move(onion), std::nullopt});
  const Onion& from = serving_->onion;
  proto::PeerState state;
  state.onion = {true, from.lineage(), from.current_branch()};
  state.refs = shared_refs(from, event.fetch.tags);
  std::vector<RevisionId> targets;
  for (const auto& ref : state.refs) targets.push_back(ref.target);
  const auto shallow = known_numbers(from, event.shallow);
  PEEL_TRY(auto revisions,
           difference(from, known_numbers(from, targets), known_numbers(from, event.haves),
                      {shallow.begin(), shallow.end()}),
           name_);
  session_.answer_state(state);
  serving_->source.emplace(serving_->onion, std::move(revisions), stats_);
  return {};
}

Status Responder::on_repair(proto::RepairAsked& event) {
  PEEL_CHECK(begin_operation(trust::Level::read, "repair", event.name), "");
  PEEL_TRY(auto onion, service_.open(name_, Access::read), "");
  serving_.emplace(Serving{std::move(onion), std::nullopt});
  proto::PeerState state;
  state.onion = {true, serving_->onion.lineage(), serving_->onion.current_branch()};
  session_.answer_state(state);
  return {};
}

Status Responder::on_chunk_asked(proto::NeedChunk& event) {
  if (serving_->source) return serving_->source->answer(event, session_);
  auto chunk = chunk_of(serving_->onion, event.name);
  if (!chunk) {
    session_.no_chunk(event.name);
    return {};
  }
  ++stats_.chunks;
  session_.give_chunk(*chunk);
  return {};
}

}  // namespace peel::sync
