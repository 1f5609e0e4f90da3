#include "workspace/space_estimate.h"

#include <algorithm>

#include "base/file.h"
#include "codec/page_codec.h"

namespace peel::workspace {
namespace {

constexpr std::size_t sample_size = 64u << 10;
constexpr std::uint64_t samples_max = 64;
constexpr std::size_t extents_max = 65536;
constexpr std::uint64_t fixed_bytes = 64u << 10;  // superblocks, commit and ref records

}  // namespace

Result<std::uint64_t> data_bytes_of(const FileSource& source) {
  std::uint64_t total = 0, at = 0;
  for (std::size_t seen = 0; at < source.size(); ++seen) {
    // A file of countless extents: the block count says it nearly as well.
    if (seen == extents_max) return std::min(source.size(), source.opened().allocated);
    PEEL_TRY(const Source::Extent extent, source.next_data(at), "");
    if (extent.begin >= extent.end) break;
    total += extent.end - extent.begin;
    at = extent.end;
  }
  return total;
}

Result<SpaceNeed> estimate_space(const FileSource& source, const std::string& onion_path, bool first) {
  SpaceNeed need;
  need.first = first;
  PEEL_TRY(need.file_bytes, data_bytes_of(source), "");
  PEEL_TRY(need.free_bytes, posix_file_system().free_space(onion_path), "");
  Buffer plain(sample_size), stored;
  std::uint64_t plain_bytes = 0, stored_bytes = 0;
  for (std::uint64_t i = 0; i < samples_max && need.file_bytes > 0; ++i) {
    const std::uint64_t wanted = source.size() / samples_max * i / sample_size * sample_size;
    PEEL_TRY(const Source::Extent extent, source.next_data(wanted), "");
    PEEL_TRY(const std::size_t got, source.read_at(extent.begin, plain), "");
    if (got == 0) break;
    stored.clear();
    codec::encode(Bytes(plain).first(got), {}, stored);
    plain_bytes += got;
    stored_bytes += stored.size();
  }
  const double ratio = plain_bytes == 0 ? 1.0 : static_cast<double>(stored_bytes) / static_cast<double>(plain_bytes);
  const auto chunks = static_cast<std::uint64_t>(static_cast<double>(need.file_bytes) * ratio);
  need.expected_bytes = chunks + need.file_bytes / 64 + fixed_bytes;  // 1/64: record headers and tree nodes
  return need;
}

}  // namespace peel::workspace
