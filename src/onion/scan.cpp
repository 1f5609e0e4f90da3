// Commit by scan: read the source once, keep what is unchanged in place, cut the rest by content.
//
//   1. Grid first. Each page is hashed and compared with the parent's digest of the same page. Equal pages keep
//      the parent's slices, however those were cut.
//   2. Runs of changed pages: a short run (an edit in place) becomes page chunks; a long one (bytes moved, or
//      all is new) goes through content-defined cutting and the chunk index, so moved bytes find their old chunks.
//
// So a few edited pages cost what pages cost, and a shift costs what content-defined cutting costs.
// Memory     Two windows, batch_size for a run, the same encoded: about 25 MiB, and the nodes of cache_stretch.
#include <algorithm>
#include <future>

#include "base/copy.h"
#include "codec/page_codec.h"
#include "onion/impl.h"

namespace peel {

using namespace onion;

namespace {

constexpr std::uint64_t window_size = 4u << 20;    // a multiple of every leaf size
constexpr std::uint64_t cache_stretch = 64u << 20; // of the source; a multiple of window_size
constexpr std::size_t segment_size = 512u << 10;   // what one thread reads and hashes at a time
constexpr std::size_t batch_size = 4u << 20;       // bytes of a run cut at once
constexpr std::size_t short_run_pages = 16;
constexpr std::size_t chunks_per_task = 16;

class Scan {
 public:
  Scan(Onion::Impl& m, GroupWriter& writer, const Tree& parent, const Source& source, std::uint64_t size, const CommitOptions& options)
      : m_(m), writer_(writer), parent_(parent), source_(source), size_(size), options_(options),
        page_size_(static_cast<std::size_t>(parent.page_size())), editor_(*m.store, writer, parent, size), cursor_(*m.store, parent),
        hint_(encode_hint(options)), sizes_(codec::ChunkerSizes::around(m.cut_rule(parent).average)), vector_(sizes_, m.super.lineage) {
    if (m.cut_rule(parent).gear) gear_.emplace(sizes_, m.super.lineage);
  }

  Result<TreeEditor::Finished> run(std::uint64_t& bytes_changed) {
    m_.index.load(*m_.store);
    std::array<Window, 2> windows;
    PEEL_CHECK(next_window(windows[0]), "");
    std::future<void> reading = start(windows[0]);
    for (unsigned i = 0; windows[i].length > 0; i ^= 1) {
      Window& window = windows[i];
      Window& coming = windows[i ^ 1];
      if (options_.cancel) PEEL_CHECK(options_.cancel->check(), "");
      if (options_.progress) options_.progress({window.at, size_});
      if (reading.valid()) reading.get();
      PEEL_CHECK(std::move(window.status), "");
      PEEL_CHECK(next_window(coming), "");
      reading = start(coming);
      PEEL_CHECK(window.hole ? clear(window) : compare(window), "");
      // Scanned nodes are not asked for again: without this the cache would fill with the whole tree.
      if (window.at / cache_stretch != coming.at / cache_stretch) m_.store->forget_from(0);
    }
    PEEL_CHECK(end_run(), "");
    if (options_.progress) options_.progress({size_, size_});
    bytes_changed = bytes_changed_;
    PEEL_TRY(auto finished, editor_.finish(), "");
    finished.mended = mended_;
    return finished;
  }

 private:
  // A stretch of the source: a hole of whole pages, or data that is read and hashed while the one before is looked at.
  struct Window {
    std::uint64_t at = 0, length = 0;  // length 0: the end
    bool hole = false;
    Buffer bytes;
    std::vector<Digest> digests;       // of its pages
    Status status;
  };

  std::uint64_t end_page() const { return (size_ + page_size_ - 1) / page_size_; }

