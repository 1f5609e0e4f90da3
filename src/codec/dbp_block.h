// codec/dbp_block.h - one block of 256 elements, in several implementations with equal output. Private to dbp.
//
// Contract   A kernel trusts what it is given: dbp.cpp has checked every size. Elements are little-endian.
// Errors     None.
// Threads    Any.
// Source     docs/FORMAT.md, Chunks, dbp
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/cpu.h"

namespace peel::codec {

inline constexpr std::size_t dbp_block_size = 256;  // elements
inline constexpr std::size_t dbp_row_size = 32;     // bytes: packed bits come in rows
inline constexpr unsigned dbp_no_likely_bits = 255;
inline constexpr std::size_t dbp_slack = 16;        // bytes a kernel may write behind a block

// The parts of a stored block.
struct DbpBlock {
  unsigned bits;              // packed bits of an element
  unsigned exceptions;        // elements with more
  const std::byte* positions; // one byte an exception
  const std::byte* high_parts;// high_size(width, bits) bytes an exception: the element >> bits
  const std::byte* rows;      // `bits` rows
};

// What one exception keeps beside its position.
constexpr std::size_t dbp_high_size(std::size_t width, unsigned bits) { return width - bits / 8; }
constexpr std::size_t dbp_block_bound(std::size_t width) { return 2 + dbp_row_size * 8 * width; }

// Where an element lies in the rows. Down the lanes, sums run down the rows, in all lanes at once: a vector adds what
// it would otherwise have to shift. Across the rows, the rows that a last, short block does not reach stay empty.
enum class DbpLayout : std::uint8_t {
  down,    // element i in lane i / rows, row i % rows: blocks of 256 elements
  across,  // element i in lane i % lanes, row i / lanes: a last block of fewer
};

struct DbpKernel {
  // `values`: 256 elements. `first_row`: the first row of them again, perhaps elsewhere, with the two elements that
  // come before readable before it. `likely`: bits that may well be the best, to look around; the answer is the same.
  // Writes header, positions, high parts and all rows; returns their size.
  std::size_t (*encode)(unsigned order, DbpLayout layout, const std::byte* values, const std::byte* first_row, unsigned likely, std::byte* out);
  // What encode would return.
  std::size_t (*cost)(unsigned order, const std::byte* values, const std::byte* first_row);
  // `before`: the two elements before the block.
  void (*decode)(unsigned order, DbpLayout layout, const DbpBlock& block, const std::byte* before, std::byte* values);
};

struct DbpKernels {
  DbpKernel width1, width2, width4, width8;
};

extern const DbpKernels dbp_plain;
#if defined(__x86_64__)
extern const DbpKernels dbp_avx2, dbp_avx512;
#endif

}  // namespace peel::codec
