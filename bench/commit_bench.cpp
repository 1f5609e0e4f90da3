// Question   What does a commit cost beyond the hashing and compression that it cannot avoid?
// Budget     In memory: <= 2.0 x (leaf hashes + LZ4 + log2 n Merkle parents) of the same pages, and below the
//            5.42 us (1 page) and 18.69 us (4 pages) of the seed. Durable: <= 1.3 x append + fdatasync.
// Inside     In memory: allocation (the file's own memory is fetched beforehand: its page faults are the machine's, and
//            would be most of the time on a virtual one), encoding, chunk tree, refs, reflog, checkpoints; no disk. Durable: all of it
//            and one fdatasync; the other side appends the same number of bytes and syncs.
// Slope      File sizes 1 MiB, 64 MiB, 1 GiB: one tree level per factor 16.
#include <fcntl.h>
#include <lz4.h>
#include <unistd.h>

#include <random>

#include "base/file.h"
#include "codec/grid_digest.h"
#include "harness.h"
#include "onion/impl.h"
#include "peel/onion.h"

using namespace peel;
using namespace peel::bench;

namespace {

constexpr std::size_t page_size = 4096;

// A file's first revision without holding the file: sparse with one random page in each leaf, so that the tree
// has all its nodes.
Onion filled_onion(FileSystem& fs, const std::string& path, std::uint64_t size) {
  CreateOptions create;
  create.file_system = &fs;
  create.page_size = page_size;
  auto onion = Onion::create(path, create);
  require(onion.ok(), "create");
  std::mt19937_64 rng(1);
  Buffer pages(size / 65536 * page_size);
  for (std::size_t i = 0; i < pages.size(); i += 8) {
    const auto word = rng();
    std::memcpy(pages.data() + i, &word, 8);
  }
  std::vector<Write> writes;
  for (std::uint64_t i = 0; i < size / 65536; ++i) writes.push_back({i * 65536, Bytes(pages).subspan(i * page_size, page_size)});
  CommitOptions options;
  require(onion->commit_writes(writes, size, options).ok(), "first commit");
  return std::move(onion).value();
}

// Page contents as numeric data has them: a smooth float ramp with noise in the low bits.
Buffer page_pool(std::size_t pages) {
  Buffer pool(pages * page_size);
  std::mt19937 rng(7);
  auto* f = reinterpret_cast<float*>(pool.data());
  for (std::size_t i = 0; i < pool.size() / 4; ++i) f[i] = static_cast<float>(i % 977) * 0.37f + static_cast<float>(rng() % 1000) * 1e-4f;
  return pool;
}

struct Editor {
  Onion onion;
  std::uint64_t size;
  Buffer pool = page_pool(256);
  std::mt19937_64 rng{3};
  std::uint64_t serial = 0;

  void commit(std::size_t pages) {
    std::array<Write, 16> writes;
    for (std::size_t i = 0; i < pages; ++i) {
      std::byte* page = pool.data() + (serial++ % 256) * page_size;
      std::memcpy(page, &serial, 8);  // never the same bytes twice
      writes[i] = {rng() % (size / page_size) * page_size, Bytes(page, page_size)};
    }
    CommitOptions options;
    options.meta.author = "bench";
    const auto r = onion.commit_writes(std::span(writes).first(pages), size, options);
    require(r.ok() && r->added, "commit");
  }
};

// The floor: leaf hashes in one batch, LZ4 of each page, and the parents above each page.
void raw_cost(Buffer& pool, std::uint64_t& serial, std::size_t pages, unsigned height, Buffer& scratch) {
  Buffer batch(pages * page_size);
  for (std::size_t i = 0; i < pages; ++i) {
    std::byte* page = pool.data() + (serial++ % 256) * page_size;
    std::memcpy(page, &serial, 8);
    std::memcpy(batch.data() + i * page_size, page, page_size);
  }
  std::array<Digest, 16> leaf;
  codec::leaf_digests(batch, std::span(leaf).first(pages));
  for (std::size_t i = 0; i < pages; ++i) {
    keep(scratch.data() + LZ4_compress_default(reinterpret_cast<const char*>(batch.data() + i * page_size), reinterpret_cast<char*>(scratch.data()), page_size,
                                               static_cast<int>(scratch.size())));
    Digest d = leaf[i];
    for (unsigned h = 0; h < height; ++h) d = codec::parent_digest(d, leaf[i]);
    keep(&d);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Table table("commit", "What does a commit cost beyond hashing and LZ4 of its pages and the Merkle parents above them?", argc, argv);
  Buffer scratch(2 * page_size), pool = page_pool(256);
  std::uint64_t serial = 0;
  for (const std::uint64_t size : {std::uint64_t{1} << 20, std::uint64_t{64} << 20, std::uint64_t{1} << 30}) {
    for (const std::size_t pages : {1u, 4u, 16u}) {
      const std::string name = "in memory, " + std::to_string(pages) + " page(s) of " + std::to_string(size >> 20) + " MiB";
      if (!table.wanted(name)) continue;
      auto fs = make_memory_file_system(table.options().check ? 0 : std::uint64_t{3} << 30);
      Editor editor{filled_onion(*fs, "x", size), size};
      const unsigned height = codec::content_height(size);
      Row& row = table.compare(name, "us", 1e6, {"peel", [&] { editor.commit(pages); }},
                               {"hash + LZ4 + parents", [&] { raw_cost(pool, serial, pages, height, scratch); }}, 2.0);
      if (pages == 1) row.note += "; seed 5.42 us";
      if (pages == 4) row.note += "; seed 18.69 us";
    }
  }
  // Durable commits beside the same bytes appended and synced.
  const std::string folder = std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/var/tmp";
  for (const std::size_t pages : {1u, 16u}) {
    const std::string name = "durable, " + std::to_string(pages) + " page(s) of 64 MiB";
    if (!table.wanted(name)) continue;
    const std::string path = folder + "/peel-bench.onion", raw_path = folder + "/peel-bench.raw";
    ::unlink(path.c_str());
    ::unlink(raw_path.c_str());
    Editor editor{filled_onion(posix_file_system(), path, 64u << 20), 64u << 20};
    const std::uint64_t before = *posix_file_system().open(path, OpenMode::read).value()->size();
    editor.commit(pages);
    const std::uint64_t grown = *posix_file_system().open(path, OpenMode::read).value()->size() - before;
    const int fd = ::open(raw_path.c_str(), O_CREAT | O_RDWR | O_TRUNC, 0600);
    const Buffer bytes(grown, std::byte{7});
    std::uint64_t at = 0;
    Row& row = table.compare(name, "us", 1e6, {"peel", [&] { editor.commit(pages); }}, {"append + fdatasync", [&] {
      require(::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at)) == static_cast<ssize_t>(bytes.size()), "append");
      at += bytes.size();
      require(::fdatasync(fd) == 0, "sync");
    }}, 1.3);
    row.note += "; " + std::to_string(grown) + " bytes";
    ::close(fd);
    ::unlink(path.c_str());
    ::unlink(raw_path.c_str());
  }
}
