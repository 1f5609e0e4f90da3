// A stretch of positions at a time, one step of the hash after the other: loops without a chain from one position to
// the next, which a compiler turns into vector code where it knows how.
#include <algorithm>
#include <cstring>

#include "codec/cut_scan.h"

namespace peel::codec {
namespace {

constexpr std::size_t reach = 31;  // bytes before a position that its hash covers
constexpr std::size_t taps = 64;   // positions before it that the rule looks at

// x <<< 1, in a form that compilers find vector instructions for.
std::uint8_t rotated(std::uint8_t x) { return static_cast<std::uint8_t>(x + x + (x >= 128 ? 1 : 0)); }

// h of the Count positions from p on, which is preceded by `reach` bytes.
template <std::size_t Count>
void hash_positions(const CutRule& rule, const std::uint8_t* p, std::uint8_t* out) {
  constexpr std::size_t n = Count + 30;
  std::array<std::uint8_t, n> v, w;
  const std::uint8_t* first = p - 30;
  for (std::size_t i = 0; i < n; ++i) v[i] = rule.a[first[i]];
  for (std::size_t i = 0; i < n; ++i) w[i] = rule.b[first[i - 1]];
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<std::uint8_t>(v[i] + w[i]);
  for (std::size_t i = 2; i < n; ++i) w[i] = static_cast<std::uint8_t>(v[i] + rotated(v[i - 2]));
  for (std::size_t i = 6; i < n; ++i) v[i] = static_cast<std::uint8_t>(w[i] + rotated(w[i - 4]));
  for (std::size_t i = 14; i < n; ++i) w[i] = static_cast<std::uint8_t>(v[i] + v[i - 8]);
  for (std::size_t i = 30; i < n; ++i) out[i - 30] = static_cast<std::uint8_t>(w[i] + w[i - 16]);
}

std::uint32_t rule_value(const CutRule& rule, std::uint8_t h, std::uint8_t h_32, std::uint8_t h_64) {
  return static_cast<std::uint32_t>(h ^ rule.key) << 16 | static_cast<std::uint32_t>(h_32) << 8 | h_64;
}

}  // namespace

std::size_t scan_cuts_plain(const CutRule& rule, const std::uint8_t* p, std::size_t from, std::size_t average, std::size_t end) {
  constexpr std::size_t stretch = 512;
  const bool one_first_byte = rule.limit_loose <= 1u << 16;  // only the key
  std::array<std::uint8_t, taps + stretch> h;
  hash_positions<taps>(rule, p + from - taps, h.data());
  for (std::size_t i = from; i < end; i += stretch) {
    const std::size_t n = std::min(stretch, end - i);
    if (n == stretch) {
      hash_positions<stretch>(rule, p + i, h.data() + taps);
    } else {
      std::array<std::uint8_t, reach + stretch> copy{};
      std::copy_n(p + i - reach, reach + n, copy.begin());
      hash_positions<stretch>(rule, copy.data() + reach, h.data() + taps);
    }
    for (std::size_t j = 0; j < n; ++j) {
      if (one_first_byte) {
        const void* next = std::memchr(h.data() + taps + j, rule.key, n - j);
        if (next == nullptr) break;
        j = static_cast<std::size_t>(static_cast<const std::uint8_t*>(next) - h.data()) - taps;
      }
      const std::uint32_t limit = i + j < average ? rule.limit_strict : rule.limit_loose;
      if (rule_value(rule, h[taps + j], h[taps + j - 32], h[j]) < limit) return i + j + 1;
    }
    std::copy_n(h.begin() + stretch, taps, h.begin());
  }
  return 0;
}

bool cuts_after(const CutRule& rule, std::uint32_t limit, const std::uint8_t* p, std::size_t i) {
  std::array<std::uint8_t, 3> h;
  for (std::size_t tap = 0; tap < 3; ++tap) {
    const std::uint8_t* x = p + i - 32 * tap;
    std::array<std::uint8_t, 31> v;  // v[j] belongs to position x - j
    for (std::size_t j = 0; j < 31; ++j)
      v[j] = static_cast<std::uint8_t>(rule.a[*(x - j)] + rule.b[*(x - j - 1)]);
    for (std::size_t j = 0; j < 29; ++j) v[j] = static_cast<std::uint8_t>(v[j] + rotated(v[j + 2]));
    for (std::size_t j = 0; j < 25; ++j) v[j] = static_cast<std::uint8_t>(v[j] + rotated(v[j + 4]));
    for (std::size_t j = 0; j < 17; ++j) v[j] = static_cast<std::uint8_t>(v[j] + v[j + 8]);
    h[tap] = static_cast<std::uint8_t>(v[0] + v[16]);
  }
  return rule_value(rule, h[0], h[1], h[2]) < limit;
}

}  // namespace peel::codec
