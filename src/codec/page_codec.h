// codec/page_codec.h - how the bytes of one chunk are stored.
//
// Contract   encode() appends the stored form to `out` and says which codec it chose; the stored form
//            is never larger than the plain one. decode() writes exactly plain.size() bytes or fails.
//            Verification against a digest is the caller's. What is stored does not depend on the CPU level.
// Errors     decode: corrupt (stored bytes make no sense), unsupported (codec unknown). Safe on any
//            input: sizes are checked before anything is allocated or copied.
// Threads    Encoder and decoder contexts are thread-local; all functions may run on any thread.
// Memory     Scratch of a few times the largest chunk seen, per thread: at most 4 * chunk_size_max.
// Source     docs/FORMAT.md, Codecs
#pragma once

#include <optional>

#include "peel/error.h"
#include "peel/types.h"

namespace peel::codec {

inline constexpr std::size_t chunk_size_max = 16u << 20;

// Stored in every chunk record: numbers never change meaning.
enum class Codec : std::uint8_t {
  raw = 0,
  constant = 1,      // one repeated element of `width` bytes
  lz4 = 2,
  zstd = 3,
  shuffle_zstd = 4,  // byte planes of `width`-byte elements, then zstd
  shuffle_lz4 = 5,   // byte planes, then lz4
  dbp = 6,           // differences of elements, bit-packed; widths 1, 2, 4, 8
  delta_zstd = 7,    // differences, byte planes, zstd; widths 1, 2, 4, 8
  planes = 8,        // byte planes, each raw, constant, entropy-coded or lz4
};

// How long it may take: faster than a disk; as zstd 3, where that pays; what helps to store it small.
enum class Effort : std::uint8_t { fast, balanced, thorough };

struct EncodeHint {
  std::uint8_t element_width = 0;  // 1, 2, 4 or 8 where the caller knows; 0: guess
  Effort effort = Effort::fast;
  std::optional<Codec> codec;      // wanted by the caller: taken where it can express the bytes and saves anything
};

struct Encoded {
  Codec codec = Codec::raw;
  std::uint8_t width = 1;  // element width the codec used; 1 where it has none
  std::size_t size = 0;    // bytes appended to `out`
};

// Chooses per chunk (page_choice.cpp): constant, then the cheapest that saves at least 1/16, else raw.
Encoded encode(Bytes plain, EncodeHint hint, Buffer& out);
// Exactly the named codec (for tests, --codec and repair); io/corrupt never; unsupported if it cannot
// express `plain` (constant with two values, dbp of width 3). Gives the bytes that encode() gives where
// it chooses that codec with that effort. May be larger than plain: by 1 %, or by 5 bytes a plane.
Result<Encoded> encode_as(Codec codec, std::uint8_t width, Effort effort, Bytes plain, Buffer& out);

Status decode(Codec codec, std::uint8_t width, Bytes stored, MutableBytes plain);

// "raw", "const", "lz4", "zstd", "shuf+zstd", "shuf+lz4", "dbp", "delta+shuf+zstd", "planes"; "?" if unknown
const char* codec_name(Codec codec);
Result<Codec> codec_from_name(std::string_view name);

// Byte planes: out[p * n + i] = in[i * width + p]; a tail of size % width bytes follows unchanged.
void shuffle(Bytes in, std::uint8_t width, MutableBytes out);
void unshuffle(Bytes in, std::uint8_t width, MutableBytes out);

}  // namespace peel::codec
