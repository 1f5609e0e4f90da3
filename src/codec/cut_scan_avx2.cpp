// Two streams at once, one in each half of a register, half a segment apart: to shift across the middle of an AVX2
// register takes an instruction that is slow everywhere, and every step of the hash would wait for it. Measured: 1.9
// times the speed of one stream. The price is to hash 64 bytes before each stream first, and what the second stream
// does in vain when the first finds a cut.
// Runs only where cpu_level() says so.
#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>

#include "codec/cut_scan.h"

namespace peel::codec {
namespace {

#define PEEL_INLINE inline __attribute__((always_inline))

using Register = __m256i;
constexpr std::size_t half = 16;       // bytes of a stream in one register
constexpr std::size_t warm = 64;       // bytes before a stream that the hashes and the second byte of the rule reach
constexpr std::size_t group = 4;       // steps between two looks at the hits
constexpr std::size_t segment_max = 1024, segment_unit = 2 * group * half;

PEEL_INLINE Register load(const std::uint8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const Register*>(p)); }
PEEL_INLINE Register load_halves(const std::uint8_t* low, const std::uint8_t* high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(low))),
                                 _mm_loadu_si128(reinterpret_cast<const __m128i*>(high)), 1);
}
PEEL_INLINE Register set(std::uint8_t v) { return _mm256_set1_epi8(static_cast<char>(v)); }
PEEL_INLINE Register table(const std::uint8_t* p) {
  return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(p)));
}
// a + (b <<< 1)
PEEL_INLINE Register add_rotated(Register a, Register b) {
  const Register top = _mm256_cmpgt_epi8(_mm256_setzero_si256(), b);  // -1 where the top bit is set
  return _mm256_sub_epi8(_mm256_add_epi8(a, _mm256_add_epi8(b, b)), top);
}

struct Tables {
  Register a_low, a_high, b_low, b_high, key;
};

// The steps of the hash in the register before, and the hash in the one before that.
struct Behind {
  Register B, a, b, c, d, h, h2;
};

// Zero where a position's first byte is the key and its second has none of the bits `high_bits`: limits are powers of 2.
PEEL_INLINE Register step(const Tables& t, Behind& was, Register x, Register high_bits) {
  const Register nibble = set(15);
  const Register low = _mm256_and_si256(x, nibble), high = _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble);
  const Register A = _mm256_xor_si256(_mm256_shuffle_epi8(t.a_low, low), _mm256_shuffle_epi8(t.a_high, high));
  const Register B = _mm256_xor_si256(_mm256_shuffle_epi8(t.b_low, low), _mm256_shuffle_epi8(t.b_high, high));
  const Register a = _mm256_add_epi8(A, _mm256_alignr_epi8(B, was.B, half - 1));
  const Register b = add_rotated(a, _mm256_alignr_epi8(a, was.a, half - 2));
  const Register c = add_rotated(b, _mm256_alignr_epi8(b, was.b, half - 4));
  const Register d = _mm256_add_epi8(c, _mm256_alignr_epi8(c, was.c, half - 8));
  const Register h = _mm256_add_epi8(d, was.d);
  const Register miss = _mm256_or_si256(_mm256_xor_si256(h, t.key), _mm256_and_si256(was.h2, high_bits));
  was = {B, a, b, c, d, h, was.h};
  return miss;
}

struct Segment {
  const CutRule& rule;
  const Tables& tables;
  const std::uint8_t* p;
  std::uint32_t limit;
  bool decided_by_two;  // the third byte of the rule does not matter
};

// The first cut after a byte of [from, from + size), or 0.
std::size_t scan_segment(const Segment& s, std::size_t from, std::size_t size) {
  const Tables t = s.tables;
  const Register second = set(static_cast<std::uint8_t>(~((s.limit - 1) >> 8))), zero = _mm256_setzero_si256();
  const std::uint8_t* low = s.p + from;
  const std::size_t apart = size / 2;
  Behind was{zero, zero, zero, zero, zero, zero, zero};
  for (std::size_t i = 0; i < warm; i += half) (void)step(t, was, load_halves(low + i - warm, low + apart + i - warm), second);
  std::size_t in_second = 0;
  for (std::size_t i = 0; i < apart; i += group * half) {
    Register misses[group];
    _Pragma("GCC unroll 4") for (std::size_t r = 0; r < group; ++r)
      misses[r] = step(t, was, load_halves(low + i + r * half, low + apart + i + r * half), second);
    const Register least = _mm256_min_epu8(_mm256_min_epu8(misses[0], misses[1]), _mm256_min_epu8(misses[2], misses[3]));
    if (_mm256_movemask_epi8(_mm256_cmpeq_epi8(least, zero)) == 0) [[likely]] continue;
    for (std::size_t r = 0; r < group; ++r)
      for (auto places = static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(misses[r], zero))); places != 0; places &= places - 1) {
        const auto place = static_cast<std::size_t>(__builtin_ctz(places));
        const bool is_first = place < half;
        if (!is_first && in_second != 0) continue;
        const std::size_t at = from + i + r * half + (is_first ? place : apart + place - half);
        if (!s.decided_by_two && !cuts_after(s.rule, s.limit, s.p, at)) continue;
        if (is_first) return at + 1;
        in_second = at + 1;
      }
  }
  return in_second;
}

// Bytes from p[from] on that zeros fill after more zeros than any hash reaches: there is no cut among them.
std::size_t zeros_at(const std::uint8_t* p, std::size_t from, std::size_t until) {
  const auto four = [&](const std::uint8_t* q) {
    return _mm256_or_si256(_mm256_or_si256(load(q), load(q + 32)), _mm256_or_si256(load(q + 64), load(q + 96)));
  };
  const Register before = four(p + from - 128);
  if (!_mm256_testz_si256(before, before)) return 0;
  std::size_t i = from;
  for (; i + 128 <= until; i += 128) {
    const Register bytes = four(p + i);
    if (!_mm256_testz_si256(bytes, bytes)) break;
  }
  return i - from;
}

}  // namespace

std::size_t scan_cuts_avx2(const CutRule& rule, const std::uint8_t* p, std::size_t from, std::size_t average, std::size_t end) {
  const Tables tables{table(rule.a_low.data()), table(rule.a_high.data()), table(rule.b_low.data()), table(rule.b_high.data()), set(rule.key)};
  std::size_t i = from;
  for (const bool strict : {true, false}) {
    const std::size_t until = strict ? average : end;
    const std::uint32_t limit = strict ? rule.limit_strict : rule.limit_loose;
    const Segment segment{rule, tables, p, limit, limit % 256 == 0};
    while (i < until) {
      i += zeros_at(p, i, until);
      const std::size_t size = std::min(segment_max, (until - i) / segment_unit * segment_unit);
      if (size == 0) break;
      if (const std::size_t cut = scan_segment(segment, i, size)) return cut;
      i += size;
    }
    if (i == until) continue;
    if (const std::size_t cut = scan_cuts_plain(rule, p, i, average, until)) return cut;
    i = until;
  }
  return 0;
}

}  // namespace peel::codec
#endif
