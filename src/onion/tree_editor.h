// onion/tree_editor.h - a new tree from an old one: path copying, one pass, ascending.
//
// Contract   Calls go up in page order. A node is written once, when the edit has moved past it; everything
//            not touched is shared with the old tree. finish() gives the new root and the subtree digest at
//            content_height(new size). Costs one node a level per leaf touched.
//            The caller has rewritten the page that holds the new end when that end moved into it (shrink).
// Errors     corrupt, io, limit.
// Threads    One owner, who also owns the writer.
// Memory     One node a level.
#pragma once

#include "onion/group_writer.h"
#include "onion/tree.h"

namespace peel::onion {

class TreeEditor {
 public:
  TreeEditor(const Store& store, GroupWriter& writer, const Tree& old, std::uint64_t new_size);

  // Digest of a page as the edit stands; zero subtree where it is absent.
  Result<Digest> page_digest(std::uint64_t page);
  // Page content becomes `slices` (`start` relative to the page, ascending); zero-subtree digest: zeros.
  Status set_page(std::uint64_t page, const Digest& digest, std::span<const Slice> slices);
  // Pages [first, last) become zeros. Costs what is present there.
  Status clear_pages(std::uint64_t first, std::uint64_t last);

  struct Finished {
    Tree tree;
    Digest subtree;       // at content_height(tree.size)
    bool mended = false;  // a scan stored again what the parent could no longer give
  };
  Result<Finished> finish();

 private:
  // A node being edited. `shared` is the published one until the first change; then `own` is the copy.
  struct Open {
    NodePointer shared;
    std::uint64_t ref = 0;  // of `shared`
    std::shared_ptr<Node> own;
    std::uint64_t index = 0;
    std::uint16_t changed = 0;
    bool open = false;
    const Node& node() const { return own ? *own : *shared; }
    Node& edit(const Store& store);
  };
  Status start();                                     // fits the old root to the new number of levels
  Result<NodePointer> load(std::uint64_t ref);
  Status navigate(unsigned level, std::uint64_t index);  // opens down to node `index` of `level`
  Status close(unsigned level);
  std::uint64_t write(const Node& node, Status& status);

  const Store& store_;
  GroupWriter& writer_;
  Tree old_, new_;
  unsigned levels_;
  bool started_ = false;
  std::array<Open, 14> open_;
};

// The same content on larger pages: digests are combined, slices joined, no data is read.
Result<Tree> regrid(const Store& store, GroupWriter& writer, const Tree& tree, unsigned page_log2);

}  // namespace peel::onion
