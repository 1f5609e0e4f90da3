// hdf5/helper/open_file.h - an HDF5 file opened for reading out of a Source, through a driver of our own.
//
// Contract   libhdf5's own drivers are never used, so nothing is opened, locked or written. The driver opens
//            only what OpenFile opens: a file that names another file (external link, virtual dataset) gets
//            an error from it. Raw data beyond the end of the source is an error; metadata there reads as
//            zeros, as libhdf5's speculative reads expect.
// Errors     corrupt with libhdf5's reason.
// Threads    One thread.
// Memory     libhdf5's caches: 2 MiB to 32 MiB of metadata; chunks as the dataset's access list says.
// Source     H5FDpublic.h (1.10), H5FDdevelop.h (1.14): the one file that knows the difference is
//            open_file.cpp.
#pragma once

#include <memory>
#include <optional>

#include "hdf5/helper/handle.h"
#include "peel/onion.h"

namespace peel::hdf5 {

// Strict: as any program would open it. Lenient: also when marked open for writing or truncated, so that
// what is there can be looked at.
enum class Strictness : std::uint8_t { strict, lenient };

class OpenFile {
 public:
  struct Driven;  // what the driver and we share
  static constexpr std::size_t chunk_cache_bytes = 64u << 20;  // per open dataset

  // `source` must outlive the file.
  static Result<OpenFile> open(const Source& source, Strictness strictness);
  OpenFile(OpenFile&&) noexcept;
  OpenFile& operator=(OpenFile&&) noexcept;
  ~OpenFile();

  hid_t id() const { return file_.get(); }
  std::uint64_t raw_bytes_read() const;
  bool source_failed() const;  // a read of the source itself failed, not libhdf5's understanding of it

  // Where `read`, a call that reads raw data in one piece, would read; nothing is read. Absent when it
  // fails or does anything else.
  template <class Read>
  std::optional<Range> place_of(Read&& read) {
    begin_rehearsal();
    const bool done = read();
    return end_rehearsal(done);
  }

 private:
  OpenFile(std::unique_ptr<Driven> driven, Handle file);
  void begin_rehearsal();
  std::optional<Range> end_rehearsal(bool done);

  std::unique_ptr<Driven> driven_;  // before file_: the driver uses it until the file is closed
  Handle file_;
};

// Switches off plugins, error printing and exit handlers, and registers the driver. Once, before the process
// is confined.
bool start_library();

}  // namespace peel::hdf5
