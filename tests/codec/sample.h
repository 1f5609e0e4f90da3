// tests/codec/sample.h - bytes that are the same on every machine and in every year.
#pragma once

#include "peel/types.h"

namespace peel::test {

// splitmix64: `next()` is uniform, and the golden values in these tests depend on it.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }

 private:
  std::uint64_t state_;
};

// One byte (the lowest) of each next().
inline Buffer random_bytes(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  Buffer out(size);
  for (std::byte& b : out) b = static_cast<std::byte>(random.next());
  return out;
}

}  // namespace peel::test
