#include "onion/store.h"

#include <bit>

#include "codec/crc32c.h"
#include "codec/page_codec.h"

namespace peel::onion {
namespace {

// Most nodes and small records fit; larger ones take a second read.
constexpr std::size_t first_read_size = 1024;

thread_local Buffer scratch;

}  // namespace

Store::Store(std::string path, std::unique_ptr<File> file, const Salt& salt, std::size_t cache_nodes)
    : path_(std::move(path)), file_(std::move(file)), salt_(salt), sets_(std::bit_ceil(cache_nodes) / Set::ways) {}

Error Store::damaged(std::uint64_t offset, std::string what) const {
  return fail(ErrorKind::corrupt, path_ + ": damage at offset " + std::to_string(offset) + ": " + what);
}

Result<Store::Record> Store::read_record(std::uint64_t offset, RecordType type) const {
  Record record;
  record.payload.resize(first_read_size);
  PEEL_TRY(auto got, file_->read_at(offset, record.payload), path_);
  if (got < record_header_size) return damaged(offset, "the file ends here");
  auto header = decode_record_header(Bytes(record.payload).first(got), salt_);
  if (!header) return damaged(offset, header.error().message());
  record.header = *header;
  if (header->type != type) return damaged(offset, "another kind of record than expected");
  const std::size_t whole = record_header_size + header->length;
  if (whole > got) {
    record.payload.resize(whole);
    auto rest = read_exactly(*file_, offset + got, MutableBytes(record.payload).subspan(got));
    if (!rest) {
      if (rest.error().kind() == ErrorKind::truncated) return damaged(offset, "the file ends inside this record");
      return std::move(rest.error()).in(path_);
    }
  }
  record.payload.erase(record.payload.begin(), record.payload.begin() + record_header_size);
  record.payload.resize(header->length);
  if (codec::crc32c(crc_seed(salt_, header->epoch), record.payload) != header->payload_crc)
    return damaged(offset, "checksum mismatch");
  return record;
}

void Store::Set::put(std::uint64_t at, std::shared_ptr<const Node> n) {
  std::size_t i = 0;
  while (i + 1 < ways && offset[i] != at && node[i]) ++i;
  for (; i > 0; --i) {
    offset[i] = offset[i - 1];
    node[i] = std::move(node[i - 1]);
  }
  offset[0] = at;
  node[0] = std::move(n);
}

Store::Set& Store::set_of(std::uint64_t offset, std::mutex*& mutex) const {
  const auto hash = (offset >> 3) * 0x9e3779b97f4a7c15u;
  const auto index = static_cast<std::size_t>(hash >> 32) & (sets_.size() - 1);
  mutex = &mutexes_[index % stripes];
  return sets_[index];
}

Result<std::shared_ptr<const Node>> Store::node(std::uint64_t offset) const {
  std::mutex* mutex;
  Set& set = set_of(offset, mutex);
  {
    std::lock_guard lock(*mutex);
    for (std::size_t i = 0; i < Set::ways; ++i)
      if (set.offset[i] == offset && set.node[i]) {
        if (i > 0) {
          std::swap(set.offset[i], set.offset[i - 1]);
          std::swap(set.node[i], set.node[i - 1]);
          --i;
        }
        return set.node[i];
      }
  }
  PEEL_TRY(const auto record, read_record(offset, RecordType::node), "");
  auto decoded = decode_node(record.payload);
  if (!decoded) return damaged(offset, decoded.error().message());
  auto shared = std::make_shared<const Node>(std::move(decoded).value());
  std::lock_guard lock(*mutex);
  set.put(offset, shared);
  return shared;
}

void Store::remember(std::uint64_t offset, std::shared_ptr<const Node> node) const {
  std::mutex* mutex;
  Set& set = set_of(offset, mutex);
  std::lock_guard lock(*mutex);
  set.put(offset, std::move(node));
}

void Store::superseded(std::uint64_t offset) const {
  std::mutex* mutex;
  Set& set = set_of(offset, mutex);
  std::lock_guard lock(*mutex);
  for (std::size_t i = 0; i < Set::ways; ++i)
    if (set.offset[i] == offset) set.node[i].reset();
}

void Store::forget_from(std::uint64_t offset) const {
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    std::lock_guard lock(mutexes_[i % stripes]);
    for (std::size_t way = 0; way < Set::ways; ++way)
      if (sets_[i].offset[way] >= offset) sets_[i].node[way].reset();
  }
}

