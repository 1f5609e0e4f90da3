// proto/limits.h - every bound of the protocol, in one place. Those marked (wire) are part of version 1:
// both ends may rely on them; the others are this implementation's own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace peel::proto {

inline constexpr std::uint16_t version_min = 1, version_max = 1;

inline constexpr std::size_t frame_size_max = 1u << 20;                     // (wire) type and body, all but CHUNK
inline constexpr std::size_t chunk_length_max = 16u << 20;                  // (wire) plain bytes of a chunk
inline constexpr std::size_t chunk_stored_max = (16u << 20) + 65536;        // (wire) stored bytes of a chunk
inline constexpr std::size_t chunk_frame_size_max = chunk_stored_max + 64;  // (wire)

inline constexpr std::size_t capabilities_max = 64, capability_size_max = 255;  // (wire)
inline constexpr std::size_t statements_max = 64, statement_size_max = 1024;    // (wire)
inline constexpr std::size_t onion_name_size_max = 8192;                        // (wire)
inline constexpr std::size_t ref_name_size_max = 1024;                          // (wire)
inline constexpr std::size_t abort_text_size_max = 4096;                        // (wire)
inline constexpr std::size_t grants_max = 64;                                   // (wire)
inline constexpr std::size_t parents_max = 64;                                  // (wire)

inline constexpr std::size_t refs_max = 65536, refs_bytes_max = 16u << 20;  // (wire) of one onion, one push
inline constexpr std::size_t haves_max = 16384, shallow_max = 16384;        // (wire)

// Flow control. Layers: at most this many bytes of LAYER and PIECES frames are on the way unreturned.
inline constexpr std::uint64_t layer_window = 4u << 20;  // (wire)
// Chunks: none travels unasked, and at most this many names are asked for and unanswered.
inline constexpr std::size_t wants_outstanding_max = 65536;  // (wire)
inline constexpr std::size_t wants_per_frame_max = 16384;    // (wire)

inline constexpr std::uint64_t pieces_per_layer_max = 1ull << 26;  // (wire) more is `limit`
inline constexpr std::uint64_t file_size_max = (1ull << 63) - 1;   // (wire)

inline constexpr std::size_t split_size = 256u << 10;     // frames of many entries are cut about here
inline constexpr std::size_t output_room = 256u << 10;    // nothing is produced while more than this waits
inline constexpr std::uint64_t credit_step = 512u << 10;  // returned in steps of this, or when idle
inline constexpr std::size_t check_batch_max = 4096;      // names in one CheckChunks event

}  // namespace peel::proto
