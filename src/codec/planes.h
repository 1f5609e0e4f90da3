// codec/planes.h - every byte plane stored in its own way. Private to codec.
//
// Purpose    Of trained weights and noisy measurements the low bytes are random and the high ones are few: to
//            compress all costs time for nothing, to compress none costs space.
// Contract   planes_into() returns how many bytes it wrote, or 0 where they do not fit. Widths 1 to 255.
// Errors     planes_from: corrupt. Safe on any input.
// Threads    Any.
// Memory     One scratch of the plain size, per thread.
// Source     docs/FORMAT.md, Chunks, planes
#pragma once

#include "peel/error.h"
#include "peel/types.h"

namespace peel::codec {

std::size_t planes_bound(std::uint8_t width, std::size_t plain_size);
std::size_t planes_into(std::uint8_t width, Bytes plain, MutableBytes out);
Status planes_from(std::uint8_t width, Bytes stored, MutableBytes plain);

}  // namespace peel::codec
