// Question   How near does hashing come to what the CPU can do, for one page, one large buffer, many pages?
// Budget     4 KiB single >= 2.0 GiB/s; 1 MiB >= 7 GiB/s a core; 256 x 4 KiB >= 6.5 GiB/s a core; two cores > 1.8 x one.
// Inside     Data in cache. The other side is the official blake3_hasher, one input at a time.
// Seed       4 KB / 64 KB / 1 MB / 4 MB single 2.24 / 2.26 / 2.28 / 2.17 GiB/s; all cores 128 KB / 512 KB / 1 MB / 4 MB
//            3.97 / 8.4 / 10.3 / 10.8; batches of 16 / 64 / 256 x 4 KB on all cores 2.09 / 5.1 / 9.0.
#include "base/pool.h"
#include "codec/blake3.h"
#include "codec/grid_digest.h"
#include "onion/node.h"
#include "onions.h"

using namespace peel;
using namespace peel::bench;

int main(int argc, char** argv) {
  Table table("blake3", std::string("How near does hashing come to what the CPU can do? path: ") + codec::blake3_path(), argc, argv);
  const Buffer data = random_buffer(4u << 20, 1);
  Pool pool(Pool::default_threads());
  const auto official = [](Bytes bytes) {
    codec::Hasher h;
    h.update(bytes);
    const Digest d = h.finish();
    keep(&d);
  };
  const auto budget = [&](Row& row, double least) {
    if (table.options().check || row.ours == 0) return;
    char text[64];
    std::snprintf(text, sizeof text, ">= %.1f GiB/s", least);
    row.budget = text;
    row.within = row.ours >= least;
  };
  for (const std::size_t size : {4096u, 65536u, 1u << 20, 4u << 20}) {
    const Bytes bytes = Bytes(data).first(size);
    Row& row = table.throughput("single thread, " + std::to_string(size >> 10) + " KiB", static_cast<double>(size),
                                {"peel", [&, bytes] { const Digest d = codec::blake3(bytes); keep(&d); }}, {"official hasher", [&, bytes] { official(bytes); }});
    if (size == 4096) budget(row, 2.0);
    if (size == 1u << 20) budget(row, 7.0);
  }
  for (const std::size_t size : {128u << 10, 512u << 10, 1u << 20, 4u << 20}) {
    const Bytes bytes = Bytes(data).first(size);
    require(codec::blake3_parallel(bytes, pool) == codec::blake3(bytes), "parallel equals plain");
    Row& row = table.throughput("all cores (" + std::to_string(pool.threads()) + "), " + std::to_string(size >> 10) + " KiB", static_cast<double>(size),
                                {"peel", [&, bytes] { const Digest d = codec::blake3_parallel(bytes, pool); keep(&d); }},
                                {"one core", [&, bytes] { const Digest d = codec::blake3(bytes); keep(&d); }}, size >= 1u << 20 ? 1.8 : 0);
    row.note += "; two hardware threads of one core share its vector units";
  }
  for (const std::size_t pages : {1u, 4u, 16u, 64u, 256u}) {
    const Bytes bytes = Bytes(data).first(pages * 4096);
    std::vector<Digest> out(pages), one(pages);
    codec::blake3_pages(bytes, 4096, out);
    for (std::size_t i = 0; i < pages; ++i) require(out[i] == codec::blake3(bytes.subspan(i * 4096, 4096)), "batch equals single");
    Row& row = table.throughput("batch of " + std::to_string(pages) + " x 4 KiB, one core", static_cast<double>(bytes.size()),
                                {"peel", [&, bytes] { codec::blake3_pages(bytes, 4096, out); keep(out.data()); }},
                                {"one page at a time", [&, bytes, pages] { for (std::size_t i = 0; i < pages; ++i) official(bytes.subspan(i * 4096, 4096)); }});
    if (pages == 256) budget(row, 6.5);
  }
  // Keeping the content digest when one page of a file changes: the nodes on its path are at hand, as they are after
  // an earlier edit nearby; the other side hashes the same number of parents and nothing else.
  for (const std::uint64_t size : {std::uint64_t{1} << 20, std::uint64_t{64} << 20, std::uint64_t{1} << 30}) {
    const unsigned levels = onion::tree_levels(size, 12), height = codec::content_height(size);
    std::vector<onion::Node> path;
    for (unsigned l = 0; l < levels; ++l) {
      path.push_back(onion::Node::empty(l, 12));
      for (unsigned i = 0; i < onion::fanout; ++i) path.back().set_child(i, 1, codec::blake3(Bytes(data).subspan(64 * i, 64)));
      path.back().update_digests(0xffff);
    }
    const unsigned top = 1u << (path.back().height() - height);
    Digest leaf = codec::blake3(Bytes(data).first(64)), root;
    std::uint64_t n = 0;
    const auto upkeep = [&] {
      Digest d = leaf;
      leaf.bytes[0] ^= std::byte{1};
      ++n;
      for (unsigned l = 0; l < levels; ++l) {
        // The top node of a tree that is not full has fewer children.
        const unsigned slot = static_cast<unsigned>(n >> l) % (l + 1 == levels ? onion::fanout / top : onion::fanout);
        path[l].set_child(slot, 1, d);
        path[l].update_digests(static_cast<std::uint16_t>(1u << slot), l + 1 == levels ? top : 1);
        d = path[l].digest[l + 1 == levels ? top : 1];
      }
      root = codec::content_digest(size, d);
      keep(&root);
    };
    table.compare("content digest upkeep, one page of " + std::to_string(size >> 20) + " MiB", "us", 1e6, {"peel", upkeep},
                  {std::to_string(height) + " parents + root", [&] {
                     Digest d = leaf;
                     for (unsigned h = 0; h < height; ++h) d = codec::parent_digest(d, leaf);
                     root = codec::content_digest(size, d);
                     keep(&root);
                   }}, 1.2);
  }
}
