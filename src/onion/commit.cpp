// Recording a revision: the frame every commit shares, and commits of described writes.
#include <algorithm>
#include <bit>
#include <charconv>

#include "base/copy.h"
#include "onion/impl.h"

namespace peel {

using namespace onion;

namespace {

constexpr std::size_t pages_per_batch = 64;
constexpr char cut_setting[] = "cut";              // "vector AVERAGE"
constexpr char gear_setting[] = "chunk-size";      // AVERAGE, of histories begun with the gear chunker

}  // namespace

unsigned Onion::Impl::wanted_page_log2(std::uint64_t size, unsigned at_least) const {
  if (super.page_size != 0) return static_cast<unsigned>(std::countr_zero(super.page_size));
  return std::max(at_least, page_log2_for(size));
}

Onion::Impl::CutRule Onion::Impl::cut_rule(const Tree& tree) const {
  constexpr std::uint32_t least = 4096, most = 1u << 20;
  constexpr std::string_view vector_word = "vector ";
  CutRule rule{false, static_cast<std::uint32_t>(2 * tree.page_size())};
  const auto take = [&](std::string_view text) {
    std::uint32_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    if (value >= least && value <= most && std::has_single_bit(value)) rule.average = value;
  };
  if (const auto* cut = find_ref(RefKind::setting, cut_setting); cut && cut->ref.value.starts_with(vector_word)) {
    take(std::string_view(cut->ref.value).substr(vector_word.size()));
  } else if (const auto* gear = find_ref(RefKind::setting, gear_setting)) {
    rule.gear = true;
    take(gear->ref.value);
  }
  return rule;
}

// A snapshot of what is recorded already needs no revision, only its name.
Status Onion::Impl::tag_only(const std::string& name, const RevisionId& target, const std::string& note) {
  const RefChange change{RefKind::tag, name, RevisionId{}, target, note, "snapshot"};
  auto writer = begin_group();
  Outcome outcome;
  const auto append = [&]() -> Status {
    PEEL_TRY(auto record, ref_record(change, {}), "");
    return append_ref(writer, std::move(record), outcome);
  };
  if (auto appended = append(); !appended) {
    give_up(writer);
    return appended;
  }
  return finish_group(writer, std::move(outcome));
}

Result<CommitResult> Onion::Impl::commit(const CommitOptions& options, std::uint64_t new_size, const BuildTree& build) {
  if (new_size > file_size_max) return fail(ErrorKind::usage, "no file has " + std::to_string(new_size) + " bytes");
  PEEL_TRY(const auto lock, take_lock(options.cancel), "");
  const std::string branch = options.branch.empty() ? current_branch() : options.branch;
  const StoredRef* head_ref = find_ref(RefKind::branch, branch);
  const RevisionId head_id = head_ref ? head_ref->ref.target : RevisionId{};
  if (options.expected_head && *options.expected_head != head_id)
    return fail(ErrorKind::conflict, path + ": branch " + branch + " moved in the meantime");
  std::shared_ptr<const CommitRecord> head;
  if (head_ref) {
    PEEL_TRY(head, read_commit(head_ref->commit), "");
  }
  auto writer = begin_group();
  const auto failed = [&](Error error) {
    give_up(writer);
    return error;
  };

  Tree parent{0, 0, wanted_page_log2(new_size, page_log2_min)};
  if (head) {
    parent = peel::tree_of(*head);
    if (const unsigned wanted = wanted_page_log2(new_size, head->page_log2); wanted > parent.page_log2) {
      auto coarser = regrid(*store, writer, parent, wanted);
      if (!coarser) return failed(std::move(coarser.error()));
      parent = *coarser;
      // From here on the new nodes are read like any others.
      if (auto flushed = writer.flush(); !flushed) return failed(std::move(flushed.error()));
    }
  }
  auto built = build(writer, parent);
  if (!built) return failed(std::move(built.error()));

  CommitRecord record;
  record.size = new_size;
  record.content = codec::content_digest(new_size, built->subtree);
  CommitResult result;
  const bool same = head && head->content == record.content;
  if (same && !options.even_if_same && options.extra_parents.empty() && !built->mended) {
    give_up(writer);
    result.revision = info_of(*head);
    if (options.tag) PEEL_CHECK(tag_only(*options.tag, head->id, options.meta.note), "");
    return result;
  }
  record.number = next_number;
  record.root = built->tree.root;
  record.page_log2 = static_cast<std::uint8_t>(built->tree.page_log2);
  record.previous_commit = last_commit;
  record.bytes_added = writer.bytes();
  record.meta = options.meta;
  if (record.meta.time_ns == 0) record.meta.time_ns = now_ns(options.clock);
  std::vector<RevisionId> parent_ids;
  if (head) {
    record.parents.push_back({head->id, head_ref->commit, head->number});
    record.generation = head->generation;
  }
  for (const RevisionId& id : options.extra_parents) {
    if (auto loaded = load_history(); !loaded) return failed(std::move(loaded.error()));
    const auto i = table.index_of(id);
    if (!i) return failed(fail(ErrorKind::not_found, path + ": a parent of the merge is not here"));
    record.parents.push_back({id, table.extra(*i).commit, table.summaries()[*i].number});
    record.generation = std::max(record.generation, table.summaries()[*i].generation);
  }
  ++record.generation;
  for (const auto& p : record.parents) parent_ids.push_back(p.id);
  record.id = revision_id(parent_ids, record.size, record.content, record.meta);

  Outcome outcome;
  const auto write_records = [&]() -> Status {
    const auto at = writer.begin(RecordType::commit);
    encode(record, writer.payload());
    PEEL_CHECK(writer.end(), path);
    outcome.commits.emplace_back(at, std::move(record));
    RefRecord ref;
    ref.kind = RefKind::branch;
    ref.name = branch;
    ref.before = head_id;
    const CommitRecord& written = outcome.commits.back().second;
    ref.after = written.id;
    ref.after_commit = at;
    ref.time_ns = written.meta.time_ns;
    ref.who = written.meta.author;
    ref.reason = written.meta.labels & label_merge ? "merge" : written.meta.labels & label_rollback ? "rollback" : "commit";
    PEEL_CHECK(append_ref(writer, std::move(ref), outcome), "");
    if (!find_ref(RefKind::setting, cut_setting) && !find_ref(RefKind::setting, gear_setting)) {
      RefChange cut;
      cut.kind = RefKind::setting;
      cut.name = cut_setting;
      cut.value = "vector " + std::to_string(cut_rule(built->tree).average);
      cut.reason = "first commit";
      PEEL_TRY(auto cut_record, ref_record(cut, {}), "");
      PEEL_CHECK(append_ref(writer, std::move(cut_record), outcome), "");
    }
    if (!options.tag) return {};
    RefChange tag;
    tag.kind = RefKind::tag;
    tag.name = *options.tag;
    tag.expected = RevisionId{};
    tag.target = written.id;
    tag.value = written.meta.note;
    tag.reason = "snapshot";
    PEEL_TRY(auto tag_record, ref_record(tag, {{written.id, at}}), "");
    PEEL_CHECK(append_ref(writer, std::move(tag_record), outcome), "");
    return {};
  };
  if (auto written = write_records(); !written) return failed(std::move(written.error()));
  result.revision = info_of(outcome.commits.front().second);
  result.added = true;
  PEEL_CHECK(finish_group(writer, std::move(outcome)), "");
  return result;
}

namespace {

// Applies described writes page by page.
class WriteApplier {
 public:
  WriteApplier(Onion::Impl& m, GroupWriter& writer, const Tree& parent, std::span<const Write> writes, std::uint64_t new_size,
               const CommitOptions& options)
      : m_(m), writer_(writer), parent_(parent), writes_(writes), new_size_(new_size), options_(options),
        page_size_(static_cast<std::size_t>(parent.page_size())), editor_(*m.store, writer, parent, new_size),
        cursor_(*m.store, parent), hint_(encode_hint(options)) {}

