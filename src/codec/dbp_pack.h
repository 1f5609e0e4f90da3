// codec/dbp_pack.h - bits of a whole block into rows, and back. Private to the vector kernels of dbp.
//
// Method     Every lane collects its bits down the rows, with shifts known at compile time: one function a width.
//            64-bit elements have 65 widths of 64 rows each: for them the shifts are variables.
// Source     docs/FORMAT.md, Chunks, dbp
#pragma once

#include <utility>

#include "codec/dbp_block.h"
#include "codec/dbp_lanes.h"

namespace peel::codec {
namespace {

template <class T>
inline constexpr unsigned bits_of = 8 * sizeof(T);
template <class T>
inline constexpr std::size_t rows_of = dbp_block_size * sizeof(T) / dbp_row_size;  // equals bits_of

template <class T, unsigned W, std::size_t... R>
PEEL_INLINE void pack_rows(const Row* values, Row offset, std::byte* out, std::index_sequence<R...>) {
  constexpr unsigned b = bits_of<T>;
  Row word = _mm256_setzero_si256();
  const Row mask = Lane<T>::all(static_cast<T>(W == b ? ~T{0} : (T{1} << (W % b)) - 1));
  const auto step = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    constexpr unsigned bit = I * W, shift = bit % b, next = shift + W;
    Row v = Lane<T>::add(values[I], offset);
    if constexpr (W != b) v = _mm256_and_si256(v, mask);
    word = shift == 0 ? v : _mm256_or_si256(word, Lane<T>::left(v, shift));
    if constexpr (next >= b) store_row(out + bit / b * dbp_row_size, word);
    if constexpr (next > b) word = Lane<T>::right(v, b - shift);
  };
  (step(std::integral_constant<std::size_t, R>{}), ...);
}

template <class T, unsigned W, std::size_t... R>
PEEL_INLINE void unpack_rows(const std::byte* in, Row* values, std::index_sequence<R...>) {
  constexpr unsigned b = bits_of<T>;
  const Row mask = Lane<T>::all(static_cast<T>(W == b ? ~T{0} : (T{1} << (W % b)) - 1));
  const auto step = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    constexpr unsigned bit = I * W, shift = bit % b, next = shift + W;
    const std::byte* p = in + bit / b * dbp_row_size;
    Row v = load_row(p);
    if constexpr (shift != 0) v = Lane<T>::right(v, shift);
    if constexpr (next > b) v = _mm256_or_si256(v, Lane<T>::left(load_row(p + dbp_row_size), b - shift));
    if constexpr (next != b) v = _mm256_and_si256(v, mask);
    values[I] = v;
  };
  (step(std::integral_constant<std::size_t, R>{}), ...);
}

template <class T, unsigned W>
void pack(const Row* values, Row offset, std::byte* out) {
  if constexpr (W > 0) pack_rows<T, W>(values, offset, out, std::make_index_sequence<rows_of<T>>{});
}

template <class T, unsigned W>
void unpack(const std::byte* in, Row* values) {
  if constexpr (W > 0) unpack_rows<T, W>(in, values, std::make_index_sequence<rows_of<T>>{});
  else for (std::size_t r = 0; r < rows_of<T>; ++r) values[r] = _mm256_setzero_si256();
}

template <class T>
struct Packers {
  using Pack = void (*)(const Row*, Row, std::byte*);
  using Unpack = void (*)(const std::byte*, Row*);
  Pack pack_at[bits_of<T> + 1];
  Unpack unpack_at[bits_of<T> + 1];

  template <unsigned... W>
  static constexpr Packers make(std::integer_sequence<unsigned, W...>) {
    return {{&pack<T, W>...}, {&unpack<T, W>...}};
  }
};
template <class T>
constexpr Packers<T> packers = Packers<T>::make(std::make_integer_sequence<unsigned, bits_of<T> + 1>{});

void pack_64(const Row* values, Row offset, unsigned bits, std::byte* out) {
  using L = Lane<std::uint64_t>;
  if (bits == 0) return;
  const Row mask = L::all(bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1);
  Row word = _mm256_setzero_si256();
  unsigned shift = 0;
  for (std::size_t r = 0; r < 64; ++r) {
    const Row v = _mm256_and_si256(L::add(values[r], offset), mask);
    word = _mm256_or_si256(word, L::left(v, shift));
    shift += bits;
    if (shift < 64) continue;
    store_row(out, word);
    out += dbp_row_size;
    shift -= 64;
    word = L::right(v, bits - shift);  // a shift by 64 gives zeros
  }
}

void unpack_64(const std::byte* in, unsigned bits, Row* values) {
  using L = Lane<std::uint64_t>;
  const Row mask = L::all(bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1);
  const std::byte* end = in + bits * dbp_row_size;
  Row word = _mm256_setzero_si256();
  if (bits > 0) word = load_row(in);
  unsigned shift = 0;
  for (std::size_t r = 0; r < 64; ++r) {
    Row v = L::right(word, shift);
    shift += bits;
    if (shift >= 64) {
      in += dbp_row_size;
      shift -= 64;
      if (in != end) word = load_row(in);
      v = _mm256_or_si256(v, L::left(word, bits - shift));
    }
    values[r] = _mm256_and_si256(v, mask);
  }
}

}  // namespace
}  // namespace peel::codec
