#include <algorithm>
#include <limits>
#include <map>

#include "base/file.h"

namespace peel {
namespace {

struct MemoryNode {
  std::uint64_t inode = 0;
  Buffer data;
  bool locked = false;
};

class MemoryFile final : public File {
 public:
  explicit MemoryFile(std::shared_ptr<MemoryNode> node) : node_(std::move(node)) {}
  ~MemoryFile() override { MemoryFile::unlock(); }

  Result<std::size_t> read_at(std::uint64_t offset, MutableBytes out) const override {
    const auto& data = node_->data;
    if (offset >= data.size()) return std::size_t{0};
    const std::size_t n = std::min<std::size_t>(out.size(), data.size() - offset);
    std::memcpy(out.data(), data.data() + offset, n);
    return n;
  }
  Status write_at(std::uint64_t offset, Bytes bytes) override {
    auto& data = node_->data;
    if (offset > data.size()) data.resize(offset);
    const std::size_t overwrite = std::min<std::size_t>(bytes.size(), data.size() - offset);
    std::copy_n(bytes.begin(), overwrite, data.begin() + static_cast<std::ptrdiff_t>(offset));
    data.insert(data.end(), bytes.begin() + static_cast<std::ptrdiff_t>(overwrite), bytes.end());
    return {};
  }
  Status sync_data() override { return {}; }
  Result<std::uint64_t> size() const override { return std::uint64_t{node_->data.size()}; }
  Status truncate(std::uint64_t size) override {
    node_->data.resize(size);
    return {};
  }
  Result<FileIdentity> identity() const override { return FileIdentity{0, node_->inode}; }
  Status lock(bool) override {
    if (node_->locked && !holds_lock_) return fail(ErrorKind::conflict, "another handle is writing");
    node_->locked = holds_lock_ = true;
    return {};
  }
  void unlock() override {
    if (holds_lock_) node_->locked = holds_lock_ = false;
  }

 private:
  std::shared_ptr<MemoryNode> node_;
  bool holds_lock_ = false;
};

class MemoryFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode, unsigned) override {
    auto it = nodes_.find(path);
    if (mode == OpenMode::create_new) {
      if (it != nodes_.end()) return fail(ErrorKind::exists, path);
      it = nodes_.emplace(path, std::make_shared<MemoryNode>(MemoryNode{++last_inode_, {}, false})).first;
    }
    if (it == nodes_.end()) return fail(ErrorKind::not_found, path);
    return std::unique_ptr<File>(new MemoryFile(it->second));
  }
  Result<FileIdentity> identify(const std::string& path) override {
    const auto it = nodes_.find(path);
    if (it == nodes_.end()) return fail(ErrorKind::not_found, path);
    return FileIdentity{0, it->second->inode};
  }
  Status rename(const std::string& from, const std::string& to, bool replace) override {
    const auto it = nodes_.find(from);
    if (it == nodes_.end()) return fail(ErrorKind::not_found, from);
    if (!replace && nodes_.count(to)) return fail(ErrorKind::exists, to);
    auto node = it->second;
    nodes_.erase(it);
    nodes_[to] = std::move(node);
    return {};
  }
  Status remove(const std::string& path) override {
    if (nodes_.erase(path) == 0) return fail(ErrorKind::not_found, path);
    return {};
  }
  Status sync_directory_of(const std::string&) override { return {}; }
  Result<std::uint64_t> free_space(const std::string&) override { return std::numeric_limits<std::uint64_t>::max(); }

 private:
  std::map<std::string, std::shared_ptr<MemoryNode>> nodes_;
  std::uint64_t last_inode_ = 0;
};

}  // namespace

std::unique_ptr<FileSystem> make_memory_file_system() { return std::make_unique<MemoryFileSystem>(); }

}  // namespace peel
