// link/poll_wait.h - poll() with a deadline and a cancel flag.
//
// Contract   Returns ok when a descriptor is ready (see revents), without waiting for more. The flag is looked at
//            every 50 ms: it is set by signal handlers and other threads, which know nothing of this descriptor.
// Errors     timeout · cancelled · io.
// Threads    Any.
#pragma once

#include <poll.h>

#include <span>

#include "link/channel.h"

namespace peel::link {

inline constexpr std::chrono::milliseconds cancel_slice{50};

Status poll_wait(std::span<pollfd> descriptors, std::optional<Instant> deadline, const Cancel* cancel);

// Milliseconds for poll(): -1 is for ever; with a cancel flag never more than a slice.
int poll_timeout(std::optional<Instant> deadline, const Cancel* cancel);

}  // namespace peel::link
