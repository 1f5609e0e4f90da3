#include "hub/hub.h"

#include <list>
#include <system_error>
#include <thread>

#include "base/cancel.h"
#include "base/hex.h"
#include "hub/hub_service.h"
#include "link/tcp.h"
#include "link/tls.h"
#include "sync/connection.h"
#include "sync/responder.h"

namespace peel::hub {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto accept_slice = std::chrono::milliseconds(200);
constexpr auto pause_when_full = std::chrono::milliseconds(100);
// Staging of pushes that nobody continued.
constexpr std::int64_t staging_keep_ns = 14ll * 24 * 3600 * 1'000'000'000;
constexpr unsigned sweep_depth_max = 33;

}  // namespace

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void HubState::log(LogEntry entry) {
  if (!options.log) return;
  const std::lock_guard guard(log_mutex);
  options.log(entry);
}

struct Hub::Impl {
  HubState state;
  std::optional<link::TcpListener> listener;
  std::string address;

  struct Worker {
    std::thread thread;
    std::atomic<bool> done{false};
  };
  std::list<Worker> workers;  // run() only

  void serve(std::unique_ptr<link::Channel> channel);
  void start_worker(std::unique_ptr<link::Channel> channel);
  void reap(bool all);
  void sweep(const std::string& folder, unsigned depth);
};

Hub::Hub(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Hub::Hub(Hub&&) noexcept = default;
Hub& Hub::operator=(Hub&&) noexcept = default;
Hub::~Hub() = default;

Result<Hub> Hub::start(HubOptions options) {
  auto impl = std::make_unique<Impl>();
  HubState& state = impl->state;
  state.options = std::move(options);
  PEEL_TRY(state.files, BeneathFileSystem::open(state.options.root), "serve");
  if (!state.options.insecure) {
    PEEL_TRY(state.config, sync::open_config_directory(state.options.config_folder), "serve");
    PEEL_TRY(state.identity, trust::load_or_create_identity(*state.config), "serve");
    PEEL_TRY(state.statements, sync::encoded_statements(*state.config), "serve");
    state.peers.emplace(*state.config);
  }
  PEEL_TRY(const auto address, parse_host_port(state.options.listen, default_port), "listen");
  PEEL_TRY(impl->listener, link::TcpListener::listen(address.host, address.port), "");
  impl->address = to_string(impl->listener->bound().front());
  return Hub(std::move(impl));
}

std::string Hub::address() const { return impl_->address; }
Digest Hub::key() const { return impl_->state.options.insecure ? Digest{} : impl_->state.identity.public_key; }

HubStats Hub::stats() const {
  const HubState& s = impl_->state;
  return {s.live, s.total, s.refused, s.operations, s.received, s.sent};
}

// One connection, on its own thread: handshake, then the responder until the client leaves.
void Hub::Impl::serve(std::unique_ptr<link::Channel> channel) {
  const std::string from = channel->properties().peer_name;
  if (!state.options.insecure) {
    // Every key may shake hands: an unknown one may hold an invite. What it may do is decided at the hello.
    auto secured = link::tls_accept(
        std::move(channel), link::TlsIdentity{state.identity.private_seed}, [](const Digest&) -> Status { return {}; },
        Clock::now() + state.options.hello_timeout, &state.stop);
    if (!secured) {
      state.log({now_ns(), "unknown", from, "refuse", "", escape_for_terminal(secured.error().message())});
      return;
    }
    channel = std::move(secured).value();
  }
  HubService service(state, channel->properties().peer_key, from);
  sync::ResponderOptions options;
  options.idle_timeout = state.options.idle_timeout;
  options.hello_timeout = state.options.hello_timeout;
  options.statements = state.statements;
  options.cancel = &state.stop;
  sync::Responder responder(service, *channel, options);
  (void)responder.run().ok();  // logged by the responder
  state.received += responder.bytes_received();
  state.sent += responder.bytes_sent();
}

void Hub::Impl::start_worker(std::unique_ptr<link::Channel> channel) {
  Worker& worker = workers.emplace_back();
  ++state.live;
  try {
    worker.thread = std::thread([this, &worker, taken = std::move(channel)]() mutable {
      serve(std::move(taken));
      --state.live;
      worker.done = true;
    });
  } catch (const std::system_error& error) {  // the machine has no thread left; the client may try again
    --state.live;
    ++state.refused;
    workers.pop_back();
    state.log({now_ns(), "", "", "refuse", "", std::string("no thread: ") + error.what()});
  }
}

void Hub::Impl::reap(bool all) {
  for (auto it = workers.begin(); it != workers.end();) {
    if (!all && !it->done) {
      ++it;
      continue;
    }
    it->thread.join();
    it = workers.erase(it);
  }
}

// Staging files are locked while a push uses them and touched by every chunk, so old ones are nobody's.
void Hub::Impl::sweep(const std::string& folder, unsigned depth) {
  const auto entries = state.files->list(folder);
  if (!entries || depth > sweep_depth_max) return;
  for (const auto& entry : entries.value()) {
    const std::string path = folder.empty() ? entry.name : folder + "/" + entry.name;
    if (entry.folder) {
      sweep(path, depth + 1);
      continue;
    }
    const bool staging = entry.name.find(".onion.staging-") != std::string::npos ||
                         entry.name.find(".onion.incomplete-") != std::string::npos;  // also one half made
    if (!staging || now_ns() - entry.mtime_ns < staging_keep_ns) continue;
    if (state.files->remove(path))
      state.log({now_ns(), "", "", "expire", escape_for_terminal(path), "an unfinished push nobody continued"});
  }
}

Status Hub::run(const Cancel& cancel) {
  Impl& m = *impl_;
  m.sweep("", 0);
  while (!cancel.requested()) {
    m.reap(false);
    auto channel = m.listener->accept(Clock::now() + accept_slice, &cancel);
    if (!channel) {
      const ErrorKind kind = channel.error().kind();
      if (kind == ErrorKind::timeout || kind == ErrorKind::cancelled) continue;
      // Out of descriptors, or a client that left before it was accepted: the listener goes on.
      m.state.log({now_ns(), "", "", "error", "", escape_for_terminal(channel.error().message())});
      std::this_thread::sleep_for(pause_when_full);
      continue;
    }
    ++m.state.total;
    if (m.state.live >= m.state.options.connections_max) {
      ++m.state.refused;
      m.state.log({now_ns(), "", (*channel)->properties().peer_name, "refuse", "", "too many connections"});
      continue;
    }
    m.start_worker(std::move(channel).value());
  }
  // Newcomers are refused by the closed port; each session ends at its next look, after what it is writing.
  m.listener.reset();
  m.state.stop.request();
  m.reap(true);
  m.state.log({now_ns(), "", "", "stop", "", "all sessions ended"});
  return {};
}

}  // namespace peel::hub
