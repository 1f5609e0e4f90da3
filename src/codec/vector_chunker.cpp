#include "codec/vector_chunker.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "codec/cut_scan.h"

namespace peel::codec {
namespace {

constexpr unsigned key_distance = 0x80;  // between k and the hash of zeros: above every limit

Digest keyed_bytes(const Key& key, std::uint8_t number) {
  Buffer label(11);
  std::memcpy(label.data(), "peel 1 cut", 10);
  label[10] = static_cast<std::byte>(number);
  return blake3_keyed(key, label);
}

CutRule make_rule(const ChunkerSizes& sizes, const Key& key) {
  CutRule rule{};
  const Digest a = keyed_bytes(key, 0), b = keyed_bytes(key, 1), k = keyed_bytes(key, 2);
  std::memcpy(rule.a_low.data(), a.bytes.data(), 16);
  std::memcpy(rule.a_high.data(), a.bytes.data() + 16, 16);
  std::memcpy(rule.b_low.data(), b.bytes.data(), 16);
  std::memcpy(rule.b_high.data(), b.bytes.data() + 16, 16);
  for (std::size_t x = 0; x < 256; ++x) {
    rule.a[x] = rule.a_low[x & 15] ^ rule.a_high[x >> 4];
    rule.b[x] = rule.b_low[x & 15] ^ rule.b_high[x >> 4];
  }
  // The hash of a run of zeros: the definition with all bytes alike.
  const auto rotated = [](unsigned v) { return std::rotl(static_cast<std::uint8_t>(v), 1); };
  const unsigned pair = static_cast<unsigned>(rule.a[0]) + rule.b[0];
  const unsigned four = pair + rotated(pair), eight = four + rotated(four);
  rule.key = static_cast<std::uint8_t>((4 * eight) ^ (key_distance | std::to_integer<unsigned>(k.bytes[0])));
  rule.limit_strict = (1u << 24) / (4 * sizes.size_average);
  rule.limit_loose = (1u << 24) / sizes.size_average * 4;
  return rule;
}

CutScanner* scanner(const CutRule& rule, CpuLevel level) {
#if defined(__x86_64__)
  if (rule.limit_loose <= 1u << 16) {
    if (level == CpuLevel::avx2) return &scan_cuts_avx2;
    if (level == CpuLevel::avx512) return &scan_cuts_avx512;
  }
#elif defined(__aarch64__)
  if (rule.limit_loose <= 1u << 16 && level == CpuLevel::neon) return &scan_cuts_neon;
#endif
  (void)rule, (void)level;
  return &scan_cuts_plain;
}

}  // namespace

VectorChunker::VectorChunker(ChunkerSizes sizes, const Key& key, CpuLevel level)
    : sizes_(sizes), rule_(make_rule(sizes, key)), scan_(scanner(rule_, level)) {
  assert(std::has_single_bit(sizes.size_average) && sizes.size_average >= 64 && sizes.size_average <= 4u << 20);
  assert(sizes.size_min >= 128 && sizes.size_min <= sizes.size_average && sizes.size_average <= sizes.size_max);
}

std::size_t VectorChunker::next_cut(Bytes window, bool at_end) const {
  assert(at_end || window.size() >= sizes_.size_max);
  (void)at_end;
  const std::size_t end = std::min<std::size_t>(window.size(), sizes_.size_max);
  if (end <= sizes_.size_min) return end;
  const auto* p = reinterpret_cast<const std::uint8_t*>(window.data());
  const std::size_t cut = scan_(rule_, p, sizes_.size_min, std::min<std::size_t>(sizes_.size_average, end), end);
  return cut != 0 ? cut : end;
}

}  // namespace peel::codec
