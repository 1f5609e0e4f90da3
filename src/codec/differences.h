// codec/differences.h - every element minus the one before. Private to codec.
//
// Contract   Widths 1, 2, 4 and 8, on bit patterns, modulo 2^(8 width). Zero comes before the first element. A
//            difference d is stored as 2d, or as -2d - 1 where it is negative. A tail of size % width bytes is copied.
// Errors     None.
// Threads    Any.
// Source     docs/FORMAT.md, Chunks
#pragma once

#include "peel/types.h"

namespace peel::codec {

void differences_of(Bytes in, std::uint8_t width, MutableBytes out);
// In place.
void add_up_differences(std::uint8_t width, MutableBytes bytes);

}  // namespace peel::codec
