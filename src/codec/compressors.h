// codec/compressors.h - lz4 and zstd with contexts that are kept, and scratch memory. Private to codec.
//
// Contract   ..._into() writes at most out.size() bytes and returns how many, or 0 where they do not fit.
//            ..._from() fills `plain` exactly or fails.
// Errors     ..._from(): corrupt; limit where there is no memory for a context. Safe on any input.
// Threads    Contexts and scratch are thread-local; all functions may run on any thread.
// Memory     Per thread: one context of each kind, and every scratch as large as its largest use.
#pragma once

#include "peel/error.h"
#include "peel/types.h"

namespace peel::codec {

std::size_t lz4_bound(std::size_t size);
std::size_t lz4_into(Bytes plain, MutableBytes out);
Status lz4_from(Bytes stored, MutableBytes plain);

std::size_t zstd_bound(std::size_t size);
std::size_t zstd_into(Bytes plain, int level, MutableBytes out);
// A zstd frame that only entropy-codes: no search for repetitions. Several times faster than level 1.
std::size_t entropy_into(Bytes plain, MutableBytes out);
// One frame whose header states the size; anything else was not written by us.
Status zstd_from(Bytes stored, MutableBytes plain);

// Uninitialised memory that keeps its contents until the next call with the same name on this thread.
enum class Scratch : std::uint8_t { planes, differences, candidate, best };
MutableBytes scratch(Scratch which, std::size_t size);

}  // namespace peel::codec
