#include "codec/page_codec.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cassert>
#include <memory>

#include "codec/page_estimate.h"

namespace peel::codec {
namespace {

struct ZstdFree {
  void operator()(ZSTD_CCtx* c) const { ZSTD_freeCCtx(c); }
  void operator()(ZSTD_DCtx* c) const { ZSTD_freeDCtx(c); }
};

// What one thread keeps between calls: making a zstd context costs more than compressing a page.
struct Workspace {
  std::unique_ptr<ZSTD_CCtx, ZstdFree> compressor;
  std::unique_ptr<ZSTD_DCtx, ZstdFree> decompressor;
  std::unique_ptr<std::uint64_t[]> lz4_state;
  std::unique_ptr<std::byte[]> planes;
  std::size_t planes_capacity = 0;

  MutableBytes planes_of(std::size_t size) {
    assert(size <= chunk_size_max);
    if (planes_capacity < size) {
      planes = std::make_unique_for_overwrite<std::byte[]>(size);
      planes_capacity = size;
    }
    return {planes.get(), size};
  }
};

Workspace& workspace() {
  thread_local Workspace instance;
  return instance;
}

int zstd_level(Effort effort) {
  switch (effort) {
    case Effort::fast: return 1;
    case Effort::balanced: return 3;
    case Effort::thorough: return 9;
  }
  return 3;
}

const char* chars(const std::byte* p) { return reinterpret_cast<const char*>(p); }
char* chars(std::byte* p) { return reinterpret_cast<char*>(p); }

// Compressors write at most out.size() bytes and return how many, or 0 when it did not fit.
std::size_t lz4_into(Bytes plain, MutableBytes out) {
  Workspace& w = workspace();
  if (!w.lz4_state)
    w.lz4_state = std::make_unique_for_overwrite<std::uint64_t[]>(static_cast<std::size_t>(LZ4_sizeofState()) / 8 + 1);
  const int n = LZ4_compress_fast_extState(w.lz4_state.get(), chars(plain.data()), chars(out.data()),
                                           static_cast<int>(plain.size()), static_cast<int>(out.size()), 1);
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

std::size_t zstd_into(Bytes plain, Effort effort, MutableBytes out) {
  Workspace& w = workspace();
  if (!w.compressor) w.compressor.reset(ZSTD_createCCtx());
  if (!w.compressor) return 0;
  const std::size_t n = ZSTD_compressCCtx(w.compressor.get(), out.data(), out.size(), plain.data(), plain.size(),
                                          zstd_level(effort));
  return ZSTD_isError(n) ? 0 : n;
}

bool repeats(Bytes plain, std::size_t width) {
  return plain.size() <= width || std::memcmp(plain.data(), plain.data() + width, plain.size() - width) == 0;
}

// Width of the element all of `plain` repeats, or 0.
std::uint8_t constant_width(Bytes plain) {
  // What repeats 1, 2 or 4 bytes repeats 8; then the first 8 decide.
  if (plain.size() > 8 && !repeats(plain, 8)) return 0;
  const Bytes front = plain.first(std::min<std::size_t>(plain.size(), 8));
  for (const std::uint8_t width : {1, 2, 4, 8})
    if (plain.size() > width && repeats(front, width)) return width;
  return 0;
}

Encoded append(Codec codec, std::uint8_t width, Bytes stored, Buffer& out) {
  out.insert(out.end(), stored.begin(), stored.end());
  return {codec, width, stored.size()};
}

bool is_shuffled(Codec codec) { return codec == Codec::shuffle_lz4 || codec == Codec::shuffle_zstd; }
bool is_lz4(Codec codec) { return codec == Codec::lz4 || codec == Codec::shuffle_lz4; }

// Appends at most `limit` bytes and returns how many; 0 when it did not fit.
std::size_t compress(Codec codec, std::uint8_t width, Effort effort, Bytes plain, std::size_t limit, Buffer& out) {
  Bytes input = plain;
  if (is_shuffled(codec)) {
    const MutableBytes planes = workspace().planes_of(plain.size());
    shuffle(plain, width, planes);
    input = planes;
  }
  const std::size_t base = out.size();
  out.resize(base + limit);
  const MutableBytes room = MutableBytes(out).subspan(base);
  const std::size_t n = is_lz4(codec) ? lz4_into(input, room) : zstd_into(input, effort, room);
  out.resize(base + n);
  return n;
}

// The best form of one chunk so far, lying at the end of `out`.
class Choice {
 public:
  Choice(Bytes plain, Effort effort, Buffer& out)
      : plain_(plain), effort_(effort), out_(out), base_(out.size()),
        best_{Codec::raw, 1, plain.size() - plain.size() / 16 + 1} {}

  // Takes the codec when it is at least `margin` bytes smaller than the best so far.
  void consider(Codec codec, std::uint8_t width, std::size_t margin = 1) {
    if (best_.size <= margin) return;
    const std::size_t at = out_.size();
    const std::size_t n = compress(codec, width, effort_, plain_, best_.size - margin, out_);
    if (n == 0) return;
    if (at != base_) std::memmove(out_.data() + base_, out_.data() + at, n);
    out_.resize(base_ + n);
    best_ = {codec, is_shuffled(codec) ? width : std::uint8_t{1}, n};
  }
  bool raw() const { return best_.codec == Codec::raw; }
  const Encoded& best() const { return best_; }
  Encoded finish() { return raw() ? append(Codec::raw, 1, plain_, out_) : best_; }

 private:
  Bytes plain_;
  Effort effort_;
  Buffer& out_;
  std::size_t base_;
  Encoded best_;  // while raw: the first size that does not save enough
};

// zstd costs ten times what lz4 does, so lz4 (or a look at the entropy) says first whether and on which
// form of the bytes it has a chance.
void consider_zstd(Bytes plain, std::uint8_t width, bool numeric, Choice& choice) {
  const bool on_planes = choice.raw() ? numeric : is_shuffled(choice.best().codec);
  if (choice.raw() && entropy_saving(plain, on_planes ? width : std::uint8_t{1}) < 1.0 / 16) return;
  choice.consider(on_planes ? Codec::shuffle_zstd : Codec::zstd, width, choice.raw() ? 1 : plain.size() / 64 + 1);
}

}  // namespace

Encoded encode(Bytes plain, EncodeHint hint, Buffer& out) {
  if (plain.empty() || plain.size() > chunk_size_max) return append(Codec::raw, 1, plain, out);
  if (const std::uint8_t width = constant_width(plain)) return append(Codec::constant, width, plain.first(width), out);

  const PageEstimate guess = estimate(plain);
  std::uint8_t width = hint.element_width != 0 ? hint.element_width : guess.element_width;
  if (hint.effort == Effort::thorough && width == 1 && hint.element_width == 0 &&
      entropy_saving(plain, 4) > entropy_saving(plain, 1) + 0.01)
    width = 4;
  const bool numeric = width == 2 || width == 4 || width == 8;

  Choice choice(plain, hint.effort, out);
  if (numeric && (!guess.looks_random || hint.effort == Effort::thorough)) choice.consider(Codec::shuffle_lz4, width);
  // Numbers whose planes shrink well leave little to find in the bytes as they are.
  const bool settled = guess.element_width > 1 && choice.best().size <= plain.size() / 2;
  if (!settled || hint.effort == Effort::thorough) choice.consider(Codec::lz4, 1);
  if (hint.effort == Effort::balanced) consider_zstd(plain, width, numeric, choice);
  if (hint.effort == Effort::thorough) {
    if (numeric) choice.consider(Codec::shuffle_zstd, width);
    choice.consider(Codec::zstd, 1);
  }
  return choice.finish();
}

Result<Encoded> encode_as(Codec codec, std::uint8_t width, Effort effort, Bytes plain, Buffer& out) {
  if (plain.size() > chunk_size_max) return fail(ErrorKind::unsupported, "more than 16 MiB in one chunk");
  if ((is_shuffled(codec) || codec == Codec::constant) && width == 0) return fail(ErrorKind::unsupported, "element width 0");
  switch (codec) {
    case Codec::raw: return append(Codec::raw, 1, plain, out);
    case Codec::constant:
      if (plain.size() < width || !repeats(plain, width))
        return fail(ErrorKind::unsupported, "the bytes are not one repeated element");
      return append(Codec::constant, width, plain.first(width), out);
    case Codec::lz4:
    case Codec::shuffle_lz4:
    case Codec::zstd:
    case Codec::shuffle_zstd: break;
    default: return fail(ErrorKind::unsupported, "unknown codec " + std::to_string(static_cast<int>(codec)));
  }
  const std::size_t bound = is_lz4(codec) ? static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(plain.size())))
                                          : ZSTD_compressBound(plain.size());
  const std::size_t n = compress(codec, width, effort, plain, bound, out);
  if (n == 0) return fail(ErrorKind::unsupported, std::string(codec_name(codec)) + " failed");
  return Encoded{codec, is_shuffled(codec) ? width : std::uint8_t{1}, n};
}

