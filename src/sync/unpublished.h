// sync/unpublished.h - an onion that takes shape under another name until it is whole: clones, first pushes.
//
// Contract   "PATH.incomplete-KEY" is found again by a second try with the same key, so nothing travels twice.
//            publish() gives it its name in one durable step, never over an existing file.
// Errors     exists (publish: the name is taken), io.
// Threads    Free functions.
#pragma once

#include <string>

#include "base/file.h"
#include "peel/onion.h"

namespace peel::sync {

std::string unpublished_path(const std::string& path, const std::string& key);
// Opened for writing. One of another lineage, or too damaged to open, is replaced.
Result<Onion> open_or_create_unpublished(FileSystem& files, const std::string& path, const std::string& key,
                                         const std::array<std::byte, 32>& lineage);
Status publish_onion(FileSystem& files, const std::string& path, const std::string& key);

}  // namespace peel::sync
