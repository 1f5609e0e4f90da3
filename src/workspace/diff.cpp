#include <algorithm>

#include "base/hex.h"
#include "workspace/file_source.h"
#include "workspace/range_list.h"
#include "workspace/workspace.h"

namespace peel::workspace {
namespace {

DiffReport finish(RangeList& list, std::uint64_t size_a, std::uint64_t size_b) {
  DiffReport report;
  report.size_a = size_a;
  report.size_b = size_b;
  report.ranges = list.take(std::max(size_a, size_b));
  for (const Range& range : report.ranges) report.bytes_changed += range.length;
  return report;
}

}  // namespace

Result<DiffReport> diff_revisions(const Onion& onion, std::uint64_t a, std::uint64_t b, const DiffRequest& request) {
  PEEL_TRY(const Reader left, onion.open_revision(a), "");
  PEEL_TRY(const Reader right, onion.open_revision(b), "");
  RangeList list(request.grain);
  if (left.content() == right.content()) return finish(list, left.size(), right.size());
  // The onion says which pages differ for the price of what differs; only those are read.
  PEEL_TRY(const std::vector<Range> pages, onion.diff(a, b), "");
  const RevisionSource from_a(left), from_b(right);
  for (const Range& range : pages) PEEL_CHECK(compare_range(from_a, from_b, range, request.run, list), "");
  return finish(list, left.size(), right.size());
}

// The revision is streamed (it reads ahead on its own threads), the file follows by pread. Where both have
// a hole, neither is read.
Result<DiffReport> diff_source(const Onion& onion, std::uint64_t a, const Source& b, const DiffRequest& request) {
  PEEL_TRY(const Reader reader, onion.open_revision(a), "");
  const std::uint64_t total = std::max(reader.size(), b.size()), both = std::min(reader.size(), b.size());
  RangeList list(request.grain);
  Buffer other(1u << 20);
  const Buffer zeros(other.size());

  const auto compare = [&](std::uint64_t offset, Bytes data) -> Status {
    while (!data.empty() && offset < both) {
      const std::size_t want = static_cast<std::size_t>(std::min<std::uint64_t>({other.size(), data.size(), both - offset}));
      PEEL_TRY(const std::size_t got, b.read_at(offset, MutableBytes(other).first(want)), "");
      if (got != want) return fail(ErrorKind::truncated, "file ends at " + std::to_string(offset + got));
      add_differences(offset, data.first(want), Bytes(other).first(want), list);
      offset += want;
      data = data.subspan(want);
    }
    return {};
  };
  const auto compare_hole = [&](std::uint64_t offset, std::uint64_t length) -> Status {
    const std::uint64_t end = std::min(offset + length, both);
    while (offset < end) {
      if (request.run.cancel) PEEL_CHECK(request.run.cancel->check(), "");
      PEEL_TRY(const Source::Extent data, b.next_data(offset), "");
      if (data.begin >= end) break;
      offset = data.begin;
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>({zeros.size(), end - offset, data.end - offset}));
      PEEL_CHECK(compare(offset, Bytes(zeros).first(size)), "");
      offset += size;
    }
    return {};
  };
  const auto sink = [&](std::uint64_t offset, Bytes data, std::uint64_t hole_length) -> Status {
    if (request.run.cancel) PEEL_CHECK(request.run.cancel->check(), "");
    if (request.run.progress) request.run.progress({offset, total});
    return data.empty() ? compare_hole(offset, hole_length) : compare(offset, data);
  };
  PEEL_CHECK(reader.stream(0, both, sink), "");
  list.add(both, total - both);
  return finish(list, reader.size(), b.size());
}

Result<DiffReport> diff_working(const Onion& onion, std::uint64_t a, const Paths& paths, const DiffRequest& request) {
  PEEL_TRY(const auto source, FileSource::open(paths.file, Symlinks::follow), "");
  return diff_source(onion, a, *source, request);
}

}  // namespace peel::workspace
