// workspace/attributes.h - what a file is besides its bytes: owner, mode, ACL, extended attributes.
//
// Contract   copy_attributes(from, to): owner and group, permission bits, POSIX ACLs and user.*
//            attributes must arrive exactly; security.* and trusted.* as far as this process may.
// Errors     refused: this process may not give a file that owner, or cannot keep its ACL or user.*
//            attributes · io.
// Threads    Any.
#pragma once

#include <cstdint>

#include "peel/error.h"

namespace peel::workspace {

Status copy_attributes(int from, int to);
// For a file that has no predecessor: the recorded permission bits, to be cut by the umask at open().
// Never set-id bits: they would come from a history somebody else may have written.
unsigned recorded_permissions(std::uint32_t mode);
Status set_mtime(int fd, std::int64_t mtime_ns);

}  // namespace peel::workspace
