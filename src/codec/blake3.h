// codec/blake3.h - plain BLAKE3 (official sources), one-shot, streaming, many inputs at once, many cores.
//
// Errors     None.
// Threads    Free functions and value types: any thread. Hasher: one owner.
// Source     https://github.com/BLAKE3-team/BLAKE3 C sources from Debian's librust-blake3-dev;
//            tests/codec holds the official test vectors.
#pragma once

#include <span>

#include "peel/types.h"

namespace peel {
class Pool;
}

namespace peel::codec {

using Key = std::array<std::byte, 32>;

Digest blake3(Bytes data);
Digest blake3_keyed(const Key& key, Bytes data);
// Key material from other key material; `context` is a constant of the program (BLAKE3 derive_key).
Key blake3_derive_key(const char* context, Bytes material);

// BLAKE3 of `pages` equal pages laid end to end; page_size is a power of two from 1 KiB to 64 KiB.
// Fills the SIMD lanes across pages, several times faster than one at a time.
void blake3_pages(Bytes pages, std::size_t page_size, std::span<Digest> out);

// The same digest as blake3(data), spread over the pool's threads.
Digest blake3_parallel(Bytes data, Pool& pool);

class Hasher {
 public:
  Hasher();
  explicit Hasher(const Key& key);
  void update(Bytes data);
  Digest finish() const;

 private:
  alignas(8) std::array<std::byte, 1920> state_;  // holds a blake3_hasher; checked by static_assert
};

// Names the path the CPU runs: "avx512", "avx2", "sse41", "sse2", "neon" or "portable".
const char* blake3_path();

}  // namespace peel::codec
