#include <cassert>

#include "codec/page_codec.h"

namespace peel::codec {
namespace {

template <std::size_t Width>
void shuffle_fixed(const std::byte* in, std::size_t n, std::byte* out) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t p = 0; p < Width; ++p) out[p * n + i] = in[i * Width + p];
}

template <std::size_t Width>
void unshuffle_fixed(const std::byte* in, std::size_t n, std::byte* out) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t p = 0; p < Width; ++p) out[i * Width + p] = in[p * n + i];
}

}  // namespace

void shuffle(Bytes in, std::uint8_t width, MutableBytes out) {
  assert(in.size() == out.size() && width >= 1);
  const std::size_t n = in.size() / width;
  if (in.empty()) return;
  switch (width) {
    case 1: break;
    case 2: shuffle_fixed<2>(in.data(), n, out.data()); break;
    case 4: shuffle_fixed<4>(in.data(), n, out.data()); break;
    case 8: shuffle_fixed<8>(in.data(), n, out.data()); break;
    default:
      for (std::size_t p = 0; p < width; ++p)
        for (std::size_t i = 0; i < n; ++i) out[p * n + i] = in[i * width + p];
  }
  const std::size_t done = width == 1 ? 0 : n * width;
  if (done < in.size()) std::memcpy(out.data() + done, in.data() + done, in.size() - done);
}

void unshuffle(Bytes in, std::uint8_t width, MutableBytes out) {
  assert(in.size() == out.size() && width >= 1);
  const std::size_t n = in.size() / width;
  if (in.empty()) return;
  switch (width) {
    case 1: break;
    case 2: unshuffle_fixed<2>(in.data(), n, out.data()); break;
    case 4: unshuffle_fixed<4>(in.data(), n, out.data()); break;
    case 8: unshuffle_fixed<8>(in.data(), n, out.data()); break;
    default:
      for (std::size_t p = 0; p < width; ++p)
        for (std::size_t i = 0; i < n; ++i) out[i * width + p] = in[p * n + i];
  }
  const std::size_t done = width == 1 ? 0 : n * width;
  if (done < in.size()) std::memcpy(out.data() + done, in.data() + done, in.size() - done);
}

}  // namespace peel::codec