  Result<TreeEditor::Finished> run(std::uint64_t& bytes_changed) {
    plan();
    batch_.resize(std::min(pages_per_batch, touches_.size()) * page_size_);
    for (std::size_t at = 0; at < touches_.size();) {
      if (options_.cancel) PEEL_CHECK(options_.cancel->check(), "");
      PEEL_TRY(at, one_batch(at, bytes_changed), "");
    }
    return editor_.finish();
  }

 private:
  struct Touch {
    std::uint64_t page;
    std::size_t write;  // index into writes_, or none
    bool operator<(const Touch& o) const { return std::tie(page, write) < std::tie(o.page, o.write); }
  };
  static constexpr std::size_t none = ~std::size_t{0};

  void plan() {
    for (std::size_t i = 0; i < writes_.size(); ++i) {
      const Write& w = writes_[i];
      if (w.data.empty()) continue;
      for (std::uint64_t p = w.offset / page_size_; p <= (w.offset + w.data.size() - 1) / page_size_; ++p) touches_.push_back({p, i});
    }
    // A shrink that ends inside a page changes that page: what lay beyond the new end is gone.
    if (new_size_ < parent_.size && new_size_ % page_size_ != 0) touches_.push_back({new_size_ / page_size_, none});
    std::sort(touches_.begin(), touches_.end());
  }

