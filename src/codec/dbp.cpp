// What surrounds the blocks: choice of the order, the first block (nothing lies before it) and the last (which is
// seldom full), sizes checked before a kernel sees them.
#include "codec/dbp.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "base/wire.h"
#include "codec/dbp_block.h"

namespace peel::codec {
namespace {

constexpr std::size_t width_max = 8;
constexpr std::size_t header_size = 1;  // the order

const DbpKernel& kernel(std::uint8_t width, CpuLevel level) {
  const DbpKernels* kernels = &dbp_plain;
#if defined(__x86_64__)
  if (level == CpuLevel::avx2) kernels = &dbp_avx2;
  if (level == CpuLevel::avx512) kernels = &dbp_avx512;
#endif
  (void)level;
  switch (width) {
    case 1: return kernels->width1;
    case 2: return kernels->width2;
    case 4: return kernels->width4;
    default: return kernels->width8;
  }
}

DbpLayout layout_of(std::size_t count) { return count == dbp_block_size ? DbpLayout::down : DbpLayout::across; }

// The rows of a block of `count` elements that are stored. The others hold nothing.
std::size_t rows_stored(std::size_t width, unsigned bits, std::size_t count) {
  const std::size_t lanes = dbp_row_size / width, deep = (count + lanes - 1) / lanes;
  return (deep * bits + 8 * width - 1) / (8 * width);
}

// Copies of blocks that cannot be read where they lie: room for two elements before and 256 of 8 bytes.
struct Copied {
  alignas(32) std::byte bytes[(2 + dbp_block_size) * width_max];
};

template <class T>
void continue_evenly(std::byte* values, std::size_t from, unsigned order) {
  for (std::size_t i = from; i < dbp_block_size; ++i) {
    const auto at = [&](std::size_t back) { return WireReader::load<T>(values + i * sizeof(T) - back * sizeof(T)); };
    const T last = at(1), slope = static_cast<T>(last - at(2));
    WireWriter::store(values + i * sizeof(T), order == 0 ? T{0} : order == 1 ? last : static_cast<T>(last + slope));
  }
}

// Fills a block up so that the differences beyond its `count` elements are zeros.
void continue_evenly(std::uint8_t width, std::byte* values, std::size_t count, unsigned order) {
  switch (width) {
    case 1: return continue_evenly<std::uint8_t>(values, count, order);
    case 2: return continue_evenly<std::uint16_t>(values, count, order);
    case 4: return continue_evenly<std::uint32_t>(values, count, order);
    default: return continue_evenly<std::uint64_t>(values, count, order);
  }
}

// The elements of `plain` in blocks, as a kernel wants them.
class Blocks {
 public:
  struct View {
    const std::byte* values;
    const std::byte* first_row;
  };

  Blocks(std::uint8_t width, Bytes plain) : width_(width), plain_(plain), elements_(plain.size() / width) {}

  std::size_t count() const { return (elements_ + dbp_block_size - 1) / dbp_block_size; }
  std::size_t elements_in(std::size_t block) const { return std::min(dbp_block_size, elements_ - block * dbp_block_size); }
  Bytes tail() const { return plain_.subspan(elements_ * width_); }

  // Good until the next call.
  View view(std::size_t block, unsigned order) {
    const std::byte* values = plain_.data() + block * dbp_block_size * width_;
    const std::size_t have = elements_in(block), before = 2 * width_;
    if (have == dbp_block_size && block > 0) return {values, values};
    if (block > 0) std::memcpy(copied_.bytes, values - before, before);
    else std::memset(copied_.bytes, 0, before);  // zeros come before the first element
    std::byte* copy = copied_.bytes + before;
    if (have == dbp_block_size) {
      std::memcpy(copy, values, dbp_row_size);
      return {values, copy};
    }
    std::memcpy(copy, values, have * width_);
    continue_evenly(width_, copy, have, order);
    return {copy, copy};
  }

