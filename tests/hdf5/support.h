// tests/hdf5/support.h - files to look at: made with libhdf5, held in memory, thrown away afterwards.
#pragma once

#include <hdf5.h>

#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

#include "hdf5/hdf5.h"

namespace peel::hdf5::test {

class TempDirectory {
 public:
  TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  ~TempDirectory();
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

class MemorySource : public Source {
 public:
  MemorySource() = default;
  explicit MemorySource(Buffer content) : bytes(std::move(content)) {}
  static MemorySource of_file(const std::string& path);
  std::uint64_t size() const override { return bytes.size(); }
  Result<std::size_t> read_at(std::uint64_t offset, MutableBytes out) const override;

  Buffer bytes;
  mutable std::uint64_t bytes_served = 0, reads = 0;
};

// Ranges of 64 bytes in which two sources differ.
std::vector<Range> changed_ranges(const MemorySource& a, const MemorySource& b);

template <class T>
hid_t native_type() {
  if constexpr (std::is_same_v<T, float>) return H5T_NATIVE_FLOAT;
  else if constexpr (std::is_same_v<T, double>) return H5T_NATIVE_DOUBLE;
  else if constexpr (std::is_same_v<T, long double>) return H5T_NATIVE_LDOUBLE;
  else if constexpr (std::is_same_v<T, std::int8_t>) return H5T_NATIVE_INT8;
  else if constexpr (std::is_same_v<T, std::uint8_t>) return H5T_NATIVE_UINT8;
  else if constexpr (std::is_same_v<T, std::int32_t>) return H5T_NATIVE_INT32;
  else if constexpr (std::is_same_v<T, std::int64_t>) return H5T_NATIVE_INT64;
  else return H5T_NATIVE_UINT64;
}

using Dims = std::vector<hsize_t>;

struct Stored {
  Dims chunk, most;  // chunk empty: contiguous
  int gzip = 0;
  bool shuffle = false, compact = false;
  hid_t file_type = -1;  // default: the native type
};

// A file being written; closed by the destructor.
class FileMaker {
 public:
  struct Options {
    bool latest = false;
    hsize_t user_block = 0;
  };
  explicit FileMaker(const std::string& path);
  FileMaker(const std::string& path, const Options& options);
  // An existing file, to be edited in place.
  static FileMaker edit(const std::string& path);
  FileMaker(FileMaker&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  FileMaker(const FileMaker&) = delete;
  ~FileMaker() { close(); }
  void close();
  hid_t id() const { return file_; }

  void group(const std::string& path);
  template <class T>
  void dataset(const std::string& path, const Dims& dims, const std::vector<T>& values, const Stored& stored = {}) {
    raw_dataset(path, dims, native_type<T>(), values.data(), stored);
  }
  void raw_dataset(const std::string& path, const Dims& dims, hid_t memory_type, const void* values, const Stored& stored = {});
  // One element of an existing dataset.
  template <class T>
  void put(const std::string& path, const Dims& at, T value) {
    raw_put(path, at, native_type<T>(), &value);
  }
  void raw_put(const std::string& path, const Dims& at, hid_t memory_type, const void* value);
  void strings(const std::string& path, const std::vector<std::string>& values);  // of variable length
  template <class T>
  void attribute(const std::string& object, const std::string& name, T value) {
    raw_attribute(object, name, {}, native_type<T>(), &value);
  }
  void text_attribute(const std::string& object, const std::string& name, const std::string& value);
  void raw_attribute(const std::string& object, const std::string& name, const Dims& dims, hid_t type, const void* values);

 private:
  FileMaker() = default;
  hid_t file_ = -1;
};

template <class T>
std::vector<T> counting(std::size_t n, T first = 0) {
  std::vector<T> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<T>(first + static_cast<T>(i));
  return out;
}

// One line per change: "values changed /a 3 of 10 max 1.5", for tests that want all of a report.
std::vector<std::string> lines(const FileDiff& diff);

}  // namespace peel::hdf5::test
