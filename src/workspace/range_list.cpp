#include "workspace/range_list.h"

#include <algorithm>
#include <cstring>

#include "base/cancel.h"

namespace peel::workspace {
namespace {

constexpr std::size_t compare_size = 1u << 20;
constexpr std::size_t block_size = 4096;

// Length of the run from `at` on in which a and b differ in every byte, or (with `equal`) in none.
std::size_t run_length(Bytes a, Bytes b, std::size_t at, bool equal) {
  std::size_t end = at;
  while (end < a.size() && (a[end] == b[end]) == equal) ++end;
  return end - at;
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t grain) {
  const std::uint64_t rest = value % grain;
  return rest == 0 || value > ~0ull - grain ? value : value - rest + grain;
}

}  // namespace

void RangeList::add(std::uint64_t offset, std::uint64_t length) {
  if (length == 0) return;
  const std::uint64_t begin = offset - offset % grain_, end = round_up(offset + length, grain_);
  if (!ranges_.empty()) {
    Range& last = ranges_.back();
    const std::uint64_t last_end = last.offset + last.length;
    if (begin <= last_end || begin - last_end <= gap_) {
      last.length = std::max(last_end, end) - last.offset;
      return;
    }
  }
  if (ranges_.size() >= most_) join_near();
  ranges_.push_back({begin, end - begin});
}

void RangeList::join_near() {
  while (ranges_.size() > most_ / 2) {
    gap_ = gap_ == 0 ? 16 : gap_ * 2;
    std::size_t kept = 0;
    for (std::size_t i = 1; i < ranges_.size(); ++i) {
      const std::uint64_t end = ranges_[kept].offset + ranges_[kept].length;
      if (ranges_[i].offset - end <= gap_) ranges_[kept].length = ranges_[i].offset + ranges_[i].length - ranges_[kept].offset;
      else ranges_[++kept] = ranges_[i];
    }
    ranges_.resize(kept + 1);
  }
}

std::vector<Range> RangeList::take(std::uint64_t end) {
  while (!ranges_.empty() && ranges_.back().offset >= end) ranges_.pop_back();
  if (!ranges_.empty()) {
    Range& last = ranges_.back();
    last.length = std::min(last.length, end - last.offset);
  }
  return std::move(ranges_);
}

void add_differences(std::uint64_t offset, Bytes a, Bytes b, RangeList& out) {
  for (std::size_t block = 0; block < a.size(); block += block_size) {
    const std::size_t size = std::min(block_size, a.size() - block);
    const Bytes left = a.subspan(block, size), right = b.subspan(block, size);
    if (std::memcmp(left.data(), right.data(), size) == 0) continue;
    for (std::size_t at = run_length(left, right, 0, true); at < size;) {
      const std::size_t length = run_length(left, right, at, false);
      out.add(offset + block + at, length);
      at += length;
      at += run_length(left, right, at, true);
    }
  }
}

Status compare_range(const Source& a, const Source& b, const Range& range, const Run& run, RangeList& out) {
  const std::uint64_t end = range.offset + range.length, both = std::min(a.size(), b.size());
  Buffer left(static_cast<std::size_t>(std::min<std::uint64_t>(compare_size, range.length))), right(left.size());
  std::uint64_t at = range.offset;
  while (at < std::min(end, both)) {
    if (run.cancel) PEEL_CHECK(run.cancel->check(), "");
    PEEL_TRY(const Source::Extent in_a, a.next_data(at), "");
    PEEL_TRY(const Source::Extent in_b, b.next_data(at), "");
    const std::uint64_t begin = std::min(in_a.begin, in_b.begin);
    if (begin >= std::min(end, both)) break;  // zeros on both sides
    at = begin;
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(left.size(), std::min(end, both) - at));
    PEEL_TRY(const std::size_t got_a, a.read_at(at, MutableBytes(left).first(want)), "");
    PEEL_TRY(const std::size_t got_b, b.read_at(at, MutableBytes(right).first(want)), "");
    if (got_a != want || got_b != want) return fail(ErrorKind::truncated, "content ends at " + std::to_string(at));
    add_differences(at, Bytes(left).first(want), Bytes(right).first(want), out);
    at += want;
  }
  const std::uint64_t tail = std::max(range.offset, both), longer = std::min(end, std::max(a.size(), b.size()));
  if (longer > tail) out.add(tail, longer - tail);
  return {};
}

Result<Source::Extent> RevisionSource::next_data(std::uint64_t offset) const {
  // Pieces are asked for in windows: a sparse file of a TiB must not cost a list of everything in it.
  constexpr std::uint64_t window_min = 1u << 20, window_max = 1ull << 40;
  std::uint64_t window = window_min;
  const std::uint64_t size = reader_.size();
  for (std::uint64_t at = offset; at < size;) {
    const std::uint64_t length = std::min(window, size - at);
    PEEL_TRY(const std::vector<Piece> pieces, reader_.pieces(at, length), "");
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].is_hole()) continue;
      std::size_t last = i;
      while (last + 1 < pieces.size() && !pieces[last + 1].is_hole()) ++last;
      return Extent{std::max(at, pieces[i].offset), pieces[last].offset + pieces[last].length};
    }
    at += length;
    // Nothing but holes so far, so a larger window is likely as cheap.
    window = std::min(window * 16, window_max);
  }
  return Extent{size, size};
}

}  // namespace peel::workspace
