#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>

#include "base/copy.h"
#include "base/file.h"

namespace peel {
namespace {

// Memory in blocks, given back for reuse and to the system only at the end.
class BlockPool {
 public:
  static constexpr std::size_t block_size = 2u << 20;

  explicit BlockPool(std::uint64_t reserve) {
    for (std::uint64_t i = 0; i < reserve / block_size; ++i) free_.push_back(map());
    for (std::byte* p : free_) std::memset(p, 0, block_size);
  }
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool() {
    for (std::byte* p : free_) ::munmap(p, block_size);
  }
  std::byte* take() {
    if (free_.empty()) return map();
    std::byte* p = free_.back();
    free_.pop_back();
    return p;
  }
  void give_back(std::byte* p) {
    std::memset(p, 0, block_size);
    free_.push_back(p);
  }

 private:
  static std::byte* map() {
    void* p = ::mmap(nullptr, block_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) std::abort();
    ::madvise(p, block_size, MADV_HUGEPAGE);  // one fault instead of 512; only advice
    return static_cast<std::byte*>(p);
  }
  std::vector<std::byte*> free_;
};

// The bytes of a file in blocks that never move, so that growing costs no copying.
class BlockBytes {
 public:
  static constexpr std::size_t block_size = BlockPool::block_size;

  explicit BlockBytes(std::shared_ptr<BlockPool> pool) : pool_(std::move(pool)) {}
  BlockBytes(BlockBytes&&) = default;
  BlockBytes& operator=(BlockBytes&&) = default;
  ~BlockBytes() {
    for (std::byte* p : blocks_) pool_->give_back(p);
  }

  std::uint64_t size() const { return size_; }
  void resize(std::uint64_t size) {
    if (size < size_) {  // what comes back later must read as zeros
      const std::uint64_t kept = std::min<std::uint64_t>(size_, (size / block_size + 1) * block_size);
      if (size / block_size < blocks_.size()) std::fill_n(blocks_[size / block_size] + size % block_size, kept - size, std::byte{0});
    }
    const auto blocks = static_cast<std::size_t>((size + block_size - 1) / block_size);
    while (blocks_.size() < blocks) blocks_.push_back(pool_->take());
    for (; blocks_.size() > blocks; blocks_.pop_back()) pool_->give_back(blocks_.back());
    size_ = size;
  }
  template <class Visit>  // visit(std::byte* piece, std::size_t length)
  void each_piece(std::uint64_t offset, std::uint64_t length, Visit&& visit) const {
    while (length > 0) {
      const std::size_t inside = static_cast<std::size_t>(offset % block_size), n = static_cast<std::size_t>(std::min<std::uint64_t>(length, block_size - inside));
      visit(blocks_[offset / block_size] + inside, n);
      offset += n;
      length -= n;
    }
  }

 private:
  std::shared_ptr<BlockPool> pool_;
  std::vector<std::byte*> blocks_;
  std::uint64_t size_ = 0;
};

struct MemoryNode {
  std::uint64_t inode = 0;
  BlockBytes data;
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
    std::byte* to = out.data();
    data.each_piece(offset, n, [&](const std::byte* piece, std::size_t length) { to = copy_bytes(Bytes(piece, length), to); });
    return n;
  }
  Status write_at(std::uint64_t offset, Bytes bytes) override {
    auto& data = node_->data;
    if (offset + bytes.size() > data.size()) data.resize(offset + bytes.size());
    const std::byte* from = bytes.data();
    data.each_piece(offset, bytes.size(), [&](std::byte* piece, std::size_t length) {
      copy_bytes(Bytes(from, length), piece);
      from += length;
    });
    return {};
  }
  Status sync_data() override { return {}; }
  Result<std::uint64_t> size() const override { return node_->data.size(); }
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
  explicit MemoryFileSystem(std::uint64_t reserve) : pool_(std::make_shared<BlockPool>(reserve)) {}
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode, unsigned) override {
    auto it = nodes_.find(path);
    if (mode == OpenMode::create_new) {
      if (it != nodes_.end()) return fail(ErrorKind::exists, path);
      it = nodes_.emplace(path, std::shared_ptr<MemoryNode>(new MemoryNode{++last_inode_, BlockBytes(pool_), false})).first;
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
  std::shared_ptr<BlockPool> pool_;
  std::map<std::string, std::shared_ptr<MemoryNode>> nodes_;
  std::uint64_t last_inode_ = 0;
};

}  // namespace

std::unique_ptr<FileSystem> make_memory_file_system(std::uint64_t reserve) { return std::make_unique<MemoryFileSystem>(reserve); }

}  // namespace peel
