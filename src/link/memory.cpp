#include "link/memory.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "link/poll_wait.h"

namespace peel::link {
namespace {

// One way of the line: a ring of bytes.
struct Direction {
  explicit Direction(std::size_t capacity) : ring(std::max<std::size_t>(capacity, 1)) {}
  Buffer ring;
  std::size_t head = 0, filled = 0;  // first byte to read; how many there are
  std::uint64_t sent = 0;
  std::optional<std::uint64_t> cut_after;
  bool ended = false;  // the sender closed
};

struct Line {
  explicit Line(const MemoryPairOptions& options) : ways{Direction(options.capacity), Direction(options.capacity)} {
    ways[0].cut_after = options.cut_first_after;
    ways[1].cut_after = options.cut_second_after;
  }
  std::mutex mutex;
  std::condition_variable changed;
  std::array<Direction, 2> ways;           // ways[i] is what end i sends
  std::array<bool, 2> gone{false, false};  // that end was closed or destroyed
  bool dead = false;
};

class MemoryChannel final : public Channel {
public:
  MemoryChannel(std::shared_ptr<Line> line, std::size_t end) : line_(std::move(line)), end_(end) {
    properties_.peer_name = "memory";
  }
  ~MemoryChannel() override {
    const std::lock_guard guard(line_->mutex);
    if (!line_->gone[end_]) line_->dead = true;
    line_->gone[end_] = true;
    line_->changed.notify_all();
  }

  Result<ReadOutcome> read_some(MutableBytes out) override {
    const std::lock_guard guard(line_->mutex);
    if (line_->gone[end_]) return lost();
    Direction& in = line_->ways[1 - end_];
    const std::size_t n = std::min(out.size(), in.filled);
    for (std::size_t done = 0; done < n;) {
      const std::size_t run = std::min(n - done, in.ring.size() - in.head);
      std::copy_n(in.ring.begin() + static_cast<std::ptrdiff_t>(in.head), run,
                  out.begin() + static_cast<std::ptrdiff_t>(done));
      in.head = (in.head + run) % in.ring.size();
      done += run;
    }
    in.filled -= n;
    if (n > 0) line_->changed.notify_all();
    if (n > 0 || out.empty()) return ReadOutcome{n, false};
    if (in.ended) return ReadOutcome{0, true};
    if (line_->dead) return lost();
    return ReadOutcome{};
  }

  Result<std::size_t> write_some(Bytes data) override {
    const std::lock_guard guard(line_->mutex);
    if (line_->gone[end_] || line_->dead || line_->gone[1 - end_]) return lost();
    Direction& out = line_->ways[end_];
    std::size_t n = std::min(data.size(), out.ring.size() - out.filled);
    if (out.cut_after) n = std::min<std::uint64_t>(n, *out.cut_after - out.sent);
    for (std::size_t done = 0; done < n;) {
      const std::size_t tail = (out.head + out.filled) % out.ring.size();
      const std::size_t run = std::min(n - done, out.ring.size() - tail);
      std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(done), run,
                  out.ring.begin() + static_cast<std::ptrdiff_t>(tail));
      out.filled += run;
      done += run;
    }
    out.sent += n;
    if (out.cut_after && out.sent == *out.cut_after) line_->dead = true;
    line_->changed.notify_all();
    if (n == 0 && line_->dead && !data.empty()) return lost();
    return n;
  }

  Status wait(Interest interest, std::optional<Instant> deadline, const Cancel* cancel) override {
    std::unique_lock guard(line_->mutex);
    const Direction& in = line_->ways[1 - end_];
    const Direction& out = line_->ways[end_];
    while (true) {
      if (cancel != nullptr) PEEL_CHECK(cancel->check(), "");
      if (line_->dead || line_->gone[end_]) return {};
      if (interest.read && (in.filled > 0 || in.ended)) return {};
      if (interest.write && (out.filled < out.ring.size() || line_->gone[1 - end_])) return {};
      const Instant now = std::chrono::steady_clock::now();
      if (deadline && now >= *deadline) return fail(ErrorKind::timeout, "no answer in time");
      Instant until = now + cancel_slice;
      if (deadline) until = std::min(until, *deadline);
      line_->changed.wait_until(guard, until);
    }
  }

  void close() override {
    const std::lock_guard guard(line_->mutex);
    if (!line_->dead) line_->ways[end_].ended = true;  // an end behind a cut never arrives
    line_->gone[end_] = true;
    line_->changed.notify_all();
  }

  const Properties& properties() const override { return properties_; }

private:
  static Error lost() { return fail(ErrorKind::network, "the line is dead"); }

  std::shared_ptr<Line> line_;
  std::size_t end_;
  Properties properties_;
};

}  // namespace

MemoryPair make_memory_pair(const MemoryPairOptions& options) {
  auto line = std::make_shared<Line>(options);
  return {std::make_unique<MemoryChannel>(line, 0), std::make_unique<MemoryChannel>(line, 1)};
}

}  // namespace peel::link
