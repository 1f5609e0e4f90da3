// golden/golden_files.h - small onions that together use every feature of the format, and what is in them.
//
// Contract   make_golden_files(directory) writes the files anew and returns their facts. Everything but the salt
//            (hence checksums) and the time of ref changes is fixed, so facts never change: ids, digests, refs.
//            describe() gives the facts of one open onion. Facts are JSON so that other readers share them.
// Errors     As the library's; names that exist are replaced.
// Source     docs/FORMAT.md; README.md beside this file
#pragma once

#include <nlohmann/json.hpp>

#include "peel/onion.h"

namespace peel::golden {

using Facts = nlohmann::ordered_json;

// {"lineage", "revisions": [...], "refs": [...], "marked": [...]}
Result<Facts> describe(const Onion& onion);

// Object by file name; {"unsupported": true} for a file that must be refused.
Result<Facts> make_golden_files(const std::string& directory);

}  // namespace peel::golden
