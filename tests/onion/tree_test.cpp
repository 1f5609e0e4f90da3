// Nodes and trees against plain models: slices against a map of bytes, edited trees against a map of pages, with sizes
// from nothing to a sparse terabyte.
#include <gtest/gtest.h>

#include <map>

#include "onion/tree_editor.h"
#include "testing/sample_data.h"

using namespace peel;
using namespace peel::onion;

namespace {

// What a byte comes from; chunk 0: zeros.
struct Origin {
  std::uint64_t chunk = 0;
  std::uint32_t at = 0;
  bool operator==(const Origin&) const = default;
};

std::vector<Origin> bytes_of(const std::vector<Slice>& slices, std::size_t size) {
  std::vector<Origin> out(size);
  for (const Slice& s : slices)
    for (std::uint32_t i = 0; i < s.length; ++i) out.at(s.start + i) = {s.chunk, s.chunk_offset + i};
  return out;
}

// Ascending pieces inside [start, end), some gaps, few chunks so that neighbours often continue each other.
std::vector<Slice> random_slices(std::mt19937_64& random, std::uint32_t start, std::uint32_t end) {
  std::vector<Slice> out;
  for (std::uint32_t at = start; at < end;) {
    const auto length = static_cast<std::uint32_t>(1 + random() % (end - at));
    if (random() % 4 != 0) {
      const std::uint64_t chunk = 8192 + 8 * (random() % 3);
      const auto from = random() % 2 ? at : static_cast<std::uint32_t>(random() % 1000);
      out.push_back({chunk, 100, at, length, from});
    }
    at += length;
    if (random() % 3 == 0) break;
  }
  return out;
}

TEST(Node, ReplaceSlicesAgainstBytes) {
  constexpr std::uint32_t leaf = 600;  // the arithmetic knows no pages
  for (const std::uint64_t seed : test_seeds(300)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Node node = Node::empty(0, 12);
    std::vector<Origin> model(leaf);
    for (int step = 0; step < 30; ++step) {
      auto start = static_cast<std::uint32_t>(random() % leaf);
      auto end = static_cast<std::uint32_t>(start + 1 + random() % (leaf - start));
      if (random() % 3 == 0) {  // a page of one chunk: the usual edit
        start = start / 100 * 100;
        end = start + 100;
      }
      const auto slices = random_slices(random, start, end);
      node.replace_slices(start, end, slices);
      const auto part = bytes_of(slices, leaf);
      std::copy(part.begin() + start, part.begin() + end, model.begin() + start);
      ASSERT_TRUE(bytes_of(node.slices, leaf) == model) << "step " << step;
      for (std::size_t i = 0; i < node.slices.size(); ++i) {
        ASSERT_GT(node.slices[i].length, 0u);
        if (i == 0) continue;
        const Slice &a = node.slices[i - 1], &b = node.slices[i];
        ASSERT_LE(a.end(), b.start);
        ASSERT_FALSE(a.chunk == b.chunk && a.end() == b.start && a.chunk_offset + a.length == b.chunk_offset)
            << "not joined";
      }
    }
  }
}

TEST(Node, DigestsFollowAnyChanges) {
  for (const std::uint64_t seed : test_seeds(100)) {
    std::mt19937_64 random(seed);
    Node node = Node::empty(static_cast<unsigned>(random() % 3), 12 + static_cast<unsigned>(random() % 5));
    for (int step = 0; step < 10; ++step) {
      std::uint16_t changed = 0;
      for (unsigned n = 0; n < 1 + random() % 5; ++n) {
        const auto i = static_cast<unsigned>(random() % 16);
        changed = static_cast<std::uint16_t>(changed | 1u << i);
        Digest d;
        d.bytes[0] = static_cast<std::byte>(random());
        if (random() % 3 == 0)
          node.clear_child(i);
        else
          node.set_child(i, 8192, d);
      }
      node.update_digests(changed);
      for (unsigned i = 1; i < 16; ++i)
        ASSERT_EQ(node.digest[i], codec::parent_digest(node.digest[2 * i], node.digest[2 * i + 1]));
    }
  }
}

// --- trees -------------------------------------------------------------------------------------------

struct Page {
  Digest digest;
  std::vector<Slice> slices;  // from the page's first byte
};
using Pages = std::map<std::uint64_t, Page>;

// Root over 2^height pages of which only `pages` are not zeros: what docs/FORMAT.md says, nothing clever.
Digest model_digest(const Pages& pages, unsigned page_height, unsigned height, std::uint64_t index) {
  const unsigned above = height - page_height;
  const std::uint64_t first = index << above;
  const auto from = pages.lower_bound(first);
  if (from == pages.end() || (above < 64 && from->first - first >= std::uint64_t{1} << above))
    return codec::zero_subtree(height);
  if (above == 0) return from->second.digest;
  return codec::parent_digest(model_digest(pages, page_height, height - 1, 2 * index),
                              model_digest(pages, page_height, height - 1, 2 * index + 1));
}

class TreeModel {
public:
  explicit TreeModel(unsigned page_log2) : tree_{0, 0, page_log2} {
    auto file = fs_->open("x", OpenMode::create_new).value();
    EXPECT_TRUE(file->write_at(0, Buffer(records_begin)));
    store_ = std::make_unique<Store>("x", std::move(file), Salt{}, 64);  // few nodes cached: most are read back
  }

