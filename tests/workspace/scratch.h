// tests/workspace/scratch.h - a directory that goes away, and short words for files in it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/hex.h"
#include "base/unique_fd.h"
#include "workspace/workspace.h"

namespace peel::workspace::test {

#define ASSERT_OK(expr)                                             \
  do {                                                              \
    auto&& assert_ok_result = (expr);                               \
    ASSERT_TRUE(assert_ok_result.ok()) << assert_ok_result.error().message(); \
  } while (false)

#define EXPECT_FAILS(expr, wanted_kind)                                                         \
  do {                                                                                          \
    auto&& expect_fails_result = (expr);                                                        \
    ASSERT_FALSE(expect_fails_result.ok());                                                     \
    EXPECT_EQ(expect_fails_result.error().kind(), wanted_kind) << expect_fails_result.error().message(); \
  } while (false)

class Scratch {
 public:
  explicit Scratch(const std::string& where = std::filesystem::temp_directory_path().string()) {
    std::string name = where + "/peel-workspace-XXXXXX";
    if (!::mkdtemp(name.data())) std::abort();
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  Paths paths(const std::string& name = "data.h5") const { return *locate(*this / name); }
  // Names in the directory, hidden ones included.
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) out.push_back(entry.path().filename());
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  std::string path_;
};

inline void write_file(const std::string& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  ASSERT_TRUE(out.good()) << path;
}

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void patch_file(const std::string& path, std::uint64_t offset, std::string_view text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY));
  ASSERT_EQ(::pwrite(fd.get(), text.data(), text.size(), static_cast<off_t>(offset)), static_cast<ssize_t>(text.size()));
}

// Bytes without a pattern that a codec could use.
inline std::string noise(std::size_t size, std::uint64_t seed = 1) {
  std::string out(size, '\0');
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  for (char& c : out) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    c = static_cast<char>(state >> 32);
  }
  return out;
}

inline struct stat stat_of(const std::string& path) {
  struct stat st {};
  EXPECT_EQ(::lstat(path.c_str(), &st), 0) << path;
  return st;
}

// As if the file had not been touched for an hour: what a stamp needs to be proof.
inline void age(const std::string& path) {
  timespec times[2];
  ::clock_gettime(CLOCK_REALTIME, &times[0]);
  times[0].tv_sec -= 3600;
  times[1] = times[0];
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

inline CommitReport must_commit(const Paths& paths, CommitRequest request = {}) {
  auto report = commit(paths, request);
  EXPECT_TRUE(report.ok()) << report.error().message();
  return report ? std::move(*report) : CommitReport{};
}

inline std::uint64_t commit_text(const Paths& paths, std::string_view text) {
  write_file(paths.file, text);
  return must_commit(paths).result.revision.number;
}

inline State state_of(const Paths& paths, bool always_hash = false) {
  StatusRequest request;
  request.always_hash = always_hash;
  auto report = status(paths, request);
  EXPECT_TRUE(report.ok()) << report.error().message();
  return report ? report->state : State::unknown;
}

inline std::string at(std::uint64_t number) { return "@" + std::to_string(number); }

inline std::string content_at(const Paths& paths, std::string_view rev) {
  auto onion = open_onion(paths);
  EXPECT_TRUE(onion.ok()) << onion.error().message();
  if (!onion) return {};
  std::string out;
  auto done = cat(*onion, rev, 0, ~0ull, [&](Bytes data) -> Status {
    out.append(reinterpret_cast<const char*>(data.data()), data.size());
    return {};
  });
  EXPECT_TRUE(done.ok()) << done.error().message();
  return out;
}

inline bool is_root() { return ::geteuid() == 0; }

}  // namespace peel::workspace::test
