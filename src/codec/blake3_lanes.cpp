#include "codec/blake3_lanes.h"

#include <algorithm>
#include <bit>
#include <cassert>
#if defined(__x86_64__)
#include <immintrin.h>  // before blake3_impl.h would, inside extern "C"
#endif

#include "base/wire.h"

// A test builds this file a second time without them.
#if defined(__x86_64__) && !defined(PEEL_OFFICIAL_LANES_ONLY)
#define PEEL_LANES
#endif

extern "C" {
#include <blake3_impl.h>

#if defined(PEEL_LANES)
using BlockKernel = void(std::uint32_t* state, const std::uint32_t* message, std::uint32_t* next,
                         const std::uint8_t* const* rows, std::size_t offset, std::size_t ahead);
BlockKernel peel_blake3_block_8, peel_blake3_block_16, peel_blake3_block_32;
#endif
}

namespace peel::codec {
namespace {

static_assert(sizeof(Digest) == 32);
constexpr std::size_t blocks_per_chunk = blake3_chunk_size / BLAKE3_BLOCK_LEN;
constexpr std::size_t batch_chunks = 256;  // chaining values held at once: 8 KiB

const std::uint8_t* u8(const std::byte* p) { return reinterpret_cast<const std::uint8_t*>(p); }
std::uint8_t* u8(Digest* d) { return reinterpret_cast<std::uint8_t*>(d); }
const std::uint8_t* u8(const Digest* d) { return reinterpret_cast<const std::uint8_t*>(d); }

Digest to_digest(const std::array<std::uint32_t, 8>& words) {
  Digest d;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(d.bytes.data(), words.data(), sizeof d);
  } else {
    for (std::size_t i = 0; i < 8; ++i) WireWriter::store(d.bytes.data() + 4 * i, words[i]);
  }
  return d;
}

constexpr std::uint64_t one_input = ~std::uint64_t{0};

// Chunks laid end to end; from the split on, in a second place. Chunk i has the number
// `first + (i & wrap)`: wrap is one_input inside one input, and chunks per page - 1 where every page
// starts again.
struct ChunkRun {
  const std::byte* data;
  std::size_t count;
  std::uint64_t first, wrap;
  std::uint8_t end_flags;
  const std::byte* tail = nullptr;
  std::size_t split = ~std::size_t{0};