  std::uint64_t page_count(std::uint64_t size) const { return (size + tree_.page_size() - 1) >> tree_.page_log2; }

  // Some pages set and ranges cleared, ascending, with a new size.
  void edit(std::mt19937_64& random, std::uint64_t new_size) {
    GroupWriter writer(store_->file(), Salt{}, 1, ++group_, end_, {});
    TreeEditor editor(*store_, writer, tree_, new_size);
    const std::uint64_t count = page_count(new_size);
    const bool cut = new_size < tree_.size;
    // The page that holds the new end must be written anew when the file shrinks into it.
    const std::optional<std::uint64_t> last =
        cut && new_size % tree_.page_size() != 0 ? std::optional(count - 1) : std::nullopt;
    for (std::uint64_t page = 0; count > 0 && page < count;) {
      page += step(random, count);
      if (last && page >= *last) page = *last;
      if (page >= count) break;
      if (random() % 5 == 0 && !(last && page == *last)) {
        const std::uint64_t until = std::min(last ? *last : count, page + 1 + step(random, count));
        ASSERT_TRUE(editor.clear_pages(page, until));
        pages_.erase(pages_.lower_bound(page), pages_.lower_bound(until));
        page = until;
      } else {
        set(editor, random, page++);
      }
      if (HasFatal()) return;
    }
    pages_.erase(pages_.lower_bound(count), pages_.end());
    const auto finished = editor.finish();
    ASSERT_TRUE(finished) << finished.error().message();
    tree_ = finished->tree;
    ASSERT_EQ(tree_.size, new_size);
    ASSERT_TRUE(writer.close());
    end_ = writer.offset();
    const auto want = model_digest(pages_, tree_.page_height(), codec::content_height(new_size), 0);
    ASSERT_EQ(finished->subtree, want);
    ASSERT_TRUE(!pages_.empty() || tree_.root == 0);
  }

  // Every page, the absent ones beside them, and the slices, through cursors.
  void check(std::mt19937_64& random) const {
    LeafCursor cursor(*store_, tree_);
    DigestCursor digests(*store_, tree_);
    const auto expect_page = [&](std::uint64_t page) {
      const auto it = pages_.find(page);
      const auto digest = cursor.page_digest(page);
      ASSERT_TRUE(digest) << digest.error().message();
      ASSERT_EQ(*digest, it == pages_.end() ? codec::zero_subtree(tree_.page_height()) : it->second.digest) << page;
    };
    for (const auto& [page, what] : pages_) {
      expect_page(page);
      expect_page(page + 1);
      expect_page(page ^ 16);
      if (HasFatal()) return;
    }
    for (int i = 0; i < 20; ++i) {
      const unsigned height = tree_.page_height() + static_cast<unsigned>(random() % 20);
      const std::uint64_t index = tree_.size == 0 ? 0 : (random() % tree_.size) >> (12 + height);
      const auto digest = digests.digest(height, index);
      ASSERT_TRUE(digest);
      ASSERT_EQ(*digest, model_digest(pages_, tree_.page_height(), height, index)) << height << " " << index;
    }
    check_slices(cursor, random);
  }

  const Tree& tree() const { return tree_; }
  const Store& store() const { return *store_; }
  const Pages& pages() const { return pages_; }
  std::uint64_t file_size() const { return end_; }

