#include "hdf5/conversation.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "hdf5/helper_process.h"

namespace peel::hdf5 {
namespace {

using Clock = std::chrono::steady_clock;

// The socket, with a deadline and a way to be interrupted. `closed` means: see how the helper ended.
class Line {
 public:
  Line(int fd, const Patience& patience)
      : fd_(fd), time_max_(patience.time_max), deadline_(Clock::now() + patience.time_max), cancel_(patience.cancel) {}

  enum class Outcome : std::uint8_t { done, closed };

  Result<Outcome> send(Bytes bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) {
        bytes = bytes.subspan(static_cast<std::size_t>(n));
      } else if (must_wait(n)) {
        PEEL_CHECK(wait(POLLOUT), "");
      } else if (errno == EPIPE || errno == ECONNRESET) {
        return Outcome::closed;
      } else {
        return Error::from_errno(errno, "send to HDF5 reader");
      }
    }
    return Outcome::done;
  }

  Result<Outcome> receive(MutableBytes bytes) {
    while (!bytes.empty()) {
      // Asked on every turn, not only when waiting: a helper that floods us must not outlive its deadline.
      PEEL_CHECK(still_wanted(), "");
      const ssize_t n = ::recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (n > 0) {
        bytes = bytes.subspan(static_cast<std::size_t>(n));
      } else if (n == 0 || errno == ECONNRESET) {
        return Outcome::closed;
      } else if (must_wait(n)) {
        PEEL_CHECK(wait(POLLIN), "");
      } else {
        return Error::from_errno(errno, "receive from HDF5 reader");
      }
    }
    return Outcome::done;
  }

 private:
  static bool must_wait(ssize_t n) { return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR); }

  Status still_wanted() const {
    if (cancel_) PEEL_CHECK(cancel_->check(), "");
    if (Clock::now() < deadline_) return {};
    const auto tenths = time_max_.count() / 100;
    return fail(ErrorKind::timeout, "HDF5 reader did not finish within " + std::to_string(tenths / 10) + "." +
                                        std::to_string(tenths % 10) + " s: the file is damaged or too complex");
  }

  Status wait(short events) {
    PEEL_CHECK(still_wanted(), "");
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    // Nobody wakes us when the cancel flag is set, so look at it ten times a second.
    const auto nap = std::min<decltype(left)>(left, cancel_ ? 100 : 60'000);
    pollfd entry{fd_, events, 0};
    if (::poll(&entry, 1, static_cast<int>(std::max<decltype(left)>(nap, 0))) < 0 && errno != EINTR) {
      return Error::from_errno(errno, "poll");
    }
    return {};
  }

  int fd_;
  std::chrono::milliseconds time_max_;
  Clock::time_point deadline_;
  const Cancel* cancel_;
};

Error broke_the_protocol() {
  return fail(ErrorKind::corrupt, "HDF5 reader asked for something impossible: the file is damaged or hostile");
}

// Reads for the helper. `buffer` is room for the count and read_size_max bytes.
Result<Bytes> serve(const FrameHeader& read, std::span<const Source* const> sources,
                    std::span<const std::uint64_t> sizes, MutableBytes buffer) {
  if (read.source >= sources.size()) return broke_the_protocol();
  const std::uint64_t size = sizes[read.source];
  if (read.offset > size || read.length > size - read.offset) return broke_the_protocol();
  const MutableBytes room = buffer.subspan(4, read.length);
  PEEL_TRY(const std::size_t n, sources[read.source]->read_at(read.offset, room), "");
  WireWriter::store(buffer.data(), static_cast<std::uint32_t>(n));
  return Bytes(buffer.first(4 + n));
}

Buffer framed(const Request& request) {
  const Buffer body = encode(request);
  WireWriter out;
  out.integer(static_cast<std::uint32_t>(body.size())).bytes(body);
  return std::move(out).take();
}

}  // namespace

Result<Buffer> ask(Request request, std::span<const Source* const> sources, const Patience& patience) {
  request.sizes.clear();
  for (const Source* source : sources) request.sizes.push_back(source->size());
  const Buffer first = framed(request);
  assert(first.size() <= request_size_max);

  PEEL_TRY(HelperProcess helper, HelperProcess::start(), "");
  Line line(helper.socket(), patience);
  PEEL_TRY(auto outcome, line.send(first), "");
  if (outcome == Line::Outcome::closed) return helper.end();

  Buffer transfer(4 + std::size_t{read_size_max});
  while (true) {
    std::array<std::byte, frame_header_size> raw;
    PEEL_TRY(outcome, line.receive(raw), "");
    if (outcome == Line::Outcome::closed) return helper.end();
    auto header = decode_frame_header(raw);
    if (!header) return broke_the_protocol();
    if (header->kind == FrameKind::answer) {
      Buffer answer;
      // Grown as it comes: a length alone must not cost memory.
      while (answer.size() < header->length) {
        const std::size_t had = answer.size();
        answer.resize(std::min<std::size_t>(header->length, had + read_size_max));
        PEEL_TRY(outcome, line.receive(MutableBytes(answer).subspan(had)), "");
        if (outcome == Line::Outcome::closed) return helper.end();
      }
      return answer;
    }
    PEEL_TRY(const Bytes reply, serve(*header, sources, request.sizes, transfer), "");
    PEEL_TRY(outcome, line.send(reply), "");
    if (outcome == Line::Outcome::closed) return helper.end();
  }
}

}  // namespace peel::hdf5
