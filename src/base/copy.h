// base/copy.h - copies of pages and chunks.
//
// Why        Above 2 KiB, memmove of glibc uses an instruction that is 20 times slower on some processors where source
//            and destination lie nearly alike in their memory pages (AMD Zen 3 and 4, glibc bug 30995), as large blocks
//            often do. So these copy in pieces.
// Threads    Pure functions. Source and destination must not overlap.
#pragma once

#include <algorithm>
#include <cstring>

#include "peel/types.h"

namespace peel {

inline constexpr std::size_t copy_piece_max = 2000;

// Returns the byte behind the last one written.
inline std::byte* copy_bytes(Bytes from, std::byte* to) {
  while (!from.empty()) {
    const std::size_t n = std::min(from.size(), copy_piece_max);
    std::memcpy(to, from.data(), n);
    to += n;
    from = from.subspan(n);
  }
  return to;
}

inline void append_bytes(Bytes from, Buffer& out) {
  if (out.capacity() - out.size() < from.size()) out.reserve(std::max(2 * out.capacity(), out.size() + from.size()));
  while (!from.empty()) {
    const Bytes piece = from.first(std::min(from.size(), copy_piece_max));
    out.insert(out.end(), piece.begin(), piece.end());
    from = from.subspan(piece.size());
  }
}

}  // namespace peel
