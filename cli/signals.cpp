// cli/signals.cpp - see signals.h.
#include "cli/signals.h"

#include <atomic>
#include <csignal>

#include <unistd.h>

namespace peel::cli {
namespace {

// A signal handler can reach nothing but what is global.
std::atomic<Cancel*> to_stop{nullptr};
static_assert(std::atomic<Cancel*>::is_always_lock_free);

extern "C" void on_signal(int) {
  Cancel* const cancel = to_stop.load(std::memory_order_relaxed);
  if (cancel == nullptr || cancel->requested()) ::_exit(130);
  cancel->request();
}

}  // namespace

void stop_on_signals(Cancel& cancel) {
  to_stop.store(&cancel, std::memory_order_relaxed);
  struct sigaction action {};
  action.sa_handler = on_signal;
  // Not restarting: a write into a full pipe that nobody reads must end. A sync that says EINTR counts as failed,
  // which is what a command that is asked to stop may do.
  action.sa_flags = 0;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) ::sigaction(SIGHUP, &action, nullptr);  // ignored: nohup wants us to go on
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
}

void die_of_closed_pipe() {
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
  ::_exit(128 + SIGPIPE);
}

}  // namespace peel::cli
