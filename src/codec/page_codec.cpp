#include "codec/page_codec.h"

#include <algorithm>
#include <cassert>

#include "base/copy.h"
#include "codec/compressors.h"
#include "codec/dbp.h"
#include "codec/differences.h"
#include "codec/page_stored.h"
#include "codec/planes.h"

namespace peel::codec {
namespace {

int zstd_level(Effort effort) {
  switch (effort) {
    case Effort::fast: return 1;
    case Effort::balanced: return 3;
    case Effort::thorough: return 9;
  }
  return 3;
}

bool repeats(Bytes plain, std::size_t width) {
  return plain.size() <= width || std::memcmp(plain.data(), plain.data() + width, plain.size() - width) == 0;
}

bool is_shuffled(Codec codec) { return codec == Codec::shuffle_lz4 || codec == Codec::shuffle_zstd; }

Bytes shuffled(Bytes bytes, std::uint8_t width) {
  const MutableBytes planes = scratch(Scratch::planes, bytes.size());
  shuffle(bytes, width, planes);
  return planes;
}

}  // namespace

bool codec_has_width(Codec codec) {
  return codec == Codec::constant || is_shuffled(codec) || codec == Codec::dbp || codec == Codec::delta_zstd || codec == Codec::planes;
}

std::size_t compress_into(Codec codec, std::uint8_t width, Effort effort, Bytes plain, MutableBytes out) {
  switch (codec) {
    case Codec::lz4: return lz4_into(plain, out);
    case Codec::zstd: return zstd_into(plain, zstd_level(effort), out);
    case Codec::shuffle_lz4: return lz4_into(shuffled(plain, width), out);
    case Codec::shuffle_zstd: return zstd_into(shuffled(plain, width), zstd_level(effort), out);
    case Codec::dbp: return dbp_encode(width, dbp_guess(width, plain, dbp_guess_blocks).order, plain, out);
    case Codec::delta_zstd: {
      const MutableBytes differences = scratch(Scratch::differences, plain.size());
      differences_of(plain, width, differences);
      return zstd_into(shuffled(differences, width), zstd_level(effort), out);
    }
    case Codec::planes: return planes_into(width, plain, out);
    case Codec::raw:
    case Codec::constant: break;
  }
  return 0;
}

Encoded append(Codec codec, std::uint8_t width, Bytes stored, Buffer& out) {
  append_bytes(stored, out);
  return {codec, codec_has_width(codec) ? width : std::uint8_t{1}, stored.size()};
}

namespace {

std::size_t stored_bound(Codec codec, std::uint8_t width, std::size_t size) {
  switch (codec) {
    case Codec::lz4:
    case Codec::shuffle_lz4: return lz4_bound(size);
    case Codec::dbp: return dbp_bound(width, size);
    case Codec::planes: return planes_bound(width, size);
    default: return zstd_bound(size);
  }
}

}  // namespace

Result<Encoded> encode_as(Codec codec, std::uint8_t width, Effort effort, Bytes plain, Buffer& out) {
  if (plain.size() > chunk_size_max) return fail(ErrorKind::unsupported, "more than 16 MiB in one chunk");
  if (codec_has_width(codec) && width == 0) return fail(ErrorKind::unsupported, "element width 0");
  if ((codec == Codec::dbp || codec == Codec::delta_zstd) && !dbp_takes(width))
    return fail(ErrorKind::unsupported, std::string(codec_name(codec)) + " takes elements of 1, 2, 4 or 8 bytes");
  switch (codec) {
    case Codec::raw: return append(Codec::raw, 1, plain, out);
    case Codec::constant:
      if (plain.size() < width || !repeats(plain, width))
        return fail(ErrorKind::unsupported, "the bytes are not one repeated element");
      return append(Codec::constant, width, plain.first(width), out);
    case Codec::lz4:
    case Codec::zstd:
    case Codec::shuffle_zstd:
    case Codec::shuffle_lz4:
    case Codec::dbp:
    case Codec::delta_zstd:
    case Codec::planes: {
      const MutableBytes room = scratch(Scratch::candidate, stored_bound(codec, width, plain.size()));
      const std::size_t n = compress_into(codec, width, effort, plain, room);
      if (n == 0) return fail(ErrorKind::unsupported, std::string(codec_name(codec)) + " failed");
      return append(codec, width, room.first(n), out);
    }
  }
  return fail(ErrorKind::unsupported, "unknown codec " + std::to_string(static_cast<int>(codec)));
}

namespace {

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
      copy_bytes(stored, plain.data());
      return {};
    case Codec::constant: return constant_decode(width, stored, plain);
    case Codec::lz4: return lz4_from(stored, plain);
    case Codec::zstd: return zstd_from(stored, plain);
    case Codec::shuffle_zstd:
    case Codec::shuffle_lz4:
    case Codec::dbp:
    case Codec::delta_zstd:
    case Codec::planes: break;
    default: return fail(ErrorKind::unsupported, "codec " + std::to_string(static_cast<int>(codec)) + " is not known here");
  }
  if (width == 0) return fail(ErrorKind::corrupt, "element width 0");
  if (plain.size() > chunk_size_max) return fail(ErrorKind::corrupt, "more than 16 MiB in one chunk");
  if (codec == Codec::dbp) return dbp_decode(width, stored, plain);
  if (codec == Codec::planes) return planes_from(width, stored, plain);
  if (codec == Codec::delta_zstd && !dbp_takes(width)) return fail(ErrorKind::corrupt, "delta: element width");
  const MutableBytes planes = scratch(Scratch::planes, plain.size());
  PEEL_CHECK(codec == Codec::shuffle_lz4 ? lz4_from(stored, planes) : zstd_from(stored, planes), "");
  unshuffle(planes, width, plain);
  if (codec == Codec::delta_zstd) add_up_differences(width, plain);
  return {};
}

const char* codec_name(Codec codec) {
  switch (codec) {
    case Codec::raw: return "raw";
    case Codec::constant: return "const";
    case Codec::lz4: return "lz4";
    case Codec::zstd: return "zstd";
    case Codec::shuffle_zstd: return "shuf+zstd";
    case Codec::shuffle_lz4: return "shuf+lz4";
    case Codec::dbp: return "dbp";
    case Codec::delta_zstd: return "delta+shuf+zstd";
    case Codec::planes: return "planes";
  }
  return "?";
}

Result<Codec> codec_from_name(std::string_view name) {
  std::string names;
  for (int i = 0; i <= static_cast<int>(Codec::planes); ++i) {
    const auto codec = static_cast<Codec>(i);
    if (name == codec_name(codec)) return codec;
    names += (i == 0 ? "" : ", ") + std::string(codec_name(codec));
  }
  return fail(ErrorKind::usage, "no codec of that name: " + names);
}

}  // namespace peel::codec
