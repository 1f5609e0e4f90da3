// Question   What does a program pay for keeping versions: pages of a 1 GB file edited through the API, against
//            plain pwrite of the same pages?
// Budget     None set (never measured by the seed, which aimed at <= 10 %). Shown: per page in memory of the process
//            (no sync on either side), and durable (one fdatasync a batch on both sides).
// Inside     Random pages of random bytes (nothing compresses), batches of 1, 16, 256 pages a commit.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "onions.h"

using namespace peel;
using namespace peel::bench;

int main(int argc, char** argv) {
  Table table("overhead", "What does keeping every version cost a program that edits pages of a 1 GB file?", argc, argv);
  const std::uint64_t size = table.options().check ? 16u << 20 : 1u << 30;
  const std::string path = bench_folder() + "/peel-bench-overhead";
  FileSystem& disk = posix_file_system();
  (void)disk.remove(path + ".onion").ok();
  CreateOptions create;
  create.page_size = bench_page_size;
  auto onion = Onion::create(path + ".onion", create);
  require(onion.ok(), "create");
  const int fd = ::open(path.c_str(), O_CREAT | O_TRUNC | O_RDWR, 0600);
  require(fd >= 0, "create");
  {
    Buffer block(1u << 20);
    std::vector<Write> writes;
    // A sparse first state with one page per leaf gives the tree its full shape without a gigabyte of input.
    Buffer page = random_buffer(bench_page_size, 1);
    for (std::uint64_t at = 0; at < size; at += 65536) writes.push_back({at, page});
    require(onion->commit_writes(writes, size, {}).ok(), "first commit");
    for (std::uint64_t at = 0; at < size; at += block.size()) require(::pwrite(fd, block.data(), block.size(), static_cast<off_t>(at)) > 0, "fill");
    ::fsync(fd);
  }
  std::mt19937_64 rng(3), rng2(3);
  std::uint64_t serial = 0;
  Buffer pool = random_buffer(256 * bench_page_size, 9);
  const auto page_of = [&](std::uint64_t n) {
    std::byte* p = pool.data() + n % 256 * bench_page_size;
    std::memcpy(p, &n, 8);
    return Bytes(p, bench_page_size);
  };
  for (const std::size_t batch : {1u, 16u, 256u}) {
    std::vector<Write> writes(batch);
    table.compare("durable, " + std::to_string(batch) + " page(s) a commit", "us/page", 1e6 / static_cast<double>(batch),
                  {"peel", [&] {
                     for (auto& w : writes) w = {rng() % (size / bench_page_size) * bench_page_size, page_of(serial++)};
                     require(onion->commit_writes(writes, size, {}).ok(), "commit");
                   }},
                  {"pwrite in place + fdatasync", [&] {
                     for (std::size_t i = 0; i < batch; ++i) {
                       const Bytes p = page_of(serial++);
                       require(::pwrite(fd, p.data(), p.size(), static_cast<off_t>(rng2() % (size / bench_page_size) * bench_page_size)) > 0, "pwrite");
                     }
                     require(::fdatasync(fd) == 0, "sync");
                   }});
  }
  ::close(fd);
  ::unlink(path.c_str());
  ::unlink((path + ".onion").c_str());

  auto fs = make_memory_file_system(table.options().check ? 0 : std::uint64_t{2} << 30);
  create.file_system = fs.get();
  auto in_memory = Onion::create("m", create);
  require(in_memory.ok(), "create");
  {
    std::vector<Write> writes;
    Buffer page = random_buffer(bench_page_size, 1);
    for (std::uint64_t at = 0; at < size; at += 65536) writes.push_back({at, page});
    require(in_memory->commit_writes(writes, size, {}).ok(), "first commit");
  }
  const int memory_fd = ::memfd_create("peel-bench", 0);
  for (const std::size_t batch : {1u, 16u, 256u}) {
    std::vector<Write> writes(batch);
    table.compare("in memory, " + std::to_string(batch) + " page(s) a commit", "us/page", 1e6 / static_cast<double>(batch),
                  {"peel", [&] {
                     for (auto& w : writes) w = {rng() % (size / bench_page_size) * bench_page_size, page_of(serial++)};
                     require(in_memory->commit_writes(writes, size, {}).ok(), "commit");
                   }},
                  {"pwrite to a memory file", [&] {
                     for (std::size_t i = 0; i < batch; ++i) {
                       const Bytes p = page_of(serial++);
                       require(::pwrite(memory_fd, p.data(), p.size(), static_cast<off_t>(rng2() % 4096 * bench_page_size)) > 0, "pwrite");
                     }
                   }});
  }
  ::close(memory_fd);
}
