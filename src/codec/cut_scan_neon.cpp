// The vector scanner on NEON, two registers as one of 32 bytes; every 64-bit ARM has it.
#if defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>

#include "codec/cut_scan_vector.h"

namespace peel::codec {
namespace {

#define PEEL_INLINE inline __attribute__((always_inline))

struct Neon {
  struct Register {
    uint8x16_t low, high;
  };
  using Mask = Register;
  static constexpr std::size_t size = 32;

  static PEEL_INLINE Register load(const std::uint8_t* p) { return {vld1q_u8(p), vld1q_u8(p + 16)}; }
  static PEEL_INLINE Register set(std::uint8_t v) { return {vdupq_n_u8(v), vdupq_n_u8(v)}; }
  static PEEL_INLINE Register table(const std::uint8_t* p) { return {vld1q_u8(p), vld1q_u8(p)}; }
  static PEEL_INLINE Register low_nibbles(Register x) { return {vandq_u8(x.low, vdupq_n_u8(15)), vandq_u8(x.high, vdupq_n_u8(15))}; }
  static PEEL_INLINE Register high_nibbles(Register x) { return {vshrq_n_u8(x.low, 4), vshrq_n_u8(x.high, 4)}; }
  static PEEL_INLINE Register lookup(Register t, Register n) { return {vqtbl1q_u8(t.low, n.low), vqtbl1q_u8(t.high, n.high)}; }
  static PEEL_INLINE Register mix(Register a, Register b) { return {veorq_u8(a.low, b.low), veorq_u8(a.high, b.high)}; }
  static PEEL_INLINE Register add(Register a, Register b) { return {vaddq_u8(a.low, b.low), vaddq_u8(a.high, b.high)}; }
  static PEEL_INLINE uint8x16_t rotate1(uint8x16_t a) { return vsriq_n_u8(vshlq_n_u8(a, 1), a, 7); }
  static PEEL_INLINE Register rotate1(Register a) { return {rotate1(a.low), rotate1(a.high)}; }
  template <int N>
  static PEEL_INLINE Register back(Register now, Register before) {
    if constexpr (N == 32) return before;
    else if constexpr (N == 16) return {before.high, now.low};
    else return {vextq_u8(before.high, now.low, 16 - N), vextq_u8(now.low, now.high, 16 - N)};
  }
  static PEEL_INLINE Mask equal(Register a, Register b) { return {vceqq_u8(a.low, b.low), vceqq_u8(a.high, b.high)}; }
  static PEEL_INLINE Mask at_most(Register a, Register limit) { return {vcleq_u8(a.low, limit.low), vcleq_u8(a.high, limit.high)}; }
  static PEEL_INLINE Mask both(Mask a, Mask b) { return {vandq_u8(a.low, b.low), vandq_u8(a.high, b.high)}; }
  static PEEL_INLINE uint8x16_t either(Mask m) { return vorrq_u8(m.low, m.high); }
  static PEEL_INLINE bool any(const Mask (&m)[4]) {
    return vmaxvq_u8(vorrq_u8(vorrq_u8(either(m[0]), either(m[1])), vorrq_u8(either(m[2]), either(m[3])))) != 0;
  }
  // Candidates are rare: one byte after the other.
  static std::uint64_t places(Mask m) {
    std::uint8_t bytes[32];
    vst1q_u8(bytes, m.low);
    vst1q_u8(bytes + 16, m.high);
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < 32; ++i) out |= std::uint64_t{bytes[i] & 1u} << i;
    return out;
  }
  static PEEL_INLINE bool zeros(const std::uint8_t* p) {
    const Mask four[4] = {load(p), load(p + 32), load(p + 64), load(p + 96)};
    return !any(four);
  }
};

}  // namespace

std::size_t scan_cuts_neon(const CutRule& rule, const std::uint8_t* p, std::size_t from, std::size_t average, std::size_t end) {
  return scan_cuts<Neon>(rule, p, from, average, end);
}

}  // namespace peel::codec
#endif
