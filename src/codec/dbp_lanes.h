// codec/dbp_lanes.h - 256-bit rows of 1, 2, 4 and 8-byte lanes. Private to the vector kernels of dbp.
//
// Purpose    AVX2 names every lane width differently and lacks some: here each width has the same few operations.
//            Included only by files compiled for AVX2 or more, hence all of it has internal linkage.
// Source     Intel Intrinsics Guide; bit length by way of the exponent of a float where there is no VPLZCNT.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace peel::codec {
namespace {

#define PEEL_INLINE inline __attribute__((always_inline))
#define PEEL_UNROLL _Pragma("GCC unroll 32")

using Row = __m256i;

PEEL_INLINE Row load_row(const std::byte* p) { return _mm256_loadu_si256(reinterpret_cast<const Row*>(p)); }
PEEL_INLINE void store_row(std::byte* p, Row v) { _mm256_storeu_si256(reinterpret_cast<Row*>(p), v); }

// Bit lengths of 32-bit lanes.
PEEL_INLINE Row bit_lengths_32(Row v) {
#if defined(__AVX512CD__) && defined(__AVX512VL__)
  return _mm256_sub_epi32(_mm256_set1_epi32(32), _mm256_lzcnt_epi32(v));
#else
  // Clearing the bit below every set one keeps the top bit and prevents rounding up to the next power.
  const Row top = _mm256_andnot_si256(_mm256_srli_epi32(v, 1), v);
  const Row exponent = _mm256_srli_epi32(_mm256_castps_si256(_mm256_cvtepi32_ps(top)), 23);
  // Zero has exponent 0 and saturates; bit 31 is a sign to the conversion, and then the exponent has bit 8 set.
  const Row length = _mm256_subs_epu16(exponent, _mm256_set1_epi32(126));
  return _mm256_min_epi16(length, _mm256_set1_epi32(32));
#endif
}

// Four rows of 32-bit lanes below 256 as one row of bytes, in order.
PEEL_INLINE Row bytes_of_32(Row a, Row b, Row c, Row d) {
  const Row mixed = _mm256_packus_epi16(_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, d));
  return _mm256_permutevar8x32_epi32(mixed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

// Bit lengths of bytes.
PEEL_INLINE Row bit_lengths_8(Row v) {
  const Row nibble = _mm256_set1_epi8(15);
  const Row low = _mm256_setr_epi8(0, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 0, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4);
  const Row high = _mm256_setr_epi8(0, 5, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8, 8, 0, 5, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8, 8);
  return _mm256_max_epu8(_mm256_shuffle_epi8(low, _mm256_and_si256(v, nibble)),
                         _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(v, 4), nibble)));
}

// Replicates byte group `Size` at the end of each half: masks for VPSHUFB.
template <std::size_t Size>
PEEL_INLINE Row last_of_half() {
  alignas(32) std::int8_t m[32];
  for (std::size_t i = 0; i < 32; ++i) m[i] = static_cast<std::int8_t>(16 - Size + i % Size);
  Row row;
  std::memcpy(&row, m, sizeof row);
  return row;
}

template <class T>
struct Lane;

template <>
struct Lane<std::uint8_t> {
  static constexpr unsigned rows_log2 = 3;
  static PEEL_INLINE Row all(std::uint8_t v) { return _mm256_set1_epi8(static_cast<char>(v)); }
  static PEEL_INLINE Row add(Row a, Row b) { return _mm256_add_epi8(a, b); }
  static PEEL_INLINE Row subtract(Row a, Row b) { return _mm256_sub_epi8(a, b); }
  static PEEL_INLINE Row negative(Row a) { return _mm256_cmpgt_epi8(_mm256_setzero_si256(), a); }
  // There are no shifts of bytes: shift pairs and drop what came from the neighbour.
  static PEEL_INLINE Row left(Row a, unsigned n) {
    return _mm256_and_si256(_mm256_slli_epi16(a, static_cast<int>(n)), all(static_cast<std::uint8_t>(0xffu << n)));
  }
  static PEEL_INLINE Row right(Row a, unsigned n) {
    return _mm256_and_si256(_mm256_srli_epi16(a, static_cast<int>(n)), all(static_cast<std::uint8_t>(0xffu >> n)));
  }
  // Of as many rows as make one row of bytes.
  static PEEL_INLINE Row bit_lengths(const Row (&rows)[1]) { return bit_lengths_8(rows[0]); }
};

