// How often does a byte equal the one `lag` bytes before? Numbers of width w repeat their high bytes at lag
// w and nowhere else; text repeats a little at every lag; random bytes in 1 of 256 cases. Counting is done
// for 16 neighbours at once, and per position modulo 8, since only some planes of a float are quiet.
#include "codec/page_estimate.h"

#include <algorithm>
#include <cmath>

namespace peel::codec {
namespace {

using Lane16 = unsigned char __attribute__((vector_size(16)));

constexpr std::size_t windows = 4, window_size = 256;
constexpr std::size_t far_lag = 1024;  // rows of tables, and counters whose low bytes come round

// Matches at one lag, by position modulo 8.
struct Matches {
  std::array<unsigned, 8> at{};

  unsigned sum() const {
    unsigned total = 0;
    for (const unsigned n : at) total += n;
    return total;
  }
  // The most matches of one byte of a `width`-byte element.
  unsigned peak(std::size_t width) const {
    std::array<unsigned, 8> plane{};
    for (std::size_t i = 0; i < at.size(); ++i) plane[i % width] += at[i];
    return *std::max_element(plane.begin(), plane.end());
  }
};

// `first` windows are `stride` apart and start at `begin` >= lag.
Matches count_matches(Bytes plain, std::size_t begin, std::size_t stride, std::size_t length, std::size_t lag) {
  Lane16 count{};  // at most windows * window_size / 16 = 64 each
  for (std::size_t w = 0; w < windows; ++w) {
    const std::byte* p = plain.data() + begin + w * stride;
    for (std::size_t i = 0; i + 16 <= length; i += 16) {
      Lane16 a, b;
      std::memcpy(&a, p + i, 16);
      std::memcpy(&b, p + i - lag, 16);
      count -= reinterpret_cast<Lane16>(a == b);  // equal is -1
    }
  }
  Matches m;
  for (std::size_t i = 0; i < 16; ++i) m.at[i % 8] += count[i];
  return m;
}

}  // namespace

PageEstimate estimate(Bytes plain) {
  PageEstimate result;
  const std::size_t begin = plain.size() >= 2 * far_lag ? far_lag : 16;
  if (plain.size() < begin + 48) return result;
  const std::size_t room = plain.size() - begin;
  const std::size_t length = std::min(window_size, room / windows / 16 * 16 + (room < windows * 16 ? 16 : 0));
  // Windows keep the positions modulo 8.
  const std::size_t stride = (room - length) / (windows - 1) / 8 * 8;
  const auto samples = static_cast<unsigned>(windows * length);

  const unsigned at_1 = count_matches(plain, begin, stride, length, 1).sum();
  unsigned most = at_1, best = 0;
  for (const std::uint8_t width : {2, 4, 8}) {
    const Matches m = count_matches(plain, begin, stride, length, width);
    const unsigned sum = m.sum();
    most = std::max(most, sum);
    const bool quiet_plane = m.peak(width) * width * 10 >= samples;  // one byte in ten of its plane
    if (!quiet_plane || sum < at_1 + samples / 50 || (best != 0 && sum <= best + samples / 32)) continue;
    best = sum;
    result.element_width = width;
  }
  if (begin == far_lag) {
    const Matches m = count_matches(plain, begin, stride, length, far_lag);
    most = std::max(most, m.sum());
    if (best == 0 && m.sum() >= at_1 + samples / 8 && m.peak(4) * 2 >= m.sum()) result.element_width = 4;
  }
  result.looks_random = most < samples / 50 + 8;
  result.matches = static_cast<double>(most) / samples;
  return result;
}

double entropy_saving(Bytes plain, std::uint8_t width) {
  const std::size_t elements = plain.size() / width;
  if (elements < 64) return 0;
  const std::size_t count = std::clamp<std::size_t>(elements / 4, 64, 1024), step = elements / count;
  double saved_bits = 0;
  for (std::size_t plane = 0; plane < width; ++plane) {
    std::array<unsigned, 256> seen{};
    for (std::size_t i = 0; i < count; ++i) ++seen[std::to_integer<std::size_t>(plain[i * step * width + plane])];
    // The chance that two bytes are equal, without bias: its logarithm is at most the entropy, near
    // enough for a yes or no, and one logarithm instead of 256.
    double pairs = 0;
    for (const unsigned n : seen) pairs += static_cast<double>(n) * (n - 1.0);
    const double chance = pairs / (static_cast<double>(count) * (static_cast<double>(count) - 1));
    saved_bits += std::clamp(8 + std::log2(std::max(chance, 1e-9)), 0.0, 8.0);
  }
  return saved_bits / (8.0 * width);
}

}  // namespace peel::codec
