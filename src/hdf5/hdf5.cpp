#include "hdf5/hdf5.h"

#include <algorithm>

#include "hdf5/answer.h"
#include "hdf5/conversation.h"
#include "hdf5/signature.h"

namespace peel::hdf5 {
namespace {

Request request_for(Question question, const Limits& limits) {
  Request out;
  out.question = question;
  out.memory_bytes_max = limits.helper_bytes_max;
  const auto ms = std::clamp<std::int64_t>(limits.time_max.count(), 1, INT32_MAX);
  out.cpu_seconds_max = static_cast<std::uint32_t>(ms / 1000 + 1);
  // The helper stops a little before we stop it, so that there is something to show.
  out.time_ms = static_cast<std::uint32_t>(ms - ms / 10);
  out.items_max = limits.items_max;
  return out;
}

Patience patience_of(const Limits& limits) { return {limits.time_max, limits.cancel}; }

// Sorted, apart, and few: neighbours are joined until the helper can be told all of them.
std::vector<Range> coarsened(std::vector<Range> ranges) {
  std::erase_if(ranges, [](const Range& r) { return r.length == 0; });
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.offset < b.offset; });
  for (std::uint64_t gap = 0; gap == 0 || ranges.size() > changed_ranges_max; gap = gap == 0 ? 4096 : gap * 2) {
    std::size_t kept = 0;
    for (const Range& r : ranges) {
      if (kept > 0) {
        Range& last = ranges[kept - 1];
        const std::uint64_t last_end = last.offset + last.length;
        if (r.offset <= last_end || r.offset - last_end < gap) {
          last.length = std::max(last_end, r.offset + r.length) - last.offset;
          continue;
        }
      }
      ranges[kept++] = r;
    }
    ranges.resize(kept);
  }
  return ranges;
}

}  // namespace

bool looks_like_hdf5(const Source& source) {
  const auto found = find_signature(source);
  return found && found->has_value();
}

Result<Health> inspect(const Source& source, const Limits& limits) {
  PEEL_TRY(const auto signature, find_signature(source), "");
  if (!signature) {
    Health out;
    out.state = HealthState::not_hdf5;
    out.size = source.size();
    out.text = out.size == 0 ? "the file is empty" : "there is no HDF5 signature in the file";
    return out;
  }
  const Source* const sources[] = {&source};
  PEEL_TRY(const Buffer answer, ask(request_for(Question::inspect, limits), sources, patience_of(limits)), "");
  return decode_health(answer);
}

Result<Listing> list(const Source& source, const Limits& limits) {
  const Source* const sources[] = {&source};
  PEEL_TRY(const Buffer answer, ask(request_for(Question::list, limits), sources, patience_of(limits)), "");
  return decode_listing(answer, limits.items_max);
}

Result<FileDiff> compare(const Source& before, const Source& after, const CompareOptions& options) {
  if (options.changed && options.changed->empty() && before.size() == after.size()) return FileDiff{};
  if (options.path.size() > path_size_max) return fail(ErrorKind::usage, "the path is too long");
  Request request = request_for(Question::compare, options.limits);
  request.path = options.path;
  if (options.changed) request.changed = coarsened(*options.changed);
  const Source* const sources[] = {&before, &after};
  PEEL_TRY(const Buffer answer, ask(std::move(request), sources, patience_of(options.limits)), "");
  return decode_file_diff(answer, options.limits.items_max);
}

}  // namespace peel::hdf5
