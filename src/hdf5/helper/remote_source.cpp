#include "hdf5/helper/remote_source.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "hdf5/protocol.h"

namespace peel::hdf5 {

void receive_or_exit(int socket, MutableBytes out) {
  while (!out.empty()) {
    const ssize_t n = ::recv(socket, out.data(), out.size(), 0);
    if (n > 0) out = out.subspan(static_cast<std::size_t>(n));
    else if (n == 0 || errno != EINTR) ::_exit(0);  // peel is gone
  }
}

void send_or_exit(int socket, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n > 0) bytes = bytes.subspan(static_cast<std::size_t>(n));
    else if (n == 0 || errno != EINTR) ::_exit(0);
  }
}

Status RemoteSource::fetch(std::uint64_t offset, MutableBytes out) const {
  while (!out.empty()) {
    const MutableBytes piece = out.first(std::min<std::size_t>(out.size(), read_size_max));
    send_or_exit(socket_, encode(FrameHeader{FrameKind::read, index_, static_cast<std::uint32_t>(piece.size()), offset}));
    std::array<std::byte, 4> raw;
    receive_or_exit(socket_, raw);
    const std::uint32_t n = WireReader::load<std::uint32_t>(raw.data());
    if (n > piece.size()) ::_exit(exit_bad_request);
    receive_or_exit(socket_, piece.first(n));
    if (n < piece.size()) return fail(ErrorKind::io, "the file became shorter");
    offset += n;
    out = out.subspan(n);
  }
  return {};
}

Status RemoteSource::load(std::uint64_t number, std::size_t blocks) const {
  const std::uint64_t begin = number * block_size;
  const std::uint64_t length = std::min<std::uint64_t>(blocks * block_size, size_ - begin);
  Buffer bytes(static_cast<std::size_t>(length));
  PEEL_CHECK(fetch(begin, bytes), "");
  for (std::size_t i = 0; i * block_size < bytes.size(); ++i) {
    if (by_number_.contains(number + i)) continue;
    const Bytes part = Bytes(bytes).subspan(i * block_size, std::min(block_size, bytes.size() - i * block_size));
    recent_.push_front(Block{number + i, Buffer(part.begin(), part.end())});
    by_number_[number + i] = recent_.begin();
    last_loaded_ = number + i;
  }
  while (recent_.size() > cache_blocks) {
    by_number_.erase(recent_.back().number);
    recent_.pop_back();
  }
  return {};
}

Result<const RemoteSource::Block*> RemoteSource::block(std::uint64_t number) const {
  auto found = by_number_.find(number);
  if (found == by_number_.end()) {
    const bool in_order = last_loaded_ != UINT64_MAX && number == last_loaded_ + 1;
    PEEL_CHECK(load(number, in_order ? read_ahead_blocks : 1), "");
    found = by_number_.find(number);
  }
  recent_.splice(recent_.begin(), recent_, found->second);
  return &*recent_.begin();
}

Result<std::size_t> RemoteSource::read_at(std::uint64_t offset, MutableBytes out) const {
  if (offset >= size_) return std::size_t{0};
  out = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - offset)));
  if (out.size() >= block_size) {
    PEEL_CHECK(fetch(offset, out), "");
    return out.size();
  }
  for (std::size_t done = 0; done < out.size();) {
    const std::uint64_t at = offset + done;
    PEEL_TRY(const Block* from, block(at / block_size), "");
    const std::size_t skip = static_cast<std::size_t>(at % block_size);
    const std::size_t n = std::min(out.size() - done, from->bytes.size() - skip);
    std::memcpy(out.data() + done, from->bytes.data() + skip, n);
    done += n;
  }
  return out.size();
}

}  // namespace peel::hdf5
