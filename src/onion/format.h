// onion/format.h - every structure of an onion file, decoded and encoded. Normative text: docs/FORMAT.md.
//
// Layout     superblock A at 0, superblock B at 4096, records from 8192, each at a multiple of 8:
//
//   record header (32 bytes, little-endian)
//   offset size field        meaning
//        0    4 magic        0x314c4550 ("PEL1")
//        4    2 type         RecordType
//        6    2 reserved     0
//        8    4 length       payload bytes; the record is padded with zeros to a multiple of 8
//       12    4 epoch        raised by each recovery; older epochs' leftovers are dead
//       16    8 group        number of the group this record belongs to
//       24    4 payload_crc  crc32c over salt, epoch, payload
//       28    4 header_crc   crc32c over salt, epoch, bytes 0..27
//
// A group (one commit, one ref change, one collection mark ...) is a run of records that END closes; it is
// visible when its END and everything before it check. Structs here are decoded values, never casts.
//
// Errors     truncated, corrupt, unsupported. Limits are checked before anything is allocated.
// Threads    Pure functions.
#pragma once

#include <vector>

#include "base/wire.h"
#include "peel/onion.h"

namespace peel::onion {

inline constexpr std::uint64_t superblock_stride = 4096;
inline constexpr std::uint64_t records_begin = 8192;
inline constexpr std::size_t superblock_size = 132;
inline constexpr std::size_t record_header_size = 32;
inline constexpr std::uint32_t record_magic = 0x314c4550;
inline constexpr std::uint32_t payload_size_max = 1u << 30;
inline constexpr std::size_t chunk_header_size = 40;
inline constexpr std::uint64_t file_size_max = (std::uint64_t{1} << 63) - 1;  // of a revision
inline constexpr std::uint64_t counter_max = (std::uint64_t{1} << 63) - 1;    // revision numbers and generations
inline constexpr std::size_t fanout = 16;
inline constexpr std::size_t slices_per_leaf_max = 65535;
inline constexpr unsigned page_log2_min = 12, page_log2_max = 16;
inline constexpr unsigned tree_levels_max = 13;

enum class RecordType : std::uint16_t {
  chunk = 1,
  node = 2,
  commit = 3,
  ref = 4,
  checkpoint = 5,
  chunk_run = 6,
  revision_run = 7,
  gc_mark = 8,
  end = 9,
};

using Salt = std::array<std::byte, 16>;

struct Superblock {
  std::uint32_t epoch = 1;
  std::uint64_t incompatible = 0, compatible = 0;  // feature bits
  Salt salt{};
  std::array<std::byte, 32> lineage{};  // shared by clones; keys the chunker
  std::uint64_t sequence = 0;           // the greater valid superblock counts
  std::uint64_t tail = records_begin;   // end of the last acknowledged group
  std::uint64_t group = 0;              // its number
  std::uint64_t checkpoint = 0;         // CHECKPOINT record, 0: none yet
  std::uint32_t page_size = 0;          // 0: grows with the file
  std::uint64_t acknowledged = records_begin;  // history reaches at least this far; tail is where scanning begins
  bool operator==(const Superblock&) const = default;
};
std::array<std::byte, superblock_size> encode(const Superblock& s);
Result<Superblock> decode_superblock(Bytes bytes);

struct RecordHeader {
  RecordType type = RecordType::end;
  std::uint32_t length = 0;
  std::uint32_t epoch = 0;
  std::uint64_t group = 0;
  std::uint32_t payload_crc = 0;
  bool operator==(const RecordHeader&) const = default;
};
// crc32c seeded with salt and epoch: what every checksum of a record starts from.
std::uint32_t crc_seed(const Salt& salt, std::uint32_t epoch);
void encode(const RecordHeader& h, std::uint32_t seed, std::byte* out32, std::uint32_t* header_crc = nullptr);
Result<RecordHeader> decode_record_header(Bytes bytes, const Salt& salt);
constexpr std::uint64_t record_size(std::uint64_t payload_length) {
  return record_header_size + ((payload_length + 7) & ~std::uint64_t{7});
}

// CHUNK payload: digest 32, length u32, codec u8, width u8, reserved u16, stored bytes.
struct ChunkHeader {
  ChunkName name;
  std::uint8_t codec = 0, width = 1;
  bool operator==(const ChunkHeader&) const = default;
};
void encode(const ChunkHeader& h, std::byte* out40);
Result<ChunkHeader> decode_chunk_header(Bytes payload);

// COMMIT payload.
struct ParentLink {
  RevisionId id;
  std::uint64_t commit = 0;  // offset of its COMMIT record, 0: not here
  std::uint64_t number = 0;
  bool operator==(const ParentLink&) const = default;
};
struct CommitRecord {
  std::uint64_t number = 0, generation = 0, size = 0;
  std::uint64_t root = 0;             // NODE record, 0: all zeros
  std::uint8_t page_log2 = page_log2_min;
  Digest content;
  RevisionId id;
  std::uint64_t previous_commit = 0;  // in file order
  std::uint64_t bytes_added = 0;
  std::vector<ParentLink> parents;
  RevisionMeta meta;
};
void encode(const CommitRecord& c, Buffer& out);
Result<CommitRecord> decode_commit(Bytes payload);
// The id two machines agree on: BLAKE3 keyed over parents, content, size and metadata.
RevisionId revision_id(const std::vector<RevisionId>& parents, std::uint64_t size, const Digest& content, const RevisionMeta& meta);

// REF payload: one change of one ref, which is also its reflog entry.
struct RefRecord {
  RefKind kind = RefKind::branch;
  std::string name;
  RevisionId before, after;            // zero: absent
  std::uint64_t after_commit = 0;      // offset of after's COMMIT record
  bool removed = false;
  std::string value;
  std::int64_t time_ns = 0;
  std::string who, reason;
  std::uint64_t previous_ref = 0;      // the REF record before this one, 0: none
};
void encode(const RefRecord& r, Buffer& out);
Result<RefRecord> decode_ref(Bytes payload);

// One row of a REVISION_RUN (136 bytes).
struct RevisionRow {
  RevisionSummary summary;
  Digest content;
  std::uint64_t commit = 0, root = 0;
  std::uint8_t page_log2 = page_log2_min;
  std::uint8_t parents = 0;  // how many; one or none need no look at the COMMIT record
};
inline constexpr std::size_t revision_row_size = 136;
RevisionRow row_of(const CommitRecord& commit, std::uint64_t offset);
void encode(const RevisionRow& r, Buffer& out);
Result<RevisionRow> decode_revision_row(Bytes bytes);

struct RunLocation {
  std::uint64_t offset = 0, count = 0;
  bool operator==(const RunLocation&) const = default;
};
struct StoredRef {
  Ref ref;
  std::uint64_t commit = 0;
};
struct CheckpointRecord {
  std::uint64_t next_number = 1, revision_count = 0, last_commit = 0, last_ref = 0, gc_mark = 0;
  std::vector<RunLocation> chunk_runs, revision_runs;
  std::vector<StoredRef> refs;
};
void encode(const CheckpointRecord& c, Buffer& out);
Result<CheckpointRecord> decode_checkpoint(Bytes payload);

// GC_MARK payload: count u64, then that many revision numbers that the next compaction drops.
void encode_gc_mark(const std::vector<std::uint64_t>& numbers, Buffer& out);
Result<std::vector<std::uint64_t>> decode_gc_mark(Bytes payload);

// END payload: records u32, reserved u32, checksum u32 (crc32c over the header_crc words of the group), reserved u32.
struct EndRecord {
  std::uint32_t records = 0, checksum = 0;
};
inline constexpr std::size_t end_payload_size = 16;
void encode(const EndRecord& e, Buffer& out);
Result<EndRecord> decode_end(Bytes payload);

// Page size by file size, where it is not fixed: 4 KiB to 1 GiB, 16 KiB to 64 GiB, 64 KiB beyond.
unsigned page_log2_for(std::uint64_t size);
// Node levels of a tree over `size` bytes: at least 1.
unsigned tree_levels(std::uint64_t size, unsigned page_log2);

}  // namespace peel::onion