  const std::uint8_t* row(std::size_t i) const {
    return i < split ? u8(data + i * blake3_chunk_size) : u8(tail + (i - split) * blake3_chunk_size);
  }
  std::uint64_t number(std::size_t i) const { return first + (i & wrap); }
  ChunkRun up_to(std::size_t n) const {
    ChunkRun run = *this;
    run.count = n;
    return run;
  }
  // The chunks from i on; i is a multiple of a page's.
  ChunkRun from(std::size_t i) const {
    ChunkRun run = *this;
    run.count -= i;
    if (wrap == one_input) run.first += i;
    if (i < split) {
      run.data += i * blake3_chunk_size;
      if (tail != nullptr) run.split -= i;
    } else {
      run.tail += (i - split) * blake3_chunk_size;
      run.split = 0;
    }
    return run;
  }
};

// out[i] = compression of the 64 bytes in[2i], in[2i+1].
void compress_pairs(const Blake3Mode& mode, const Digest* in, std::size_t pairs, std::uint8_t flags, Digest* out) {
  std::array<const std::uint8_t*, 16> inputs;
  for (std::size_t done = 0; done < pairs;) {
    const std::size_t n = std::min(pairs - done, inputs.size());
    for (std::size_t i = 0; i < n; ++i) inputs[i] = u8(in + 2 * (done + i));
    blake3_hash_many(inputs.data(), n, 1, mode.key.data(), 0, false, flags, 0, 0, u8(out + done));
    done += n;
  }
}

Digest compress_pair(const Blake3Mode& mode, const Digest& left, const Digest& right, std::uint8_t flags) {
  std::array<Digest, 2> pair{left, right};
  std::array<std::uint32_t, 8> value = mode.key;
  blake3_compress_in_place(value.data(), u8(pair.data()), BLAKE3_BLOCK_LEN, 0,
                           static_cast<std::uint8_t>(mode.flags | flags));
  return to_digest(value);
}

// The official kernel on at most 16 rows: one counter, or counters that rise by one.
void official_many(const Blake3Mode& mode, const std::uint8_t* const* rows, std::size_t n, std::uint64_t counter,
                   bool rising, std::uint8_t end_flags, Digest* out) {
  blake3_hash_many(rows, n, blocks_per_chunk, mode.key.data(), counter, rising, mode.flags, CHUNK_START, end_flags,
                   u8(out));
}

// Neighbouring chunks side by side; a call ends where the numbers start again.
void official_in_order(const Blake3Mode& mode, const ChunkRun& run, Digest* out) {
  std::array<const std::uint8_t*, 16> rows;
  for (std::size_t done = 0; done < run.count;) {
    std::size_t n = std::min(run.count - done, rows.size());
    if (run.wrap < rows.size() && run.wrap != 0) n = std::min<std::size_t>(n, run.wrap + 1 - (done & run.wrap));
    for (std::size_t i = 0; i < n; ++i) rows[i] = run.row(done + i);
    official_many(mode, rows.data(), n, run.number(done), run.wrap != 0, run.end_flags, out + done);
    done += n;
  }
}

// The same chunk of many pages side by side: fills wide registers where pages are small.
void official_across_pages(const Blake3Mode& mode, const ChunkRun& run, Digest* out) {
  const std::size_t per_page = run.wrap + 1, pages = run.count / per_page;
  std::array<const std::uint8_t*, 16> rows;
  DigestScratch<16> values;
  for (std::size_t page = 0; page < pages; page += rows.size()) {
    const std::size_t n = std::min(pages - page, rows.size());
    for (std::size_t c = 0; c < per_page; ++c) {
      for (std::size_t i = 0; i < n; ++i) rows[i] = run.row((page + i) * per_page + c);
      official_many(mode, rows.data(), n, run.first + c, false, run.end_flags, values.data());
      for (std::size_t i = 0; i < n; ++i) out[(page + i) * per_page + c] = values[i];
    }
  }
}

void official_chunks(const Blake3Mode& mode, const ChunkRun& run, Digest* out) {
  const bool small_pages = run.wrap != 0 && run.wrap < blake3_simd_degree() - 1;
  if (small_pages && run.count / (run.wrap + 1) >= blake3_simd_degree() / 2) official_across_pages(mode, run, out);
  else official_in_order(mode, run, out);
}

#if defined(PEEL_LANES)

constexpr std::size_t lanes_max = 32;
struct Kernel {
  std::size_t lanes;
  BlockKernel* block;
};
constexpr Kernel kernel_8{8, peel_blake3_block_8}, kernel_16{16, peel_blake3_block_16};
constexpr Kernel kernel_32{32, peel_blake3_block_32};

// Transposes four rows of four words; strides in bytes.
void transpose_4x4(const std::uint8_t* const* in, std::size_t offset, std::uint8_t* out, std::size_t stride) {
  const auto load = [&](int i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(in[i] + offset)); };
  const auto store = [&](int i, __m128i v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + static_cast<std::size_t>(i) * stride), v);
  };
  const __m128i a = load(0), b = load(1), c = load(2), d = load(3);
  const __m128i ab = _mm_unpacklo_epi32(a, b), AB = _mm_unpackhi_epi32(a, b);
  const __m128i cd = _mm_unpacklo_epi32(c, d), CD = _mm_unpackhi_epi32(c, d);
  store(0, _mm_unpacklo_epi64(ab, cd));
  store(1, _mm_unpackhi_epi64(ab, cd));
  store(2, _mm_unpacklo_epi64(AB, CD));
  store(3, _mm_unpackhi_epi64(AB, CD));
}

// Buffers of the kernels, word by word: [word][lane].
struct alignas(64) LaneBuffers {
  std::array<std::uint32_t, 10 * lanes_max + 1> state;
  std::array<std::array<std::uint32_t, 16 * lanes_max>, 2> messages;
  std::array<const std::uint8_t*, lanes_max> rows;

