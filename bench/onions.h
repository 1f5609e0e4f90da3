// bench/onions.h - the onions the tables measure, made once per size.
#pragma once

#include <cstdlib>
#include <random>
#include <string>

#include "base/file.h"
#include "harness.h"
#include "peel/onion.h"

namespace peel::bench {

inline constexpr std::size_t bench_page_size = 4096;

inline std::string bench_folder() { return std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/var/tmp"; }

inline Buffer random_buffer(std::size_t size, std::uint64_t seed) {
  Buffer b(size);
  std::mt19937_64 rng(seed);
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    const auto word = rng();
    std::memcpy(b.data() + i, &word, 8);
  }
  for (; i < size; ++i) b[i] = static_cast<std::byte>(rng());
  return b;
}

// `revisions` commits of one page each into a file of `file_size`, in the given file system.
inline Onion onion_with_history(FileSystem& fs, const std::string& path, std::uint64_t file_size, std::uint64_t revisions) {
  CreateOptions create;
  create.file_system = &fs;
  create.page_size = bench_page_size;
  auto onion = Onion::create(path, create);
  require(onion.ok(), "create");
  const Buffer first = random_buffer(file_size, 1);
  const Write all{0, first};
  CommitOptions options;
  options.meta.author = "bench";
  require(onion->commit_writes({&all, 1}, file_size, options).ok(), "first commit");
  Buffer page = random_buffer(bench_page_size, 2);
  for (std::uint64_t i = 1; i < revisions; ++i) {
    std::memcpy(page.data(), &i, 8);
    const Write w{i * 7919 % (file_size / bench_page_size) * bench_page_size, page};
    require(onion->commit_writes({&w, 1}, file_size, options).ok(), "commit");
  }
  return std::move(onion).value();
}

inline Onion open_for_writing(FileSystem& fs, const std::string& path) {
  auto onion = Onion::open(path, {Access::write, &fs, false});
  require(onion.ok(), "open");
  return std::move(onion).value();
}

// The same onion again, from a copy of its file.
inline void copy_file(FileSystem& fs, const std::string& from, const std::string& to) {
  (void)fs.remove(to).ok();
  auto in = fs.open(from, OpenMode::read);
  auto out = fs.open(to, OpenMode::create_new);
  require(in.ok() && out.ok(), "copy");
  Buffer all(*(*in)->size());
  require(read_exactly(**in, 0, all).ok() && (*out)->write_at(0, all).ok(), "copy");
}

}  // namespace peel::bench
