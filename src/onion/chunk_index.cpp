#include "onion/chunk_index.h"

#include <algorithm>

#include "onion/run_merge.h"

namespace peel::onion {
namespace {

constexpr std::size_t entry_size = 16;
constexpr std::size_t filter_block_size = 64;
constexpr std::size_t run_header_size = 16;

// Blocked Bloom filter: one 64-byte block a key, six bits in it.
std::size_t filter_block(std::uint64_t key, std::size_t blocks) {
  return static_cast<std::size_t>((key >> 32) * blocks >> 32);
}
template <class F>
bool each_filter_bit(std::uint64_t key, F&& f) {
  std::uint64_t bits = key * 0x9e3779b97f4a7c15u;
  for (int i = 0; i < 6; ++i, bits >>= 9)
    if (!f(static_cast<unsigned>(bits & 511))) return false;
  return true;
}
void filter_add(Buffer& filter, std::uint64_t key) {
  std::byte* block = filter.data() + filter_block(key, filter.size() / filter_block_size) * filter_block_size;
  each_filter_bit(key, [&](unsigned bit) { block[bit / 8] |= static_cast<std::byte>(1u << bit % 8); return true; });
}
bool filter_may_have(const Buffer& filter, std::uint64_t key) {
  if (filter.empty()) return true;
  const std::byte* block = filter.data() + filter_block(key, filter.size() / filter_block_size) * filter_block_size;
  return each_filter_bit(key, [&](unsigned bit) { return (block[bit / 8] & static_cast<std::byte>(1u << bit % 8)) != std::byte{0}; });
}

}  // namespace

std::size_t HintMap::slot_for(std::uint64_t key) const {
  std::size_t i = static_cast<std::size_t>(key * 0x9e3779b97f4a7c15u >> 20) & (slots_.size() - 1);
  while (slots_[i].key != 0 && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
  return i;
}

void HintMap::put(std::uint64_t key, std::uint64_t value) {
  if (key == 0) key = 1;
  if ((used_ + 1) * 3 > slots_.size() * 2) grow();
  Entry& slot = slots_[slot_for(key)];
  if (slot.key == 0) ++used_;
  slot = {key, value};
}

std::optional<std::uint64_t> HintMap::get(std::uint64_t key) const {
  if (slots_.empty()) return std::nullopt;
  if (key == 0) key = 1;
  const Entry& slot = slots_[slot_for(key)];
  return slot.key == 0 ? std::nullopt : std::optional(slot.value);
}

void HintMap::clear() {
  slots_.clear();
  used_ = 0;
}

void HintMap::grow() {
  std::vector<Entry> old(std::max<std::size_t>(256, slots_.size() * 2));
  old.swap(slots_);
  for (const Entry& e : old)
    if (e.key != 0) slots_[slot_for(e.key)] = e;
}

void ChunkIndex::reset(std::vector<RunLocation> runs) {
  recent_.clear();
  unwritten_.clear();
  unwritten_in_recent_ = true;
  runs_.clear();
  loaded_bytes_ = 0;
  for (const auto& location : runs) runs_.push_back({location, false, true, false, 0, {}, {}});
  locations_ = std::move(runs);
}

void ChunkIndex::add(std::uint64_t key, std::uint64_t offset) {
  if (recent_.size() >= recent_entries_max) {
    recent_.clear();
    unwritten_in_recent_ = false;
    for (Run& run : runs_) run.in_recent = false;
  }
  recent_.put(key, offset);
  unwritten_.push_back({key, offset});
}

void ChunkIndex::forget_from(std::uint64_t offset) {
  // Stale entries in recent_ are harmless hints: whoever finds one rechecks the record.
  std::erase_if(unwritten_, [&](const Entry& e) { return e.offset >= offset; });
}

void ChunkIndex::load_run(const Store& store, Run& run) const {
  run.loaded = true;
  run.usable = false;
  std::array<std::byte, record_header_size + run_header_size> head;
  auto got = store.file().read_at(run.location.offset, head);
  if (!got || *got < head.size()) return;
  const auto header = decode_record_header(head, store.salt());
  if (!header || header->type != RecordType::chunk_run) return;
  const auto count = WireReader::load<std::uint64_t>(head.data() + record_header_size);
  const auto blocks = WireReader::load<std::uint64_t>(head.data() + record_header_size + 8);
  const std::uint64_t room = header->length - std::min<std::uint64_t>(header->length, run_header_size);
  if (blocks > room / filter_block_size || count > (room - blocks * filter_block_size) / entry_size) return;
  const auto size = store.file().size();
  if (!size || run.location.offset + record_header_size + header->length > *size) return;
  run.location.count = count;
  run.filter.resize(static_cast<std::size_t>(blocks) * filter_block_size);
  if (!read_exactly(store.file(), run.location.offset + head.size(), run.filter)) return;
  run.entries_at = run.location.offset + head.size() + run.filter.size();
  run.usable = true;
  if (loaded_bytes_ + count * entry_size > loaded_bytes_max) return;
  auto entries = read_entries(store, run);
  if (!entries) return;
  loaded_bytes_ += count * entry_size;
  run.entries = std::move(entries).value();
}

Result<std::vector<ChunkIndex::Entry>> ChunkIndex::read_entries(const Store& store, const Run& run) const {
  Buffer raw(static_cast<std::size_t>(run.location.count) * entry_size);
  PEEL_CHECK(read_exactly(store.file(), run.entries_at, raw), "");
  std::vector<Entry> entries(run.location.count);
  for (std::size_t i = 0; i < entries.size(); ++i)
    entries[i] = {WireReader::load<std::uint64_t>(raw.data() + i * entry_size),
                  WireReader::load<std::uint64_t>(raw.data() + i * entry_size + 8)};
  return entries;
}

void ChunkIndex::load(const Store& store) const {
  for (Run& run : runs_)
    if (!run.loaded) load_run(store, run);
}

std::optional<std::uint64_t> ChunkIndex::find_in_run(const Store& store, std::size_t i, std::uint64_t key) const {
  Run& run = runs_[i];
  if (!run.loaded) load_run(store, run);
  if (!run.usable || run.location.count == 0 || !filter_may_have(run.filter, key)) return std::nullopt;
  if (!run.entries.empty()) {
    const auto it = std::lower_bound(run.entries.begin(), run.entries.end(), Entry{key, 0});
    return it != run.entries.end() && it->key == key ? std::optional(it->offset) : std::nullopt;
  }
  // Keys are uniform: guess where this one is, read around it, halve from there if the guess was off.
  std::uint64_t low = 0, high = run.location.count;
  auto guess = static_cast<std::uint64_t>(static_cast<double>(key) / 18446744073709551616.0 * static_cast<double>(high));
  std::array<std::byte, 512 * entry_size> raw;
  while (low < high) {
    const std::uint64_t from = std::max(low, std::min(guess, high - 1) - std::min<std::uint64_t>(guess, 256));
    const std::uint64_t n = std::min<std::uint64_t>(512, high - from);
    if (!read_exactly(store.file(), run.entries_at + from * entry_size, MutableBytes(raw).first(n * entry_size))) return std::nullopt;
    const auto key_at = [&](std::uint64_t j) { return WireReader::load<std::uint64_t>(raw.data() + j * entry_size); };
    if (key < key_at(0)) {
      high = from;
    } else if (key > key_at(n - 1)) {
      low = from + n;
    } else {
      for (std::uint64_t j = 0; j < n; ++j)
        if (key_at(j) == key) return WireReader::load<std::uint64_t>(raw.data() + j * entry_size + 8);
      return std::nullopt;
    }
    guess = low + (high - low) / 2;
  }
  return std::nullopt;
}

Status ChunkIndex::write_runs(const Store& store, GroupWriter& writer) {
  if (unwritten_.empty()) return {};
  std::vector<Entry> merged = std::move(unwritten_);
  unwritten_.clear();
  bool in_recent = std::exchange(unwritten_in_recent_, true);
  for (std::size_t melting = runs_to_merge(locations_, merged.size(), run_entries_max); melting > 0; --melting) {
    Run& last = runs_.back();
    in_recent = in_recent && last.in_recent;
    if (!last.loaded) load_run(store, last);
    if (last.usable) {
      auto older = last.entries.empty() ? read_entries(store, last) : Result<std::vector<Entry>>(std::move(last.entries));
      if (older) {
        loaded_bytes_ -= std::min<std::size_t>(loaded_bytes_, older->size() * entry_size);
        merged.insert(merged.end(), older->begin(), older->end());
      }
    }
    runs_.pop_back();
    locations_.pop_back();
  }
  std::stable_sort(merged.begin(), merged.end());
  for (std::size_t from = 0; from < merged.size(); from += run_entries_max) {
    const std::size_t n = std::min(run_entries_max, merged.size() - from);
    Run run;
    run.filter.resize((n + filter_block_size - 1) / filter_block_size * filter_block_size);
    for (std::size_t i = from; i < from + n; ++i) filter_add(run.filter, merged[i].key);
    run.location = {writer.begin(RecordType::chunk_run), n};
    WireWriter w(std::move(writer.payload()));
    w.integer(std::uint64_t{n}).integer(std::uint64_t{run.filter.size() / filter_block_size}).bytes(run.filter);
    for (std::size_t i = from; i < from + n; ++i) w.integer(merged[i].key).integer(merged[i].offset);
    writer.payload() = std::move(w).take();
    PEEL_CHECK(writer.end(), "");
    run.in_recent = in_recent;
    run.filter = {};  // read again if it is ever asked
    locations_.push_back(run.location);
    runs_.push_back(std::move(run));
  }
  return {};
}

}  // namespace peel::onion
