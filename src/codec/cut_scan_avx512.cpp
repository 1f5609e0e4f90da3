// The vector scanner on AVX-512 (F, BW); runs only where cpu_level() says so. PEEL_EMULATED_AVX512
// names a header with an emulation of the instructions: a test builds this file with it, so that every machine checks it.
#if defined(__x86_64__) || defined(PEEL_EMULATED_AVX512)
#if defined(PEEL_EMULATED_AVX512)
#include PEEL_EMULATED_AVX512
#define scan_cuts_avx512 scan_cuts_avx512_emulated
#else
#include <immintrin.h>
#endif

#include "codec/cut_scan_vector.h"

namespace peel::codec {
#if defined(PEEL_EMULATED_AVX512)
CutScanner scan_cuts_avx512_emulated;
#endif
namespace {

#define PEEL_INLINE inline __attribute__((always_inline))

struct Avx512 {
  using Register = __m512i;
  using Mask = __mmask64;
  static constexpr std::size_t size = 64;

  static PEEL_INLINE Register load(const std::uint8_t* p) { return _mm512_loadu_si512(p); }
  static PEEL_INLINE Register set(std::uint8_t v) { return _mm512_set1_epi8(static_cast<signed char>(v)); }
  static PEEL_INLINE Register table(const std::uint8_t* p) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static PEEL_INLINE Register low_nibbles(Register x) { return _mm512_and_si512(x, set(15)); }
  static PEEL_INLINE Register high_nibbles(Register x) { return _mm512_and_si512(_mm512_srli_epi16(x, 4), set(15)); }
  static PEEL_INLINE Register lookup(Register t, Register nibbles) { return _mm512_shuffle_epi8(t, nibbles); }
  static PEEL_INLINE Register mix(Register a, Register b) { return _mm512_xor_si512(a, b); }
  static PEEL_INLINE Register add(Register a, Register b) { return _mm512_add_epi8(a, b); }
  static PEEL_INLINE Register rotate1(Register a) {
    const Register twice = _mm512_add_epi8(a, a);
    return _mm512_mask_sub_epi8(twice, _mm512_movepi8_mask(a), twice, set(0xff));  // + 1 where the top bit was set
  }
  template <int N>
  static PEEL_INLINE Register back(Register now, Register before) {
    if constexpr (N >= 16) return _mm512_alignr_epi64(now, before, 8 - N / 8);
    else return _mm512_alignr_epi8(now, _mm512_alignr_epi64(now, before, 6), 16 - N);
  }
  static PEEL_INLINE Mask equal(Register a, Register b) { return _mm512_cmpeq_epi8_mask(a, b); }
  static PEEL_INLINE Mask at_most(Register a, Register limit) { return _mm512_cmple_epu8_mask(a, limit); }
  static PEEL_INLINE Mask both(Mask a, Mask b) { return a & b; }
  static PEEL_INLINE bool any(const Mask (&m)[2]) { return (m[0] | m[1]) != 0; }
  static PEEL_INLINE std::uint64_t places(Mask m) { return m; }
  static PEEL_INLINE bool zeros(const std::uint8_t* p) {
    const Register all = _mm512_or_si512(load(p), load(p + 64));
    return _mm512_test_epi64_mask(all, all) == 0;
  }
};

}  // namespace

std::size_t scan_cuts_avx512(const CutRule& rule, const std::uint8_t* p, std::size_t from, std::size_t average, std::size_t end) {
  return scan_cuts<Avx512>(rule, p, from, average, end);
}

}  // namespace peel::codec
#endif