 private:
  std::uint8_t width_;
  Bytes plain_;
  std::size_t elements_;
  Copied copied_;
};

}  // namespace

std::size_t dbp_bound(std::uint8_t width, std::size_t plain_size) {
  const std::size_t blocks = plain_size / width / dbp_block_size + 1;
  return header_size + blocks * dbp_block_bound(width) + width + dbp_slack;
}

DbpGuess dbp_guess(std::uint8_t width, Bytes plain, std::size_t blocks_max, CpuLevel level) {
  assert(dbp_takes(width) && blocks_max > 0);
  Blocks blocks(width, plain);
  // Full blocks spread over the middle; the first and last ones are special. Small chunks have no others.
  const std::size_t count = plain.size() / width / dbp_block_size;
  DbpGuess guess;
  if (count == 0) return guess;
  const std::size_t looked_at = std::clamp<std::size_t>(count / 4, 1, blocks_max), stride = count / looked_at;
  const DbpKernel& k = kernel(width, level);
  std::array<std::size_t, 3> total{};
  for (std::size_t i = 0; i < looked_at; ++i) {
    const auto view = blocks.view(i * stride + stride / 2, 0);
    // Where differences save nothing, differences of differences will not either.
    for (const unsigned order : {1u, 0u, 2u})
      total[order] += order == 2 && total[1] >= (i + 1) * dbp_block_size * width ? total[1] : k.cost(order, view.values, view.first_row);
  }
  guess.order = static_cast<unsigned>(std::min_element(total.begin(), total.end()) - total.begin());
  guess.stored = static_cast<double>(total[guess.order]) / static_cast<double>(looked_at * dbp_block_size * width);
  return guess;
}

std::size_t dbp_encode(std::uint8_t width, unsigned order, Bytes plain, MutableBytes out, CpuLevel level) {
  assert(dbp_takes(width) && order <= dbp_order_max);
  const DbpKernel& k = kernel(width, level);
  Blocks blocks(width, plain);
  const std::size_t roomy = dbp_block_bound(width) + dbp_slack;
  std::byte spare[dbp_block_bound(width_max) + dbp_slack];
  if (out.size() < header_size) return 0;
  out[0] = static_cast<std::byte>(order);
  std::size_t at = header_size;
  unsigned likely = dbp_no_likely_bits;  // then what the block before took
  for (std::size_t b = 0; b < blocks.count(); ++b) {
    const auto view = blocks.view(b, order);
    std::byte* to = out.size() - at >= roomy ? out.data() + at : spare;
    std::size_t size = k.encode(order, layout_of(blocks.elements_in(b)), view.values, view.first_row, likely, to);
    const unsigned bits = likely = std::to_integer<unsigned>(to[0]);
    size -= (bits - rows_stored(width, bits, blocks.elements_in(b))) * dbp_row_size;
    if (to == spare) {
      if (size > out.size() - at) return 0;
      std::memcpy(out.data() + at, spare, size);
    }
    at += size;
  }
  const Bytes tail = blocks.tail();
  if (tail.size() > out.size() - at) return 0;
  if (!tail.empty()) std::memcpy(out.data() + at, tail.data(), tail.size());
  return at + tail.size();
}

Status dbp_decode(std::uint8_t width, Bytes stored, MutableBytes plain, CpuLevel level) {
  if (!dbp_takes(width)) return fail(ErrorKind::corrupt, "dbp: element width");
  if (stored.empty() || std::to_integer<unsigned>(stored[0]) > dbp_order_max) return fail(ErrorKind::corrupt, "dbp: order");
  const unsigned order = std::to_integer<unsigned>(stored[0]);
  const DbpKernel& k = kernel(width, level);
  Bytes rest = stored.subspan(header_size);
  std::byte before[2 * width_max]{};
  const std::size_t elements = plain.size() / width;
  for (std::size_t done = 0; done < elements; done += dbp_block_size) {
    const std::size_t count = std::min(dbp_block_size, elements - done);
    if (rest.size() < 2) return fail(ErrorKind::corrupt, "dbp: a block ends too early");
    DbpBlock block{};
    block.bits = std::to_integer<unsigned>(rest[0]);
    block.exceptions = std::to_integer<unsigned>(rest[1]);
    if (block.bits > 8u * width || (block.bits == 8u * width && block.exceptions > 0))
      return fail(ErrorKind::corrupt, "dbp: more bits than an element has");
    const std::size_t high_size = dbp_high_size(width, block.bits);
    const std::size_t front = 2 + block.exceptions * (1 + high_size), rows = rows_stored(width, block.bits, count);
    if (rest.size() < front + rows * dbp_row_size) return fail(ErrorKind::corrupt, "dbp: a block ends too early");
    block.positions = rest.data() + 2;
    block.high_parts = block.positions + block.exceptions;
    block.rows = rest.data() + front;

    std::byte* to = plain.data() + done * width;
    if (count == dbp_block_size) {
      k.decode(order, DbpLayout::down, block, before, to);
    } else {
      Copied whole, values;
      std::memset(whole.bytes, 0, block.bits * dbp_row_size);
      if (rows > 0) std::memcpy(whole.bytes, block.rows, rows * dbp_row_size);
      block.rows = whole.bytes;
      k.decode(order, DbpLayout::across, block, before, values.bytes);
      std::memcpy(to, values.bytes, count * width);
    }
    if (count == dbp_block_size) std::memcpy(before, to + (dbp_block_size - 2) * width, 2 * width);
    rest = rest.subspan(front + rows * dbp_row_size);
  }
  const MutableBytes tail = plain.subspan(elements * width);
  if (rest.size() != tail.size()) return fail(ErrorKind::corrupt, "dbp: the stored bytes do not expand to the length");
  if (!tail.empty()) std::memcpy(tail.data(), rest.data(), tail.size());
  return {};
}

}  // namespace peel::codec
