// codec/page_estimate.h - a quick look at a chunk before a compressor spends time on it. Private to codec.
//
// Contract   Guesses only: a wrong one costs time or a few per cent of size, never correctness.
// Errors     None.
// Threads    Any.
#pragma once

#include "peel/types.h"

namespace peel::codec {

struct PageEstimate {
  std::uint8_t element_width = 1;  // 2, 4 or 8 where the bytes look like numbers of that width
  bool looks_random = true;        // no byte repeats its neighbours more often than by chance
  double matches = 0;              // the share of bytes that equal the one a lag before, at the best lag
};

// Reads about a KiB, in well under 100 ns.
PageEstimate estimate(Bytes plain);

// The share an entropy coder would save on byte planes of `width`, 0 to 1; reads a quarter of
// the elements, at most 1024.
double entropy_saving(Bytes plain, std::uint8_t width);

}  // namespace peel::codec
