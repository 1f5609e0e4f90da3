// tests/codec/page_samples.h - chunks of the kinds that scientific files hold.
#pragma once

#include <cmath>

#include "tests/codec/sample.h"

namespace peel::test {

enum class Kind {
  random, zeros, constant_8, text, smooth_float, small_ints, steps_16, doubles, one_odd_byte,
  weights, slow_cosine, counting_bytes, linear_generator,
};
inline constexpr std::array all_kinds{Kind::random,     Kind::zeros,    Kind::constant_8, Kind::text,         Kind::smooth_float,
                                      Kind::small_ints, Kind::steps_16, Kind::doubles,    Kind::one_odd_byte, Kind::weights,
                                      Kind::slow_cosine, Kind::counting_bytes, Kind::linear_generator};

template <class T, class F>
void fill_elements(Buffer& out, F f) {
  for (std::size_t i = 0; i * sizeof(T) < out.size(); ++i) {
    const T value = f(i);
    std::memcpy(out.data() + i * sizeof(T), &value, std::min(sizeof(T), out.size() - i * sizeof(T)));
  }
}

inline Buffer page(Kind kind, std::size_t size, std::uint64_t seed = 1) {
  if (kind == Kind::random) return random_bytes(size, seed);
  Random random(seed);
  Buffer out(size);
  switch (kind) {
    case Kind::constant_8: fill_elements<std::uint64_t>(out, [](std::size_t) { return std::uint64_t{0x3ff8000000000001}; }); break;
    case Kind::text:
      fill_elements<char>(out, [&](std::size_t i) { return "the quick brown fox jumps over a lazy dog, "[random.below(9) ? i % 43 : 0]; });
      break;
    case Kind::smooth_float: fill_elements<float>(out, [](std::size_t i) { return std::sin(static_cast<float>(i) * 0.01f); }); break;
    case Kind::small_ints: fill_elements<std::uint32_t>(out, [&](std::size_t) { return static_cast<std::uint32_t>(random.below(1000)); }); break;
    case Kind::steps_16: fill_elements<std::uint16_t>(out, [](std::size_t i) { return static_cast<std::uint16_t>(1000 + 3 * i); }); break;
    case Kind::doubles: fill_elements<double>(out, [&](std::size_t i) { return 20 + std::sin(static_cast<double>(i) * 0.001); }); break;
    case Kind::weights:  // normal, deviation 0.02: a sum of twelve uniform numbers
      fill_elements<float>(out, [&](std::size_t) {
        double sum = -6;
        for (int i = 0; i < 12; ++i) sum += static_cast<double>(random.next() >> 11) * 0x1p-53;
        return static_cast<float>(0.02 * sum);
      });
      break;
    case Kind::slow_cosine: fill_elements<float>(out, [](std::size_t i) { return 1000 * std::cos(static_cast<float>(i) * 0.002f); }); break;
    case Kind::counting_bytes: fill_elements<std::uint8_t>(out, [](std::size_t i) { return static_cast<std::uint8_t>(i); }); break;
    case Kind::linear_generator: {
      std::uint32_t state = 12345;
      fill_elements<std::uint32_t>(out, [&](std::size_t) { return state = state * 1664525 + 1013904223; });
      break;
    }
    case Kind::one_odd_byte:
      if (size > 0) out[size - 1] = std::byte{1};
      break;
    case Kind::random:
    case Kind::zeros: break;
  }
  return out;
}

}  // namespace peel::test
