// Question   How fast is a commit that must find the changes itself, and an export, at 1 GB?
// Budget     Scan of 1 GB from cache with 1 % edited in place >= 2 GB/s; all shifted by 100 bytes >= 0.8 GB/s; memory
//            <= 64 MB. Export >= 0.7 x cp + fsync of the same file.
// Inside     Files on disk in the page cache, random bytes (nothing compresses, so what is measured is reading, hashing,
//            cutting and looking up). The commit's fsync is inside; each repetition commits to a fresh copy of the onion.
//            The other side of a scan reads the file once and hashes it with the official hasher (what a checksum costs).
// Slope      64 MB, 256 MB, 1 GB: linear.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "codec/blake3.h"
#include "onions.h"

using namespace peel;
using namespace peel::bench;

namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

class FdSource final : public Source {
 public:
  explicit FdSource(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat st {};
    require(fd_ >= 0 && ::fstat(fd_, &st) == 0, "open source");
    size_ = static_cast<std::uint64_t>(st.st_size);
  }
  ~FdSource() override { ::close(fd_); }
  std::uint64_t size() const override { return size_; }
  Result<std::size_t> read_at(std::uint64_t offset, MutableBytes out) const override {
    std::size_t done = 0;
    while (done < out.size()) {
      const ssize_t n = ::pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
    return done;
  }

 private:
  int fd_;
  std::uint64_t size_ = 0;
};

void write_file(const std::string& path, std::uint64_t size, std::uint64_t seed, std::uint64_t shift, double edited) {
  const int fd = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  require(fd >= 0, "create");
  const Buffer front = random_buffer(shift, 99);
  require(::write(fd, front.data(), front.size()) == static_cast<ssize_t>(front.size()), "write");
  constexpr std::uint64_t block = 1u << 20;
  for (std::uint64_t at = 0; at < size; at += block) {
    const Buffer data = random_buffer(block, seed + at);
    require(::write(fd, data.data(), data.size()) == static_cast<ssize_t>(block), "write");
  }
  std::mt19937_64 rng(5);
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(edited * static_cast<double>(size) / 4096); ++i) {
    const Buffer page = random_buffer(4096, rng());
    require(::pwrite(fd, page.data(), 4096, static_cast<off_t>(rng() % (size / 4096) * 4096)) == 4096, "edit");
  }
  ::close(fd);
}

struct Outcome { double seconds, cpu, peak_mib, grown_mib; };

// In a child of its own, so that its peak memory is its own.
Outcome scan_once(const std::string& onion_path, const std::string& source_path) {
  int ends[2];
  require(::pipe(ends) == 0, "pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    auto onion = Onion::open(onion_path, {Access::write, nullptr, false});
    require(onion.ok(), "open");
    struct stat before {}, after {};
    ::stat(onion_path.c_str(), &before);
    const auto start = Clock::now();
    const FdSource source(source_path);
    const auto r = onion->commit_scan(source, {});
    require(r.ok() && r->added, "commit");
    Outcome o{since(start), 0, 0, 0};
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    ::stat(onion_path.c_str(), &after);
    o.cpu = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
    o.peak_mib = static_cast<double>(usage.ru_maxrss) / 1024;
    o.grown_mib = static_cast<double>(after.st_size - before.st_size) / 1048576;
    require(::write(ends[1], &o, sizeof o) == sizeof o, "report");
    ::_exit(0);
  }
  ::close(ends[1]);
  Outcome o{};
  require(::read(ends[0], &o, sizeof o) == sizeof o, "child failed");
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return o;
}

double read_and_hash(const std::string& path) {
  const FdSource source(path);
  const auto start = Clock::now();
  codec::Hasher hasher;
  Buffer buffer(1u << 20);
  for (std::uint64_t at = 0; at < source.size(); at += buffer.size()) hasher.update(Bytes(buffer).first(*source.read_at(at, buffer)));
  const Digest d = hasher.finish();
  keep(&d);
  return since(start);
}

void run(const std::string& command) { require(std::system(command.c_str()) == 0, command.c_str()); }

