#include "tests/hdf5/support.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

namespace peel::hdf5::test {
namespace {

// libhdf5's own identifiers, closed at the end of a scope.
class Id {
 public:
  explicit Id(hid_t id) : id_(id) { EXPECT_GE(id, 0); }
  Id(const Id&) = delete;
  Id& operator=(const Id&) = delete;
  ~Id() { H5Idec_ref(id_); }
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
};

hid_t space_of(const Dims& dims, const Dims& most) {
  if (dims.empty()) return H5Screate(H5S_SCALAR);
  return H5Screate_simple(static_cast<int>(dims.size()), dims.data(), most.empty() ? nullptr : most.data());
}

hid_t create_missing_groups() {
  const hid_t list = H5Pcreate(H5P_LINK_CREATE);
  H5Pset_create_intermediate_group(list, 1);
  return list;
}

}  // namespace

TempDirectory::TempDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "peel_hdf5_XXXXXX").string();
  if (!::mkdtemp(pattern.data())) ADD_FAILURE() << "mkdtemp " << pattern;
  path_ = pattern;
}

TempDirectory::~TempDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

MemorySource MemorySource::of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const Bytes all = as_bytes(text);
  return MemorySource(Buffer(all.begin(), all.end()));
}

Result<std::size_t> MemorySource::read_at(std::uint64_t offset, MutableBytes out) const {
  if (offset >= bytes.size()) return std::size_t{0};
  const std::size_t n = std::min<std::size_t>(out.size(), bytes.size() - offset);
  std::memcpy(out.data(), bytes.data() + offset, n);
  bytes_served += n;
  ++reads;
  return n;
}

std::vector<Range> changed_ranges(const MemorySource& a, const MemorySource& b) {
  constexpr std::size_t step = 64;
  std::vector<Range> out;
  const std::size_t both = std::min(a.bytes.size(), b.bytes.size()), most = std::max(a.bytes.size(), b.bytes.size());
  for (std::size_t at = 0; at < most; at += step) {
    const std::size_t n = std::min(step, most - at);
    if (at + n > both || std::memcmp(a.bytes.data() + at, b.bytes.data() + at, n) != 0) out.push_back({at, n});
  }
  return out;
}

FileMaker::FileMaker(const std::string& path) : FileMaker(path, Options{}) {}

FileMaker::FileMaker(const std::string& path, const Options& options) {
  const Id access(H5Pcreate(H5P_FILE_ACCESS)), creation(H5Pcreate(H5P_FILE_CREATE));
  if (options.latest) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  if (options.user_block > 0) H5Pset_userblock(creation, options.user_block);
  file_ = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, access);
  EXPECT_GE(file_, 0) << path;
}

FileMaker FileMaker::edit(const std::string& path) {
  FileMaker out;
  out.file_ = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  EXPECT_GE(out.file_, 0) << path;
  return out;
}

void FileMaker::close() {
  if (file_ >= 0) H5Fclose(std::exchange(file_, -1));
}

void FileMaker::group(const std::string& path) {
  const Id links(create_missing_groups());
  const Id made(H5Gcreate2(file_, path.c_str(), links, H5P_DEFAULT, H5P_DEFAULT));
}

void FileMaker::raw_dataset(const std::string& path, const Dims& dims, hid_t memory_type, const void* values, const Stored& stored) {
  const Id space(space_of(dims, stored.most)), creation(H5Pcreate(H5P_DATASET_CREATE)), links(create_missing_groups());
  if (stored.compact) H5Pset_layout(creation, H5D_COMPACT);
  if (!stored.chunk.empty()) H5Pset_chunk(creation, static_cast<int>(stored.chunk.size()), stored.chunk.data());
  if (stored.shuffle) H5Pset_shuffle(creation);
  if (stored.gzip > 0) H5Pset_deflate(creation, static_cast<unsigned>(stored.gzip));
  const hid_t type = stored.file_type >= 0 ? stored.file_type : memory_type;
  const Id made(H5Dcreate2(file_, path.c_str(), type, space, links, creation, H5P_DEFAULT));
  if (!values) return;
  EXPECT_GE(H5Dwrite(made, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0) << path;
}

void FileMaker::raw_put(const std::string& path, const Dims& at, hid_t memory_type, const void* value) {
  const Id dataset(H5Dopen2(file_, path.c_str(), H5P_DEFAULT)), space(H5Dget_space(dataset)), one(H5Screate(H5S_SCALAR));
  if (!at.empty()) H5Sselect_elements(space, H5S_SELECT_SET, 1, at.data());
  EXPECT_GE(H5Dwrite(dataset, memory_type, one, space, H5P_DEFAULT, value), 0) << path;
}

void FileMaker::strings(const std::string& path, const std::vector<std::string>& values) {
  const Id type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type, H5T_VARIABLE);
  std::vector<const char*> pointers;
  for (const std::string& value : values) pointers.push_back(value.c_str());
  raw_dataset(path, {values.size()}, type, pointers.data());
}

void FileMaker::text_attribute(const std::string& object, const std::string& name, const std::string& value) {
  const Id type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type, value.size() + 1);
  raw_attribute(object, name, {}, type, value.c_str());
}

void FileMaker::raw_attribute(const std::string& object, const std::string& name, const Dims& dims, hid_t type, const void* values) {
  const Id on(H5Oopen(file_, object.c_str(), H5P_DEFAULT)), space(space_of(dims, {}));
  const Id made(H5Acreate2(on, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT));
  EXPECT_GE(H5Awrite(made, type, values), 0) << name;
}

std::vector<std::string> lines(const FileDiff& diff) {
  std::vector<std::string> out;
  for (const Change& c : diff.changes) {
    std::ostringstream line;
    line << name_of(c.what) << ' ' << name_of(c.object) << ' ' << c.path;
    if (!c.attribute.empty()) line << '@' << c.attribute;
    if (!c.before.empty() || !c.after.empty()) line << " (" << c.before << " -> " << c.after << ')';
    if (c.changed) line << ' ' << *c.changed << " of " << c.total;
    if (c.max_difference) line << " max " << *c.max_difference;
    if (!c.note.empty()) line << ": " << c.note;
    out.push_back(line.str());
  }
  return out;
}

}  // namespace peel::hdf5::test
