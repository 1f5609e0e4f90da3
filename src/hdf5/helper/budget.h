// hdf5/helper/budget.h - how long a report may take and how long it may become.
//
// Contract   Once stop() was called or a bound was met, stopped() stays true and why() names the first cause;
//            what was reported until then stands.
// Threads    One thread.
#pragma once

#include <chrono>
#include <string>

namespace peel::hdf5 {

class Budget {
 public:
  static constexpr std::size_t report_bytes_max = 24u << 20;  // leaves room below answer_size_max

  Budget(std::uint32_t time_ms, std::uint32_t items_max)
      : deadline_(Clock::now() + std::chrono::milliseconds(time_ms)), items_left_(items_max) {}

  // Whether one more item of `bytes` bytes may be reported.
  bool take_item(std::size_t bytes) {
    if (stopped()) return false;
    if (items_left_ == 0 || bytes > bytes_left_) {
      stop("the report would be too long");
      return false;
    }
    --items_left_;
    bytes_left_ -= bytes;
    return true;
  }
  // Whether to go on with `where`.
  bool go_on(const std::string& where) {
    if (!stopped() && Clock::now() >= deadline_) stop("the time was over at " + where);
    return !stopped();
  }
  void stop(std::string why) {
    if (why_.empty()) why_ = std::move(why);
  }
  bool stopped() const { return !why_.empty(); }
  const std::string& why() const { return why_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point deadline_;
  std::uint32_t items_left_;
  std::size_t bytes_left_ = report_bytes_max;
  std::string why_;
};

}  // namespace peel::hdf5
