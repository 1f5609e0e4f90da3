// base/open_probe.h - does anybody have this file open for writing right now?
//
// Contract   Takes a read lease on `fd` and gives it back at once: the kernel grants one only when no
//            open file description of the file, in any process of this machine, can write. `fd` must be
//            opened read-only by the caller, who owns the file or may CAP_LEASE.
// Errors     None: what cannot be known is `unknown` (another owner, a file system that other machines
//            write to or that has no leases, a descriptor that can write itself).
// Threads    Any. A program that opens the file for writing in that instant waits for microseconds; one
//            that does so with O_NONBLOCK is told EWOULDBLOCK and has to come again.
// Source     fcntl(2), "Leases".
#pragma once

#include <cstdint>

namespace peel {

enum class OpenForWriting : std::uint8_t { no, yes, unknown };

OpenForWriting probe_open_for_writing(int fd);

}  // namespace peel