  Status next_window(Window& window) {
    window.at = next_;
    window.length = 0;
    window.hole = false;
    if (next_ >= size_) return {};
    if (next_ >= extent_.end) {
      PEEL_TRY(extent_, source_.next_data(next_), "");
      extent_.end = extent_.begin >= size_ ? size_ : std::min(extent_.end, size_);
    }
    if (extent_.begin > next_) {
      const std::uint64_t data = std::min(extent_.begin, size_);
      const std::uint64_t hole_end = data == size_ ? end_page() : data / page_size_;
      if (hole_end > next_ / page_size_) {
        window.hole = true;
        window.length = hole_end * page_size_ - next_;
        next_ += window.length;
        return {};
      }
    }
    const std::uint64_t until = std::min(size_, (std::max(extent_.end, next_ + 1) + page_size_ - 1) / page_size_ * page_size_);
    window.length = std::min(window_size, until - next_);
    next_ += window.length;
    return {};
  }

  // The window must stay where it is until the future is ready.
  std::future<void> start(Window& window) {
    if (window.hole || window.length == 0) return {};
    return std::async(std::launch::async, [this, &window] { window.status = read(window); });
  }

  Status read(Window& window) {
    window.bytes.resize(static_cast<std::size_t>(window.length));
    window.digests.resize((window.bytes.size() + page_size_ - 1) / page_size_);
    const std::size_t segments = (window.bytes.size() + segment_size - 1) / segment_size;
    std::vector<Status> failures(segments);
    m_.pool().for_each_index(segments, [&](std::size_t i) {
      const std::size_t from = i * segment_size, n = std::min(segment_size, window.bytes.size() - from);
      const MutableBytes bytes = MutableBytes(window.bytes).subspan(from, n);
      auto got = source_.read_at(window.at + from, bytes);
      if (!got) {
        failures[i] = std::move(got.error());
        return;
      }
      // Shorter than it was: the rest counts as zeros; the caller looks at the file again afterwards.
      std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(*got), bytes.end(), std::byte{0});
      codec::page_digests(bytes, parent_.page_height(), std::span(window.digests).subspan(from / page_size_, (n + page_size_ - 1) / page_size_));
    });
    for (auto& failure : failures) PEEL_CHECK(std::move(failure), "");
    return {};
  }

  Status clear(const Window& hole) {
    PEEL_CHECK(end_run(), "");
    return editor_.clear_pages(hole.at / page_size_, (hole.at + hole.length) / page_size_);
  }

  Status compare(const Window& window) {
    const Digest& zero = codec::zero_subtree(parent_.page_height());
    for (std::size_t i = 0; i < window.digests.size(); ++i) {
      const std::uint64_t page = window.at / page_size_ + i;
      PEEL_TRY(const auto before, cursor_.page_digest(page), "");
      if (before == window.digests[i] && !(options_.check_kept && !can_be_read(page))) {
        PEEL_CHECK(end_run(), "");
        continue;
      }
      bytes_changed_ += page_size_;
      if (window.digests[i] == zero) {
        PEEL_CHECK(end_run(), "");
        PEEL_CHECK(editor_.set_page(page, zero, {}), "");
        continue;
      }
      if (run_.digests.empty() && run_.slices.empty()) run_.begin(page);
      const auto bytes = Bytes(window.bytes).subspan(i * page_size_);
      append_bytes(bytes.first(std::min(page_size_, bytes.size())), run_.bytes);
      run_.digests.push_back(window.digests[i]);
      if (run_.bytes.size() >= batch_size + sizes_.size_max) PEEL_CHECK(cut(false), "");
    }
    return {};
  }

  // Whether the history can still give the page back. If not, it is stored again from the bytes at hand.
  bool can_be_read(std::uint64_t page) {
    kept_.resize(page_size_);
    const std::uint64_t at = page * page_size_;
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(page_size_, parent_.size - std::min(parent_.size, at)));
    const auto read = read_tree(*m_.store, cursor_, at, MutableBytes(kept_).first(length), memory_);
    const bool lost = !read && read.error().kind() == ErrorKind::corrupt;
    mended_ = mended_ || lost;
    return !lost;
  }

