// codec/crc32c.h - CRC-32C (Castagnoli), for torn and rotten records; never for trust.
//
// Contract   crc32c(0, data) is the usual CRC-32C; crc32c(crc32c(0, a), b) == crc32c(0, a || b).
// Threads    Any.
// Source     ISA-L's crc32_iscsi; crc32c_reference is the plain bitwise one the tests compare with.
#pragma once

#include "peel/types.h"

namespace peel::codec {

std::uint32_t crc32c(std::uint32_t crc, Bytes data);
std::uint32_t crc32c_reference(std::uint32_t crc, Bytes data);

}  // namespace peel::codec
