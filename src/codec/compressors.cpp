#include "codec/compressors.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

namespace peel::codec {
namespace {

struct ZstdFree {
  void operator()(ZSTD_CCtx* c) const { ZSTD_freeCCtx(c); }
  void operator()(ZSTD_DCtx* c) const { ZSTD_freeDCtx(c); }
};
using Compressor = std::unique_ptr<ZSTD_CCtx, ZstdFree>;

struct Memory {
  std::unique_ptr<std::byte[]> bytes;
  std::size_t capacity = 0;
};

// What one thread keeps between calls: making a zstd context costs more than compressing a page.
struct Workspace {
  Compressor compressor, entropy_coder;
  std::unique_ptr<ZSTD_DCtx, ZstdFree> decompressor;
  std::unique_ptr<std::uint64_t[]> lz4_state;
  std::array<Memory, 4> scratch;
};

Workspace& workspace() {
  thread_local Workspace instance;
  return instance;
}

const char* chars(const std::byte* p) { return reinterpret_cast<const char*>(p); }
char* chars(std::byte* p) { return reinterpret_cast<char*>(p); }

// The fast strategy with the longest matches and the widest steps there are finds next to nothing, quickly; but zstd
// then leaves literals as they are unless told otherwise, and the parameter that tells is not a stable one
// (ZSTD_c_literalCompressionMode; 1 is "enable"). Where it is refused the defaults do the same more slowly.
Compressor make_entropy_coder() {
  constexpr auto literal_mode = ZSTD_c_experimentalParam5;
  Compressor c(ZSTD_createCCtx());
  if (!c) return c;
  if (ZSTD_isError(ZSTD_CCtx_setParameter(c.get(), literal_mode, 1))) return c;
  (void)ZSTD_CCtx_setParameter(c.get(), ZSTD_c_strategy, ZSTD_fast);
  (void)ZSTD_CCtx_setParameter(c.get(), ZSTD_c_minMatch, ZSTD_cParam_getBounds(ZSTD_c_minMatch).upperBound);
  (void)ZSTD_CCtx_setParameter(c.get(), ZSTD_c_targetLength, ZSTD_cParam_getBounds(ZSTD_c_targetLength).upperBound);
  (void)ZSTD_CCtx_setParameter(c.get(), ZSTD_c_hashLog, ZSTD_cParam_getBounds(ZSTD_c_hashLog).lowerBound);  // cleared every time
  return c;
}

}  // namespace

MutableBytes scratch(Scratch which, std::size_t size) {
  Memory& m = workspace().scratch[static_cast<std::size_t>(which)];
  if (m.capacity < size) {
    m.bytes = std::make_unique_for_overwrite<std::byte[]>(size);
    m.capacity = size;
  }
  return {m.bytes.get(), size};
}

std::size_t lz4_bound(std::size_t size) { return static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(size))); }

std::size_t lz4_into(Bytes plain, MutableBytes out) {
  Workspace& w = workspace();
  if (!w.lz4_state)
    w.lz4_state = std::make_unique_for_overwrite<std::uint64_t[]>(static_cast<std::size_t>(LZ4_sizeofState()) / 8 + 1);
  const int n = LZ4_compress_fast_extState(w.lz4_state.get(), chars(plain.data()), chars(out.data()),
                                           static_cast<int>(plain.size()), static_cast<int>(out.size()), 1);
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

Status lz4_from(Bytes stored, MutableBytes plain) {
  if (stored.size() > LZ4_MAX_INPUT_SIZE || plain.size() > LZ4_MAX_INPUT_SIZE)
    return fail(ErrorKind::corrupt, "lz4: impossible size");
  const int n = LZ4_decompress_safe(chars(stored.data()), chars(plain.data()), static_cast<int>(stored.size()),
                                    static_cast<int>(plain.size()));
  if (n < 0 || static_cast<std::size_t>(n) != plain.size())
    return fail(ErrorKind::corrupt, "lz4: the stored bytes do not expand to " + std::to_string(plain.size()));
  return {};
}

std::size_t zstd_bound(std::size_t size) { return ZSTD_compressBound(size); }

std::size_t zstd_into(Bytes plain, int level, MutableBytes out) {
  Workspace& w = workspace();
  if (!w.compressor) w.compressor.reset(ZSTD_createCCtx());
  if (!w.compressor) return 0;
  const std::size_t n = ZSTD_compressCCtx(w.compressor.get(), out.data(), out.size(), plain.data(), plain.size(), level);
  return ZSTD_isError(n) ? 0 : n;
}

std::size_t entropy_into(Bytes plain, MutableBytes out) {
  Workspace& w = workspace();
  if (!w.entropy_coder) w.entropy_coder = make_entropy_coder();
  if (!w.entropy_coder) return 0;
  const std::size_t n = ZSTD_compress2(w.entropy_coder.get(), out.data(), out.size(), plain.data(), plain.size());
  return ZSTD_isError(n) ? 0 : n;
}

Status zstd_from(Bytes stored, MutableBytes plain) {
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != plain.size() ||
      ZSTD_findFrameCompressedSize(stored.data(), stored.size()) != stored.size())
    return fail(ErrorKind::corrupt, "zstd: not one frame of " + std::to_string(plain.size()) + " bytes");
  Workspace& w = workspace();
  if (!w.decompressor) w.decompressor.reset(ZSTD_createDCtx());
  if (!w.decompressor) return fail(ErrorKind::limit, "zstd: out of memory");
  const std::size_t n =
      ZSTD_decompressDCtx(w.decompressor.get(), plain.data(), plain.size(), stored.data(), stored.size());
  if (ZSTD_isError(n)) return fail(ErrorKind::corrupt, std::string("zstd: ") + ZSTD_getErrorName(n));
  if (n != plain.size()) return fail(ErrorKind::corrupt, "zstd: wrong size");
  return {};
}

}  // namespace peel::codec