namespace {

Status lz4_decode(Bytes stored, MutableBytes plain) {
  if (stored.size() > LZ4_MAX_INPUT_SIZE || plain.size() > LZ4_MAX_INPUT_SIZE)
    return fail(ErrorKind::corrupt, "lz4: impossible size");
  const int n = LZ4_decompress_safe(chars(stored.data()), chars(plain.data()), static_cast<int>(stored.size()),
                                    static_cast<int>(plain.size()));
  if (n < 0 || static_cast<std::size_t>(n) != plain.size())
    return fail(ErrorKind::corrupt, "lz4: the stored bytes do not expand to " + std::to_string(plain.size()));
  return {};
}

Status zstd_decode(Bytes stored, MutableBytes plain) {
  // One frame, whose header states the size: anything else was not written by us.
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

Status constant_decode(std::uint8_t width, Bytes stored, MutableBytes plain) {
  if (width == 0 || stored.size() != width || plain.size() < width)
    return fail(ErrorKind::corrupt, "const: stored size and element width differ");
  if (width == 1) {
    std::memset(plain.data(), std::to_integer<int>(stored[0]), plain.size());
    return {};
  }
  std::memcpy(plain.data(), stored.data(), width);
  for (std::size_t done = width; done < plain.size();) {
    const std::size_t n = std::min(done, plain.size() - done);
    std::memcpy(plain.data() + done, plain.data(), n);
    done += n;
  }
  return {};
}

}  // namespace

Status decode(Codec codec, std::uint8_t width, Bytes stored, MutableBytes plain) {
  switch (codec) {
    case Codec::raw:
      if (stored.size() != plain.size()) return fail(ErrorKind::corrupt, "raw: stored size differs from the plain size");
      if (!plain.empty()) std::memcpy(plain.data(), stored.data(), plain.size());
      return {};
    case Codec::constant: return constant_decode(width, stored, plain);
    case Codec::lz4: return lz4_decode(stored, plain);
    case Codec::zstd: return zstd_decode(stored, plain);
    case Codec::shuffle_zstd:
    case Codec::shuffle_lz4: {
      if (width == 0) return fail(ErrorKind::corrupt, "element width 0");
      if (plain.size() > chunk_size_max) return fail(ErrorKind::corrupt, "more than 16 MiB in one chunk");
      const MutableBytes planes = workspace().planes_of(plain.size());
      PEEL_CHECK(codec == Codec::shuffle_lz4 ? lz4_decode(stored, planes) : zstd_decode(stored, planes), "");
      unshuffle(planes, width, plain);
      return {};
    }
  }
  return fail(ErrorKind::unsupported, "codec " + std::to_string(static_cast<int>(codec)) + " is not known here");
}

const char* codec_name(Codec codec) {
  switch (codec) {
    case Codec::raw: return "raw";
    case Codec::constant: return "const";
    case Codec::lz4: return "lz4";
    case Codec::zstd: return "zstd";
    case Codec::shuffle_zstd: return "shuf+zstd";
    case Codec::shuffle_lz4: return "shuf+lz4";
  }
  return "?";
}

Result<Codec> codec_from_name(std::string_view name) {
  for (const Codec codec : {Codec::raw, Codec::constant, Codec::lz4, Codec::zstd, Codec::shuffle_zstd, Codec::shuffle_lz4})
    if (name == codec_name(codec)) return codec;
  return fail(ErrorKind::usage, "no codec of that name: raw, const, lz4, zstd, shuf+zstd, shuf+lz4");
}

}  // namespace peel::codec
