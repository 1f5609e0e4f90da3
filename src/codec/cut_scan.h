// codec/cut_scan.h - the scanners of vector_chunker, all with equal answers. Private to codec.
//
// Contract   A scanner reads p[from - 96, end). The vector ones take rules whose limits are at most 2^16.
// Errors     None.
// Threads    Any.
#pragma once

#include "codec/vector_chunker.h"

namespace peel::codec {

CutScanner scan_cuts_plain;
#if defined(__x86_64__)
CutScanner scan_cuts_avx2, scan_cuts_avx512;
#elif defined(__aarch64__)
CutScanner scan_cuts_neon;
#endif

// Whether the rule cuts after p[i]: hashes three windows anew. For the rare candidates of the vector scanners.
bool cuts_after(const CutRule& rule, std::uint32_t limit, const std::uint8_t* p, std::size_t i);

}  // namespace peel::codec
