// hdf5/helper/superblock.h - the few facts of a superblock that tell whether a file is whole.
//
// Contract   Versions 0 to 3, user block included, decoded from the file's bytes without libhdf5, which
//            refuses to open exactly the files one wants to ask about.
// Errors     truncated: more bytes are needed than were given · corrupt: no signature, impossible sizes ·
//            unsupported: a newer version.
// Threads    Pure function.
// Source     HDF5 File Format Specification 3.0, II.A "Superblock".
//
//            v0, v1                                   v2, v3
//             0 signature 8                            0 signature 8
//             8 version 1                              8 version 1
//             9 versions of other parts 4              9 size of offsets 1
//            13 size of offsets 1                     10 size of lengths 1
//            14 size of lengths 1                     11 consistency flags 1 (meaningful in v3)
//            15 reserved 1                            12 base address O
//            16 group leaf k 2, internal k 2             extension address O
//            20 consistency flags 4 (unused)             end of file address O
//            24 v1: chunk k 2, reserved 2                root group address O
//               base address O                           checksum 4
//               free space address O
//               end of file address O
//               driver information address O
#pragma once

#include <optional>

#include "base/wire.h"

namespace peel::hdf5 {

inline constexpr std::size_t superblock_size_max = 96 + 4;

struct Superblock {
  std::uint8_t version = 0;
  bool writer = false;       // v3: a program opened it for writing and has not closed it
  bool swmr_writer = false;  // v3: and lets others read meanwhile
  // One past the last byte of the file, as stored, moved with a superblock that was moved. Absent: undefined.
  std::optional<std::uint64_t> end_of_file;
};

// `bytes` begin at the signature, which lies at `at` in the file.
Result<Superblock> parse_superblock(Bytes bytes, std::uint64_t at);

}  // namespace peel::hdf5
