#include "onion/revision_table.h"

#include <algorithm>

#include "onion/run_merge.h"

namespace peel::onion {

void RevisionTable::reset(std::vector<RunLocation> runs) {
  runs_ = std::move(runs);
  unwritten_.clear();
  summaries_.clear();
  extras_.clear();
  by_id_.clear();
  by_id_count_ = 0;
  loaded_ = runs_.empty();
}

void RevisionTable::put(const RevisionRow& row) {
  summaries_.push_back(row.summary);
  extras_.push_back({row.content, row.commit, row.root, row.page_log2, row.parents});
}

void RevisionTable::add(const RevisionRow& row) {
  unwritten_.push_back(row);
  if (loaded_) put(row);
}

Result<std::vector<RevisionRow>> RevisionTable::read_run(const Store& store, const RunLocation& run) {
  PEEL_TRY(const auto record, store.read_record(run.offset, RecordType::revision_run), "");
  WireReader r(record.payload());
  PEEL_TRY(const auto count, r.integer<std::uint64_t>(), "revision run");
  if (count != run.count || r.rest().size() != count * revision_row_size)
    return fail(ErrorKind::corrupt, store.path() + ": revision run of another size than its checkpoint says");
  std::vector<RevisionRow> rows;
  rows.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    PEEL_TRY(const auto row, decode_revision_row(r.rest().subspan(i * revision_row_size, revision_row_size)), store.path());
    rows.push_back(row);
  }
  return rows;
}

Status RevisionTable::load(const Store& store) {
  if (loaded_) return {};
  auto status = load_rows(store);
  loaded_ = status.ok();
  if (!loaded_) {
    summaries_.clear();
    extras_.clear();
  }
  return status;
}

void RevisionTable::take(std::vector<RevisionRow>&& rows) {
  const auto newest = rows.empty() ? 0 : rows.back().summary.number;
  for (const auto& row : unwritten_)
    if (row.summary.number > newest) rows.push_back(row);
  reset({});
  for (const auto& row : rows) put(row);
  unwritten_ = std::move(rows);
}

// Numbers ascend, and parents come before children (format.cpp): what walks history relies on both.
Status RevisionTable::load_rows(const Store& store) {
  const auto put_next = [&](const RevisionRow& row) -> Status {
    if (!summaries_.empty() && (row.summary.number <= summaries_.back().number || row.commit <= extras_.back().commit))
      return fail(ErrorKind::corrupt, store.path() + ": revision @" + std::to_string(row.summary.number) + " is out of order");
    put(row);
    return {};
  };
  for (const auto& run : runs_) {
    PEEL_TRY(const auto rows, read_run(store, run), "");
    for (const auto& row : rows) PEEL_CHECK(put_next(row), "");
  }
  for (const auto& row : unwritten_) PEEL_CHECK(put_next(row), "");
  return {};
}

std::optional<std::size_t> RevisionTable::index_of(std::uint64_t number) const {
  // Without collections the number is the index; look there first.
  if (number >= 1 && number <= summaries_.size() && summaries_[number - 1].number == number) return number - 1;
  const auto it = std::lower_bound(summaries_.begin(), summaries_.end(), number,
                                   [](const RevisionSummary& s, std::uint64_t n) { return s.number < n; });
  if (it == summaries_.end() || it->number != number) return std::nullopt;
  return static_cast<std::size_t>(it - summaries_.begin());
}

std::optional<std::size_t> RevisionTable::index_of_commit(std::uint64_t offset) const {
  const auto it = std::lower_bound(extras_.begin(), extras_.end(), offset, [](const Extra& e, std::uint64_t at) { return e.commit < at; });
  if (it == extras_.end() || it->commit != offset) return std::nullopt;
  return static_cast<std::size_t>(it - extras_.begin());
}

std::optional<std::size_t> RevisionTable::index_of(const RevisionId& id) const {
  for (; by_id_count_ < summaries_.size(); ++by_id_count_) by_id_.emplace(summaries_[by_id_count_].id, by_id_count_);
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? std::nullopt : std::optional(it->second);
}

Status RevisionTable::write_runs(const Store& store, GroupWriter& writer) {
  if (unwritten_.empty()) return {};
  // Rows of older runs are copied as they are: runs ascend, so merging is joining.
  std::vector<Store::Record> older;
  std::uint64_t count = unwritten_.size();
  const std::size_t melting = runs_to_merge(runs_, unwritten_.size(), run_rows_max);
  for (std::size_t i = runs_.size() - melting; i < runs_.size(); ++i) {
    PEEL_TRY(auto record, store.read_record(runs_[i].offset, RecordType::revision_run), "");
    if (record.payload().size() != 8 + runs_[i].count * revision_row_size)
      return fail(ErrorKind::corrupt, store.path() + ": revision run of another size than its checkpoint says");
    count += runs_[i].count;
    older.push_back(std::move(record));
  }
  runs_.resize(runs_.size() - melting);
  const RunLocation location{writer.begin(RecordType::revision_run), count};
  Buffer& out = writer.payload();
  out.resize(out.size() + 8);
  WireWriter::store(out.data() + out.size() - 8, count);
  for (const auto& record : older) out.insert(out.end(), record.payload().begin() + 8, record.payload().end());
  for (const auto& row : unwritten_) encode(row, out);
  PEEL_CHECK(writer.end(), "");
  runs_.push_back(location);
  unwritten_.clear();
  return {};
}

}  // namespace peel::onion
