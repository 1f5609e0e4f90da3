// hdf5/signature.h - where the HDF5 data of a file begins.
//
// Contract   The signature is looked for at 0, 512, 1024, 2048, ...: what lies before it is the user block.
// Errors     Those of the source.
// Threads    Pure but for the reads.
#pragma once

#include <optional>

#include "peel/onion.h"

namespace peel::hdf5 {

inline constexpr std::size_t signature_size = 8;

bool is_signature(Bytes first_bytes);
Result<std::optional<std::uint64_t>> find_signature(const Source& source);

}  // namespace peel::hdf5
