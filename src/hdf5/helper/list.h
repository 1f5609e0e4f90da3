// hdf5/helper/list.h - the contents of a file.
//
// Contract   Objects by path, each once; further hard links to it appear as links. What cannot be read is listed
//            with a target that says so.
// Errors     corrupt: the file cannot be opened.
// Threads    One thread.
#pragma once

#include "hdf5/report.h"
#include "peel/onion.h"

namespace peel::hdf5 {

Result<Listing> list_file(const Source& source, std::uint32_t time_ms, std::uint32_t items_max);

}  // namespace peel::hdf5
