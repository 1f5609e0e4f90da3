// The serving end of a push: judge early what can be judged, take the data in, then move the refs in one step.
#include <algorithm>
#include <set>
#include <thread>

#include "base/hex.h"
#include "sync/push_rules.h"
#include "sync/push_state.h"

namespace peel::sync {
namespace {

// A broken connection's session may need a moment to notice before its staging can be taken over.
constexpr int staging_tries_max = 30;
constexpr auto staging_retry = std::chrono::milliseconds(100);
// Other pushes may win the lock again and again; each time everything is judged anew.
constexpr int apply_tries_max = 10;

void reject_all(std::vector<proto::RefResult>& results) {
  for (auto& result : results) {
    if (result.state == proto::RefResult::State::rejected) continue;
    result.state = proto::RefResult::State::rejected;
    result.after = result.before;
    result.reason = "not done, because another ref of this atomic push was rejected";
  }
}

bool any_rejected(const std::vector<proto::RefResult>& results) {
  for (const auto& result : results)
    if (result.state == proto::RefResult::State::rejected) return true;
  return false;
}

std::string words_for(const std::vector<proto::RefResult>& results) {
  std::string out;
  for (const auto& r : results) {
    out += (out.empty() ? "" : "; ") + escape_for_terminal(r.name) + " ";
    switch (r.state) {
      case proto::RefResult::State::up_to_date:
        out += "up to date";
        break;
      case proto::RefResult::State::moved:
        out += (r.before.is_zero() ? "new" : short_hex(r.before)) + " -> " + short_hex(r.after);
        break;
      case proto::RefResult::State::deleted:
        out += "deleted, was " + short_hex(r.before);
        break;
      case proto::RefResult::State::rejected:
        out += "rejected: " + r.reason;
        break;
    }
  }
  return out;
}

}  // namespace

Status Responder::open_pushed(const proto::Push& push) {
  bool created = false;
  auto opened = service_.open(push.name, Access::write);
  if (!opened && opened.error().kind() == ErrorKind::not_found && push.create) {
    PEEL_CHECK(service_.authorize(trust::Level::write, push.name), "new onion");
    opened = service_.open_unpublished(push.name, push.lineage);
    created = true;
  }
  if (!opened) return std::move(opened.error());
  auto onion = std::make_unique<Onion>(std::move(opened).value());
  const Importer::Options options{service_.staging_key(), service_.staging_quota(), cancel_};
  for (int attempt = 0;; ++attempt) {
    auto importer = Importer::begin(*onion, options);
    if (importer) {
      pushing_ = std::make_unique<Pushing>(std::move(onion), std::move(importer).value(), created, stats_);
      return {};
    }
    if (importer.error().kind() != ErrorKind::conflict) return std::move(importer.error());
    if (attempt == staging_tries_max)
      return fail(ErrorKind::conflict, "another push of yours to " + escape_for_terminal(push.name) + " is under way");
    std::this_thread::sleep_for(staging_retry);
  }
}

Status Responder::on_push(proto::PushAsked& event) {
  PEEL_CHECK(begin_operation(trust::Level::append, "push", event.push.name), "");
  PEEL_CHECK(open_pushed(event.push), "");
  const Onion& onion = *pushing_->onion;
  PEEL_TRY(auto haves, haves_of(onion), name_);
  proto::PeerState state;
  state.onion = {!pushing_->created, onion.lineage(), onion.current_branch()};
  state.refs = shared_refs(onion, true);
  state.haves = std::move(haves.ids);
  state.shallow = std::move(haves.shallow);
  session_.answer_state(state);
  return {};
}

Status Responder::on_updates(proto::UpdatesArrived& event) {
  Pushing& push = *pushing_;
  push.atomic = event.atomic;
  push.updates = std::move(event.updates);
  push.results.resize(push.updates.size());
  push.open.assign(push.updates.size(), false);
  std::set<std::pair<RefKind, std::string>> names;
  bool any_open = false;
  for (std::size_t i = 0; i < push.updates.size(); ++i) {
    const auto& update = push.updates[i];
    if (!names.emplace(update.kind, update.name).second)
      return fail(ErrorKind::corrupt, "a ref is named twice in one push");
    PEEL_TRY(const bool may, judge(*push.onion, nullptr, update, push.results[i]), name_);
    push.open[i] = may;
    if (may && needs_write(update) && !push.created) {
      if (auto allowed = service_.authorize(trust::Level::write, name_); !allowed) {
        push.results[i].state = proto::RefResult::State::rejected;
        push.results[i].after = push.results[i].before;
        push.results[i].reason = allowed.error().message();
        push.open[i] = false;
      }
    }
    any_open = any_open || push.open[i];
  }
  const bool atomic_lost = push.atomic && any_rejected(push.results);
  if (atomic_lost) reject_all(push.results);
  // Nothing to wait for: the client need not send what would be thrown away.
  return any_open && !atomic_lost ? Status() : conclude_push();
}

Status Responder::on_layer(proto::LayerArrived& event) {
  const auto& meta = event.layer.info.meta;
  const std::uint64_t bytes = 512 + event.layer.pieces.size() * sizeof(Piece) + meta.author.size() + meta.host.size() +
                              meta.note.size() + event.layer.info.parents.size() * sizeof(RevisionId);
  if (!service_.take_memory(bytes))
    return fail(ErrorKind::limit,
                "the server has no memory left for this push: try again later, or push fewer revisions at a time");
  pushing_->memory += bytes;
  return pushing_->sink.answer(event);
}

void Responder::drop_push() {
  if (pushing_) {
    service_.give_memory(pushing_->memory);
    // While its staging is still ours.
    const bool nothing = pushing_->importer.staged_chunks() == 0 && pushing_->onion->revision_count() == 0;
    if (pushing_->created && nothing) service_.forget_unpublished(name_);
  }
  pushing_.reset();
}

Status Responder::on_all_arrived() {
  PEEL_CHECK(apply_push(), name_);
  return conclude_push();
}

Status Responder::apply_push() {
  Pushing& push = *pushing_;
  const std::string reason = "push from " + service_.peer_label();
  for (int attempt = 0; attempt < apply_tries_max; ++attempt) {
    PEEL_CHECK(push.onion->refresh(), "");
    std::vector<RefChange> changes;
    std::string first_branch;
    for (std::size_t i = 0; i < push.updates.size(); ++i) {
      if (!push.open[i]) continue;
      PEEL_TRY(const bool may, judge(*push.onion, &push.sink.graph(), push.updates[i], push.results[i]), "");
      if (!may) continue;
      changes.push_back(change_for(push.updates[i], reason));
      if (first_branch.empty() && push.updates[i].kind == RefKind::branch) first_branch = push.updates[i].name;
    }
    if (push.atomic && any_rejected(push.results)) {
      reject_all(push.results);
      return {};
    }
    if (changes.empty()) return {};
    if (push.created && !first_branch.empty() && !push.onion->ref(RefKind::branch, push.onion->current_branch())) {
      const bool has_current = std::any_of(changes.begin(), changes.end(), [&](const RefChange& change) {
        return change.kind == RefKind::branch && change.name == push.onion->current_branch();
      });
      RefChange current;
      current.kind = RefKind::setting;
      current.name = "branch";
      current.value = first_branch;
      current.reason = reason;
      if (!has_current) changes.push_back(std::move(current));
    }
    auto finished = pump_.run_busy([&] { return push.importer.finish(changes); });
    if (finished) return {};
    if (finished.error().kind() == ErrorKind::cancelled) PEEL_CHECK(service_.check(), "");  // says why
    if (finished.error().kind() == ErrorKind::not_found)  // gc took a chunk that was here when it was asked for
      return fail(ErrorKind::conflict, "the onion was collected during the push: push again");
    if (finished.error().kind() != ErrorKind::conflict) return finished;
  }
  return fail(ErrorKind::conflict, "other pushes came first again and again: push again");
}

Status Responder::conclude_push() {
  Pushing& push = *pushing_;
  const auto refs = shared_refs(*push.onion, false);
  if (push.created && !refs.empty()) {
    if (auto published = service_.publish(name_); !published) {
      if (published.error().kind() != ErrorKind::exists) return published;
      for (auto& result : push.results) {
        result = {result.kind, proto::RefResult::State::rejected,
                  result.name, {},
                  {},          "somebody else made an onion of that name just now: fetch it, then push again"};
      }
    }
  }
  session_.answer_push(push.results);
  service_.note(
      "push", name_,
      push.results.empty() ? "nothing to change" : words_for(push.results) + "; " + amount_text(stats_) + " received");
  return {};
}

}  // namespace peel::sync
