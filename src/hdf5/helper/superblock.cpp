#include "hdf5/helper/superblock.h"

#include "hdf5/signature.h"

namespace peel::hdf5 {
namespace {

constexpr std::uint8_t flag_writer = 1, flag_swmr_writer = 4;

// An address of the file's own width; absent when all its bits are set, HDF5's "undefined".
Result<std::optional<std::uint64_t>> address(WireReader& in, std::uint8_t width) {
  PEEL_TRY(const Bytes raw, in.bytes(width), "superblock");
  std::uint64_t value = 0;
  bool all_set = true;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    value |= std::to_integer<std::uint64_t>(raw[i]) << (8 * i);
    all_set = all_set && raw[i] == std::byte{0xff};
  }
  return all_set ? std::optional<std::uint64_t>() : std::optional(value);
}

Status check_width(std::uint8_t width) {
  if (width == 2 || width == 4 || width == 8) return {};
  // The format allows 16 and 32; no file that long exists, and libhdf5 does not read them either.
  return fail(ErrorKind::corrupt, "superblock: addresses of " + std::to_string(width) + " bytes");
}

}  // namespace

Result<Superblock> parse_superblock(Bytes bytes, std::uint64_t at) {
  if (bytes.size() < signature_size) return fail(ErrorKind::truncated, "superblock");
  if (!is_signature(bytes)) return fail(ErrorKind::corrupt, "superblock: no signature");
  WireReader in(bytes.subspan(signature_size));
  Superblock out;
  std::uint8_t width = 0;
  PEEL_TRY(out.version, in.integer<std::uint8_t>(), "superblock");
  if (out.version > 3) {
    return fail(ErrorKind::unsupported, "superblock version " + std::to_string(out.version) + " is newer than this program");
  }
  if (out.version < 2) {
    PEEL_CHECK(in.bytes(4), "superblock");
    PEEL_TRY(width, in.integer<std::uint8_t>(), "superblock");
    PEEL_CHECK(in.bytes(out.version == 0 ? 10 : 14), "superblock");
  } else {
    PEEL_TRY(width, in.integer<std::uint8_t>(), "superblock");
    PEEL_CHECK(in.bytes(1), "superblock");
    PEEL_TRY(const auto flags, in.integer<std::uint8_t>(), "superblock");
    out.writer = out.version == 3 && (flags & flag_writer) != 0;
    out.swmr_writer = out.version == 3 && (flags & flag_swmr_writer) != 0;
  }
  PEEL_CHECK(check_width(width), "");
  PEEL_TRY(const auto base, address(in, width), "");
  PEEL_CHECK(address(in, width), "");
  PEEL_TRY(const auto end, address(in, width), "");
  // The address is absolute, but stays what it was when something was put in front of the file.
  if (base && end && *end >= *base && *end - *base <= UINT64_MAX - at) out.end_of_file = *end - *base + at;
  return out;
}

}  // namespace peel::hdf5
