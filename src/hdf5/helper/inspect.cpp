#include "hdf5/helper/inspect.h"

#include <algorithm>

#include "hdf5/helper/open_file.h"
#include "hdf5/helper/superblock.h"
#include "hdf5/helper/walk.h"
#include "hdf5/signature.h"

namespace peel::hdf5 {
namespace {

Result<Superblock> read_superblock(const Source& source, std::uint64_t at) {
  std::array<std::byte, superblock_size_max> bytes{};
  const std::uint64_t left = source.size() - at;
  PEEL_TRY(const std::size_t n, source.read_at(at, MutableBytes(bytes).first(std::min<std::uint64_t>(bytes.size(), left))), "superblock");
  return parse_superblock(Bytes(bytes).first(n), at);
}

std::string missing_bytes_text(const Health& health) {
  return "it has " + std::to_string(health.size) + " bytes of the " + std::to_string(health.expected_size) +
         " its superblock promises";
}

Status try_to_open(const Source& source) {
  // The marks and the length are judged already; here the question is whether there is a way in.
  PEEL_TRY(const OpenFile file, OpenFile::open(source, Strictness::lenient), "");
  PEEL_TRY(const Handle root, open_root(file.id()), "root group");
  PEEL_CHECK(links_of(root.get()), "root group");
  return {};
}

}  // namespace

Result<Health> inspect_file(const Source& source) {
  Health out;
  out.size = source.size();
  PEEL_TRY(const auto at, find_signature(source), "");
  if (!at) {
    out.state = HealthState::not_hdf5;
    out.text = "there is no HDF5 signature in the file";
    return out;
  }
  const auto superblock = read_superblock(source, *at);
  if (!superblock) {
    const bool cut = superblock.error().kind() == ErrorKind::truncated;
    out.state = cut ? HealthState::truncated : HealthState::unreadable;
    out.text = cut ? "the file ends inside its superblock" : superblock.error().message();
    return out;
  }
  out.expected_size = superblock->end_of_file.value_or(0);
  out.swmr = superblock->swmr_writer;
  const bool short_of_bytes = out.expected_size > out.size;
  if (superblock->writer || superblock->swmr_writer) {
    out.state = HealthState::open_for_writing;
    out.text = std::string("it is marked as open for ") + (out.swmr ? "SWMR " : "") + "writing: a program is writing it, or was killed" +
               " while writing (then h5clear -s removes the mark)";
    if (short_of_bytes) out.text += "; " + missing_bytes_text(out);
    return out;
  }
  if (short_of_bytes) {
    out.state = HealthState::truncated;
    out.text = "the file is cut short: " + missing_bytes_text(out);
    return out;
  }
  if (const Status opened = try_to_open(source); !opened) {
    out.state = HealthState::unreadable;
    out.text = "HDF5 cannot open it: " + opened.error().message();
    return out;
  }
  out.text = "the file is whole";
  return out;
}

}  // namespace peel::hdf5