  // Lanes beyond the run's end repeat its last chunk; nobody looks at their values.
  void point_at(const ChunkRun& run, std::size_t first, std::size_t lanes) {
    for (std::size_t i = 0; i < lanes; ++i) rows[i] = run.row(std::min(first + i, run.count - 1));
  }
  void load_first_block(std::size_t lanes) {
    for (std::size_t lane = 0; lane < lanes; lane += 4)
      for (std::size_t word = 0; word < 16; word += 4)
        transpose_4x4(rows.data() + lane, 4 * word, reinterpret_cast<std::uint8_t*>(&messages[0][word * lanes + lane]),
                      4 * lanes);
  }
  void start(const Blake3Mode& mode, const ChunkRun& run, std::size_t first, std::size_t lanes) {
    for (std::size_t word = 0; word < 8; ++word) std::fill_n(&state[word * lanes], lanes, mode.key[word]);
    for (std::size_t i = 0; i < lanes; ++i) {
      const std::uint64_t number = run.number(first + i);
      state[8 * lanes + i] = static_cast<std::uint32_t>(number);
      state[9 * lanes + i] = static_cast<std::uint32_t>(number >> 32);
    }
  }
  void store_values(std::size_t lanes, std::size_t n, Digest* out) const {
    DigestScratch<4> last;  // where fewer than four lanes count
    for (std::size_t lane = 0; lane < n; lane += 4) {
      Digest* to = n - lane >= 4 ? out + lane : last.data();
      for (std::size_t word = 0; word < 8; word += 4) {
        std::array<const std::uint8_t*, 4> words;
        for (std::size_t i = 0; i < 4; ++i)
          words[i] = reinterpret_cast<const std::uint8_t*>(&state[(word + i) * lanes + lane]);
        transpose_4x4(words.data(), 0, u8(to) + 4 * word, sizeof(Digest));
      }
      if (to == last.data()) std::copy_n(last.data(), n - lane, out + lane);
    }
  }
};

// What to prefetch while the block at `offset` of each row is loaded: a little further in the row, or
// the front of the row that takes its lane next.
std::size_t ahead_of(std::size_t offset, std::size_t lanes) {
  constexpr std::size_t distance = 256;
  const std::size_t ahead = offset + distance;
  return ahead < blake3_chunk_size ? ahead : ahead - blake3_chunk_size + lanes * blake3_chunk_size;
}

void chunks_in_lanes(const Kernel& kernel, const Blake3Mode& mode, const ChunkRun& run, Digest* out) {
  LaneBuffers b;
  b.point_at(run, 0, kernel.lanes);
  b.load_first_block(kernel.lanes);
  for (std::size_t first = 0; first < run.count; first += kernel.lanes) {
    b.start(mode, run, first, kernel.lanes);
    std::uint32_t flags = mode.flags | CHUNK_START;
    for (std::size_t block = 0; block < blocks_per_chunk; ++block) {
      std::size_t next = (block + 1) * BLAKE3_BLOCK_LEN;
      if (block + 1 == blocks_per_chunk) {  // while the last blocks are compressed, the next rows' first are loaded
        flags |= run.end_flags;
        next = 0;
        b.point_at(run, first + kernel.lanes, kernel.lanes);
      }
      b.state[10 * kernel.lanes] = flags;
      kernel.block(b.state.data(), b.messages[block % 2].data(), b.messages[(block + 1) % 2].data(), b.rows.data(),
                   next, ahead_of(next, kernel.lanes));
      flags = mode.flags;
    }
    b.store_values(kernel.lanes, std::min(kernel.lanes, run.count - first), out + first);
  }
}

bool has_lanes() {
  static const bool yes = blake3_simd_degree() == 16;  // AVX-512F and VL
  return yes;
}

void chunks(const Blake3Mode& mode, const ChunkRun& run, Digest* out) {
  if (!has_lanes()) return official_chunks(mode, run, out);
  std::size_t wide = run.count / 32 * 32;
  if (run.count - wide > 16) wide = run.count;
  if (wide > 0) chunks_in_lanes(kernel_32, mode, run.up_to(wide), out);
  if (wide == run.count) return;
  const ChunkRun rest = run.from(wide);
  // Four lanes are the official kernel's strength, if the numbers suit it.
  if (rest.count <= 4 && (rest.wrap == 0 || rest.count <= rest.wrap + 1)) official_in_order(mode, rest, out + wide);
  else chunks_in_lanes(rest.count <= 8 ? kernel_8 : kernel_16, mode, rest, out + wide);
}

#else

void chunks(const Blake3Mode& mode, const ChunkRun& run, Digest* out) { official_chunks(mode, run, out); }

#endif

constexpr std::uint8_t root_flags = CHUNK_START | CHUNK_END | ROOT;

}  // namespace

Blake3Mode plain_mode() { return {{IV[0], IV[1], IV[2], IV[3], IV[4], IV[5], IV[6], IV[7]}, 0}; }

