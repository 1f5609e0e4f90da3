#include "codec/blake3.h"

#include <blake3.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <new>
#include <vector>

#include "base/pool.h"
#include "codec/blake3_lanes.h"

namespace peel::codec {
namespace {

// A power of two, so that every piece but the last is a whole subtree: for one thread's share, and
// for what is held on the stack.
constexpr std::size_t parallel_piece_size = 512u << 10;
constexpr std::size_t piece_size = 256u << 10;
static_assert(parallel_piece_size % piece_size == 0);
// Below this the official hasher is as fast.
constexpr std::size_t lanes_size_min = 4097;

const std::uint8_t* u8(const std::byte* p) { return reinterpret_cast<const std::uint8_t*>(p); }

Digest finish_official(const blake3_hasher& hasher) {
  Digest d;
  blake3_hasher_finalize(&hasher, reinterpret_cast<std::uint8_t*>(d.bytes.data()), d.bytes.size());
  return d;
}

// Folds a piece that starts at chunk `counter` until `until` values are left in `values`.
std::size_t fold_piece(const Blake3Mode& mode, Bytes piece, std::uint64_t counter, std::size_t until,
                       DigestScratch<piece_size / blake3_chunk_size>& values) {
  std::size_t n = piece.size() / blake3_chunk_size;
  chunk_values(mode, piece.data(), counter, values.first(n));
  if (const Bytes rest = piece.subspan(n * blake3_chunk_size); !rest.empty()) {
    values[n] = chunk_value(mode, rest, counter + n, false);
    ++n;
  }
  return fold_values(mode, values.first(n), until);
}

// A tree over pieces that grows to the right: trees of 2^k pieces wait for their right neighbour.
class PieceStack {
 public:
  explicit PieceStack(const Blake3Mode& mode) : mode_(mode) {}
  // Adds a whole piece that is not the last.
  void push(Digest value) {
    for (std::uint64_t n = count_++; n & 1; n >>= 1) value = parent_value(mode_, waiting_[--depth_], value);
    waiting_[depth_++] = value;
  }
  // The last piece as the two halves of its tree, or as one value.
  Digest close(Digest value, bool root) {
    while (depth_ > 1) value = parent_value(mode_, waiting_[--depth_], value);
    if (depth_ == 0) return value;
    depth_ = 0;
    return root ? root_value(mode_, waiting_[0], value) : parent_value(mode_, waiting_[0], value);
  }
  bool empty() const { return count_ == 0; }

 private:
  const Blake3Mode& mode_;
  DigestScratch<54> waiting_;
  std::size_t depth_ = 0;
  std::uint64_t count_ = 0;
};

// The digest (root) or the chaining value of `data`, more than one chunk, starting at chunk `counter`.
Digest hash_large(const Blake3Mode& mode, Bytes data, std::uint64_t counter, bool root) {
  DigestScratch<piece_size / blake3_chunk_size> values;
  PieceStack stack(mode);
  for (; data.size() > piece_size; data = data.subspan(piece_size), counter += piece_size / blake3_chunk_size) {
    fold_piece(mode, data.first(piece_size), counter, 1, values);
    stack.push(values[0]);
  }
  const bool only = stack.empty() && root;
  if (fold_piece(mode, data, counter, only ? 2 : 1, values) == 2) return root_value(mode, values[0], values[1]);
  return stack.close(values[0], root);
}

// Between one chunk and four, where lanes stay empty anyway.
Digest hash_official(const Key* key, Bytes data) {
  blake3_hasher hasher;
  if (key != nullptr) blake3_hasher_init_keyed(&hasher, u8(key->data()));
  else blake3_hasher_init(&hasher);
  blake3_hasher_update(&hasher, data.data(), data.size());
  return finish_official(hasher);
}

Digest hash(const Blake3Mode& mode, const Key* key, Bytes data) {
  if (data.size() <= blake3_chunk_size) return chunk_value(mode, data, 0, true);
  return data.size() < lanes_size_min ? hash_official(key, data) : hash_large(mode, data, 0, true);
}

}  // namespace

Digest blake3(Bytes data) { return hash(plain_mode(), nullptr, data); }

Digest blake3_keyed(const Key& key, Bytes data) { return hash(keyed_mode(key), &key, data); }

Key blake3_derive_key(const char* context, Bytes material) {
  blake3_hasher hasher;
  blake3_hasher_init_derive_key(&hasher, context);
  blake3_hasher_update(&hasher, material.data(), material.size());
  return finish_official(hasher).bytes;
}

void blake3_pages(Bytes pages, std::size_t page_size, std::span<Digest> out) {
  assert(pages.size() == page_size * out.size());
  if (!out.empty()) hash_equal_inputs(plain_mode(), pages.data(), page_size, out);
}

Digest blake3_parallel(Bytes data, Pool& pool) {
  if (data.size() <= parallel_piece_size) return blake3(data);
  const Blake3Mode mode = plain_mode();
  std::vector<Digest> values((data.size() - 1) / parallel_piece_size + 1);
  pool.for_each_index(values.size(), [&](std::size_t i) {
    const std::size_t at = i * parallel_piece_size;
    const Bytes piece = data.subspan(at, std::min(parallel_piece_size, data.size() - at));
    values[i] = piece.size() > blake3_chunk_size ? hash_large(mode, piece, at / blake3_chunk_size, false)
                                                 : chunk_value(mode, piece, at / blake3_chunk_size, false);
  });
  fold_values(mode, values, 2);
  return root_value(mode, values[0], values[1]);
}

Hasher::Hasher() {
  static_assert(sizeof(blake3_hasher) <= sizeof state_ && alignof(blake3_hasher) <= 8);
  blake3_hasher_init(new (state_.data()) blake3_hasher);
}

Hasher::Hasher(const Key& key) { blake3_hasher_init_keyed(new (state_.data()) blake3_hasher, u8(key.data())); }

void Hasher::update(Bytes data) {
  blake3_hasher_update(std::launder(reinterpret_cast<blake3_hasher*>(state_.data())), data.data(), data.size());
}

Digest Hasher::finish() const {
  return finish_official(*std::launder(reinterpret_cast<const blake3_hasher*>(state_.data())));
}

const char* blake3_path() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return "avx512";
  if (__builtin_cpu_supports("avx2")) return "avx2";
  return __builtin_cpu_supports("sse4.1") ? "sse41" : "sse2";
#elif defined(__aarch64__)
  return "neon";
#else
  return "portable";
#endif
}

}  // namespace peel::codec
