// cli/progress.h - one line on a terminal's standard error while something takes long.
//
// Contract   Draws nothing unless standard error is a terminal and -q was not given, nothing in the first half
//            second, and at most ten times a second. The line is wiped when the object goes, or by clear().
// Threads    update() from any thread; the rest from the owner.
// Memory     One line.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>

#include "cli/context.h"
#include "peel/onion.h"

namespace peel::cli {

class Progress {
public:
  // `doing`: "data.h5: recording".
  Progress(const Context& context, std::string doing);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `total` 0: unknown; then only amount and rate are shown.
  void update(std::uint64_t done, std::uint64_t total, std::string_view more = {});
  void clear();

  // For options that take one. The object must outlive it.
  ProgressFunction function();

private:
  using Clock = std::chrono::steady_clock;

  std::mutex mutex_;
  const std::string doing_;
  const bool visible_;
  const Clock::time_point start_;
  Clock::time_point drawn_;
  std::size_t columns_drawn_ = 0;
};

}  // namespace peel::cli
