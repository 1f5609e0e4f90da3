// onion/layer_applier.h - builds one received revision on its first parent's tree.
//
// Contract   Pieces become slices; every touched page is read back through its chunks and hashed, so the tree's digest
//            is computed here and not believed. A page made of the same pieces as one before is not hashed again, so
//            content that repeats costs what it is made of and not its size.
// Errors     corrupt, limit (work out of proportion), io, cancelled.
// Threads    One owner, who holds the onion's writer lock.
// Memory     64 pages, what TreeEditor states, and page_memo_entries_max remembered pages.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/cancel.h"
#include "onion/impl.h"
#include "onion/importer.h"
#include "onion/tree_editor.h"

namespace peel::onion {

// Digests of pages by the pieces they are made of. Chunks are named by content, so it is true in every onion.
class PageMemo {
public:
  static constexpr std::size_t entries_max = 1u << 16;
  // What page [begin, end) of a tree with such pages is made of, `next` being the first piece that may reach it. Empty:
  // not of pieces alone, or of too many to be worth it. `holes_too`: what no piece covers is zeros.
  static std::string key(const RevisionLayer& layer, std::size_t next, std::uint64_t begin, std::uint64_t end,
                         unsigned page_log2, bool holes_too);
  std::optional<Digest> find(const std::string& key) const;
  void put(const std::string& key, const Digest& digest);

private:
  std::unordered_map<std::string, Digest> digests_;
};

// Long imports: stops when asked to, and lets the disk keep up, so that neither the end nor a stop has to wait for it.
class ImportPace {
public:
  explicit ImportPace(const Cancel* cancel) : cancel_(cancel) {}
  Status step(Onion::Impl& m, GroupWriter& writer);

private:
  const Cancel* cancel_;
  std::uint64_t synced_bytes_ = 0;  // of the group
};

// Bytes of a layer's pieces, and of the distinct chunks that they come from.
struct LayerBytes {
  std::uint64_t content = 0, chunks = 0;
};
LayerBytes bytes_of(const RevisionLayer& layer);

class LayerApplier {
public:
  using Locate = std::function<Result<Onion::Impl::Place>(const ChunkName&)>;
  LayerApplier(Onion::Impl& m, GroupWriter& writer, const Tree& parent, const RevisionLayer& layer,
               const Locate& locate, PageMemo& memo, ImportPace& pace);
  Result<TreeEditor::Finished> run();

private:
  struct PendingPage {
    std::uint64_t page;
    std::vector<Slice> slices;
    std::string key;              // empty: not remembered
    std::optional<Digest> known;  // without reading it back
  };
  std::uint64_t end_page() const { return (size_ + page_size_ - 1) / page_size_; }
  Status add_page(std::uint64_t page, std::size_t next);
  Status flush();
  Status hash_pending();
  Status read_slice(const Slice& s, MutableBytes out);

  Onion::Impl& m_;
  GroupWriter& writer_;
  const Tree parent_;
  const RevisionLayer& layer_;
  const Locate& locate_;
  PageMemo& memo_;
  ImportPace& pace_;
  const std::uint64_t size_, page_size_;
  const bool repeats_;  // else no page would be found in the memo
  TreeEditor editor_;
  LeafCursor cursor_;
  ChunkMemory memory_;
  std::uint64_t touched_bytes_ = 0, decoded_bytes_ = 0;
  std::vector<PendingPage> pending_;
  Buffer batch_;
};

}  // namespace peel::onion
