// Question   Does a 1 TB file with little in it and a long history stay cheap?
// Budget     1 TB sparse with 100 MB of data and 1,000 revisions: opens in <= 100 ms, memory <= 256 MB.
// Inside     Open, list, open the oldest and the newest revision, read one page of each; peak memory of a process that
//            does that and one commit by scan of the sparse file.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "onions.h"

using namespace peel;
using namespace peel::bench;

namespace {

class HoleySource final : public Source {
 public:
  explicit HoleySource(int fd, std::uint64_t size) : fd_(fd), size_(size) {}
  std::uint64_t size() const override { return size_; }
  Result<std::size_t> read_at(std::uint64_t offset, MutableBytes out) const override {
    const ssize_t n = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
    return n < 0 ? std::size_t{0} : static_cast<std::size_t>(n);
  }
  Result<Extent> next_data(std::uint64_t offset) const override {
    const off_t begin = ::lseek(fd_, static_cast<off_t>(offset), SEEK_DATA);
    if (begin < 0) return Extent{size_, size_};
    return Extent{static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(::lseek(fd_, begin, SEEK_HOLE))};
  }

 private:
  int fd_;
  std::uint64_t size_;
};

}  // namespace

int main(int argc, char** argv) {
  Table table("sparse", "Does a 1 TB file with little in it and a long history stay cheap?", argc, argv);
  const bool check = table.options().check;
  const std::uint64_t size = std::uint64_t{1} << 40, data = check ? 4u << 20 : 100u << 20, revisions = check ? 20 : 1000;
  const std::string path = bench_folder() + "/peel-bench-sparse";
  ::unlink(path.c_str());
  ::unlink((path + ".onion").c_str());
  const int fd = ::open(path.c_str(), O_CREAT | O_TRUNC | O_RDWR, 0600);
  require(fd >= 0 && ::ftruncate(fd, static_cast<off_t>(size)) == 0, "sparse file");
  std::mt19937_64 rng(1);
  for (std::uint64_t at = 0; at < data; at += 65536) {
    const Buffer block = random_buffer(65536, at);
    require(::pwrite(fd, block.data(), block.size(), static_cast<off_t>(rng() % (size / 65536) * 65536)) > 0, "write");
  }
  const auto now = [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
  {
    auto onion = Onion::create(path + ".onion");
    require(onion.ok(), "create");
    const HoleySource source(fd, size);
    const double start = now();
    require(onion->commit_scan(source, {}).ok(), "first commit");
    table.figure("first commit", "s", now() - start, 0);
    Buffer page = random_buffer(65536, 7);
    for (std::uint64_t i = 1; i < revisions; ++i) {
      std::memcpy(page.data(), &i, 8);
      const Write w{rng() % (size / 65536) * 65536, page};
      require(onion->commit_writes({&w, 1}, size, {}).ok(), "commit");
    }
  }
  table.measure("open, list, read a page of the oldest and the newest revision", "ms", 1e3, [&] {
    auto onion = Onion::open(path + ".onion");
    require(onion.ok() && onion->list()->size() == revisions, "open");
    Buffer out(4096);
    for (const std::uint64_t n : {std::uint64_t{1}, revisions}) {
      auto reader = onion->open_revision(n);
      require(reader.ok() && reader->size() == size && reader->read(size / 2, out).ok(), "read");
    }
  }, 100);
  int ends[2];
  require(::pipe(ends) == 0, "pipe");
  if (::fork() == 0) {
    auto onion = Onion::open(path + ".onion", {Access::write, nullptr, false});
    require(onion.ok(), "open");
    const double start = now();
    require(onion->commit_scan(HoleySource(fd, size), {}).ok(), "scan");
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const double out[2] = {now() - start, static_cast<double>(usage.ru_maxrss) / 1024};
    require(::write(ends[1], out, sizeof out) == sizeof out, "report");
    ::_exit(0);
  }
  double seen[2];
  require(::read(ends[0], seen, sizeof seen) == sizeof seen, "child failed");
  ::wait(nullptr);
  table.figure("commit by scan of the sparse file", "s", seen[0], 0);
  Row& memory = table.figure("peak memory of open + scan", "MiB", seen[1], 0);
  memory.budget = "<= 256 MiB";
  memory.within = seen[1] <= 256;
  ::close(fd);
  ::unlink(path.c_str());
  ::unlink((path + ".onion").c_str());
}
