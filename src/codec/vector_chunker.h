// codec/vector_chunker.h - content-defined cutting, 32 or 64 positions at once.
//
// Purpose    What Chunker (chunker.h, the gear reference) does, several times faster: its hash is made so that the
//            hashes of neighbouring positions do not wait for each other.
// Contract   next_cut(window, at_end) as of Chunker: the length of the first chunk of `window`, which must hold
//            size_max bytes unless `at_end` says the stream ends with it. The answer depends only on those bytes,
//            the sizes and the key: every caller, machine, CPU level and buffer size cuts at the same places.
//            Zeros are never cut before size_max.
//            The hash of a position, modulo 256, over the bytes x(i) up to it (<<< rotates 8 bits):
//              a(i) = A(x(i)) + B(x(i-1))     b(i) = a(i) + (a(i-2) <<< 1)    c(i) = b(i) + (b(i-4) <<< 1)
//              d(i) = c(i) + c(i-8)           h(i) = d(i) + d(i-16)
//            A and B are 4 bits of x looked up in one keyed table each, xor the other 4 in another. A chunk ends
//            after the first byte i >= size_min with
//              (h(i) xor k) 2^16 + h(i-32) 2^8 + h(i-64) < 2^24 / (4 average)   before average, and
//                                                        < 2^24 * 4 / average   from there on.
//            k is keyed so that the hash of zeros is never near.
// Errors     None. The sizes: average a power of two from 64 to 4 MiB, size_min >= 128 (the window is 96 bytes).
// Threads    const after construction: any thread.
// Memory     Stack only, below 4 KiB.
// Source     docs/adr/0009-a-hash-for-vectors.md; normalisation as in FastCDC (Xia et al., USENIX ATC 2016)
#pragma once

#include "codec/chunker.h"
#include "codec/cpu.h"

namespace peel::codec {

// What the scanners of all levels share.
struct CutRule {
  // Tables for the low and the high 4 bits of A and of B.
  alignas(16) std::array<std::uint8_t, 16> a_low, a_high, b_low, b_high;
  std::array<std::uint8_t, 256> a, b;  // A and B, for those who look up one byte at a time
  std::uint8_t key;                    // k
  std::uint32_t limit_strict, limit_loose;
};

// The first cut after a byte in [from, end) of p, which is the start of a chunk, or 0. strict until `average`.
using CutScanner = std::size_t(const CutRule& rule, const std::uint8_t* p, std::size_t from, std::size_t average, std::size_t end);

class VectorChunker {
 public:
  VectorChunker(ChunkerSizes sizes, const Key& key, CpuLevel level = cpu_level());
  std::size_t next_cut(Bytes window, bool at_end) const;
  const ChunkerSizes& sizes() const { return sizes_; }
  const CutRule& rule() const { return rule_; }

 private:
  ChunkerSizes sizes_;
  CutRule rule_;
  CutScanner* scan_;
};

}  // namespace peel::codec