Blake3Mode keyed_mode(const Key& key) {
  Blake3Mode mode{{}, KEYED_HASH};
  for (std::size_t i = 0; i < 8; ++i) mode.key[i] = WireReader::load<std::uint32_t>(key.data() + 4 * i);
  return mode;
}

Digest hash_one_block(const Blake3Mode& mode, const std::byte* block, std::size_t length) {
  std::array<std::uint32_t, 8> value = mode.key;
  blake3_compress_in_place(value.data(), u8(block), static_cast<std::uint8_t>(length), 0,
                           static_cast<std::uint8_t>(mode.flags | root_flags));
  return to_digest(value);
}

void hash_pairs(const Blake3Mode& mode, std::span<const Digest> in, std::span<Digest> out) {
  assert(in.size() == 2 * out.size());
  compress_pairs(mode, in.data(), out.size(), static_cast<std::uint8_t>(mode.flags | root_flags), out.data());
}

void hash_equal_inputs(const Blake3Mode& mode, const std::byte* data, std::size_t size, std::span<Digest> out,
                       const std::byte* last) {
  const std::size_t per_input = size / blake3_chunk_size;
  assert(per_input * blake3_chunk_size == size && per_input >= 1 && per_input <= 64);
  assert((per_input & (per_input - 1)) == 0);
  DigestScratch<batch_chunks> values;
  while (!out.empty()) {
    const std::size_t inputs = std::min(out.size(), batch_chunks / per_input);
    ChunkRun run{data, inputs * per_input, 0, per_input - 1, CHUNK_END};
    if (last != nullptr && inputs == out.size()) {
      run.tail = last;
      run.split = (inputs - 1) * per_input;
    }
    if (per_input == 1) {
      run.end_flags |= ROOT;
      chunks(mode, run, out.data());
    } else {
      chunks(mode, run, values.data());
      // An input is a power of two of chunks, so pairing up never crosses a border.
      fold_values(mode, values.first(inputs * per_input), 2 * inputs);
      compress_pairs(mode, values.data(), inputs, static_cast<std::uint8_t>(mode.flags | PARENT | ROOT), out.data());
    }
    data += inputs * size;
    out = out.subspan(inputs);
  }
}

void chunk_values(const Blake3Mode& mode, const std::byte* data, std::uint64_t counter, std::span<Digest> out) {
  if (!out.empty()) chunks(mode, {data, out.size(), counter, one_input, CHUNK_END}, out.data());
}

Digest chunk_value(const Blake3Mode& mode, Bytes chunk, std::uint64_t counter, bool root) {
  assert(chunk.size() <= blake3_chunk_size);
  std::array<std::uint32_t, 8> value = mode.key;
  std::uint8_t flags = static_cast<std::uint8_t>(mode.flags | CHUNK_START);
  while (chunk.size() > BLAKE3_BLOCK_LEN) {
    blake3_compress_in_place(value.data(), u8(chunk.data()), BLAKE3_BLOCK_LEN, counter, flags);
    chunk = chunk.subspan(BLAKE3_BLOCK_LEN);
    flags = mode.flags;
  }
  std::array<std::uint8_t, BLAKE3_BLOCK_LEN> last{};
  if (!chunk.empty()) std::memcpy(last.data(), chunk.data(), chunk.size());
  blake3_compress_in_place(value.data(), last.data(), static_cast<std::uint8_t>(chunk.size()), counter,
                           static_cast<std::uint8_t>(flags | CHUNK_END | (root ? ROOT : 0)));
  return to_digest(value);
}

std::size_t fold_values(const Blake3Mode& mode, std::span<Digest> values, std::size_t until) {
  assert(until > 0);
  std::size_t n = values.size();
  while (n > until) {
    compress_pairs(mode, values.data(), n / 2, static_cast<std::uint8_t>(mode.flags | PARENT), values.data());
    if (n % 2 != 0) values[n / 2] = values[n - 1];
    n = (n + 1) / 2;
  }
  return n;
}

Digest parent_value(const Blake3Mode& mode, const Digest& left, const Digest& right) {
  return compress_pair(mode, left, right, PARENT);
}

Digest root_value(const Blake3Mode& mode, const Digest& left, const Digest& right) {
  return compress_pair(mode, left, right, PARENT | ROOT);
}

}  // namespace peel::codec
