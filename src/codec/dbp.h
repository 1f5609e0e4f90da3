// codec/dbp.h - patched bit-packing of differences: the fast codec for numbers. Private to codec.
//
// Purpose    Neighbouring numbers are alike. Of the bit patterns (floats included) the differences of order
//            0, 1 or 2 are small integers; 256 at a time are packed at the width that costs least, and the few
//            that do not fit leave their high parts aside.
// Contract   Widths 1, 2, 4 and 8. Equal input gives equal output at every CPU level.
// Errors     decode: corrupt. Safe on any input.
// Threads    Any.
// Memory     Below 16 KiB of stack.
// Source     docs/FORMAT.md, Chunks, dbp. Patched packing after PFOR (Zukowski et al., ICDE 2006).
#pragma once

#include "codec/cpu.h"
#include "peel/error.h"
#include "peel/types.h"

namespace peel::codec {

inline constexpr unsigned dbp_order_max = 2;

struct DbpGuess {
  unsigned order = 0;     // the order of differences that packs best
  double stored = 1;      // stored / plain bytes it promises
};

inline bool dbp_takes(std::uint8_t width) { return width == 1 || width == 2 || width == 4 || width == 8; }
std::size_t dbp_bound(std::uint8_t width, std::size_t plain_size);
// All three orders in one pass, over a quarter of the blocks of 256 elements, at most `blocks_max`.
DbpGuess dbp_guess(std::uint8_t width, Bytes plain, std::size_t blocks_max, CpuLevel level = cpu_level());
// Bytes written to `out`, or 0 where they do not fit.
std::size_t dbp_encode(std::uint8_t width, unsigned order, Bytes plain, MutableBytes out, CpuLevel level = cpu_level());
Status dbp_decode(std::uint8_t width, Bytes stored, MutableBytes plain, CpuLevel level = cpu_level());

}  // namespace peel::codec
