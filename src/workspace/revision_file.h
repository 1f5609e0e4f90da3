// workspace/revision_file.h - the bytes of one revision, written into a file.
//
// Contract   On success every byte of the revision is in `fd`, holes are holes, and the bytes handed to
//            the kernel hashed to the revision's content digest. Not yet synced.
// Errors     io (disk full) · corrupt · cancelled.
// Memory     What Reader::stream states.
#pragma once

#include "workspace/workspace.h"

namespace peel::workspace {

// `fd` is a new, empty regular file.
Status write_revision(const Reader& reader, int fd, const Run& run);

Status write_all(int fd, std::uint64_t offset, Bytes data);

}  // namespace peel::workspace
