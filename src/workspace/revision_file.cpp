#include "workspace/revision_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/cancel.h"
#include "base/hex.h"
#include "codec/grid_digest.h"

namespace peel::workspace {

Status write_all(int fd, std::uint64_t offset, Bytes data) {
  std::size_t done = 0;
  while (done < data.size()) {
    const ssize_t n = ::pwrite(fd, data.data() + done, data.size() - done, static_cast<off_t>(offset + done));
    if (n < 0) {
      if (errno == EINTR) continue;
      return Error::from_errno(errno, "write at " + std::to_string(offset + done));
    }
    done += static_cast<std::size_t>(n);
  }
  return {};
}

namespace {

// A revision's data come in pieces that may hold a few bytes among zeros; a file that has never been written
// reads as zeros by itself. Blocks of this size stay holes.
constexpr std::size_t hole_size = 64u << 10;

std::size_t block_at(std::uint64_t offset, std::size_t left) {
  return std::min<std::size_t>(hole_size - static_cast<std::size_t>(offset % hole_size), left);
}

Status write_sparse(int fd, std::uint64_t offset, Bytes data) {
  while (!data.empty()) {
    std::size_t zeros = 0, bytes = 0;
    while (zeros < data.size()) {
      const std::size_t block = block_at(offset + zeros, data.size() - zeros);
      if (!codec::all_zero(data.subspan(zeros, block))) break;
      zeros += block;
    }
    offset += zeros;
    data = data.subspan(zeros);
    while (bytes < data.size()) {
      const std::size_t block = block_at(offset + bytes, data.size() - bytes);
      if (codec::all_zero(data.subspan(bytes, block))) break;
      bytes += block;
    }
    PEEL_CHECK(write_all(fd, offset, data.first(bytes)), "");
    offset += bytes;
    data = data.subspan(bytes);
  }
  return {};
}

}  // namespace

Status write_revision(const Reader& reader, int fd, const Run& run) {
  // Every so often the kernel is told to start writing, so that the fsync at the end finds little left.
  constexpr std::uint64_t flush_every = 16u << 20;
  const std::uint64_t size = reader.size();
  if (::ftruncate(fd, static_cast<off_t>(size)) != 0) return Error::from_errno(errno, "set the size to " + std::to_string(size));
  codec::ContentHasher hasher;
  std::uint64_t flushed = 0;
  const auto sink = [&](std::uint64_t offset, Bytes data, std::uint64_t hole_length) -> Status {
    if (run.cancel) PEEL_CHECK(run.cancel->check(), "");
    if (data.empty()) {
      hasher.skip_zeros(hole_length);
    } else {
      hasher.update(data);
      PEEL_CHECK(write_sparse(fd, offset, data), "");
    }
    const std::uint64_t end = offset + (data.empty() ? hole_length : data.size());
    if (end - flushed >= flush_every) {
      ::sync_file_range(fd, static_cast<off_t>(flushed), static_cast<off_t>(end - flushed), SYNC_FILE_RANGE_WRITE);
      flushed = end;
    }
    if (run.progress) run.progress({end, size});
    return {};
  };
  PEEL_CHECK(reader.stream(0, size, sink), "");
  const Digest content = hasher.finish();
  if (content != reader.content())
    return fail(ErrorKind::corrupt, "the bytes read have the digest " + short_hex(content) + ", the revision says " +
                                        short_hex(reader.content()));
  return {};
}

}  // namespace peel::workspace
