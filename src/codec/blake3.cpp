#include "codec/blake3.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <new>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/pool.h"
#include "base/wire.h"
#include "codec/blake3_lanes.h"

extern "C" {
#include <blake3_impl.h>
}

namespace peel::codec {
namespace {

static_assert(sizeof(Digest) == 32);
constexpr std::size_t blocks_per_chunk = blake3_chunk_size / BLAKE3_BLOCK_LEN;
// Chaining values held on the stack at once: 8 KiB, and 16 times the widest SIMD.
constexpr std::size_t batch_chunks = 256;
// A thread's share in blake3_parallel; a power of two, so that it is a whole subtree.
constexpr std::size_t piece_size = 256u << 10;

const std::uint8_t* u8(const std::byte* p) { return reinterpret_cast<const std::uint8_t*>(p); }
std::uint8_t* u8(Digest* d) { return reinterpret_cast<std::uint8_t*>(d); }
const std::uint8_t* u8(const Digest* d) { return reinterpret_cast<const std::uint8_t*>(d); }

Digest to_digest(const std::array<std::uint32_t, 8>& words) {
  Digest d;
  for (std::size_t i = 0; i < 8; ++i) WireWriter::store(d.bytes.data() + 4 * i, words[i]);
  return d;
}

// out[i] = compression of the 64 bytes in[2i], in[2i+1] with `flags`.
void compress_pairs(const Blake3Mode& mode, const Digest* in, std::size_t pairs, std::uint8_t flags, Digest* out) {
  std::array<const std::uint8_t*, 16> inputs;
  for (std::size_t done = 0; done < pairs;) {
    const std::size_t n = std::min(pairs - done, inputs.size());
    for (std::size_t i = 0; i < n; ++i) inputs[i] = u8(in + 2 * (done + i));
    blake3_hash_many(inputs.data(), n, 1, mode.key.data(), 0, false, flags, 0, 0, u8(out + done));
    done += n;
  }
}

// Chaining values of `chunks` consecutive whole chunks numbered from `counter`.
void consecutive_chunks(const Blake3Mode& mode, const std::byte* data, std::size_t chunks, std::uint64_t counter,
                        std::uint8_t extra_end, Digest* out) {
  std::array<const std::uint8_t*, 16> inputs;
  for (std::size_t done = 0; done < chunks;) {
    const std::size_t n = std::min(chunks - done, inputs.size());
    for (std::size_t i = 0; i < n; ++i) inputs[i] = u8(data + (done + i) * blake3_chunk_size);
    blake3_hash_many(inputs.data(), n, blocks_per_chunk, mode.key.data(), counter + done, true, mode.flags,
                     CHUNK_START, static_cast<std::uint8_t>(CHUNK_END | extra_end), u8(out + done));
    done += n;
  }
}

// The c-th chunks of `pages` pages; out[page * chunks_per_page + c].
void chunks_across_pages(const Blake3Mode& mode, const std::byte* data, std::size_t pages, std::size_t chunks_per_page,
                         std::uint8_t extra_end, Digest* out) {
  std::array<const std::uint8_t*, 16> inputs;
  std::array<Digest, 16> lanes;
  for (std::size_t first = 0; first < pages; first += inputs.size()) {
    const std::size_t n = std::min(pages - first, inputs.size());
    for (std::size_t c = 0; c < chunks_per_page; ++c) {
      for (std::size_t i = 0; i < n; ++i) inputs[i] = u8(data + ((first + i) * chunks_per_page + c) * blake3_chunk_size);
      blake3_hash_many(inputs.data(), n, blocks_per_chunk, mode.key.data(), c, false, mode.flags, CHUNK_START,
                       static_cast<std::uint8_t>(CHUNK_END | extra_end), u8(lanes.data()));
      for (std::size_t i = 0; i < n; ++i) out[(first + i) * chunks_per_page + c] = lanes[i];
    }
  }
}

// Chaining value of one chunk that may be short, alone.
Digest lone_chunk(const Blake3Mode& mode, Bytes chunk, std::uint64_t counter) {
  std::array<std::uint32_t, 8> cv = mode.key;
  std::uint8_t flags = static_cast<std::uint8_t>(mode.flags | CHUNK_START);
  while (chunk.size() > BLAKE3_BLOCK_LEN) {
    blake3_compress_in_place(cv.data(), u8(chunk.data()), BLAKE3_BLOCK_LEN, counter, flags);
    chunk = chunk.subspan(BLAKE3_BLOCK_LEN);
    flags = mode.flags;
  }
  std::array<std::uint8_t, BLAKE3_BLOCK_LEN> last{};
  if (!chunk.empty()) std::memcpy(last.data(), chunk.data(), chunk.size());
  blake3_compress_in_place(cv.data(), last.data(), static_cast<std::uint8_t>(chunk.size()), counter,
                           static_cast<std::uint8_t>(flags | CHUNK_END));
  return to_digest(cv);
}

// Pairs up `n` neighbours level by level until `until` are left; an odd last one moves up as it is,
// which is BLAKE3's tree exactly.
std::size_t fold(const Blake3Mode& mode, Digest* cvs, std::size_t n, std::size_t until) {
  const auto flags = static_cast<std::uint8_t>(mode.flags | PARENT);
  while (n > until) {
    compress_pairs(mode, cvs, n / 2, flags, cvs);
    if (n % 2 != 0) cvs[n / 2] = cvs[n - 1];
    n = (n + 1) / 2;
  }
  return n;
}

// Chaining value (never the root) of a subtree of at most piece_size bytes that starts at chunk `counter`.
Digest piece_cv(const Blake3Mode& mode, Bytes piece, std::uint64_t counter) {
  std::array<Digest, piece_size / blake3_chunk_size> cvs;
  const std::size_t whole = piece.size() / blake3_chunk_size;
  consecutive_chunks(mode, piece.data(), whole, counter, 0, cvs.data());
  std::size_t n = whole;
  if (piece.size() % blake3_chunk_size != 0)
    cvs[n++] = lone_chunk(mode, piece.subspan(whole * blake3_chunk_size), counter + whole);
  fold(mode, cvs.data(), n, 1);
  return cvs[0];
}

blake3_hasher* as_hasher(std::array<std::byte, 1920>& state) {
  return std::launder(reinterpret_cast<blake3_hasher*>(state.data()));
}

Digest finish(const blake3_hasher& hasher) {
  Digest d;
  blake3_hasher_finalize(&hasher, u8(&d), sizeof d);
  return d;
}

}  // namespace

Blake3Mode plain_mode() { return {{IV[0], IV[1], IV[2], IV[3], IV[4], IV[5], IV[6], IV[7]}, 0}; }

Blake3Mode keyed_mode(const Key& key) {
  Blake3Mode mode{{}, KEYED_HASH};
  for (std::size_t i = 0; i < 8; ++i) mode.key[i] = WireReader::load<std::uint32_t>(key.data() + 4 * i);
  return mode;
}

Digest hash_one_block(const Blake3Mode& mode, const std::byte* block, std::size_t length) {
  std::array<std::uint32_t, 8> cv = mode.key;
  blake3_compress_in_place(cv.data(), u8(block), static_cast<std::uint8_t>(length), 0,
                           static_cast<std::uint8_t>(mode.flags | CHUNK_START | CHUNK_END | ROOT));
  return to_digest(cv);
}

void hash_pairs(const Blake3Mode& mode, std::span<const Digest> in, std::span<Digest> out) {
  assert(in.size() == 2 * out.size());
  compress_pairs(mode, in.data(), out.size(), static_cast<std::uint8_t>(mode.flags | CHUNK_START | CHUNK_END | ROOT),
                 out.data());
}

void hash_equal_inputs(const Blake3Mode& mode, const std::byte* data, std::size_t size, std::span<Digest> out) {
  const std::size_t chunks = size / blake3_chunk_size;
  assert(chunks * blake3_chunk_size == size && chunks >= 1 && chunks <= 64 && (chunks & (chunks - 1)) == 0);
  std::array<Digest, batch_chunks> cvs;
  const std::uint8_t extra = chunks == 1 ? ROOT : 0;
  while (!out.empty()) {
    const std::size_t pages = std::min(out.size(), batch_chunks / chunks);
    if (chunks >= 16 || pages < chunks) {
      for (std::size_t p = 0; p < pages; ++p)
        consecutive_chunks(mode, data + p * size, chunks, 0, extra, cvs.data() + p * chunks);
    } else {
      chunks_across_pages(mode, data, pages, chunks, extra, cvs.data());
    }
    // A page is a power of two of chunks, so pairing up never crosses a page.
    const std::size_t top = chunks == 1 ? pages : fold(mode, cvs.data(), pages * chunks, 2 * pages) / 2;
    assert(top == pages);
    if (chunks == 1) std::copy_n(cvs.begin(), top, out.begin());
    else compress_pairs(mode, cvs.data(), top, static_cast<std::uint8_t>(mode.flags | PARENT | ROOT), out.data());
    data += pages * size;
    out = out.subspan(pages);
  }
}

Digest blake3(Bytes data) {
  blake3_hasher hasher;
  blake3_hasher_init(&hasher);
  blake3_hasher_update(&hasher, data.data(), data.size());
  return finish(hasher);
}

Digest blake3_keyed(const Key& key, Bytes data) {
  blake3_hasher hasher;
  blake3_hasher_init_keyed(&hasher, reinterpret_cast<const std::uint8_t*>(key.data()));
  blake3_hasher_update(&hasher, data.data(), data.size());
  return finish(hasher);
}

Key blake3_derive_key(const char* context, Bytes material) {
  blake3_hasher hasher;
  blake3_hasher_init_derive_key(&hasher, context);
  blake3_hasher_update(&hasher, material.data(), material.size());
  return finish(hasher).bytes;
}

void blake3_pages(Bytes pages, std::size_t page_size, std::span<Digest> out) {
  assert(pages.size() == page_size * out.size());
  hash_equal_inputs(plain_mode(), pages.data(), page_size, out);
}

Digest blake3_parallel(Bytes data, Pool& pool) {
  if (data.size() <= piece_size) return blake3(data);
  const Blake3Mode mode = plain_mode();
  std::vector<Digest> cvs((data.size() + piece_size - 1) / piece_size);
  pool.for_each_index(cvs.size(), [&](std::size_t i) {
    const std::size_t at = i * piece_size;
    cvs[i] = piece_cv(mode, data.subspan(at, std::min(piece_size, data.size() - at)), at / blake3_chunk_size);
  });
  fold(mode, cvs.data(), cvs.size(), 2);
  Digest root;
  compress_pairs(mode, cvs.data(), 1, static_cast<std::uint8_t>(mode.flags | PARENT | ROOT), &root);
  return root;
}

Hasher::Hasher() {
  static_assert(sizeof(blake3_hasher) <= sizeof state_ && alignof(blake3_hasher) <= 8);
  blake3_hasher_init(new (state_.data()) blake3_hasher);
}

Hasher::Hasher(const Key& key) {
  blake3_hasher_init_keyed(new (state_.data()) blake3_hasher, reinterpret_cast<const std::uint8_t*>(key.data()));
}

void Hasher::update(Bytes data) { blake3_hasher_update(as_hasher(state_), data.data(), data.size()); }

Digest Hasher::finish() const {
  return codec::finish(*std::launder(reinterpret_cast<const blake3_hasher*>(state_.data())));
}

const char* blake3_path() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return "avx512";
  if (__builtin_cpu_supports("avx2")) return "avx2";
  return __builtin_cpu_supports("sse4.1") ? "sse41" : "sse2";
#else
  return BLAKE3_USE_NEON == 1 ? "neon" : "portable";
#endif
}

}  // namespace peel::codec