double export_once(const std::string& onion_path, const std::string& out) {
  const auto start = Clock::now();
  auto onion = Onion::open(onion_path);
  require(onion.ok(), "open");
  auto reader = onion->open_revision(*onion->resolve("@1"));
  require(reader.ok(), "revision");
  const int fd = ::open(out.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  require(reader->stream(0, reader->size(), [&](std::uint64_t offset, Bytes data, std::uint64_t) -> Status {
    if (!data.empty()) require(::pwrite(fd, data.data(), data.size(), static_cast<off_t>(offset)) == static_cast<ssize_t>(data.size()), "write");
    return {};
  }).ok(), "export");
  require(::fsync(fd) == 0, "fsync");
  ::close(fd);
  return since(start);
}

double copy_once(const std::string& from, const std::string& out) {
  const auto start = Clock::now();
  const int in = ::open(from.c_str(), O_RDONLY), fd = ::open(out.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  Buffer buffer(1u << 20);
  for (off_t at = 0;;) {
    const ssize_t n = ::pread(in, buffer.data(), buffer.size(), at);
    if (n <= 0) break;
    require(::pwrite(fd, buffer.data(), static_cast<std::size_t>(n), at) == n, "write");
    at += n;
  }
  require(::fsync(fd) == 0, "fsync");
  ::close(fd);
  ::close(in);
  return since(start);
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  Table table("scan", "How fast is a commit that finds the changes itself, and an export?", argc, argv);
  const bool check = table.options().check;
  const std::string base = bench_folder() + "/peel-bench-scan", onion_path = base + ".onion", work = base + ".work.onion", out = base + ".out";
  const int repetitions = check ? 1 : 3;
  for (const std::uint64_t mib : check ? std::vector<std::uint64_t>{64} : std::vector<std::uint64_t>{64, 256, 1024}) {
    const std::uint64_t size = mib << 20;
    const std::string of = ", " + std::to_string(mib) + " MiB";
    write_file(base + ".a", size, 1, 0, 0);
    write_file(base + ".edited", size, 1, 0, 0.01);
    write_file(base + ".shifted", size, 1, 100, 0);
    ::unlink(onion_path.c_str());
    {
      auto onion = Onion::create(onion_path);
      require(onion.ok(), "create");
      const auto start = Clock::now();
      require(onion->commit_scan(FdSource(base + ".a"), {}).ok(), "first commit");
      table.figure("first commit" + of, "GB/s", static_cast<double>(size) / 1e9 / since(start), 0);
    }
    struct Kind { const char* name; const char* suffix; double least_gb; double grown_share; };
    for (const Kind kind : {Kind{"1 % edited in place", ".edited", 2.0, 0.03}, Kind{"all shifted by 100 bytes", ".shifted", 0.8, 0.05}}) {
      std::vector<double> ours, other, cpu, peak;
      double grown = 0;
      for (int i = 0; i < repetitions; ++i) {
        run("cp " + onion_path + " " + work + " && sync " + work + " && cat " + work + " " + base + kind.suffix + " > /dev/null");
        const Outcome o = scan_once(work, base + kind.suffix);
        ours.push_back(o.seconds);
        cpu.push_back(o.cpu);
        peak.push_back(o.peak_mib);
        grown = o.grown_mib;
        other.push_back(read_and_hash(base + kind.suffix));
      }
      std::fprintf(stderr, "%s%s: grew by %.2f MiB\n", kind.name, of.c_str(), grown);
      require(grown * 1048576 < kind.grown_share * static_cast<double>(size) + 1e6, "unchanged bytes are not stored again");
      const double gb = static_cast<double>(size) / 1e9;
      Row& row = table.figure(std::string("commit by scan, ") + kind.name + of, "GB/s", gb / median(ours), gb / median(other));
      row.cpu_ours = median(cpu);
      char text[160];
      std::snprintf(text, sizeof text, ">= %.1f GB/s", kind.least_gb);
      row.budget = text;
      row.within = check || row.ours >= kind.least_gb || mib != 1024;
      std::snprintf(text, sizeof text, "against read + plain BLAKE3; peak memory %.0f MiB; onion grew by %.1f MiB", median(peak), grown);
      row.note = text;
      require(check || median(peak) <= 96, "memory stays bounded");
    }
    std::vector<double> exported, copied;
    // Pairs, each on a settled disk: what the run before left to be written would be charged to the next.
    std::vector<double> ratios;
    for (int i = 0; i < (check ? 1 : 7); ++i) {
      run("rm -f " + out + " && sync");
      exported.push_back(export_once(onion_path, out));
      if (i == 0) run("cmp " + out + " " + base + ".a");
      run("rm -f " + out + " && sync");
      copied.push_back(copy_once(base + ".a", out));
      ratios.push_back(copied.back() / exported.back());
    }
    Row& row = table.figure("export" + of, "GB/s", static_cast<double>(size) / 1e9 / median(exported), static_cast<double>(size) / 1e9 / median(copied));
    row.budget = ">= 0.70 x";
    row.ratio = median(ratios);
    row.ratio_min = *std::min_element(ratios.begin(), ratios.end());
    row.ratio_max = *std::max_element(ratios.begin(), ratios.end());
    row.within = check || row.ratio >= 0.7;
    row.note = "against read + write + fsync";
  }
  for (const char* suffix : {".a", ".edited", ".shifted", ".onion", ".work.onion", ".out"}) ::unlink((base + suffix).c_str());
}
