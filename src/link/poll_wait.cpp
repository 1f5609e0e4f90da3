#include "link/poll_wait.h"

#include <algorithm>
#include <cerrno>

namespace peel::link {

int poll_timeout(std::optional<Instant> deadline, const Cancel* cancel) {
  using std::chrono::milliseconds;
  if (!deadline) return cancel != nullptr ? static_cast<int>(cancel_slice.count()) : -1;
  // Rounded up: rounding down would spin through the last millisecond.
  auto left = std::chrono::ceil<milliseconds>(*deadline - std::chrono::steady_clock::now());
  left = std::clamp(left, milliseconds(0), cancel != nullptr ? cancel_slice : milliseconds(60'000));
  return static_cast<int>(left.count());
}

Status poll_wait(std::span<pollfd> descriptors, std::optional<Instant> deadline, const Cancel* cancel) {
  while (true) {
    if (cancel != nullptr) PEEL_CHECK(cancel->check(), "");
    const int ready = ::poll(descriptors.data(), descriptors.size(), poll_timeout(deadline, cancel));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return Error::from_errno(errno, "poll");
    if (deadline && std::chrono::steady_clock::now() >= *deadline) return fail(ErrorKind::timeout, "no answer in time");
  }
}

}  // namespace peel::link