  // --- runs of changed pages ------------------------------------------------------------------
  struct Run {
    std::uint64_t next_page = 0;     // first page not yet handed to the editor
    bool cut_before = false;         // content-defined cutting has begun
    Buffer bytes;                    // not yet cut; begins where the cut pieces end
    std::vector<Digest> digests;     // of pages from next_page on
    std::vector<Slice> slices;       // cut, covering from next_page on; start counts from next_page's first byte
    std::uint64_t covered = 0;       // bytes the slices cover
    void begin(std::uint64_t page) { next_page = page; cut_before = false; covered = 0; }
  };

  Status end_run() {
    if (run_.digests.empty()) return {};
    if (!run_.cut_before && run_.digests.size() <= short_run_pages) {
      PEEL_CHECK(store_pages(), "");
    } else {
      PEEL_CHECK(cut(true), "");
    }
    run_.bytes.clear();
    run_.digests.clear();
    run_.slices.clear();
    return {};
  }

  Status store_pages() {
    for (std::size_t i = 0; i < run_.digests.size(); ++i) {
      const Bytes bytes = Bytes(run_.bytes).subspan(i * page_size_, std::min(page_size_, run_.bytes.size() - i * page_size_));
      const auto length = static_cast<std::uint32_t>(bytes.size());
      const ChunkName name{length == page_size_ ? codec::chunk_digest_of_root(length, run_.digests[i]) : codec::chunk_digest(bytes), length};
      PEEL_TRY(const auto place, m_.store_chunk(writer_, name, bytes, hint_), "");
      const Slice slice{place.offset, place.record_size, 0, length, 0};
      PEEL_CHECK(editor_.set_page(run_.next_page + i, run_.digests[i], std::span(&slice, 1)), "");
    }
    return {};
  }

  struct Piece {
    std::size_t offset, length;
    ChunkName name;
    std::optional<Onion::Impl::Place> place;
    codec::Encoded encoded;
    std::size_t encoded_at;
  };

  // Cuts what is buffered (all of it at the end of the run), stores the chunks, hands full pages to the editor.
  Status cut(bool at_end) {
    run_.cut_before = true;
    pieces_.clear();
    std::size_t at = 0;
    while (at < run_.bytes.size() && (at_end || run_.bytes.size() - at >= sizes_.size_max)) {
      const Bytes left = Bytes(run_.bytes).subspan(at);
      const std::size_t n = gear_ ? gear_->next_cut(left, at_end) : vector_.next_cut(left, at_end);
      pieces_.push_back({at, n, {}, {}, {}, 0});
      at += n;
    }
    prepare_pieces();
    for (std::size_t i = 0; i < pieces_.size(); ++i) PEEL_CHECK(place_piece(pieces_[i], encoded_[i / chunks_per_task]), "");
    run_.bytes.erase(run_.bytes.begin(), run_.bytes.begin() + static_cast<std::ptrdiff_t>(at));
    return emit_pages(at_end);
  }

  // Names, look-ups and encoding on all threads.
  void prepare_pieces() {
    const std::size_t tasks = (pieces_.size() + chunks_per_task - 1) / chunks_per_task;
    if (encoded_.size() < tasks) encoded_.resize(tasks);
    m_.pool().for_each_index(tasks, [&](std::size_t t) {
      Buffer& out = encoded_[t];
      out.clear();
      for (std::size_t i = t * chunks_per_task; i < std::min(pieces_.size(), (t + 1) * chunks_per_task); ++i) {
        Piece& p = pieces_[i];
        const Bytes plain = Bytes(run_.bytes).subspan(p.offset, p.length);
        p.name = {codec::chunk_digest(plain), static_cast<std::uint32_t>(p.length)};
        p.place = m_.find_place(p.name, &writer_);
        if (p.place) continue;
        p.encoded_at = out.size();
        p.encoded = codec::encode(plain, hint_, out);
      }
    });
  }

