#include "onion/tree_editor.h"

#include <algorithm>

namespace peel::onion {

TreeEditor::TreeEditor(const Store& store, GroupWriter& writer, const Tree& old, std::uint64_t new_size)
    : store_(store), writer_(writer), old_(old), new_(old), levels_(tree_levels(new_size, old.page_log2)) {
  new_.size = new_size;
}

Node& TreeEditor::Open::edit(const Store& store) {
  if (!own) own = store.edit(ref, std::move(shared));
  return *own;
}

Result<NodePointer> TreeEditor::load(std::uint64_t ref) {
  // A node of this very group may still be in the writer's buffer and no longer in the cache.
  if (ref >= writer_.begin_offset()) PEEL_CHECK(writer_.flush(), "");
  return store_.node(ref);
}

std::uint64_t TreeEditor::write(const Node& node, Status& status) {
  const auto ref = writer_.begin(RecordType::node);
  encode(node, writer_.payload());
  status = writer_.end();
  return ref;
}

Status TreeEditor::start() {
  started_ = true;
  std::uint64_t root = old_.root;
  const unsigned old_levels = old_.levels();
  if (root != 0) {
    PEEL_TRY(const auto node, load(root), "");
    if (node->level != old_levels - 1 || node->page_log2 != old_.page_log2)
      return fail(ErrorKind::corrupt, store_.path() + ": node at offset " + std::to_string(root) + " does not fit its place");
  }
  for (unsigned l = old_levels; root != 0 && l > levels_; --l) {
    PEEL_TRY(const auto node, load(root), "");
    root = node->has(0) && node->level > 0 ? node->child[0] : 0;
  }
  Open& top = open_[levels_ - 1];
  top.open = true;
  if (root == 0) {
    top.own = std::make_shared<Node>(Node::empty(levels_ - 1, old_.page_log2));
    return {};
  }
  PEEL_TRY(auto node, load(root), "");
  if (old_levels >= levels_) {
    top.shared = std::move(node);
    top.ref = root;
    return {};
  }
  // The file grew past its tree: the old root becomes child 0 of new nodes. A root keeps only the digests that
  // its content digest needs, so its own is computed here.
  Node below = *node;
  below.update_digests(0xffff);
  store_.remember(root, std::make_shared<Node>(below));  // edits of it as a child need them all
  for (unsigned l = old_levels; l < levels_; ++l) {
    Node above = Node::empty(l, old_.page_log2);
    above.set_child(0, root, below.own_digest());
    above.update_digests(1);
    if (l + 1 == levels_) {
      top.own = std::make_shared<Node>(std::move(above));
      break;
    }
    Status status;
    root = write(above, status);
    if (!status) return status;
    below = std::move(above);
  }
  return {};
}

Status TreeEditor::navigate(unsigned level, std::uint64_t index) {
  if (!started_) PEEL_CHECK(start(), "");
  // Close from the bottom everything that is not on the way.
  unsigned common = levels_ - 1;
  while (common > level && open_[common - 1].open && open_[common - 1].index == index >> (4 * (common - 1 - level))) --common;
  for (unsigned l = 0; l < common; ++l)
    if (open_[l].open && (l < level || l < common)) PEEL_CHECK(close(l), "");
  for (unsigned l = common; l > level; --l) {
    const std::uint64_t child_index = index >> (4 * (l - 1 - level));
    const Open& parent = open_[l];
    const auto slot = static_cast<unsigned>(child_index & (fanout - 1));
    Open& child = open_[l - 1];
    child.own.reset();
    child.shared.reset();
    if (parent.node().has(slot)) {
      child.ref = parent.node().child[slot];
      PEEL_TRY(child.shared, load(child.ref), "");
      if (child.shared->level != l - 1) return fail(ErrorKind::corrupt, store_.path() + ": node does not fit its place");
    } else {
      child.own = std::make_shared<Node>(Node::empty(l - 1, old_.page_log2));
    }
    child.index = child_index;
    child.changed = 0;
    child.open = true;
  }
  return {};
}

Status TreeEditor::close(unsigned level) {
  Open& o = open_[level];
  o.open = false;
  if (o.changed == 0) return {};
  Open& parent = open_[level + 1];
  const auto slot = static_cast<unsigned>(o.index & (fanout - 1));
  parent.changed = static_cast<std::uint16_t>(parent.changed | 1u << slot);
  Node& above = parent.edit(store_);
  if (o.own->mask == 0) {
    above.clear_child(slot);
    return {};
  }
  o.own->update_digests(o.changed);
  Status status;
  const auto ref = write(*o.own, status);
  if (!status) return status;
  above.set_child(slot, ref, o.own->own_digest());
  store_.remember(ref, std::move(o.own));
  return {};
}

Result<Digest> TreeEditor::page_digest(std::uint64_t page) {
  if (page / fanout >> (4 * (levels_ - 1)) != 0) return codec::zero_subtree(old_.page_height());
  PEEL_CHECK(navigate(0, page / fanout), "");
  return open_[0].node().child_digest(static_cast<unsigned>(page % fanout));
}

Status TreeEditor::set_page(std::uint64_t page, const Digest& digest, std::span<const Slice> slices) {
  PEEL_CHECK(navigate(0, page / fanout), "");
  Open& leaf = open_[0];
  const auto slot = static_cast<unsigned>(page % fanout);
  const auto start = static_cast<std::uint32_t>(slot << old_.page_log2);
  const auto end = static_cast<std::uint32_t>((slot + 1) << old_.page_log2);
  const bool zero = digest == codec::zero_subtree(old_.page_height());
  if (zero && !leaf.node().has(slot)) return {};
  Node& node = leaf.edit(store_);
  leaf.changed = static_cast<std::uint16_t>(leaf.changed | 1u << slot);
  if (zero) {
    node.clear_child(slot);
    node.replace_slices(start, end, {});
    return {};
  }
  node.set_child(slot, 0, digest);
  std::array<Slice, 8> few;
  std::vector<Slice> many;
  std::span<Slice> moved = std::span(few).first(std::min(slices.size(), few.size()));
  if (slices.size() > few.size()) {
    many.resize(slices.size());
    moved = many;
  }
  for (std::size_t i = 0; i < slices.size(); ++i) {
    moved[i] = slices[i];
    moved[i].start += start;
  }
  node.replace_slices(start, end, moved);
  if (node.slices.size() > slices_per_leaf_max) return fail(ErrorKind::limit, "too many pieces in one stretch of the file");
  return {};
}

Status TreeEditor::clear_pages(std::uint64_t first, std::uint64_t last) {
  if (!started_) PEEL_CHECK(start(), "");
  last = std::min(last, levels_ >= 14 ? last : std::uint64_t{1} << (4 * levels_));
  while (first < last) {
    // Down from the root: skip what is absent, clear the largest aligned subtree that fits.
    NodePointer loaded;
    const Node* node = &open_[levels_ - 1].node();
    for (unsigned l = levels_ - 1;; --l) {
      const std::uint64_t span = std::uint64_t{1} << (4 * l);  // pages a child of this node covers
      const auto slot = static_cast<unsigned>(first >> (4 * l) & (fanout - 1));
      const std::uint64_t child_begin = first & ~(span - 1);
      // An open child may hold changes its parent does not show yet.
      const bool child_open = l > 0 && open_[l - 1].open && open_[l - 1].index == first >> (4 * l);
      if (!node->has(slot) && !child_open) {
        first = child_begin + span;
        break;
      }
      if (first == child_begin && first + span <= last && !child_open) {
        PEEL_CHECK(navigate(l, first >> (4 * (l + 1))), "");
        Open& o = open_[l];
        Node& edited = o.edit(store_);
        edited.clear_child(slot);
        if (l == 0) edited.replace_slices(slot << old_.page_log2, (slot + 1) << old_.page_log2, {});
        o.changed = static_cast<std::uint16_t>(o.changed | 1u << slot);
        first += span;
        break;
      }
      assert(l > 0);
      if (child_open) {
        node = &open_[l - 1].node();
      } else {
        PEEL_TRY(loaded, load(node->child[slot]), "");
        node = loaded.get();
      }
    }
  }
  return {};
}

Result<TreeEditor::Finished> TreeEditor::finish() {
  if (!started_) PEEL_CHECK(start(), "");
  if (new_.size < old_.size) {
    const std::uint64_t all = levels_ >= 14 ? ~std::uint64_t{0} : std::uint64_t{1} << (4 * levels_);
    PEEL_CHECK(clear_pages(new_.pages(), all), "");
  }
  for (unsigned l = 0; l + 1 < levels_; ++l)
    if (open_[l].open) PEEL_CHECK(close(l), "");
  Open& root = open_[levels_ - 1];
  const unsigned height = codec::content_height(new_.size);
  if (root.node().mask == 0) return Finished{Tree{0, new_.size, new_.page_log2}, codec::zero_subtree(height)};
  const unsigned top = 1u << (root.node().height() - height);
  if (root.changed == 0 && new_.size == old_.size && root.shared && !root.own) return Finished{new_, root.node().digest[top]};
  const bool same_root = root.changed == 0 && old_.levels() == levels_;
  // The end may have moved without touching a page: then more (or fewer) of the root's digests count.
  root.edit(store_).update_digests(new_.size == old_.size ? root.changed : std::uint16_t{0xffff}, top);
  const Digest subtree = root.node().digest[top];
  if (same_root) {
    new_.root = old_.root;
    // The cached copy must know the digests that the new size asks for.
    store_.remember(new_.root, std::move(root.own));
    return Finished{new_, subtree};
  }
  Status status;
  new_.root = write(*root.own, status);
  if (!status) return std::move(status.error());
  store_.remember(new_.root, std::move(root.own));
  return Finished{new_, subtree};
}

Result<Tree> regrid(const Store& store, GroupWriter& writer, const Tree& tree, unsigned page_log2) {
  assert(page_log2 > tree.page_log2);
  Tree coarse{0, 0, page_log2};
  TreeEditor editor(store, writer, coarse, tree.size);
  LeafCursor cursor(store, tree);
  DigestCursor digests(store, tree);
  coarse.size = tree.size;
  const std::uint64_t page_size = coarse.page_size();
  constexpr std::uint64_t cache_stretch = 4096;  // pages: each node is needed once, and must not fill the cache
  for (std::uint64_t page = 0, forgotten = 0; page < coarse.pages(); ++page) {
    if (page - forgotten >= cache_stretch) {
      store.forget_from(0);
      forgotten = page;
    }
    const std::uint64_t first_leaf = page * page_size / tree.leaf_size();
    PEEL_TRY(const auto next, cursor.next_leaf(first_leaf), "");
    if (next != first_leaf) {  // jump over absent stretches
      const std::uint64_t next_page = next * tree.leaf_size() / page_size;
      if (next_page > page) {
        page = next_page - 1;
        continue;
      }
    }
    std::vector<Slice> slices;
    const std::uint64_t begin = page * page_size, length = std::min(page_size, tree.size - begin);
    PEEL_CHECK(visit_slices(cursor, begin, length, [&](std::uint64_t at, std::uint64_t, const Slice* s) -> Status {
      if (s) {
        slices.push_back(*s);
        slices.back().start = static_cast<std::uint32_t>(at - begin);
      }
      return {};
    }), "");
    PEEL_TRY(const auto digest, digests.digest(coarse.page_height(), page), "");
    PEEL_CHECK(editor.set_page(page, digest, slices), "");
  }
  PEEL_TRY(const auto finished, editor.finish(), "");
  return finished.tree;
}

}  // namespace peel::onion
