// codec/blake3_lanes.h - many BLAKE3 chunks or parents per call. Private to codec.
//
// Purpose    BLAKE3 is a tree of 1 KiB chunks. One chunk alone leaves most of a SIMD register idle;
//            here a caller with many equal inputs fills it.
// Errors     None.
// Threads    Any.
// Memory     Stack only, below 16 KiB.
// Source     blake3_avx512.S where the CPU has it, else the official blake3_hash_many.
#pragma once

#include <array>
#include <span>

#include "codec/blake3.h"
#include "peel/types.h"

namespace peel::codec {

inline constexpr std::size_t blake3_chunk_size = 1024;

// Room for digests that costs nothing to make: a Digest would be cleared first.
template <std::size_t N>
class DigestScratch {
 public:
  DigestScratch() {}  // not defaulted: raw_ stays as it is
  Digest* data() { return reinterpret_cast<Digest*>(raw_); }
  Digest& operator[](std::size_t i) { return data()[i]; }
  std::span<Digest> first(std::size_t n) { return {data(), n}; }

 private:
  alignas(64) std::byte raw_[N * sizeof(Digest)];
};

// Plain or keyed: what every compression of one hash shares.
struct Blake3Mode {
  std::array<std::uint32_t, 8> key;
  std::uint8_t flags;
};
Blake3Mode plain_mode();
Blake3Mode keyed_mode(const Key& key);

// The hash of an input of at most 64 bytes; `block` holds it, padded with zeros. One compression.
Digest hash_one_block(const Blake3Mode& mode, const std::byte* block, std::size_t length);

// out[i] = the hash of inputs[2i] || inputs[2i+1]. out may alias the front of in.
void hash_pairs(const Blake3Mode& mode, std::span<const Digest> in, std::span<Digest> out);

// out[i] = the hash of the i-th of out.size() inputs of `size` bytes laid end to end; size is a power
// of two from 1 KiB to 64 KiB. With `last`, the last input lies there instead.
void hash_equal_inputs(const Blake3Mode& mode, const std::byte* data, std::size_t size, std::span<Digest> out,
                       const std::byte* last = nullptr);

// The inner nodes of BLAKE3's tree, for those who hash one large input.

// out[i] = chaining value of the i-th of out.size() whole chunks, numbered from `counter`.
void chunk_values(const Blake3Mode& mode, const std::byte* data, std::uint64_t counter, std::span<Digest> out);
// Chaining value of one chunk of 0 to 1024 bytes, or the hash of an input that is no longer.
Digest chunk_value(const Blake3Mode& mode, Bytes chunk, std::uint64_t counter, bool root);
// Pairs up neighbours level by level, in place, until `until` are left; an odd last one moves up as
// it is, which is BLAKE3's tree exactly. Returns how many are left.
std::size_t fold_values(const Blake3Mode& mode, std::span<Digest> values, std::size_t until);
Digest parent_value(const Blake3Mode& mode, const Digest& left, const Digest& right);
Digest root_value(const Blake3Mode& mode, const Digest& left, const Digest& right);

}  // namespace peel::codec