template <>
struct Lane<std::uint16_t> {
  static constexpr unsigned rows_log2 = 4;
  static PEEL_INLINE Row interleave_low(Row a, Row b) { return _mm256_unpacklo_epi16(a, b); }
  static PEEL_INLINE Row interleave_high(Row a, Row b) { return _mm256_unpackhi_epi16(a, b); }
  static PEEL_INLINE Row all(std::uint16_t v) { return _mm256_set1_epi16(static_cast<std::int16_t>(v)); }
  static PEEL_INLINE Row add(Row a, Row b) { return _mm256_add_epi16(a, b); }
  static PEEL_INLINE Row subtract(Row a, Row b) { return _mm256_sub_epi16(a, b); }
  static PEEL_INLINE Row negative(Row a) { return _mm256_cmpgt_epi16(_mm256_setzero_si256(), a); }
  static PEEL_INLINE Row left(Row a, unsigned n) { return _mm256_slli_epi16(a, static_cast<int>(n)); }
  static PEEL_INLINE Row right(Row a, unsigned n) { return _mm256_srli_epi16(a, static_cast<int>(n)); }
  static PEEL_INLINE Row bit_length(Row v) {
    const Row bytes = bit_lengths_8(v);
    // The high byte counts from 8 on, where there is one.
    const Row offset = _mm256_and_si256(_mm256_cmpgt_epi8(bytes, _mm256_setzero_si256()), _mm256_set1_epi16(0x0800));
    const Row both = _mm256_add_epi8(bytes, offset);
    return _mm256_max_epi16(_mm256_and_si256(both, _mm256_set1_epi16(0xff)), _mm256_srli_epi16(both, 8));
  }
  static PEEL_INLINE Row bit_lengths(const Row (&rows)[2]) {
    return _mm256_permute4x64_epi64(_mm256_packus_epi16(bit_length(rows[0]), bit_length(rows[1])), 0xd8);
  }
};

template <>
struct Lane<std::uint32_t> {
  static constexpr unsigned rows_log2 = 5;
  static PEEL_INLINE Row interleave_low(Row a, Row b) { return _mm256_unpacklo_epi32(a, b); }
  static PEEL_INLINE Row interleave_high(Row a, Row b) { return _mm256_unpackhi_epi32(a, b); }
  static PEEL_INLINE Row all(std::uint32_t v) { return _mm256_set1_epi32(static_cast<std::int32_t>(v)); }
  static PEEL_INLINE Row add(Row a, Row b) { return _mm256_add_epi32(a, b); }
  static PEEL_INLINE Row subtract(Row a, Row b) { return _mm256_sub_epi32(a, b); }
  static PEEL_INLINE Row negative(Row a) { return _mm256_srai_epi32(a, 31); }
  static PEEL_INLINE Row left(Row a, unsigned n) { return _mm256_slli_epi32(a, static_cast<int>(n)); }
  static PEEL_INLINE Row right(Row a, unsigned n) { return _mm256_srli_epi32(a, static_cast<int>(n)); }
  static PEEL_INLINE Row bit_lengths(const Row (&rows)[4]) {
    return bytes_of_32(bit_lengths_32(rows[0]), bit_lengths_32(rows[1]), bit_lengths_32(rows[2]), bit_lengths_32(rows[3]));
  }
};

template <>
struct Lane<std::uint64_t> {
  static constexpr unsigned rows_log2 = 6;
  static PEEL_INLINE Row interleave_low(Row a, Row b) { return _mm256_unpacklo_epi64(a, b); }
  static PEEL_INLINE Row interleave_high(Row a, Row b) { return _mm256_unpackhi_epi64(a, b); }
  static PEEL_INLINE Row all(std::uint64_t v) { return _mm256_set1_epi64x(static_cast<std::int64_t>(v)); }
  static PEEL_INLINE Row add(Row a, Row b) { return _mm256_add_epi64(a, b); }
  static PEEL_INLINE Row subtract(Row a, Row b) { return _mm256_sub_epi64(a, b); }
  static PEEL_INLINE Row negative(Row a) { return _mm256_cmpgt_epi64(_mm256_setzero_si256(), a); }
  static PEEL_INLINE Row left(Row a, unsigned n) { return _mm256_slli_epi64(a, static_cast<int>(n)); }
  static PEEL_INLINE Row right(Row a, unsigned n) { return _mm256_srli_epi64(a, static_cast<int>(n)); }
  // Of two rows, as one row of 32-bit lanes in order.
  static PEEL_INLINE Row bit_lengths_of(Row a, Row b) {
    const Row la = bit_lengths_32(a), lb = bit_lengths_32(b);
    const __m256 fa = _mm256_castsi256_ps(la), fb = _mm256_castsi256_ps(lb);
    const Row low = _mm256_castps_si256(_mm256_shuffle_ps(fa, fb, 0x88)), high = _mm256_castps_si256(_mm256_shuffle_ps(fa, fb, 0xdd));
    const Row offset = _mm256_and_si256(_mm256_cmpgt_epi32(high, _mm256_setzero_si256()), _mm256_set1_epi32(32));
    return _mm256_permute4x64_epi64(_mm256_max_epi32(low, _mm256_add_epi32(high, offset)), 0xd8);
  }
  static PEEL_INLINE Row bit_lengths(const Row (&r)[8]) {
    return bytes_of_32(bit_lengths_of(r[0], r[1]), bit_lengths_of(r[2], r[3]), bit_lengths_of(r[4], r[5]), bit_lengths_of(r[6], r[7]));
  }
};

