// cli/progress.cpp - see progress.h.
#include "cli/progress.h"

#include <algorithm>
#include <cstdio>

#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/human.h"

namespace peel::cli {
namespace {

constexpr std::chrono::milliseconds silent_ms{500};
constexpr std::chrono::milliseconds redraw_ms{100};

std::size_t terminal_columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20) return size.ws_col;
  return 80;
}

std::string amount_text(std::uint64_t done, std::uint64_t total, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  const std::string rate_text = size_text(static_cast<std::uint64_t>(rate)) + "/s";
  if (total == 0) return size_text(done) + "  " + rate_text;
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  char percent[8];
  std::snprintf(percent, sizeof percent, "%3.0f%%", share * 100);
  std::string out = std::string(percent) + " of " + size_text(total) + "  " + rate_text;
  if (done > 0 && done < total) out += "  ETA " + duration_text(seconds * (1 - share) / share);
  return out;
}

}  // namespace

Progress::Progress(const Context& context, std::string doing)
    : doing_(printable(doing)),
      visible_(!context.messages.quiet() && ::isatty(STDERR_FILENO) == 1),
      start_(Clock::now()),
      drawn_(start_ + silent_ms - redraw_ms) {}

void Progress::update(std::uint64_t done, std::uint64_t total, std::string_view more) {
  if (!visible_) return;
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  if (now - drawn_ < redraw_ms) return;
  drawn_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  std::string text = doing_ + "  " + amount_text(done, total, seconds);
  if (!more.empty()) text += "  " + printable(more);
  // One column short of the edge, so that no terminal wraps. Bytes are taken for columns; that errs to the short side.
  text.resize(std::min(text.size(), terminal_columns() - 1));
  const std::size_t columns = text.size();
  text.append(columns_drawn_ > columns ? columns_drawn_ - columns : 0, ' ');
  columns_drawn_ = columns;
  text.insert(0, 1, '\r');
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

void Progress::clear() {
  const std::lock_guard lock(mutex_);
  if (columns_drawn_ == 0) return;
  const std::string text = "\r" + std::string(columns_drawn_, ' ') + "\r";
  columns_drawn_ = 0;
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

ProgressFunction Progress::function() {
  return [this](const peel::Progress& p) { update(p.done, p.total); };
}

}  // namespace peel::cli
