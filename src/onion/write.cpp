// The steps every writing operation shares: lock, group, chunks, checkpoint, acknowledgement.
#include <chrono>
#include <thread>

#include "onion/impl.h"

#include "base/copy.h"
#include "codec/page_codec.h"

namespace peel {

using namespace onion;

namespace {

// A checkpoint bounds what an open must scan: this many groups or bytes, whichever comes first.
constexpr std::uint64_t checkpoint_groups = 64;
constexpr std::uint64_t checkpoint_bytes = 8u << 20;

// Of a new file: its first superblock, the checkpoint, and its acknowledgement in both slots.
constexpr std::uint64_t born_sequence = 3;

}  // namespace

Onion::Impl::Lock::~Lock() {
  if (!impl_) return;
  impl_->store->file().unlock();
  impl_->locked = false;
}

// Waits in steps, so that Ctrl-C ends it.
Status Onion::Impl::wait_for_lock(const Cancel* stop) {
  for (auto pause = std::chrono::milliseconds(1);; pause = std::min(pause * 2, std::chrono::milliseconds(20))) {
    auto taken = store->file().lock(false);
    if (taken || taken.error().kind() != ErrorKind::conflict) return taken;
    if (stop) PEEL_CHECK(stop->check(), "waiting for another writer");
    std::this_thread::sleep_for(pause);
  }
}

Result<Onion::Impl::Lock> Onion::Impl::take_lock(const Cancel* stop, Purpose purpose) {
  if (access != Access::write) return fail(ErrorKind::usage, path + " was opened for reading");
  if (locked) return fail(ErrorKind::usage, path + ": this handle is writing already");
  if (poisoned)
    return fail(ErrorKind::io, path + ": an earlier write could not be made durable; open it again to see what was kept");
  while (true) {
    auto taken = wait_for_lock(stop ? stop : cancel);
    if (!taken && taken.error().kind() == ErrorKind::cancelled) return std::move(taken.error()).in(path);
    if (!taken && !(taken.error().kind() == ErrorKind::unsupported && assume_alone))
      return std::move(taken.error()).in(path + ": cannot exclude other writers (say --assume-alone if there are none)");
    // A collection may have replaced the file while we waited.
    auto named = file_system->identify(path);
    const auto held = store->file().identity();
    if (named && held && *named == *held) break;
    store->file().unlock();
    if (!named) return std::move(named.error()).in("the onion is gone");
    PEEL_CHECK(reopen(), "");
  }
  locked = true;
  Lock lock(this);
  // Two small reads tell whether somebody else acknowledged anything; decoding them each time would cost more.
  std::array<std::byte, 2 * superblock_size> raw{};
  for (unsigned slot = 0; slot < 2; ++slot)
    PEEL_CHECK(read_exactly(store->file(), slot * superblock_stride, MutableBytes(raw).subspan(slot * superblock_size, superblock_size)), path);
  if (reload_needed || raw != seen_superblocks) {
    PEEL_TRY(const auto slots, read_superblocks(store->file()), path);
    if (reload_needed || !damage.empty() || slots.current.group > position.group) PEEL_CHECK(load_state(), "");
    else see(slots);
    synced_end = std::max(synced_end, super.acknowledged);
    seen_superblocks = raw;
  }
  PEEL_TRY(const bool there, tail_is_there(), "");
  if (there) PEEL_CHECK(catch_up(), "");
  else PEEL_CHECK(forget_tail(), "");
  if (broken && purpose == Purpose::write)  // else damage would be overwritten as if it were a torn write
    return fail(ErrorKind::corrupt, path + ": " + damage.back().what + "; nothing is added to a damaged history: mend it (peel verify --repair-from) or clone it again");
  PEEL_CHECK(settle_tail(), "");
  PEEL_CHECK(mend_tail(), "");
  return lock;
}

// Makes durable what others wrote and may not have: they may have died before their sync. Written behind it, our group
// could outlive theirs in a power cut, and that looks like damage.
Status Onion::Impl::settle_tail() {
  if (position.end > synced_end) {
    auto synced = store->file().sync_data();
    if (!synced) {
      poisoned = reload_needed = true;
      return std::move(synced.error()).in(path + ": what others wrote may not be on disk; open it again");
    }
    synced_end = position.end;
  }
  // Who created or collected this file may have died before its name was durable. A later superblock says that
  // somebody has been here since.
  if (!name_synced) {
    if (super.sequence <= born_sequence) PEEL_CHECK(file_system->sync_directory_of(path), path);
    name_synced = true;
  }
  return {};
}

Status Onion::Impl::mend_tail() {
  PEEL_TRY(const auto size, store->file().size(), path);
  if (size <= position.end) return {};
  if (size <= dead_end) {
    // Looked through before; only a writer that began at the tail since could have left something newer.
    std::array<std::byte, record_header_size> raw;
    PEEL_TRY(const auto got, store->file().read_at(position.end, raw), path);
    const auto header = decode_record_header(Bytes(raw).first(got), super.salt);
    if (!header || header->epoch < next_epoch) return {};
  }
  // A torn group follows the tail. The next group overwrites it under an epoch that none of its leftovers has, so
  // that no mixture of both can check. Not truncated: a reader may be looking this moment.
  PEEL_CHECK(store->file().sync_data(), path);
  RecordScanner scanner(store->file(), super.salt);
  std::uint32_t newest = std::max(position.epoch, next_epoch);
  for (std::uint64_t at = position.end;;) {
    PEEL_TRY(const auto header, scanner.find_header(at, newest), path);
    if (!header) break;
    newest = std::max(newest, header->header.epoch);
    at = header->offset + 8;
  }
  // Not position.epoch: until a group of it is there, others may go on without noticing any leftovers.
  next_epoch = newest + 1;
  dead_end = size;
  return {};
}

GroupWriter Onion::Impl::begin_group() {
  return GroupWriter(store->file(), super.salt, std::max(position.epoch, next_epoch), position.group + 1, position.end, std::move(spare));
}

void Onion::Impl::give_up(GroupWriter& writer) {
  writer.abandon();
  store->forget_from(writer.begin_offset());
  index.forget_from(writer.begin_offset());
  spare = std::move(writer).take_buffer();
}

Status Onion::Impl::write_checkpoint(GroupWriter& writer, std::uint64_t& offset) {
  std::lock_guard lock(history_mutex);
  auto written = table.write_runs(*store, writer);
  if (!written && written.error().kind() == ErrorKind::corrupt) {
    PEEL_CHECK(salvage_rows(written.error()), "");
    written = table.write_runs(*store, writer);
  }
  PEEL_CHECK(std::move(written), "");
  PEEL_CHECK(index.write_runs(*store, writer), "");
  CheckpointRecord c;
  c.next_number = next_number;
  c.revision_count = revision_count;
  c.last_commit = last_commit;
  c.last_ref = last_ref;
  c.gc_mark = gc_mark_at;
  c.chunk_runs = index.runs();
  c.revision_runs = table.runs();
  c.refs.reserve(refs.size());
  for (const auto& [key, stored] : refs) c.refs.push_back(stored);
  offset = writer.begin(RecordType::checkpoint);
  encode(c, writer.payload());
  return writer.end();
}

Status Onion::Impl::finish_group(GroupWriter& writer, Outcome&& outcome, bool force_checkpoint) {
  // A checkpoint inside this group must show the state after it, so the outcome is applied first. If the group
  // then fails, the state is read again from the file.
  for (auto& [offset, commit] : outcome.commits) apply_commit(offset, std::move(commit));
  for (const auto& [offset, ref] : outcome.refs) apply_ref(offset, ref);
  if (outcome.gc_mark) {
    gc_mark_at = outcome.gc_mark->first;
    gc_mark = std::move(outcome.gc_mark->second);
  }
  const auto failed = [&](Error error) -> Status {
    give_up(writer);
    reload_needed = true;
    (void)load_state().ok();  // what was applied too early must not be seen
    return std::move(error).in(path);
  };
  std::uint64_t checkpoint_offset = 0;
  if (force_checkpoint || groups_since_checkpoint + 1 >= checkpoint_groups ||
      bytes_since_checkpoint + writer.bytes() >= checkpoint_bytes) {
    auto status = write_checkpoint(writer, checkpoint_offset);
    if (!status) return failed(std::move(status.error()));
  }
  auto closed = writer.close();
  if (!closed) return failed(std::move(closed.error()));
  auto synced = store->file().sync_data();
  if (!synced) {
    // Nobody knows what reached the disk; trying again would lie (the kernel reports such an error once). But the
    // group still shows in memory: unless it is taken back, others would build on it.
    poisoned = true;
    return failed(std::move(synced.error()).in("the commit may not be on disk; open it again to see what was kept"));
  }
  position.epoch = std::max(position.epoch, next_epoch);
  position.group += 1;
  position.end = synced_end = writer.offset();
  ++groups_since_checkpoint;
  bytes_since_checkpoint += writer.bytes();
  spare = std::move(writer).take_buffer();
  return checkpoint_offset == 0 ? Status() : acknowledge(checkpoint_offset);
}

Status Onion::Impl::acknowledge(std::uint64_t checkpoint_offset) {
  Superblock next = super;
  next.sequence = super.sequence + 1;
  next.epoch = position.epoch;
  next.tail = next.acknowledged = position.end;
  next.group = position.group;
  next.checkpoint = checkpoint_offset;
  groups_since_checkpoint = bytes_since_checkpoint = 0;
  // Reaches the disk with the next sync; until then the older superblock and a scan say the same.
  // Failing to write it costs a longer scan, nothing else: the group itself is durable.
  if (write_superblock(store->file(), next)) {
    acknowledged_twice = super.acknowledged;
    super = next;
  }
  return {};
}

// Saying that groups are durable makes a flipped byte in them damage instead of what looks like a torn write. Both slots
// say it, so that damage to one hides nothing. The worse slot is written first, and synced before the other is touched.
Status Onion::Impl::acknowledge_twice() {
  Superblock next = super;
  for (const bool first : {true, false}) {
    if (!first) PEEL_CHECK(store->file().sync_data(), path);
    next.sequence += 1;
    next.acknowledged = position.end;
    PEEL_CHECK(write_superblock(store->file(), next), path);
  }
  super = next;
  acknowledged_twice = position.end;
  bad_slot = false;
  return {};
}

// What this handle made durable is acknowledged when it goes.
Onion::Impl::~Impl() {
  if (access != Access::write || locked || poisoned || reload_needed || broken || !store || !name_synced) return;
  if ((position.end <= acknowledged_twice && !bad_slot) || synced_end < position.end) return;
  if (!store->file().lock(false)) return;
  // Somebody may have been here since: then the acknowledgement is theirs to make.
  if (auto slots = read_superblocks(store->file()); slots && slots->current == super) (void)acknowledge_twice().ok();
  store->file().unlock();
}

Status Onion::Impl::append_ref(GroupWriter& writer, RefRecord ref, Outcome& outcome) {
  ref.previous_ref = outcome.refs.empty() ? last_ref : outcome.refs.back().first;
  const auto offset = writer.begin(RecordType::ref);
  encode(ref, writer.payload());
  PEEL_CHECK(writer.end(), path);
  outcome.refs.emplace_back(offset, std::move(ref));
  return {};
}

std::optional<Onion::Impl::Place> Onion::Impl::find_place(const ChunkName& name, const GroupWriter* writer) const {
  Place place;
  const std::uint64_t end = writer ? writer->offset() : position.end;
  const auto accept = [&](std::uint64_t offset) {
    if (offset >= end) return false;  // left behind by a group that was given up
    const Bytes buffered = writer ? writer->buffered(offset, record_header_size + chunk_header_size) : Bytes();
    if (!buffered.empty()) {
      const auto header = decode_record_header(buffered, super.salt);
      if (!header || header->type != RecordType::chunk) return false;
      const auto chunk = decode_chunk_header(buffered.subspan(record_header_size));
      place = {offset, static_cast<std::uint32_t>(record_size(header->length))};
      return chunk && chunk->name == name;
    }
    // Nothing new may rest on a chunk that has rotted: then the bytes at hand are stored again.
    place = {offset, store->sound_chunk(offset, name)};
    return place.record_size != 0;
  };
  if (!index.find(*store, ChunkIndex::key_of(name.digest), accept)) return std::nullopt;
  return place;
}

Result<Onion::Impl::Place> Onion::Impl::append_chunk(GroupWriter& writer, const ChunkName& name, Bytes plain,
                                                     const codec::EncodeHint& hint) {
  const auto offset = writer.begin(RecordType::chunk);
  Buffer& buffer = writer.payload();
  const std::size_t at = buffer.size();
  buffer.resize(at + chunk_header_size);
  const auto encoded = codec::encode(plain, hint, buffer);
  encode(ChunkHeader{name, static_cast<std::uint8_t>(encoded.codec), encoded.width}, buffer.data() + at);
  const auto length = static_cast<std::uint32_t>(record_size(chunk_header_size + encoded.size));
  PEEL_CHECK(writer.end(), path);
  index.add(ChunkIndex::key_of(name.digest), offset);
  return Place{offset, length};
}

Result<Onion::Impl::Place> Onion::Impl::append_stored(GroupWriter& writer, const ChunkName& name, std::uint8_t codec,
                                                      std::uint8_t width, Bytes stored) {
  const auto offset = writer.begin(RecordType::chunk);
  Buffer& buffer = writer.payload();
  const std::size_t at = buffer.size();
  buffer.resize(at + chunk_header_size);
  encode(ChunkHeader{name, codec, width}, buffer.data() + at);
  append_bytes(stored, buffer);
  const auto length = static_cast<std::uint32_t>(record_size(chunk_header_size + stored.size()));
  PEEL_CHECK(writer.end(), path);
  index.add(ChunkIndex::key_of(name.digest), offset);
  return Place{offset, length};
}

Result<Onion::Impl::Place> Onion::Impl::store_chunk(GroupWriter& writer, const ChunkName& name, Bytes plain,
                                                    const codec::EncodeHint& hint) {
  if (const auto place = find_place(name, &writer)) return *place;
  return append_chunk(writer, name, plain, hint);
}

Status Onion::update_refs(std::span<const RefChange> changes) {
  Impl& m = *impl_;
  PEEL_TRY(const auto lock, m.take_lock(), "");
  auto writer = m.begin_group();
  Impl::Outcome outcome;
  const auto add_all = [&]() -> Status {
    for (const RefChange& change : changes) {
      PEEL_TRY(auto record, m.ref_record(change, {}), "");
      PEEL_CHECK(m.append_ref(writer, std::move(record), outcome), "");
    }
    return {};
  };
  if (auto added = add_all(); !added) {
    m.give_up(writer);
    return added;
  }
  if (outcome.refs.empty()) {
    m.give_up(writer);
    return {};
  }
  return m.finish_group(writer, std::move(outcome));
}

}  // namespace peel
