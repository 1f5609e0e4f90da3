// workspace/space_estimate.h - what a commit will take, before it takes it.
//
// Errors     io.
// Threads    Any.
// Memory     128 KiB.
#pragma once

#include "workspace/file_source.h"
#include "workspace/workspace.h"

namespace peel::workspace {

// Bytes of the file that are no holes.
Result<std::uint64_t> data_bytes_of(const FileSource& source);
// Compresses samples spread over the file. An estimate: a file may differ from its samples.
Result<SpaceNeed> estimate_space(const FileSource& source, const std::string& onion_path, bool first);

}  // namespace peel::workspace