  // Assembles, hashes and stores up to pages_per_batch pages; returns where the next batch begins.
  Result<std::size_t> one_batch(std::size_t at, std::uint64_t& bytes_changed) {
    std::array<std::uint64_t, pages_per_batch> pages;
    std::size_t n = 0;
    while (at < touches_.size() && n < pages_per_batch) {
      const std::uint64_t page = touches_[at].page;
      PEEL_TRY(at, assemble(at, MutableBytes(batch_).subspan(n * page_size_, page_size_)), "");
      pages[n++] = page;
    }
    std::array<Digest, pages_per_batch> digests;
    codec::page_digests(Bytes(batch_).first(n * page_size_), parent_.page_height(), std::span(digests).first(n));
    for (std::size_t i = 0; i < n; ++i) {
      PEEL_TRY(const auto before, editor_.page_digest(pages[i]), "");
      if (before == digests[i]) continue;
      bytes_changed += page_size_;
      PEEL_CHECK(put(pages[i], Bytes(batch_).subspan(i * page_size_, page_size_), digests[i]), "");
    }
    return at;
  }

  // One page with all its writes applied, in the order given.
  Result<std::size_t> assemble(std::size_t at, MutableBytes out) {
    const std::uint64_t page = touches_[at].page, begin = page * page_size_;
    const auto covers = [&](const Touch& t) {
      return t.write != none && writes_[t.write].offset <= begin && writes_[t.write].offset + writes_[t.write].data.size() >= begin + page_size_;
    };
    if (!covers(touches_[at])) {
      std::fill(out.begin(), out.end(), std::byte{0});
      if (begin < parent_.size)
        PEEL_CHECK(read_tree(*m_.store, cursor_, begin, out.first(std::min<std::uint64_t>(page_size_, parent_.size - begin)), memory_), "");
    }
    for (; at < touches_.size() && touches_[at].page == page; ++at) {
      if (touches_[at].write == none) continue;
      const Write& w = writes_[touches_[at].write];
      const std::uint64_t from = std::max(begin, w.offset), to = std::min(begin + page_size_, w.offset + w.data.size());
      copy_bytes(w.data.subspan(static_cast<std::size_t>(from - w.offset), static_cast<std::size_t>(to - from)), out.data() + (from - begin));
    }
    if (new_size_ < begin + page_size_) std::fill(out.begin() + static_cast<std::ptrdiff_t>(new_size_ - begin), out.end(), std::byte{0});
    return at;
  }

  Status put(std::uint64_t page, Bytes bytes, const Digest& digest) {
    if (digest == codec::zero_subtree(parent_.page_height())) return editor_.set_page(page, digest, {});
    const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(page_size_, new_size_ - page * page_size_));
    const ChunkName name{length == page_size_ ? codec::chunk_digest_of_root(length, digest) : codec::chunk_digest(bytes.first(length)), length};
    PEEL_TRY(const auto place, m_.store_chunk(writer_, name, bytes.first(length), hint_), "");
    const Slice slice{place.offset, place.record_size, 0, length, 0};
    return editor_.set_page(page, digest, std::span(&slice, 1));
  }

  Onion::Impl& m_;
  GroupWriter& writer_;
  const Tree parent_;
  std::span<const Write> writes_;
  const std::uint64_t new_size_;
  const CommitOptions& options_;
  const std::size_t page_size_;
  TreeEditor editor_;
  LeafCursor cursor_;
  ChunkMemory memory_;
  const codec::EncodeHint hint_;
  std::vector<Touch> touches_;
  Buffer batch_;
};

}  // namespace

Result<CommitResult> Onion::commit_writes(std::span<const Write> writes, std::uint64_t new_size, const CommitOptions& options) {
  Impl& m = *impl_;
  for (const Write& w : writes)
    if (w.data.size() > new_size || w.offset > new_size - w.data.size())
      return fail(ErrorKind::usage, "a write at " + std::to_string(w.offset) + " reaches beyond the new size " + std::to_string(new_size));
  std::uint64_t bytes_changed = 0;
  PEEL_TRY(auto result, m.commit(options, new_size, [&](GroupWriter& writer, const Tree& parent) {
    return WriteApplier(m, writer, parent, writes, new_size, options).run(bytes_changed);
  }), "");
  result.bytes_changed = bytes_changed;
  return result;
}

Result<CommitResult> Onion::commit_copy(std::uint64_t number, const CommitOptions& options) {
  Impl& m = *impl_;
  PEEL_TRY(const auto wanted, revision(number), "");
  return m.commit(options, wanted.size, [&](GroupWriter& writer, const Tree& parent) -> Result<TreeEditor::Finished> {
    // Looked up under the lock: a collection by somebody else may have moved every offset since.
    PEEL_TRY(Tree source, m.tree_of(number), "");
    if (parent.page_log2 > source.page_log2) {
      PEEL_TRY(source, regrid(*m.store, writer, source, parent.page_log2), "");
    }
    // An edit that touches nothing gives the tree back, with its digest.
    return TreeEditor(*m.store, writer, source, source.size).finish();
  });
}

}  // namespace peel
