// Byte planes. Elements of 2, 4 and 8 bytes go 16 at a time through SSE2, which every x86-64 has: each
// level of deinterleaving halves the distance between the bytes of one plane, so width 8 is three levels.
// Everything else, and every tail, takes the plain loop. Wider registers were not worth a dispatch: this
// runs several times faster than any codec behind it.
#include <cassert>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "codec/cpu.h"
#include "codec/page_codec.h"

namespace peel::codec {
namespace {

// Elements first..n-1 of n.
void shuffle_plain(const std::byte* in, std::size_t width, std::size_t first, std::size_t n, std::byte* out) {
  for (std::size_t i = first; i < n; ++i)
    for (std::size_t p = 0; p < width; ++p) out[p * n + i] = in[i * width + p];
}

void unshuffle_plain(const std::byte* in, std::size_t width, std::size_t first, std::size_t n, std::byte* out) {
  for (std::size_t i = first; i < n; ++i)
    for (std::size_t p = 0; p < width; ++p) out[i * width + p] = in[p * n + i];
}

#if defined(__x86_64__)

__m128i load(const std::byte* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
void store(std::byte* p, __m128i v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v); }

// Registers as a plain array: std::array drops the vector type's attributes. The loops have to vanish
// for `v` to live in registers, which -O2 alone does not promise.
#define PEEL_UNROLL _Pragma("GCC unroll 8")

// One level inside groups of Span registers: "stream of bytes" becomes "even bytes, then odd bytes". After
// log2(Width) levels register k holds the plane whose number is k with its bits reversed.
template <std::size_t Width, std::size_t Span = Width>
inline __attribute__((always_inline)) void deinterleave(__m128i (&v)[Width]) {
  const __m128i low = _mm_set1_epi16(0x00ff);
  __m128i next[Width];
  PEEL_UNROLL for (std::size_t k = 0; k < Width / 2; ++k) {
    const std::size_t base = k / (Span / 2) * Span, i = k % (Span / 2);
    const __m128i a = v[base + 2 * i], b = v[base + 2 * i + 1];
    next[base + i] = _mm_packus_epi16(_mm_and_si128(a, low), _mm_and_si128(b, low));
    next[base + Span / 2 + i] = _mm_packus_epi16(_mm_srli_epi16(a, 8), _mm_srli_epi16(b, 8));
  }
  PEEL_UNROLL for (std::size_t k = 0; k < Width; ++k) v[k] = next[k];
  if constexpr (Span > 2) deinterleave<Width, Span / 2>(v);
}

template <std::size_t Width, std::size_t Span = 2>
inline __attribute__((always_inline)) void interleave(__m128i (&v)[Width]) {
  __m128i next[Width];
  PEEL_UNROLL for (std::size_t k = 0; k < Width / 2; ++k) {
    const std::size_t base = k / (Span / 2) * Span, i = k % (Span / 2);
    const __m128i even = v[base + i], odd = v[base + Span / 2 + i];
    next[base + 2 * i] = _mm_unpacklo_epi8(even, odd);
    next[base + 2 * i + 1] = _mm_unpackhi_epi8(even, odd);
  }
  PEEL_UNROLL for (std::size_t k = 0; k < Width; ++k) v[k] = next[k];
  if constexpr (Span < Width) interleave<Width, Span * 2>(v);
}

constexpr std::size_t reversed(std::size_t k, std::size_t width) {
  std::size_t r = 0;
  for (std::size_t bit = 1; bit < width; bit *= 2) r = r * 2 + (k & bit ? 1 : 0);
  return r;
}

template <std::size_t Width>
std::size_t shuffle_sixteens(const std::byte* in, std::size_t n, std::byte* out) {
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    __m128i v[Width];
    PEEL_UNROLL for (std::size_t k = 0; k < Width; ++k) v[k] = load(in + i * Width + 16 * k);
    deinterleave(v);
    PEEL_UNROLL for (std::size_t k = 0; k < Width; ++k) store(out + reversed(k, Width) * n + i, v[k]);
  }
  return i;
}

template <std::size_t Width>
std::size_t unshuffle_sixteens(const std::byte* in, std::size_t n, std::byte* out) {
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    __m128i v[Width];
    PEEL_UNROLL for (std::size_t k = 0; k < Width; ++k) v[k] = load(in + reversed(k, Width) * n + i);
    interleave(v);
    PEEL_UNROLL for (std::size_t k = 0; k < Width; ++k) store(out + i * Width + 16 * k, v[k]);
  }
  return i;
}

std::size_t shuffle_front(const std::byte* in, std::size_t width, std::size_t n, std::byte* out) {
  if (cpu_level() == CpuLevel::plain) return 0;
  switch (width) {
    case 2: return shuffle_sixteens<2>(in, n, out);
    case 4: return shuffle_sixteens<4>(in, n, out);
    case 8: return shuffle_sixteens<8>(in, n, out);
    default: return 0;
  }
}

std::size_t unshuffle_front(const std::byte* in, std::size_t width, std::size_t n, std::byte* out) {
  if (cpu_level() == CpuLevel::plain) return 0;
  switch (width) {
    case 2: return unshuffle_sixteens<2>(in, n, out);
    case 4: return unshuffle_sixteens<4>(in, n, out);
    case 8: return unshuffle_sixteens<8>(in, n, out);
    default: return 0;
  }
}

#else

std::size_t shuffle_front(const std::byte*, std::size_t, std::size_t, std::byte*) { return 0; }
std::size_t unshuffle_front(const std::byte*, std::size_t, std::size_t, std::byte*) { return 0; }

#endif

void copy_from(std::size_t at, Bytes in, MutableBytes out) {
  if (at < in.size()) std::memcpy(out.data() + at, in.data() + at, in.size() - at);
}

}  // namespace

void shuffle(Bytes in, std::uint8_t width, MutableBytes out) {
  assert(in.size() == out.size() && width >= 1);
  if (width == 1) return copy_from(0, in, out);
  const std::size_t n = in.size() / width;
  const std::size_t done = shuffle_front(in.data(), width, n, out.data());
  shuffle_plain(in.data(), width, done, n, out.data());
  copy_from(n * width, in, out);
}

void unshuffle(Bytes in, std::uint8_t width, MutableBytes out) {
  assert(in.size() == out.size() && width >= 1);
  if (width == 1) return copy_from(0, in, out);
  const std::size_t n = in.size() / width;
  const std::size_t done = unshuffle_front(in.data(), width, n, out.data());
  unshuffle_plain(in.data(), width, done, n, out.data());
  copy_from(n * width, in, out);
}

}  // namespace peel::codec