// In each half apart: element j of row i becomes element i of row j. Every round interleaves the upper rows with the
// lower ones.
template <class T, std::size_t Count, std::size_t Rounds = Count>
PEEL_INLINE void transpose_halves(Row (&m)[Count]) {
  Row next[Count];
  PEEL_UNROLL for (std::size_t i = 0; i < Count / 2; ++i) {
    next[2 * i] = Lane<T>::interleave_low(m[i], m[i + Count / 2]);
    next[2 * i + 1] = Lane<T>::interleave_high(m[i], m[i + Count / 2]);
  }
  PEEL_UNROLL for (std::size_t i = 0; i < Count; ++i) m[i] = next[i];
  if constexpr (Rounds > 2) transpose_halves<T, Count, Rounds / 2>(m);
}

// As many rows as a row has elements: element j of row i becomes element i of row j.
template <class T>
PEEL_INLINE void transpose(Row (&m)[32 / sizeof(T)]) {
  constexpr std::size_t half = 16 / sizeof(T);
  Row low[half], high[half];
  PEEL_UNROLL for (std::size_t i = 0; i < half; ++i) {
    low[i] = _mm256_permute2x128_si256(m[i], m[i + half], 0x20);
    high[i] = _mm256_permute2x128_si256(m[i], m[i + half], 0x31);
  }
  transpose_halves<T>(low);
  transpose_halves<T>(high);
  PEEL_UNROLL for (std::size_t i = 0; i < half; ++i) {
    m[i] = low[i];
    m[i + half] = high[i];
  }
}

// Rows in order to rows of lanes that run down, and back: in groups of as many rows as a row has elements, row
// `stride` * i + g of the one is row i of group g of the other, transposed. Bytes have four times as many lanes as rows.
PEEL_INLINE void transpose_bytes_down(Row (&m)[8]) {
  const Row pairs = _mm256_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
  Row half[8];
  PEEL_UNROLL for (std::size_t i = 0; i < 4; ++i) {
    half[2 * i] = _mm256_shuffle_epi8(_mm256_permute2x128_si256(m[i], m[i + 4], 0x20), pairs);
    half[2 * i + 1] = _mm256_shuffle_epi8(_mm256_permute2x128_si256(m[i], m[i + 4], 0x31), pairs);
  }
  transpose_halves<std::uint16_t>(half);
  PEEL_UNROLL for (std::size_t i = 0; i < 8; ++i) m[i] = half[i];
}
PEEL_INLINE void transpose_bytes_up(Row (&m)[8]) {
  const Row unpaired = _mm256_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15, 0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
  Row half[8];
  PEEL_UNROLL for (std::size_t i = 0; i < 8; ++i) half[i] = m[i];
  transpose_halves<std::uint16_t>(half);
  PEEL_UNROLL for (std::size_t i = 0; i < 8; ++i) half[i] = _mm256_shuffle_epi8(half[i], unpaired);
  PEEL_UNROLL for (std::size_t i = 0; i < 4; ++i) {
    m[i] = _mm256_permute2x128_si256(half[2 * i], half[2 * i + 1], 0x20);
    m[i + 4] = _mm256_permute2x128_si256(half[2 * i], half[2 * i + 1], 0x31);
  }
}

// Sums of each lane and all before it.
template <class T, int Shift = sizeof(T)>
PEEL_INLINE Row sums_in_halves(Row v) {
  if constexpr (Shift < 16) return sums_in_halves<T, Shift * 2>(Lane<T>::add(v, _mm256_slli_si256(v, Shift)));
  else return v;
}
template <class T>
PEEL_INLINE Row sums(Row v) {
  const Row halves = sums_in_halves<T>(v);
  // The low half's total, in the high half.
  const Row total = _mm256_permute2x128_si256(_mm256_shuffle_epi8(halves, last_of_half<sizeof(T)>()), halves, 0x08);
  return Lane<T>::add(halves, total);
}
// The last lane in all lanes.
template <class T>
PEEL_INLINE Row last(Row v) {
  return _mm256_permute4x64_epi64(_mm256_shuffle_epi8(v, last_of_half<sizeof(T)>()), 0xff);
}

}  // namespace
}  // namespace peel::codec
