#include "codec/grid_digest.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "base/wire.h"
#include "codec/blake3_lanes.h"

namespace peel::codec {
namespace {

// Leaves digested and paired up at once: 8 KiB of stack, a MiB of data.
constexpr unsigned batch_height = 8;
constexpr std::size_t batch_leaves = std::size_t{1} << batch_height;
// What a stream may hold back: as many blocks as fill the widest SIMD registers.
constexpr std::size_t partial_size_max = 8 * grid_block_size;

struct Domains {
  Blake3Mode leaf, parent, content, chunk;
  std::array<Digest, grid_height_max + 1> zeros;  // zeros[h]: root over 2^h zero blocks

  Domains() : leaf(mode("peel 1 leaf")), parent(mode("peel 1 parent")), content(mode("peel 1 content")),
              chunk(mode("peel 1 chunk")) {
    const Buffer block(grid_block_size);
    hash_equal_inputs(leaf, block.data(), grid_block_size, std::span(zeros).first(1));
    for (unsigned h = 1; h <= grid_height_max; ++h) {
      const std::array<Digest, 2> pair{zeros[h - 1], zeros[h - 1]};
      hash_pairs(parent, pair, std::span(zeros).subspan(h, 1));
    }
  }
  static Blake3Mode mode(std::string_view name) { return keyed_mode(blake3(as_bytes(name)).bytes); }
};

const Domains& domains() {
  static const Domains instance;
  return instance;
}

// Pairs up `n` neighbours of height `from` until height `to`; missing right sides are zeros.
// `digests` has room for one more than n. Returns how many are left.
std::size_t lift(const Domains& d, Digest* digests, std::size_t n, unsigned from, unsigned to) {
  for (unsigned h = from; h < to; ++h) {
    if (n % 2 != 0) digests[n++] = d.zeros[h];
    n /= 2;
    hash_pairs(d.parent, {digests, 2 * n}, {digests, n});
  }
  return n;
}

// A u64 and a digest in one block.
Digest sized_digest(const Blake3Mode& mode, std::uint64_t size, const Digest& root) {
  std::array<std::byte, 64> block{};
  WireWriter::store(block.data(), size);
  std::memcpy(block.data() + 8, root.bytes.data(), sizeof root.bytes);
  return hash_one_block(mode, block.data(), 8 + sizeof root.bytes);
}

void leaves_of(const Domains& d, Bytes data, std::span<Digest> out) {
  const Bytes rest = data.subspan(data.size() / grid_block_size * grid_block_size);
  if (rest.empty()) return hash_equal_inputs(d.leaf, data.data(), grid_block_size, out);
  std::array<std::byte, grid_block_size> padded;
  std::memcpy(padded.data(), rest.data(), rest.size());
  std::memset(padded.data() + rest.size(), 0, padded.size() - rest.size());
  hash_equal_inputs(d.leaf, data.data(), grid_block_size, out, padded.data());
}

// The root at `height` over the trees waiting in a binary counter (stack[h] is valid where bit h - from of
// `count` is set); what is missing on the right is zeros. count <= 2^(height - from).
Digest close(const Domains& d, const Digest* stack, std::uint64_t count, unsigned from, unsigned height) {
  if (count == 0) return d.zeros[height];
  const unsigned lowest = from + static_cast<unsigned>(std::countr_zero(count));
  Digest root = stack[lowest];
  for (unsigned h = lowest; h < height; ++h) {
    const bool left_waits = h != lowest && (count >> (h - from) & 1) != 0;
    root = left_waits ? parent_digest(stack[h], root) : parent_digest(root, d.zeros[h]);
  }
  return root;
}

// Adds a tree of height h to a binary counter of trees that counts from height `from`.
void push(Digest* stack, std::uint64_t& count, unsigned from, unsigned h, Digest root) {
  const std::uint64_t step = std::uint64_t{1} << (h - from);
  assert((count & (step - 1)) == 0);
  for (; count >> (h - from) & 1; ++h) root = parent_digest(stack[h], root);
  stack[h] = root;
  count += step;
}

std::uint64_t blocks_of(std::uint64_t size) { return size / grid_block_size + (size % grid_block_size != 0); }

}  // namespace

const Digest& zero_subtree(unsigned height) {
  assert(height <= grid_height_max);
  return domains().zeros[height];
}

void leaf_digests(Bytes data, std::span<Digest> out) {
  assert(out.size() == blocks_of(data.size()));
  leaves_of(domains(), data, out);
}

void parent_digests(std::span<const Digest> in, std::span<Digest> out) { hash_pairs(domains().parent, in, out); }

Digest parent_digest(const Digest& left, const Digest& right) {
  std::array<std::byte, 64> block;
  std::memcpy(block.data(), left.bytes.data(), 32);
  std::memcpy(block.data() + 32, right.bytes.data(), 32);
  return hash_one_block(domains().parent, block.data(), block.size());
}

Digest subtree_digest(Bytes data, unsigned height) {
  assert(height <= grid_height_max && blocks_of(data.size()) <= std::uint64_t{1} << height);
  const Domains& d = domains();
  DigestScratch<batch_leaves + 1> digests;
  const auto batch_root = [&](Bytes piece, unsigned to) {
    const std::size_t n = blocks_of(piece.size());
    leaves_of(d, piece, {digests.data(), n});
    return n == 0 ? d.zeros[to] : (lift(d, digests.data(), n, 0, to), digests[0]);
  };
  if (height <= batch_height) return batch_root(data, height);
  DigestScratch<grid_height_max + 1> stack;
  std::uint64_t count = 0;
  while (!data.empty()) {
    const Bytes piece = data.first(std::min(data.size(), batch_leaves * grid_block_size));
    push(stack.data(), count, batch_height, batch_height, batch_root(piece, batch_height));
    data = data.subspan(piece.size());
  }
  return close(d, stack.data(), count, batch_height, height);
}

void page_digests(Bytes data, unsigned height, std::span<Digest> out) {
  assert(height <= grid_height_max);
  const Domains& d = domains();
  if (height <= batch_height) {
    const std::size_t page_size = grid_block_size << height;
    assert(out.size() == data.size() / page_size + (data.size() % page_size != 0));
    const std::size_t pages_max = batch_leaves >> height;
    DigestScratch<batch_leaves + 1> digests;
    while (!data.empty()) {
      const std::size_t pages = std::min(pages_max, data.size() / page_size);
      if (pages == 0) break;
      leaves_of(d, data.first(pages * page_size), {digests.data(), pages << height});
      lift(d, digests.data(), pages << height, 0, height);
      std::copy_n(digests.data(), pages, out.begin());
      data = data.subspan(pages * page_size);
      out = out.subspan(pages);
    }
    if (!data.empty()) out[0] = subtree_digest(data, height);
    return;
  }
  for (std::size_t i = 0; !data.empty(); ++i) {
    const std::uint64_t page_size = height >= 52 ? ~std::uint64_t{0} : std::uint64_t{grid_block_size} << height;
    const Bytes page = data.first(std::min<std::uint64_t>(data.size(), page_size));
    out[i] = subtree_digest(page, height);
    data = data.subspan(page.size());
  }
}

unsigned grid_height(std::uint64_t size) {
  const std::uint64_t blocks = blocks_of(size);
  return blocks <= 1 ? 0 : static_cast<unsigned>(std::bit_width(blocks - 1));
}

unsigned content_height(std::uint64_t size) { return std::max(content_height_min, grid_height(size)); }

Digest content_digest(std::uint64_t size, const Digest& root) { return sized_digest(domains().content, size, root); }

Digest chunk_digest(Bytes data) {
  return chunk_digest_of_root(data.size(), subtree_digest(data, grid_height(data.size())));
}

Digest chunk_digest_of_root(std::uint64_t length, const Digest& root) {
  return sized_digest(domains().chunk, length, root);
}

bool all_zero(Bytes data) {
  const std::byte* p = data.data();
  std::size_t n = data.size();
  for (; n >= 64; p += 64, n -= 64) {
    std::array<std::uint64_t, 8> w;
    std::memcpy(w.data(), p, sizeof w);
    if ((w[0] | w[1] | w[2] | w[3] | w[4] | w[5] | w[6] | w[7]) != 0) return false;
  }
  std::byte rest{};
  for (; n > 0; ++p, --n) rest |= *p;
  return rest == std::byte{0};
}

void ContentHasher::add_blocks(Bytes data) {
  const Domains& d = domains();
  DigestScratch<batch_leaves + 1> digests;
  while (!data.empty()) {
    // Up to the next border of a batch, then cut into the aligned subtrees it consists of.
    const std::size_t n = std::min<std::size_t>(blocks_of(data.size()), batch_leaves - blocks_ % batch_leaves);
    const Bytes batch = data.first(std::min(data.size(), n * grid_block_size));
    leaves_of(d, batch, digests.first(n));
    for (std::size_t done = 0; done < n;) {
      const unsigned aligned = blocks_ == 0 ? batch_height : static_cast<unsigned>(std::countr_zero(blocks_));
      const unsigned h = std::min(aligned, static_cast<unsigned>(std::bit_width(n - done)) - 1);
      lift(d, digests.data() + done, std::size_t{1} << h, 0, h);
      push(stack_.data(), blocks_, 0, h, digests[done]);
      done += std::size_t{1} << h;
    }
    data = data.subspan(batch.size());
  }
}

void ContentHasher::flush() {
  add_blocks(partial_);
  partial_.clear();
}

void ContentHasher::update(Bytes data) {
  size_ += data.size();
  if (!partial_.empty()) {
    const std::size_t n = std::min(data.size(), partial_size_max - partial_.size());
    partial_.insert(partial_.end(), data.begin(), data.begin() + static_cast<std::ptrdiff_t>(n));
    data = data.subspan(n);
    if (partial_.size() < partial_size_max) return;
    flush();
  }
  const Bytes direct = data.first(data.size() / partial_size_max * partial_size_max);
  add_blocks(direct);
  data = data.subspan(direct.size());
  if (data.empty()) return;
  partial_.reserve(partial_size_max);
  partial_.assign(data.begin(), data.end());
}

void ContentHasher::skip_zeros(std::uint64_t bytes) {
  size_ += bytes;
  const std::size_t into_block = partial_.size() % grid_block_size;
  if (into_block != 0) {
    const auto n = std::min<std::uint64_t>(bytes, grid_block_size - into_block);
    partial_.resize(partial_.size() + n);
    bytes -= n;
  }
  if (bytes == 0 && partial_.size() < partial_size_max) return;
  flush();
  for (std::uint64_t blocks = bytes / grid_block_size; blocks > 0;) {
    unsigned h = static_cast<unsigned>(std::bit_width(blocks)) - 1;
    if (blocks_ != 0) h = std::min(h, static_cast<unsigned>(std::countr_zero(blocks_)));
    push(stack_.data(), blocks_, 0, h, zero_subtree(h));
    blocks -= std::uint64_t{1} << h;
  }
  partial_.assign(bytes % grid_block_size, std::byte{0});
}

Digest ContentHasher::finish() {
  flush();
  return content_digest(size_, close(domains(), stack_.data(), blocks_, 0, content_height(size_)));
}

}  // namespace peel::codec
