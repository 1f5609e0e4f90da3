// cli/context.cpp - see context.h.
#include "cli/context.h"

#include <cerrno>
#include <cstdio>

#include <unistd.h>

#include "cli/human.h"

namespace peel::cli {
namespace {

constexpr std::size_t pending_size_max = 64 * 1024;

// Nothing can be done when standard error fails.
void say(const std::string& text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

}  // namespace

void Output::line(std::string_view text) { raw(printable(text) + "\n"); }

void Output::raw(std::string_view text) {
  pending_ += text;
  if (pending_.size() >= pending_size_max) (void)flush();
}

// Whoever does not read may block us for ever; a request to stop ends that.
Status Output::write_all(std::string_view text) {
  while (!text.empty()) {
    PEEL_CHECK(cancel_.check(), "standard output");
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error::from_errno(errno, "standard output");
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Status Output::flush() {
  if (state_.ok()) state_ = write_all(pending_);
  pending_.clear();
  return state_;
}

Status Output::write_through(Bytes data) {
  PEEL_CHECK(flush(), "");
  state_ = write_all({reinterpret_cast<const char*>(data.data()), data.size()});
  return state_;
}

void Messages::error(std::string_view text) const { say("peel: " + printable(text) + "\n"); }
void Messages::warning(std::string_view text) const { say("peel: warning: " + printable(text) + "\n"); }

void Messages::note(std::string_view text) const {
  if (!quiet_) say("peel: " + printable(text) + "\n");
}

void Messages::detail(std::string_view text) const {
  if (verbose_) say("peel: " + printable(text) + "\n");
}

void Messages::trace(std::string_view text) const {
  if (!trace_) return;
  const std::chrono::duration<double, std::milli> since = std::chrono::steady_clock::now() - start_;
  char stamp[48];
  std::snprintf(stamp, sizeof stamp, "peel: +%.3f ms: ", since.count());
  say(stamp + printable(text) + "\n");
}

}  // namespace peel::cli
