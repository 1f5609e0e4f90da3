#include "onion/staging.h"

#include <utility>

#include "base/wire.h"
#include "codec/crc32c.h"
#include "codec/page_codec.h"

namespace peel::onion {
namespace {

constexpr char magic[] = "PEELSTG1";
constexpr std::size_t magic_size = 8;
constexpr std::size_t entry_header_size = 48;
constexpr std::size_t crc_offset = 44;

}  // namespace

namespace {

// The file at `path`, made if need be, locked; absent when somebody else removed or made it in between.
Result<std::unique_ptr<File>> open_locked(FileSystem& fs, const std::string& path) {
  auto file = fs.open(path, OpenMode::read_write);
  if (!file && file.error().kind() == ErrorKind::not_found) {
    file = fs.open(path, OpenMode::create_new, 0600);
    if (!file && file.error().kind() == ErrorKind::exists) return std::unique_ptr<File>();
    if (file) PEEL_CHECK(fs.sync_directory_of(path), path);  // what is staged survives only under a name that does
  }
  if (!file) return file;
  auto locked = (*file)->lock(false);
  if (!locked && locked.error().kind() != ErrorKind::unsupported)
    return fail(ErrorKind::conflict, path + ": another transfer of the same kind is going on");
  // Whoever held the lock before may have removed the name; then chunks written here would be lost with it.
  const auto named = fs.identify(path);
  const auto held = (*file)->identity();
  if (!named || !held || !(*named == *held)) return std::unique_ptr<File>();
  return file;
}

}  // namespace

Result<Staging> Staging::open(FileSystem& fs, const std::string& path, std::uint64_t quota, const Cancel* cancel) {
  constexpr int tries_max = 100;
  Staging s;
  s.fs_ = &fs;
  s.path_ = path;
  s.quota_ = quota;
  for (int tries = 0; !s.file_; ++tries) {
    if (tries == tries_max) return fail(ErrorKind::conflict, path + ": other transfers of the same kind come and go");
    PEEL_TRY(s.file_, open_locked(fs, path), "");
  }
  PEEL_CHECK(s.load(cancel), path);
  return s;
}

Staging::~Staging() {
  if (file_ && places_.empty()) (void)remove().ok();  // still locked: nobody else has begun with it
}

Status Staging::load(const Cancel* cancel) {
  std::array<std::byte, magic_size> head{};
  PEEL_TRY(const auto got, file_->read_at(0, head), "");
  if (got < magic_size || std::memcmp(head.data(), magic, magic_size) != 0) {
    PEEL_CHECK(file_->truncate(0), "");
    PEEL_CHECK(file_->write_at(0, as_bytes(std::string_view(magic, magic_size))), "");
    end_ = magic_size;
    return {};
  }
  end_ = magic_size;
  Buffer stored;
  std::array<std::byte, entry_header_size> header;
  while (true) {
    if (cancel) PEEL_CHECK(cancel->check(), "");
    PEEL_TRY(const auto n, file_->read_at(end_, header), "");
    if (n < entry_header_size) break;
    ChunkName name;
    std::copy_n(header.begin(), 32, name.digest.bytes.begin());
    name.length = WireReader::load<std::uint32_t>(header.data() + 32);
    const auto size = WireReader::load<std::uint32_t>(header.data() + 40);
    if (size > codec::chunk_size_max || name.length == 0 || name.length > codec::chunk_size_max) break;
    stored.resize(size);
    PEEL_TRY(const auto m, file_->read_at(end_ + entry_header_size, stored), "");
    if (m < size) break;
    const auto crc = codec::crc32c(codec::crc32c(0, Bytes(header).first(crc_offset)), stored);
    if (crc != WireReader::load<std::uint32_t>(header.data() + crc_offset)) break;
    places_[name] = {end_ + entry_header_size, size, std::to_integer<std::uint8_t>(header[36]), std::to_integer<std::uint8_t>(header[37])};
    end_ += entry_header_size + size;
  }
  return file_->truncate(end_);
}

Status Staging::add(const StoredChunk& chunk) {
  if (has(chunk.name)) return {};
  const std::uint64_t size = entry_header_size + chunk.stored.size();
  if (end_ + size > quota_)
    return fail(ErrorKind::limit, "the quota of this server for unfinished transfers is used up: " + std::to_string(quota_) + " bytes");
  std::array<std::byte, entry_header_size> header{};
  std::copy(chunk.name.digest.bytes.begin(), chunk.name.digest.bytes.end(), header.begin());
  WireWriter::store(header.data() + 32, chunk.name.length);
  header[36] = static_cast<std::byte>(chunk.codec);
  header[37] = static_cast<std::byte>(chunk.width);
  WireWriter::store(header.data() + 40, static_cast<std::uint32_t>(chunk.stored.size()));
  WireWriter::store(header.data() + crc_offset, codec::crc32c(codec::crc32c(0, Bytes(header).first(crc_offset)), chunk.stored));
  PEEL_CHECK(file_->write_at(end_, header), path_);
  PEEL_CHECK(file_->write_at(end_ + entry_header_size, chunk.stored), path_);
  places_[chunk.name] = {end_ + entry_header_size, static_cast<std::uint32_t>(chunk.stored.size()), chunk.codec, chunk.width};
  end_ += size;
  return {};
}

Result<StoredChunk> Staging::get(const ChunkName& name) const {
  const auto it = places_.find(name);
  if (it == places_.end()) return fail(ErrorKind::not_found, path_ + ": chunk not staged");
  StoredChunk chunk{name, it->second.codec, it->second.width, Buffer(it->second.stored)};
  PEEL_CHECK(read_exactly(*file_, it->second.offset, chunk.stored), path_);
  return chunk;
}

Status Staging::sync() { return file_->sync_data(); }

Status Staging::remove() {
  places_.clear();
  if (std::exchange(removed_, true)) return {};
  return fs_->remove(path_);
}

}  // namespace peel::onion
