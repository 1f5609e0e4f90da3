// codec/cut_scan_vector.h - a scanner for wide registers that shift cheaply; `V` describes them. Private to codec.
//
// Method     One stream, in order (cut_scan_avx2.cpp has two). Every step of the hash needs a value 1, 2, 4, 8 or 16 positions back: the register before this one,
//            shifted in. The rule's first two bytes are compared for all positions; what passes is rare, and is looked
//            at again where those two bytes do not decide.
// Contract   V: Register, size, load, set(byte), lookup(table, nibbles), low_nibbles, high_nibbles, add, rotate1 and
//            back<N>(now, before): `now` shifted by N positions; equal, at_most(x, limit) and both of two such masks;
//            any and places of masks; zeros(p): whether the 128 bytes from p on are zeros.
// Source     docs/adr/0009-a-hash-for-vectors.md; checked against cut_scan_plain.cpp by the tests
#pragma once

#include "codec/cut_scan.h"

namespace peel::codec {
namespace {

constexpr std::size_t group = 128;  // bytes between two looks at the hits

template <class V>
struct Tables {
  typename V::Register a_low, a_high, b_low, b_high, key;

  explicit Tables(const CutRule& rule)
      : a_low(V::table(rule.a_low.data())), a_high(V::table(rule.a_high.data())), b_low(V::table(rule.b_low.data())),
        b_high(V::table(rule.b_high.data())), key(V::set(rule.key)) {}
};

// The steps of the hash in the register before the next one.
template <class V>
struct Behind {
  typename V::Register B = V::set(0), a = V::set(0), b = V::set(0), c = V::set(0), d = V::set(0), h = V::set(0);
};

// Positions of one register whose first byte is the key and whose second is at most `limit`.
template <class V>
inline __attribute__((always_inline)) typename V::Mask step(const Tables<V>& t, Behind<V>& behind, const std::uint8_t* p,
                                                            typename V::Register limit) {
  using Register = typename V::Register;
  const Register x = V::load(p), low = V::low_nibbles(x), high = V::high_nibbles(x);
  const Register A = V::mix(V::lookup(t.a_low, low), V::lookup(t.a_high, high));
  const Register B = V::mix(V::lookup(t.b_low, low), V::lookup(t.b_high, high));
  const Register a = V::add(A, V::template back<1>(B, behind.B));
  const Register b = V::add(a, V::rotate1(V::template back<2>(a, behind.a)));
  const Register c = V::add(b, V::rotate1(V::template back<4>(b, behind.b)));
  const Register d = V::add(c, V::template back<8>(c, behind.c));
  const Register h = V::add(d, V::template back<16>(d, behind.d));
  const auto hits = V::both(V::equal(h, t.key), V::at_most(V::template back<32>(h, behind.h), limit));
  behind = {B, a, b, c, d, h};
  return hits;
}

// Where a scan stands: everything before `at` is looked at.
template <class V>
struct Position {
  std::size_t at;
  Behind<V> behind;
};

// On to a group's border at or behind `until`, with one limit. Returns a cut, or 0.
template <class V>
std::size_t pass(const CutRule& rule, const Tables<V>& tables, const std::uint8_t* p, Position<V>& position, std::size_t average,
                 std::size_t until, std::size_t end, std::uint32_t limit, bool decided_by_two) {
  constexpr std::size_t registers = group / V::size;
  const typename V::Register second = V::set(static_cast<std::uint8_t>((limit - 1) >> 8));
  const Tables<V> t = tables;
  Behind<V> behind = position.behind;
  bool zeros_before = false;
  std::size_t i = position.at;
  for (; i < until && i + group <= end; i += group) {
    // Zeros after a group of zeros change nothing, and never cut.
    const bool zeros = V::zeros(p + i);
    if (zeros && zeros_before) continue;
    zeros_before = zeros;
    typename V::Mask hits[registers];
    _Pragma("GCC unroll 4") for (std::size_t r = 0; r < registers; ++r) hits[r] = step(t, behind, p + i + r * V::size, second);
    if (!V::any(hits)) continue;
    for (std::size_t r = 0; r < registers; ++r)
      for (std::uint64_t places = V::places(hits[r]); places != 0; places &= places - 1) {
        const std::size_t at = i + r * V::size + static_cast<std::size_t>(__builtin_ctzll(places));
        if (decided_by_two || cuts_after(rule, at < average ? rule.limit_strict : rule.limit_loose, p, at)) return at + 1;
      }
  }
  position = {i, behind};
  return 0;
}

template <class V>
std::size_t scan_cuts(const CutRule& rule, const std::uint8_t* p, std::size_t from, std::size_t average, std::size_t end) {
  const Tables<V> tables(rule);
  Position<V> position{from, {}};
  for (std::size_t warm = group; warm > 0; warm -= V::size) (void)step(tables, position.behind, p + from - warm, tables.key);
  const bool strict_by_two = rule.limit_strict % 256 == 0, loose_by_two = rule.limit_loose % 256 == 0;
  // Groups wholly before `average`, the group across it with the greater limit, groups wholly behind.
  const std::size_t before = from + (average - from) / group * group;
  if (const std::size_t cut = pass(rule, tables, p, position, average, before, end, rule.limit_strict, strict_by_two)) return cut;
  if (const std::size_t cut = pass(rule, tables, p, position, average, average, end, rule.limit_loose, false)) return cut;
  if (const std::size_t cut = pass(rule, tables, p, position, average, end, end, rule.limit_loose, loose_by_two)) return cut;
  return position.at < end ? scan_cuts_plain(rule, p, position.at, average, end) : 0;
}

}  // namespace
}  // namespace peel::codec
