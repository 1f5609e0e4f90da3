// Question   Does anything get slower with the depth of history: opening the onion, opening a revision, reading a
//            page, listing?
// Budget     Open a revision: flat within 1.5 x from depth 100 to 10,000 and <= 2 us. Open the onion: <= 5 ms at
//            10,000 revisions. Read one page at depth 10,000: <= 1.3 x fetch + decode + verify of that page.
//            List: <= 80 ns a revision.
// Inside     A file on disk, in the page cache. Reading includes the pread; the other side does the same pread.
// Seed       Reconstruction without snapshot 7.17 / 34.4 / 68.3 us at 10 / 50 / 100, with a snapshot 5.90 / 8.11 us at
//            100 / 200; manifest 7.69 / 76.8 / 384.8 us at 10 / 100 / 500.
#include <memory>

#include "codec/grid_digest.h"
#include "codec/page_codec.h"
#include "onion/impl.h"
#include "onions.h"

using namespace peel;
using namespace peel::bench;

namespace {

constexpr std::uint64_t file_size = 1u << 20;

void reading(Table& table, const Onion& onion, std::uint64_t depth) {
  const std::string name = "read one page at depth " + std::to_string(depth);
  if (!table.wanted(name)) return;
  const std::uint64_t newest = onion.revision_count();
  auto reader = onion.open_revision(newest);
  require(reader.ok(), "open revision");
  // The same page by hand: fetch its record, decode, hash.
  auto pieces = reader->pieces(40960, bench_page_size);
  require(pieces.ok() && pieces->size() == 1, "one piece");
  const auto place = onion.impl().store->probe_chunk((*pieces)[0].locator);
  require(place.ok(), "chunk");
  Buffer raw(place->record_size), plain(bench_page_size), out(bench_page_size);
  const auto by_hand = [&] {
    require(onion.impl().store->file().read_at((*pieces)[0].locator, raw).ok(), "pread");
    require(codec::decode(static_cast<codec::Codec>(place->header.codec), place->header.width, Bytes(raw).subspan(72, place->record_size - 72), plain).ok() ||
                place->header.codec == 0,
            "decode");
    Digest d;
    codec::leaf_digests(plain, {&d, 1});
    keep(&d);
  };
  const auto with_peel = [&] { require(*reader->read(40960, out) == bench_page_size, "read"); };
  by_hand();
  with_peel();
  table.compare(name, "us", 1e6, {"peel", with_peel}, {"pread + decode + hash", by_hand}, 1.3);
}

}  // namespace

// The seed's "reconstruct": the whole state of a small file at the end of a history.
void reconstruct(Table& table) {
  constexpr std::uint64_t small = 4 * bench_page_size;
  for (const std::uint64_t depth : {10u, 50u, 100u, 200u, 1000u}) {
    auto memory = make_memory_file_system();
    auto onion = onion_with_history(*memory, "x", small, depth);
    require(onion.list().ok(), "list");
    Buffer out(small);
    Row& row = table.measure("reconstruct a 16 KiB file at depth " + std::to_string(depth), "us", 1e6, [&] {
      auto reader = onion.open_revision(depth);
      require(reader.ok() && *reader->read(0, out) == small, "read");
    });
    row.note = depth == 10 ? "seed 7.17 us" : depth == 50 ? "seed 34.36 us" : depth == 100 ? "seed 68.3 us, with a snapshot 5.90 us" : depth == 200 ? "seed, with a snapshot 8.11 us" : "";
  }
}

int main(int argc, char** argv) {
  Table table("history", "Does anything get slower with the depth of history?", argc, argv);
  const std::string path = bench_folder() + "/peel-bench-history.onion";
  FileSystem& disk = posix_file_system();
  double open_at_100 = 0;
  reconstruct(table);
  for (const std::uint64_t depth : {10u, 100u, 200u, 500u, 1000u, 10000u}) {
    if (table.options().check && depth > 1000) continue;
    // Built in memory (no fsync a commit), then copied to the disk.
    auto memory = make_memory_file_system();
    onion_with_history(*memory, "x", file_size, depth);
    {
      auto in = memory->open("x", OpenMode::read);
      (void)disk.remove(path).ok();
      auto out = disk.open(path, OpenMode::create_new);
      Buffer all(*(*in)->size());
      require(read_exactly(**in, 0, all).ok() && (*out)->write_at(0, all).ok(), "copy");
    }
    const std::string at = " at " + std::to_string(depth) + " revisions";
    table.measure("open the onion" + at, "us", 1e6, [&] {
      auto onion = Onion::open(path);
      require(onion.ok() && onion->revision_count() == depth, "open");
    }, 5000);
    table.measure("open the onion and list" + at, "us", 1e6, [&] {
      auto onion = Onion::open(path);
      require(onion.ok() && onion->list()->size() == depth, "list");
    }, 5000);
    auto onion = Onion::open(path);
    require(onion.ok() && onion->list().ok(), "open");
    std::uint64_t n = 0;
    Row& row = table.measure("open a revision, any depth," + at, "us", 1e6, [&] {
      auto reader = onion->open_revision(1 + (n += 7919) % depth);
      require(reader.ok(), "open revision");
      keep(&*reader);
    }, 2);
    if (depth == 100) open_at_100 = row.ours;
    if (depth == 10000 && open_at_100 > 0) table.figure("open a revision: depth 10,000 / depth 100", "us", row.ours, open_at_100, 1.5);
    table.measure("list" + at, "ns/revision", 1e9 / static_cast<double>(depth), [&] {
      const auto list = onion->list();
      std::vector<RevisionSummary> copy(list->begin(), list->end());
      require(copy.size() == depth, "list");
      keep(copy.data());
    }, 80);
    if (depth == 100 || depth == 1000 || depth == 10000) reading(table, *onion, depth);
  }
  (void)disk.remove(path).ok();
}
