// tests/codec/avx512_emulation.h - the few AVX-512 instructions that cut_scan_avx512.cpp uses, byte by byte, so that
// every machine can check it.
//
// Source     Intel Intrinsics Guide, "Operation" of each
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

struct Emulated512 {
  std::array<std::uint8_t, 64> byte;
};
struct Emulated128 {
  std::array<std::uint8_t, 16> byte;
};
using __m512i = Emulated512;
using __m128i = Emulated128;
using __mmask64 = std::uint64_t;

template <class F>
__m512i emulate_bytes(F f) {
  __m512i r{};
  for (std::size_t i = 0; i < 64; ++i) r.byte[i] = static_cast<std::uint8_t>(f(i));
  return r;
}
template <class F>
__mmask64 emulate_mask(F f) {
  __mmask64 m = 0;
  for (std::size_t i = 0; i < 64; ++i) m |= std::uint64_t{f(i)} << i;
  return m;
}

inline __m512i _mm512_loadu_si512(const void* p) {
  __m512i r{};
  std::memcpy(r.byte.data(), p, 64);
  return r;
}
inline __m128i _mm_loadu_si128(const __m128i* p) {
  __m128i r{};
  std::memcpy(r.byte.data(), p, 16);
  return r;
}
inline __m512i _mm512_set1_epi8(signed char v) { return emulate_bytes([&](std::size_t) { return v; }); }
inline __m512i _mm512_broadcast_i32x4(__m128i a) { return emulate_bytes([&](std::size_t i) { return a.byte[i % 16]; }); }
inline __m512i _mm512_and_si512(__m512i a, __m512i b) { return emulate_bytes([&](std::size_t i) { return a.byte[i] & b.byte[i]; }); }
inline __m512i _mm512_or_si512(__m512i a, __m512i b) { return emulate_bytes([&](std::size_t i) { return a.byte[i] | b.byte[i]; }); }
inline __m512i _mm512_xor_si512(__m512i a, __m512i b) { return emulate_bytes([&](std::size_t i) { return a.byte[i] ^ b.byte[i]; }); }
inline __m512i _mm512_add_epi8(__m512i a, __m512i b) { return emulate_bytes([&](std::size_t i) { return a.byte[i] + b.byte[i]; }); }
inline __m512i _mm512_mask_sub_epi8(__m512i src, __mmask64 k, __m512i a, __m512i b) {
  return emulate_bytes([&](std::size_t i) { return k >> i & 1 ? a.byte[i] - b.byte[i] : src.byte[i]; });
}
inline __m512i _mm512_srli_epi16(__m512i a, unsigned n) {
  return emulate_bytes([&](std::size_t i) {
    const unsigned word = a.byte[i & ~std::size_t{1}] | static_cast<unsigned>(a.byte[i | 1]) << 8;
    return (word >> n) >> (8 * (i % 2));
  });
}
inline __m512i _mm512_shuffle_epi8(__m512i a, __m512i b) {
  return emulate_bytes([&](std::size_t i) { return b.byte[i] & 0x80 ? 0 : a.byte[i / 16 * 16 + (b.byte[i] & 15)]; });
}
inline __m512i _mm512_alignr_epi8(__m512i a, __m512i b, int n) {
  return emulate_bytes([&](std::size_t i) {
    const std::size_t lane = i / 16 * 16, from = i % 16 + static_cast<std::size_t>(n);
    return from < 16 ? b.byte[lane + from] : a.byte[lane + from - 16];
  });
}
inline __m512i _mm512_alignr_epi64(__m512i a, __m512i b, int n) {
  return emulate_bytes([&](std::size_t i) {
    const std::size_t from = i + 8 * static_cast<std::size_t>(n);
    return from < 64 ? b.byte[from] : a.byte[from - 64];
  });
}
inline __mmask64 _mm512_movepi8_mask(__m512i a) { return emulate_mask([&](std::size_t i) { return a.byte[i] >= 0x80; }); }
inline __mmask64 _mm512_cmpeq_epi8_mask(__m512i a, __m512i b) { return emulate_mask([&](std::size_t i) { return a.byte[i] == b.byte[i]; }); }
inline __mmask64 _mm512_cmple_epu8_mask(__m512i a, __m512i b) { return emulate_mask([&](std::size_t i) { return a.byte[i] <= b.byte[i]; }); }
inline std::uint8_t _mm512_test_epi64_mask(__m512i a, __m512i b) {
  std::uint8_t m = 0;
  for (std::size_t i = 0; i < 64; ++i)
    if (a.byte[i] & b.byte[i]) m = static_cast<std::uint8_t>(m | 1u << (i / 8));
  return m;
}