  Status place_piece(Piece& p, const Buffer& encoded) {
    if (!p.place) p.place = m_.find_place(p.name, &writer_);  // the same bytes earlier in this batch
    if (!p.place) {
      PEEL_TRY(p.place, m_.append_stored(writer_, p.name, static_cast<std::uint8_t>(p.encoded.codec), p.encoded.width,
                                         Bytes(encoded).subspan(p.encoded_at, p.encoded.size)), "");
    }
    run_.slices.push_back({p.place->offset, p.place->record_size, static_cast<std::uint32_t>(run_.covered), static_cast<std::uint32_t>(p.length), 0});
    run_.covered += p.length;
    return {};
  }

  Status emit_pages(bool at_end) {
    std::size_t page = 0, slice = 0;
    std::vector<Slice> of_page;
    for (; page < run_.digests.size(); ++page) {
      const std::uint64_t begin = page * page_size_, end = begin + page_size_;
      if (end > run_.covered && !at_end) break;
      of_page.clear();
      while (slice < run_.slices.size() && std::uint64_t{run_.slices[slice].start} + run_.slices[slice].length <= begin) ++slice;
      for (std::size_t s = slice; s < run_.slices.size() && run_.slices[s].start < end; ++s) {
        Slice part = run_.slices[s];
        const std::uint64_t from = std::max<std::uint64_t>(part.start, begin), to = std::min<std::uint64_t>(part.end(), end);
        part.chunk_offset += static_cast<std::uint32_t>(from - part.start);
        part.start = static_cast<std::uint32_t>(from - begin);
        part.length = static_cast<std::uint32_t>(to - from);
        of_page.push_back(part);
      }
      PEEL_CHECK(editor_.set_page(run_.next_page + page, run_.digests[page], of_page), "");
    }
    // What is left starts over from the first page not handed on.
    const auto consumed = static_cast<std::uint32_t>(page * page_size_);
    std::vector<Slice> rest;
    for (const Slice& s : run_.slices) {
      if (s.end() <= consumed) continue;
      Slice kept = s;
      const std::uint32_t skip = consumed > s.start ? consumed - s.start : 0;
      kept.chunk_offset += skip;
      kept.length -= skip;
      kept.start = s.start + skip - consumed;
      rest.push_back(kept);
    }
    run_.slices = std::move(rest);
    run_.covered -= std::min<std::uint64_t>(run_.covered, consumed);
    run_.digests.erase(run_.digests.begin(), run_.digests.begin() + static_cast<std::ptrdiff_t>(page));
    run_.next_page += page;
    return {};
  }

  Onion::Impl& m_;
  GroupWriter& writer_;
  const Tree parent_;
  const Source& source_;
  const std::uint64_t size_;
  const CommitOptions& options_;
  const std::size_t page_size_;
  TreeEditor editor_;
  LeafCursor cursor_;
  const codec::EncodeHint hint_;
  const codec::ChunkerSizes sizes_;
  const codec::VectorChunker vector_;
  std::optional<codec::Chunker> gear_;  // of older histories
  std::uint64_t next_ = 0;       // where the next window begins
  Source::Extent extent_{0, 0};  // data the source told of
  Run run_;
  std::vector<Piece> pieces_;
  std::vector<Buffer> encoded_;
  std::uint64_t bytes_changed_ = 0;
  bool mended_ = false;
  Buffer kept_;
  ChunkMemory memory_;
};

}  // namespace

Result<CommitResult> Onion::commit_scan(const Source& source, const CommitOptions& options) {
  Impl& m = *impl_;
  const std::uint64_t size = source.size();
  std::uint64_t bytes_changed = 0;
  PEEL_TRY(auto result, m.commit(options, size, [&](GroupWriter& writer, const Tree& parent) {
    return Scan(m, writer, parent, source, size, options).run(bytes_changed);
  }), "");
  result.bytes_changed = bytes_changed;
  return result;
}

}  // namespace peel
