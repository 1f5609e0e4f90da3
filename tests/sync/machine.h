// tests/sync/machine.h - a machine in a folder of its own: onions, commits, configuration, checks.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <random>

#include "base/cancel.h"
#include "base/file.h"
#include "peel/onion.h"
#include "sync/client.h"
#include "sync/remotes.h"
#include "testing/sample_data.h"

namespace peel::sync::test {

class Folder {
public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "peel-sync-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

private:
  std::string path_;
};

template <class T>
T must(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error().message();
    std::abort();  // the test cannot go on; the message above says why
  }
  return std::move(result).value();
}
inline void must(Status status) { ASSERT_TRUE(status) << status.error().message(); }

inline Buffer bytes_of(std::uint64_t seed, std::size_t size) {
  std::mt19937_64 random(seed);
  return random_bytes(random, size);
}

inline Onion open_onion(const std::string& path) {
  OpenOptions options;
  options.access = Access::write;
  return must(Onion::open(path, options));
}

inline RevisionInfo commit(Onion& onion, Bytes data, const std::string& note, const std::string& branch = "") {
  CommitOptions options;
  options.branch = branch;
  options.meta.author = "tester";
  options.meta.note = note;
  return must(onion.commit_scan(BufferSource(data), options)).revision;
}

// A new onion with `revisions` revisions of `size` bytes, each changing a page of the one before.
inline Onion make_history(const std::string& path, std::size_t revisions, std::size_t size, std::uint64_t seed = 1) {
  Onion onion = must(Onion::create(path));
  Buffer data = bytes_of(seed, size);
  for (std::size_t i = 0; i < revisions; ++i) {
    if (i > 0) {
      const Buffer page = bytes_of(seed * 1000 + i, 4096);
      const std::size_t at = size <= 4096 ? 0 : (i * 7919 * 4096) % (size - 4096);
      std::copy(page.begin(), page.begin() + static_cast<std::ptrdiff_t>(std::min(size, page.size())),
                data.begin() + static_cast<std::ptrdiff_t>(at));
    }
    commit(onion, data, "revision " + std::to_string(i));
  }
  return onion;
}

inline RevisionId head_of(const Onion& onion, const std::string& branch = "main", RefKind kind = RefKind::branch) {
  const auto ref = onion.ref(kind, branch);
  return ref ? ref->target : RevisionId{};
}

// Every revision here reads back as its digest says.
inline void verify_all(const Onion& onion) {
  for (const auto& row : must(onion.list())) {
    const auto status = must(onion.open_revision(row.number)).verify();
    EXPECT_TRUE(status) << "@" << row.number << ": " << status.error().message();
  }
}

inline Url url_of(const std::string& text) { return must(Url::parse(text)); }

// File names in a folder, for "nothing is left behind".
inline std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) out.insert(entry.path().filename());
  return out;
}

}  // namespace peel::sync::test
