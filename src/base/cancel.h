// base/cancel.h - "please stop", said once and seen by every long loop.
//
// Threads    request() is async-signal-safe; requested() may be called from any thread.
#pragma once

#include <atomic>

#include "peel/error.h"

namespace peel {

class Cancel {
 public:
  void request() { flag_.store(true, std::memory_order_relaxed); }
  bool requested() const { return flag_.load(std::memory_order_relaxed); }
  // For use inside PEEL_CHECK at the head of a loop that may run for long.
  Status check() const {
    if (requested()) return fail(ErrorKind::cancelled, "interrupted");
    return {};
  }

 private:
  std::atomic<bool> flag_{false};
};

}  // namespace peel
