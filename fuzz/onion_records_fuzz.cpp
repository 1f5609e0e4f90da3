// Property: every decoder of the onion's records takes any bytes; what it accepts is the same after encoding and
// decoding again, and a staging file with any content opens, keeps only entries that check, and takes more.
#include <cstdlib>

#include "onion/format.h"
#include "onion/log.h"
#include "onion/node.h"
#include "onion/staging.h"

using namespace peel;
using namespace peel::onion;

extern "C" const char* __asan_default_options() { return "max_allocation_size_mb=300"; }

namespace {

template <class Decoded>
Buffer encoded(const Decoded& value) {
  Buffer out;
  encode(value, out);
  return out;
}
Buffer encoded(const Superblock& s) {
  const auto bytes = encode(s);
  return {bytes.begin(), bytes.end()};
}
Buffer encoded(const ChunkHeader& h) {
  Buffer out(chunk_header_size);
  encode(h, out.data());
  return out;
}
Buffer encoded(const std::vector<std::uint64_t>& numbers) {
  Buffer out;
  encode_gc_mark(numbers, out);
  return out;
}

template <class Decode>
void stable(Bytes in, Decode decode) {
  const auto first = decode(in);
  if (!first) return;
  const Buffer bytes = encoded(*first);
  const auto second = decode(Bytes(bytes));
  if (!second || encoded(*second) != bytes) std::abort();
}

void scan(Bytes in) {
  const auto fs = make_memory_file_system();
  auto file = fs->open("f", OpenMode::create_new).value();
  (void)file->write_at(0, in).ok();
  Salt salt{};
  RecordScanner scanner(*file, salt);
  for (std::uint64_t at = 0; at < in.size();) {
    const auto record = scanner.find_header(at, 0);
    if (!record || !*record) break;
    (void)scanner.at((*record)->offset).ok();
    at = (*record)->offset + 8;
  }
  LogPosition position;
  position.end = 0;
  (void)scan_groups(*file, salt, records_begin, position, [](SeenGroup&&) -> Status { return {}; }).ok();
}

void stage(Bytes in) {
  const auto fs = make_memory_file_system();
  if (!fs->open("s", OpenMode::create_new).value()->write_at(0, in)) std::abort();
  StoredChunk chunk;
  chunk.name.length = 3;
  chunk.name.digest.bytes[0] = std::byte{1};
  chunk.stored = Buffer(3);
  std::size_t count = 0;
  {
    auto staging = Staging::open(*fs, "s", ~0ull);
    if (!staging) return;
    if (!staging->add(chunk)) std::abort();
    count = staging->count();
  }
  auto again = Staging::open(*fs, "s", ~0ull);
  if (!again || again->count() != count || !again->get(chunk.name)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const Bytes in(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  switch (data[0] % 11) {
    case 0:
      stable(in, decode_superblock);
      break;
    case 1:
      (void)decode_record_header(in, Salt{}).ok();
      break;
    case 2:
      stable(in, decode_chunk_header);
      break;
    case 3:
      stable(in, decode_commit);
      break;
    case 4:
      stable(in, decode_ref);
      break;
    case 5:
      stable(in, decode_checkpoint);
      break;
    case 6:
      stable(in, decode_revision_row);
      break;
    case 7:
      stable(in, decode_node);
      break;
    case 8:
      stable(in, decode_gc_mark);
      break;
    case 9:
      scan(in);
      break;
    default:
      stage(in);
      break;
  }
  return 0;
}
