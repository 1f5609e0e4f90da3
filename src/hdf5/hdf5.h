// hdf5/hdf5.h - questions about HDF5 files, answered without trusting them.
//
// Contract   The bytes are parsed by libhdf5 in a short-lived helper process that can do nothing but ask
//            this process for ranges of the given sources and send one bounded answer. The caller's file
//            is never opened, locked or touched; links and storage in other files are never followed.
//            This library does not link libhdf5.
// Errors     corrupt: the helper died or lied, i.e. the file is damaged or hostile beyond what the report
//            itself can say · timeout, limit: Limits · cancelled · not_found: CompareOptions::path is in neither
//            file · unsupported: the helper is not installed or cannot be confined here · whatever a Source
//            returns.
//            A damaged file that can be told apart as such is no error of inspect(): Health says so.
// Threads    Any; each call has its own helper. Sources are read from the calling thread.
// Memory     Here: 1 MiB of transfer and at most 32 MiB of answer. The helper: Limits::helper_bytes_max.
// Cost       About 5 ms to start a helper; then what is read.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "hdf5/report.h"
#include "peel/onion.h"

namespace peel::hdf5 {

struct Limits {
  std::chrono::milliseconds time_max{30'000};
  std::uint64_t helper_bytes_max = 1ull << 30;  // address space of the helper
  std::uint32_t items_max = 100'000;            // changes, or objects and attributes; more make a report incomplete
  const Cancel* cancel = nullptr;
};

// For work a person waits for and can interrupt.
inline Limits patient() { return Limits{.time_max = std::chrono::minutes(10)}; }

// Whether the HDF5 signature is where one may be: at 0, 512, 1024, 2048, ... Reads a few bytes, starts
// nothing. False also when the source cannot be read: whoever reads it next will say so.
bool looks_like_hdf5(const Source& source);

Result<Health> inspect(const Source& source, const Limits& limits = {});

Result<Listing> list(const Source& source, const Limits& limits = patient());

struct CompareOptions {
  std::string path;  // compare only this object and what is below it; empty: everything
  // Ranges in which the sources may differ, sorted; everything else is known to be equal. With it, values
  // stored in equal bytes at equal places are not read at all.
  std::optional<std::vector<Range>> changed;
  Limits limits = patient();
};

// What it takes to turn `before` into `after`, in words of HDF5. When the time is nearly over the report
// comes back incomplete rather than not at all.
Result<FileDiff> compare(const Source& before, const Source& after, const CompareOptions& options = {});

}  // namespace peel::hdf5
