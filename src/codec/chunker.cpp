#include "codec/chunker.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "base/wire.h"

namespace peel::codec {
namespace {

// How far below and above average/1 the two masks sit, in bits: FastCDC's normalisation level 2.
constexpr int normalisation = 2;
constexpr std::size_t hash_window = 64;  // a byte leaves a 64-bit gear hash after 64 shifts

std::uint64_t top_bits(int n) { return ~std::uint64_t{0} << (64 - n); }

}  // namespace

Chunker::Chunker(ChunkerSizes sizes, const Key& key) : sizes_(sizes) {
  assert(std::has_single_bit(sizes.size_average) && sizes.size_average >= 16);
  assert(sizes.size_min >= 1 && sizes.size_min <= sizes.size_average && sizes.size_average <= sizes.size_max);
  // The top bits of the hash depend on all 64 bytes of the window, the low ones on fewer.
  const int bits = std::countr_zero(sizes.size_average);
  mask_strict_ = top_bits(bits + normalisation);
  mask_loose_ = top_bits(bits - normalisation);
  for (std::size_t i = 0; i < gear_.size(); i += 4) {
    Buffer label(12);
    std::memcpy(label.data(), "peel 1 gear", 11);
    label[11] = static_cast<std::byte>(i / 4);
    const Digest d = blake3_keyed(key, label);
    for (std::size_t j = 0; j < 4; ++j) gear_[i + j] = WireReader::load<std::uint64_t>(d.bytes.data() + 8 * j);
  }
}

std::size_t Chunker::next_cut(Bytes window, bool at_end) const {
  assert(at_end || window.size() >= sizes_.size_max);
  (void)at_end;
  const std::size_t end = std::min<std::size_t>(window.size(), sizes_.size_max);
  if (end <= sizes_.size_min) return end;
  const auto* p = reinterpret_cast<const std::uint8_t*>(window.data());
  const std::uint64_t* gear = gear_.data();
  std::size_t i = sizes_.size_min;
  // Warm up, so that the hash at every candidate is that of its last 64 bytes.
  std::uint64_t hash = 0;
  for (std::size_t j = i - std::min(i, hash_window); j < i; ++j) hash = (hash << 1) + gear[p[j]];
  const auto scan = [&](std::size_t until, std::uint64_t mask) {
    for (; i + 4 <= until; i += 4) {
      const std::uint64_t h1 = (hash << 1) + gear[p[i]];
      if ((h1 & mask) == 0) return i + 1;
      const std::uint64_t h2 = (h1 << 1) + gear[p[i + 1]];
      if ((h2 & mask) == 0) return i + 2;
      const std::uint64_t h3 = (h2 << 1) + gear[p[i + 2]];
      if ((h3 & mask) == 0) return i + 3;
      hash = (h3 << 1) + gear[p[i + 3]];
      if ((hash & mask) == 0) return i + 4;
    }
    for (; i < until; ++i) {
      hash = (hash << 1) + gear[p[i]];
      if ((hash & mask) == 0) return i + 1;
    }
    return std::size_t{0};
  };
  if (const std::size_t cut = scan(std::min<std::size_t>(sizes_.size_average, end), mask_strict_)) return cut;
  if (const std::size_t cut = scan(end, mask_loose_)) return cut;
  return end;
}

}  // namespace peel::codec
