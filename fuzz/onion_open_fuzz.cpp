// Property: no file makes an onion crash, hang or take memory that the file does not justify; what it then shows can be
// looked at, read, verified, collected and committed to, or is an error.
//
// Input      one byte of choices, then the file. With choice 1 the checksums of superblocks and records are made right
//            first, with choice 2 those of groups too, so that the fuzzer gets behind them.
#include <cstdlib>

#include "base/file.h"
#include "codec/crc32c.h"
#include "onion/format.h"
#include "peel/onion.h"

using namespace peel;
using namespace peel::onion;

// Nothing in these files, at most some megabytes, justifies more.
extern "C" const char* __asan_default_options() { return "max_allocation_size_mb=300:detect_leaks=1"; }

namespace {

constexpr char path[] = "x.onion";
constexpr std::uint64_t read_whole_max = 16u << 20;

void seal_superblocks(Buffer& image) {
  for (const std::size_t at : {std::size_t{0}, static_cast<std::size_t>(superblock_stride)})
    if (image.size() >= at + superblock_size)
      WireWriter::store(image.data() + at + superblock_size - 4,
                        codec::crc32c(0, Bytes(image).subspan(at, superblock_size - 4)));
}

// Rewrites the checksums of everything that has the shape of records in a row.
void seal_records(Buffer& image, bool groups) {
  Salt salt{};
  if (image.size() < records_begin) return;
  const bool second = WireReader::load<std::uint64_t>(image.data() + superblock_stride + 80) >
                      WireReader::load<std::uint64_t>(image.data() + 80);
  std::copy_n(image.begin() + 32 + (second ? superblock_stride : 0), salt.size(), salt.begin());
  std::uint32_t records = 0, checksum = 0;
  for (std::size_t at = records_begin; at + record_header_size <= image.size();) {
    std::byte* p = image.data() + at;
    const auto type = WireReader::load<std::uint16_t>(p + 4);
    const auto length = WireReader::load<std::uint32_t>(p + 8), epoch = WireReader::load<std::uint32_t>(p + 12);
    if (WireReader::load<std::uint32_t>(p) != record_magic || length > image.size() - at - record_header_size) {
      at += 8;
      continue;
    }
    const bool end = type == static_cast<std::uint16_t>(RecordType::end);
    if (end && groups && length >= end_payload_size) {
      WireWriter::store(p + record_header_size, records);
      WireWriter::store(p + record_header_size + 8, checksum);
    }
    const auto seed = crc_seed(salt, epoch);
    WireWriter::store(p + 24, codec::crc32c(seed, Bytes(image).subspan(at + record_header_size, length)));
    WireWriter::store(p + 28, codec::crc32c(seed, Bytes(image).subspan(at, 28)));
    checksum = codec::crc32c(checksum, Bytes(image).subspan(at + 28, 4));
    ++records;
    if (end) records = checksum = 0;
    at += record_size(length);
  }
}

void read(const Onion& onion, std::uint64_t number) {
  const auto reader = onion.open_revision(number);
  if (!reader) return;
  Buffer some(10'000);
  for (const std::uint64_t offset :
       {std::uint64_t{0}, reader->size() / 2, reader->size() - std::min<std::uint64_t>(reader->size(), 5000)})
    (void)reader->read(offset, some).ok();
  (void)reader->pieces(0, 1u << 20).ok();
  if (reader->size() > read_whole_max) return;
  (void)reader->verify().ok();
  (void)onion.storage(number).ok();
}

void look(Onion& onion) {
  const auto list = onion.list();
  if (!list) return;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(list->size(), 6); ++i) {
    const auto& row = (*list)[i];
    (void)onion.revision(row.number).ok();
    read(onion, row.number);
    if (before && row.size <= read_whole_max) (void)onion.diff(before, row.number).ok();
    if (before) (void)onion.merge_base(before, row.number).ok();
    if (before) (void)onion.is_ancestor(before, row.number).ok();
    before = row.number;
  }
  for (const char* name : {"", "main", "@1", "@2~1", "main~3", "side", "main@{2026-01-01}", "=0123456789"})
    (void)onion.resolve(name).ok();
  (void)onion.reflog().ok();
  for (const Ref& ref : onion.refs()) (void)onion.find(ref.target);
  (void)onion.verify({.deep = true}).ok();
}

void work(Onion& onion) {
  const Buffer data(5000, std::byte{3});
  const Write write{100, data};
  (void)onion.commit_writes({&write, 1}, 70'000, {}).ok();
  RefChange change{RefKind::branch, "fuzz", std::nullopt, RevisionId{}, std::nullopt, "fuzz"};
  if (const auto list = onion.list(); list && !list->empty()) change.target = list->back().id;
  (void)onion.update_refs({&change, 1}).ok();
  (void)onion.flush().ok();
  GcPolicy policy;
  policy.keep_last = 2;
  (void)onion.gc(policy).ok();
  if (const auto list = onion.list(); list && !list->empty()) (void)onion.commit_copy(list->front().number, {}).ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  Buffer image(bytes + 1, bytes + size);
  if (data[0] & 3) {
    seal_superblocks(image);
    seal_records(image, data[0] & 2);
  }
  const auto fs = make_memory_file_system();
  if (!fs->open(path, OpenMode::create_new).value()->write_at(0, image)) std::abort();
  OpenOptions damaged_too;
  damaged_too.file_system = fs.get();
  damaged_too.damaged_too = true;
  if (auto onion = Onion::open(path, damaged_too)) look(*onion);
  if (auto onion = Onion::open(path, {Access::read, fs.get(), false})) look(*onion);
  damaged_too.access = Access::write;
  if (auto onion = Onion::open(path, damaged_too); onion && (data[0] & 4)) {
    VerifyOptions repair;
    repair.repair_from = [&](const ChunkName&) -> Result<StoredChunk> { return fail(ErrorKind::not_found, "no copy"); };
    (void)onion->verify(repair).ok();
    look(*onion);
  }
  if (auto onion = Onion::open(path, {Access::write, fs.get(), false})) {
    work(*onion);
    look(*onion);
  }
  return 0;
}
