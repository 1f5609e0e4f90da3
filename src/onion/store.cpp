#include "onion/store.h"

#include <algorithm>
#include <atomic>
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
    : path_(std::move(path)), file_(std::move(file)), salt_(salt), sets_per_stripe_(std::max<std::size_t>(1, std::bit_ceil(cache_nodes) / Set::ways / stripes)) {}

Error Store::damaged(std::uint64_t offset, std::string what) const {
  return fail(ErrorKind::corrupt, path_ + ": damage at offset " + std::to_string(offset) + ": " + what);
}

Result<Store::Record> Store::read_record(std::uint64_t offset, RecordType type) const {
  std::array<std::byte, first_read_size> first;
  PEEL_TRY(const auto got, file_->read_at(offset, first), path_);
  if (got < record_header_size) return damaged(offset, "the file ends here");
  auto header = decode_record_header(Bytes(first).first(got), salt_);
  if (!header) return damaged(offset, header.error().message());
  if (header->type != type) return damaged(offset, "another kind of record than expected");
  Record record{*header, {}};
  const std::size_t whole = record_header_size + header->length;
  if (whole > got) {  // before room is made for what a header claims
    PEEL_TRY(const auto size, file_->size(), path_);
    if (whole > size - std::min(size, offset)) return damaged(offset, "the file ends inside this record");
  }
  record.raw.reserve(whole);
  record.raw.assign(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(std::min(whole, got)));
  if (whole > got) {
    record.raw.resize(whole);
    auto rest = read_exactly(*file_, offset + got, MutableBytes(record.raw).subspan(got));
    if (!rest) {
      if (rest.error().kind() == ErrorKind::truncated) return damaged(offset, "the file ends inside this record");
      return std::move(rest.error()).in(path_);
    }
  }
  if (codec::crc32c(crc_seed(salt_, header->epoch), record.payload()) != header->payload_crc)
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

Store::Locked Store::set_of(std::uint64_t offset) const {
  const auto hash = (offset >> 3) * 0x9e3779b97f4a7c15u >> 32;
  Stripe& stripe = cache_[hash % stripes];
  std::unique_lock lock(stripe.mutex);
  if (!stripe.sets) stripe.sets = std::make_unique<Set[]>(sets_per_stripe_);
  return {std::move(lock), &stripe.sets[hash / stripes & (sets_per_stripe_ - 1)]};
}

Result<std::shared_ptr<const Node>> Store::node(std::uint64_t offset) const {
  {
    const auto [lock, set] = set_of(offset);
    for (std::size_t i = 0; i < Set::ways; ++i)
      if (set->offset[i] == offset && set->node[i]) {
        if (i > 0) {
          std::swap(set->offset[i], set->offset[i - 1]);
          std::swap(set->node[i], set->node[i - 1]);
          --i;
        }
        return set->node[i];
      }
  }
  PEEL_TRY(const auto record, read_record(offset, RecordType::node), "");
  auto decoded = decode_node(record.payload());
  if (!decoded) return damaged(offset, decoded.error().message());
  std::shared_ptr<const Node> shared = std::make_shared<Node>(std::move(decoded).value());
  set_of(offset).set->put(offset, shared);
  return shared;
}

void Store::remember(std::uint64_t offset, std::shared_ptr<const Node> node) const {
  set_of(offset).set->put(offset, std::move(node));
}

std::shared_ptr<Node> Store::edit(std::uint64_t offset, std::shared_ptr<const Node> node) const {
  {
    const auto [lock, set] = set_of(offset);
    for (std::size_t i = 0; i < Set::ways; ++i)
      if (set->offset[i] == offset) set->node[i].reset();
  }
  if (node.use_count() > 1) return std::make_shared<Node>(*node);
  std::atomic_thread_fence(std::memory_order_acquire);  // whoever let go of it has finished reading
  return std::const_pointer_cast<Node>(std::move(node));
}

void Store::forget_from(std::uint64_t offset) const {
  for (Stripe& stripe : cache_) {
    std::lock_guard lock(stripe.mutex);
    for (std::size_t i = 0; stripe.sets && i < sets_per_stripe_; ++i)
      for (std::size_t way = 0; way < Set::ways; ++way)
        if (stripe.sets[i].offset[way] >= offset) stripe.sets[i].node[way].reset();
  }
}

Result<ChunkHeader> Store::load_chunk(std::uint64_t offset, std::uint32_t record_size_hint, Buffer& raw, Bytes& stored) const {
  // The buffer only grows: shrinking and growing again would fill it with zeros each time.
  const auto expected = std::clamp<std::size_t>(record_size_hint, record_header_size + chunk_header_size, record_size(chunk_header_size + codec::chunk_size_max));
  if (raw.size() < expected) raw.resize(expected);
  PEEL_TRY(std::size_t got, file_->read_at(offset, MutableBytes(raw).first(expected)), path_);
  if (const auto header = decode_record_header(Bytes(raw).first(got), salt_); header && header->length <= chunk_header_size + codec::chunk_size_max) {
    const std::size_t whole = record_header_size + header->length;
    if (whole > got) {
      if (raw.size() < whole) raw.resize(whole);
      PEEL_TRY(const auto more, file_->read_at(offset + got, MutableBytes(raw).subspan(got, whole - got)), path_);
      got += more;
    }
  }
  PEEL_TRY(const auto view, view_chunk(offset, Bytes(raw).first(got)), "");
  stored = view.stored;
  return view.header;
}

Result<Store::ChunkView> Store::view_chunk(std::uint64_t offset, Bytes record) const {
  auto header = decode_record_header(record, salt_);
  if (!header) return damaged(offset, header.error().message());
  if (header->type != RecordType::chunk) return damaged(offset, "no chunk here");
  if (header->length > chunk_header_size + codec::chunk_size_max) return damaged(offset, "a chunk of impossible size");
  if (record.size() < record_header_size + header->length) return damaged(offset, "the file ends inside this chunk");
  const Bytes payload = record.subspan(record_header_size, header->length);
  auto chunk = decode_chunk_header(payload);
  if (!chunk) return damaged(offset, chunk.error().message());
  return ChunkView{*chunk, payload.subspan(chunk_header_size)};
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

std::uint32_t Store::sound_chunk(std::uint64_t offset, const ChunkName& name) const {
  // A chunk is never stored larger than it is, so one read gets all of it.
  const auto largest = static_cast<std::uint32_t>(record_size(chunk_header_size + name.length));
  Bytes stored;
  const auto chunk = load_chunk(offset, largest, scratch, stored);
  if (!chunk || chunk->name != name) return 0;
  const auto header = decode_record_header(Bytes(scratch).first(record_header_size), salt_);
  const bool sound = header && codec::crc32c(crc_seed(salt_, header->epoch), Bytes(scratch).subspan(record_header_size, header->length)) == header->payload_crc;
  return sound ? static_cast<std::uint32_t>(record_size(header->length)) : 0;
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

}  // namespace peel::onion
