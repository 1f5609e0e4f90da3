// hdf5/helper/confine.h - takes away from this process everything it does not need to parse a file.
//
// Contract   Afterwards the process can use memory it has or may get (never executable), the one socket, the
//            clock, and exit. Opening anything fails with EACCES; any other system call kills it. There is no
//            way back. Call once, with one thread, when all libraries are loaded.
// Errors     unsupported: the kernel refuses; the caller must not go on then.
// Source     seccomp(2), setrlimit(2)
#pragma once

#include "peel/error.h"

namespace peel::hdf5 {

Status confine(int socket, std::uint64_t memory_bytes_max, std::uint32_t cpu_seconds_max);

}  // namespace peel::hdf5
