// bench/codec_data_sets.h - bytes of the kinds that numeric files hold, the same in every run.
#pragma once

#include <cmath>
#include <random>
#include <string>

#include <zstd.h>

#include "harness.h"
#include "peel/types.h"

namespace peel::bench {

template <class T, class F>
Buffer elements(std::size_t size, F f) {
  Buffer out(size);
  for (std::size_t i = 0; i * sizeof(T) < size; ++i) {
    const T value = static_cast<T>(f(i));
    std::memcpy(out.data() + i * sizeof(T), &value, std::min(sizeof(T), size - i * sizeof(T)));
  }
  return out;
}

// The seed's own sets: f32_smooth, lcg ("f32_random" and "int32_random": raw states of a linear generator), int8_seq.
// Honest ones: random, weights (normal, 0.02), field (a smooth 2-D field with noise, as a sensor of 1/1000 resolution
// stores it), field64, drift (32-bit counts of a slow sensor), image (16-bit), labels, table (rows of mixed types), text,
// compressed (a chunk behind a compressing filter), sparse (nine tenths zeros).
inline Buffer data_set(const std::string& name, std::size_t size) {
  std::mt19937_64 rng(2026);
  std::normal_distribution<double> normal(0, 1);
  const auto field = [&](std::size_t i) {
    const double x = static_cast<double>(i % 512), y = static_cast<double>(i / 512);
    return std::round(1000 * (20 + 5 * std::sin(x * 0.02) * std::cos(y * 0.03) + 0.004 * normal(rng))) / 1000;
  };
  if (name == "f32_smooth") return elements<float>(size, [](std::size_t i) { return 1000 * std::cos(static_cast<float>(i) * 0.002f); });
  if (name == "lcg") {
    std::uint32_t state = 12345;
    return elements<std::uint32_t>(size, [&](std::size_t) { return state = state * 1664525u + 1013904223u; });
  }
  if (name == "int8_seq") return elements<std::uint8_t>(size, [](std::size_t i) { return i; });
  if (name == "random") return elements<std::uint64_t>(size, [&](std::size_t) { return rng(); });
  if (name == "weights") return elements<float>(size, [&](std::size_t) { return 0.02 * normal(rng); });
  if (name == "field") return elements<float>(size, field);
  if (name == "field64") return elements<double>(size, field);
  if (name == "drift") {
    std::int64_t level = 100000;
    return elements<std::int32_t>(size, [&](std::size_t) { return level += static_cast<std::int64_t>(rng() % 41) - 20; });
  }
  if (name == "image") return elements<std::uint16_t>(size, [&](std::size_t i) { return 900 + 300 * std::sin(static_cast<double>(i % 1024) * 0.01) + 8 * normal(rng); });
  if (name == "labels") {
    std::size_t left = 0;
    std::uint64_t label = 0;
    return elements<std::uint8_t>(size, [&](std::size_t) {
      if (left-- == 0) left = rng() % 60, label = rng() % 4;
      return label;
    });
  }
  if (name == "table") {  // time u64, two f32, flags u32, two i16
    Buffer out(size + 24);
    for (std::size_t i = 0; i * 24 < size; ++i) {
      const std::uint64_t time = 1700000000000 + 250 * i + rng() % 8;
      const float a = static_cast<float>(20 + std::sin(static_cast<double>(i) * 0.01)), b = static_cast<float>(normal(rng));
      const std::uint32_t flags = rng() % 50 == 0;
      const std::int16_t c[2] = {static_cast<std::int16_t>(i), static_cast<std::int16_t>(rng() % 16)};
      std::byte* row = out.data() + i * 24;
      std::memcpy(row, &time, 8), std::memcpy(row + 8, &a, 4), std::memcpy(row + 12, &b, 4), std::memcpy(row + 16, &flags, 4), std::memcpy(row + 20, c, 4);
    }
    out.resize(size);
    return out;
  }
  if (name == "text") {
    static constexpr std::string_view words[] = {"temperature ", "pressure ", "run ", "7 ", "sample\n", "calibrated ", "0.25 ", "detector "};
    std::string text;
    while (text.size() < size) text += words[rng() % 8];
    const auto bytes = as_bytes(text).first(size);
    return {bytes.begin(), bytes.end()};
  }
  if (name == "compressed") {
    const Buffer plain = data_set("field", 4 * size + 65536);
    Buffer out(ZSTD_compressBound(plain.size()));
    const std::size_t n = ZSTD_compress(out.data(), out.size(), plain.data(), plain.size(), 3);
    require(n >= size, "enough compressed bytes");
    out.resize(size);
    return out;
  }
  require(name == "sparse", "a data set of that name");
  Buffer out(size);
  for (std::size_t page = 0; page < size; page += 4096)
    if (rng() % 5 == 0)
      for (std::size_t i = page; i + 8 <= std::min(size, page + 2048); i += 8) {
        const std::uint64_t word = rng();
        std::memcpy(out.data() + i, &word, 8);
      }
  return out;
}

}  // namespace peel::bench