  // The same content on larger pages.
  void regrid_to(unsigned page_log2) {
    GroupWriter writer(store_->file(), Salt{}, 1, ++group_, end_, {});
    const auto coarse = regrid(*store_, writer, tree_, page_log2);
    ASSERT_TRUE(coarse) << coarse.error().message();
    ASSERT_TRUE(writer.close());
    end_ = writer.offset();
    const unsigned top = codec::content_height(tree_.size);
    const auto before = DigestCursor(*store_, tree_).digest(top, 0),
               after = DigestCursor(*store_, *coarse).digest(top, 0);
    ASSERT_TRUE(before && after);
    ASSERT_EQ(*before, *after);
    EXPECT_TRUE(joined_slices(tree_) == joined_slices(*coarse));
  }

private:
  static bool HasFatal() { return ::testing::Test::HasFatalFailure(); }

  // Where each slice of a tree is; one cut by a leaf border is one again.
  std::vector<std::pair<std::uint64_t, Slice>> joined_slices(const Tree& tree) const {
    std::vector<std::pair<std::uint64_t, Slice>> out;
    LeafCursor cursor(*store_, tree);
    EXPECT_TRUE(visit_slices(cursor, 0, tree.size, [&](std::uint64_t at, std::uint64_t, const Slice* s) -> Status {
      if (!s) return {};
      if (!out.empty()) {
        auto& [before_at, before] = out.back();
        if (before.chunk == s->chunk && before_at + before.length == at &&
            before.chunk_offset + before.length == s->chunk_offset) {
          before.length += s->length;
          return {};
        }
      }
      out.emplace_back(at, *s);
      out.back().second.start = 0;
      return {};
    }));
    return out;
  }

  // Near mostly, sometimes far away: sparse files are edited in few places.
  static std::uint64_t step(std::mt19937_64& random, std::uint64_t count) {
    const auto kind = random() % 4;
    if (kind < 2) return random() % 4;
    if (kind == 2) return random() % 600;
    return random() % (count / 2 + 1);
  }

  void set(TreeEditor& editor, std::mt19937_64& random, std::uint64_t page) {
    Page p;
    if (random() % 6 == 0) {
      p.digest = codec::zero_subtree(tree_.page_height());
    } else {
      p.digest.bytes[0] = static_cast<std::byte>(1 + random() % 255);
      p.digest.bytes[1] = static_cast<std::byte>(random());
      p.slices = random_slices(random, 0, static_cast<std::uint32_t>(tree_.page_size()));
    }
    const auto before = editor.page_digest(page);
    ASSERT_TRUE(before) << before.error().message();
    const auto it = pages_.find(page);
    ASSERT_EQ(*before, it == pages_.end() ? codec::zero_subtree(tree_.page_height()) : it->second.digest);
    ASSERT_TRUE(editor.set_page(page, p.digest, p.slices));
    if (p.digest == codec::zero_subtree(tree_.page_height()))
      pages_.erase(page);
    else
      pages_[page] = std::move(p);
  }

  void check_slices(LeafCursor& cursor, std::mt19937_64& random) const {
    // A window around some page, byte by byte.
    if (tree_.size == 0) return;
    for (int i = 0; i < 8; ++i) {
      auto it = pages_.lower_bound(random() % std::max<std::uint64_t>(1, page_count(tree_.size)));
      const std::uint64_t near = it == pages_.end() ? random() % tree_.size : it->first << tree_.page_log2;
      const std::uint64_t begin = near - std::min(near, random() % 9000),
                          end = std::min(tree_.size, near + random() % 9000);
      if (begin >= end) continue;
      std::vector<Origin> got(end - begin), want(end - begin);
      std::uint64_t at = begin;
      ASSERT_TRUE(visit_slices(
          cursor, begin, end - begin, [&](std::uint64_t offset, std::uint64_t length, const Slice* s) -> Status {
            EXPECT_EQ(offset, at);
            at += length;
            for (std::uint64_t k = 0; s && k < length; ++k)
              got.at(offset - begin + k) = {s->chunk, static_cast<std::uint32_t>(s->chunk_offset + k)};
            return {};
          }));
      ASSERT_EQ(at, end);
      for (auto page = pages_.lower_bound(begin >> tree_.page_log2);
           page != pages_.end() && page->first << tree_.page_log2 < end; ++page)
        for (const Slice& s : page->second.slices)
          for (std::uint64_t k = 0; k < s.length; ++k) {
            const std::uint64_t byte = (page->first << tree_.page_log2) + s.start + k;
            if (byte >= begin && byte < end)
              want[byte - begin] = {s.chunk, static_cast<std::uint32_t>(s.chunk_offset + k)};
          }
      ASSERT_TRUE(got == want) << begin << " to " << end;
    }
  }