Result<ChunkHeader> Store::load_chunk(std::uint64_t offset, std::uint32_t record_size_hint, Buffer& raw, Bytes& stored) const {
  raw.resize(std::max<std::size_t>(record_size_hint, record_header_size + chunk_header_size));
  PEEL_TRY(std::size_t got, file_->read_at(offset, raw), path_);
  auto header = decode_record_header(Bytes(raw).first(got), salt_);
  if (!header) return damaged(offset, header.error().message());
  if (header->type != RecordType::chunk) return damaged(offset, "no chunk here");
  const std::size_t whole = record_header_size + header->length;
  if (whole > got) {
    raw.resize(whole);
    PEEL_TRY(const auto more, file_->read_at(offset + got, MutableBytes(raw).subspan(got)), path_);
    got += more;
    if (got < whole) return damaged(offset, "the file ends inside this chunk");
  }
  const Bytes payload = Bytes(raw).subspan(record_header_size, header->length);
  auto chunk = decode_chunk_header(payload);
  if (!chunk) return damaged(offset, chunk.error().message());
  stored = payload.subspan(chunk_header_size);
  return std::move(chunk).value();
}

Result<Store::ChunkPlace> Store::probe_chunk(std::uint64_t offset) const {
  std::array<std::byte, record_header_size + chunk_header_size> raw;
  PEEL_TRY(const auto got, file_->read_at(offset, raw), path_);
  auto header = decode_record_header(Bytes(raw).first(got), salt_);
  if (!header) return damaged(offset, header.error().message());
  if (header->type != RecordType::chunk || got < raw.size()) return damaged(offset, "no chunk here");
  PEEL_TRY(const auto chunk, decode_chunk_header(Bytes(raw).subspan(record_header_size)), "");
  return ChunkPlace{chunk, static_cast<std::uint32_t>(record_size(header->length))};
}

Result<ChunkHeader> Store::read_stored(std::uint64_t offset, Buffer& stored) const {
  Bytes view;
  PEEL_TRY(const auto header, load_chunk(offset, 0, scratch, view), "");
  stored.assign(view.begin(), view.end());
  return header;
}

Status Store::read_chunk(std::uint64_t offset, std::uint32_t record_size_hint, Buffer& out) const {
  Bytes stored;
  PEEL_TRY(const auto chunk, load_chunk(offset, record_size_hint, scratch, stored), "");
  out.resize(chunk.name.length);
  auto decoded = codec::decode(static_cast<codec::Codec>(chunk.codec), chunk.width, stored, out);
  if (!decoded) return damaged(offset, decoded.error().message());
  if (codec::chunk_digest(out) != chunk.name.digest) return damaged(offset, "chunk does not match its digest");
  return {};
}

Result<bool> Store::read_page(const Slice& slice, const Digest& page_digest, unsigned page_height, MutableBytes out) const {
  Bytes stored;
  PEEL_TRY(const auto chunk, load_chunk(slice.chunk, slice.record_size, scratch, stored), "");
  if (chunk.name.length != out.size()) return false;
  auto decoded = codec::decode(static_cast<codec::Codec>(chunk.codec), chunk.width, stored, out);
  if (!decoded) return damaged(slice.chunk, decoded.error().message());
  if (codec::subtree_digest(out, page_height) != page_digest) return damaged(slice.chunk, "page does not match its digest");
  return true;
}

}  // namespace peel::onion