  std::unique_ptr<FileSystem> fs_ = make_memory_file_system();
  std::unique_ptr<Store> store_;
  Tree tree_;
  Pages pages_;
  std::uint64_t end_ = records_begin, group_ = 0;
};

std::uint64_t random_size(std::mt19937_64& random, std::uint64_t largest) {
  switch (random() % 6) {
    case 0:
      return random() % 70'000;
    case 1:
      return 0;
    case 2:
      return (random() % (largest >> 16) + 1) << 16;  // ends on a border
    default:
      return random() % largest;
  }
}

TEST(TreeEditor, RandomEditsAgainstAMapOfPages) {
  for (const std::uint64_t seed : test_seeds(40)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    TreeModel model(12 + static_cast<unsigned>(seed % 5));
    for (int step = 0; step < 12; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      model.edit(random, random_size(random, 40'000'000));
      if (HasFatalFailure()) return;
      model.check(random);
      if (HasFatalFailure()) return;
    }
  }
}

// A terabyte and more with a few pages: each edit costs what it touches.
TEST(TreeEditor, SparseTerabytes) {
  for (const std::uint64_t seed : test_seeds(12)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    TreeModel model(seed % 2 ? 12 : 16);
    std::uint64_t pages_set = 0;
    for (int step = 0; step < 10; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      model.edit(random, random_size(random, std::uint64_t{1} << (40 + random() % 20)));
      if (HasFatalFailure()) return;
      model.check(random);
      if (HasFatalFailure()) return;
      pages_set += model.pages().size() + 100;
    }
    EXPECT_LT(model.file_size(), pages_set * 40'000);
  }
}

TEST(TreeEditor, AnEditOfNothingGivesTheTreeBack) {
  std::mt19937_64 random(4);
  TreeModel model(12);
  model.edit(random, 3'000'000);
  GroupWriter writer(model.store().file(), Salt{}, 1, 99, model.file_size(), {});
  const auto same = TreeEditor(model.store(), writer, model.tree(), model.tree().size).finish();
  ASSERT_TRUE(same);
  EXPECT_EQ(same->tree.root, model.tree().root);
  EXPECT_EQ(writer.bytes(), 0u);
  EXPECT_EQ(same->subtree, model_digest(model.pages(), 0, codec::content_height(model.tree().size), 0));
}

TEST(TreeEditor, RegridKeepsDigestAndSlices) {
  for (const std::uint64_t seed : test_seeds(30)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    TreeModel model(12 + static_cast<unsigned>(seed % 3));
    model.edit(random, random_size(random, seed % 4 ? 3'000'000 : std::uint64_t{1} << 40));
    if (HasFatalFailure()) return;
    model.regrid_to(model.tree().page_log2 + 1 + static_cast<unsigned>(random() % 2));
    if (HasFatalFailure()) return;
  }
}

TEST(TreeEditor, DiffFindsThePagesThatDiffer) {
  for (const std::uint64_t seed : test_seeds(30)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    TreeModel model(12);
    model.edit(random, random_size(random, std::uint64_t{1} << 33));
    const Tree before = model.tree();
    const Pages pages_before = model.pages();
    model.edit(random, random_size(random, std::uint64_t{1} << 33));
    if (HasFatalFailure()) return;
    const auto ranges = diff_trees(model.store(), before, model.tree());
    ASSERT_TRUE(ranges);
    const std::uint64_t shorter = std::min(before.size, model.tree().size),
                        longer = std::max(before.size, model.tree().size);
    const auto inside = [&](std::uint64_t byte) {
      return std::any_of(ranges->begin(), ranges->end(),
                         [&](const Range& r) { return byte >= r.offset && byte - r.offset < r.length; });
    };
    for (std::size_t i = 1; i < ranges->size(); ++i)
      ASSERT_GT((*ranges)[i].offset, (*ranges)[i - 1].offset + (*ranges)[i - 1].length);
    for (const auto* pages : {&pages_before, &model.pages()})
      for (const auto& [page, what] : *pages) {
        const std::uint64_t at = page << 12;
        if (at >= shorter) continue;
        const auto a = pages_before.find(page), b = model.pages().find(page);
        const bool differs =
            a == pages_before.end() || b == model.pages().end() || a->second.digest != b->second.digest;
        ASSERT_EQ(inside(at), differs) << page;
      }
    if (longer > shorter) {
      EXPECT_TRUE(inside(shorter));
      EXPECT_TRUE(inside(longer - 1));
    }
  }
}

}  // namespace
