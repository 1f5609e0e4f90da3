// Opening an onion, creating one, and catching up with what other processes appended.
#include "base/hex.h"
#include "base/random.h"
#include "onion/impl.h"

namespace peel {

using namespace onion;

Result<std::unique_ptr<Onion::Impl>> Onion::Impl::open(const std::string& path, const OpenOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->file_system = options.file_system ? options.file_system : &posix_file_system();
  impl->path = impl->file_system->behind_link(path);
  impl->cancel = options.cancel;
  impl->access = options.access;
  impl->assume_alone = options.assume_alone;
  impl->damaged_too = options.damaged_too;
  PEEL_CHECK(impl->reopen(), "");
  return impl;
}

Status Onion::Impl::reopen() {
  PEEL_TRY(auto file, file_system->open(path, access == Access::write ? OpenMode::read_write : OpenMode::read), "");
  PEEL_TRY(const auto slots, read_superblocks(*file), path);
  store = std::make_shared<Store>(path, std::move(file), slots.current.salt);
  poisoned = name_synced = false;
  synced_end = dead_end = 0;
  next_epoch = 0;
  return load_state();
}

void Onion::Impl::see(const SuperblockSlots& slots) {
  super = slots.current;
  acknowledged_twice = slots.acknowledged_twice;
  bad_slot = slots.bad.has_value();
  if (slots.bad)
    note_damage(*slots.bad * superblock_stride, "superblock " + std::string(*slots.bad == 0 ? "A" : "B") +
                                                    " does not check (damage, or a crash while it was written); the other one is used");
}

void Onion::Impl::note_damage(std::uint64_t at, std::string what) const {
  Damage d;
  d.locator = at;
  d.what = std::move(what);
  damage.push_back(std::move(d));
}

Status Onion::Impl::met_damage(std::uint64_t begin, const std::string& what) const {
  if (!damaged_too) return fail(ErrorKind::corrupt, path + ": " + what + "; peel log and peel export read what is left; restore the file from a copy or clone it again");
  note_damage(begin, what);
  broken = true;
  return {};
}

Status Onion::Impl::load_state() {
  reload_needed = half_loaded = true;  // until all of it is there
  recent_commits = {};
  damage.clear();
  broken = false;
  PEEL_TRY(const auto slots, read_superblocks(store->file()), path);
  see(slots);
  auto loaded = load_checkpoint();
  if (!loaded && loaded.error().kind() != ErrorKind::corrupt) return loaded;
  if (!loaded) {  // then everything is read from the beginning
    PEEL_CHECK(met_damage(super.checkpoint, loaded.error().message()), "");
    super.checkpoint = 0;
    super.tail = records_begin;
    super.group = 0;
    super.epoch = 1;
    PEEL_CHECK(load_checkpoint(), "");
  }
  PEEL_CHECK(catch_up(), "");
  reload_needed = half_loaded = false;
  return {};
}

Status Onion::Impl::load_checkpoint() {
  PEEL_TRY(const auto size, store->file().size(), path);
  if (size < super.tail)
    return fail(ErrorKind::corrupt, "the file ends at " + std::to_string(size) + " but " + std::to_string(super.acknowledged) + " bytes were acknowledged");
  CheckpointRecord checkpoint;
  if (super.checkpoint != 0) {
    PEEL_TRY(const auto record, store->read_record(super.checkpoint, RecordType::checkpoint), "");
    PEEL_TRY(checkpoint, decode_checkpoint(record.payload()), "");
  }
  gc_mark.clear();
  if (checkpoint.gc_mark != 0) {
    PEEL_TRY(const auto record, store->read_record(checkpoint.gc_mark, RecordType::gc_mark), "");
    PEEL_TRY(gc_mark, decode_gc_mark(record.payload()), "");
  }
  next_number = checkpoint.next_number;
  revision_count = checkpoint.revision_count;
  last_commit = checkpoint.last_commit;
  last_ref = checkpoint.last_ref;
  gc_mark_at = checkpoint.gc_mark;
  refs.clear();
  for (auto& stored : checkpoint.refs) refs[{stored.ref.kind, stored.ref.name}] = std::move(stored);
  {
    std::lock_guard lock(history_mutex);
    table.reset(std::move(checkpoint.revision_runs));
    index.reset(std::move(checkpoint.chunk_runs));
  }
  position = {super.tail, super.group, super.epoch};
  synced_end = std::max(synced_end, super.acknowledged);
  groups_since_checkpoint = bytes_since_checkpoint = 0;
  return {};
}

Result<bool> Onion::Impl::tail_is_there() const {
  if (position.end <= synced_end) return true;
  std::array<std::byte, record_header_size> raw;
  PEEL_TRY(const auto got, store->file().read_at(position.end - record_size(end_payload_size), raw), path);
  if (!decode_record_header(Bytes(raw).first(got), super.salt)) return false;
  return WireReader::load<std::uint32_t>(raw.data() + record_header_size - 4) == position.end_crc;
}

Status Onion::Impl::forget_tail() {
  store->forget_from(synced_end);
  return load_state();
}

Status Onion::Impl::catch_up() {
  PEEL_TRY(const auto size, store->file().size(), path);
  if (size <= position.end && super.acknowledged <= position.end) return {};
  PEEL_CHECK(scan_groups(store->file(), super.salt, super.acknowledged, position, [&](SeenGroup&& group) -> Status {
    return apply(std::move(group));
  }), "");
  return {};
}

Status Onion::Impl::apply(SeenGroup&& group) {
  ++groups_since_checkpoint;
  bytes_since_checkpoint += group.end - group.begin;
  if (!group.complete)
    PEEL_CHECK(met_damage(group.begin, "damage between offsets " + std::to_string(group.lost.front().begin) + " and " +
                                           std::to_string(group.lost.back().end) + ": a commit or a ref there cannot be read"), "");
  if (group.complete)
    for (const auto& lost : group.lost) note_damage(lost.begin, "damage at offset " + std::to_string(lost.begin) + ": " + lost.what);
  {
    std::lock_guard lock(history_mutex);
    for (const auto& chunk : group.chunks) index.add(chunk.key, chunk.offset);
  }
  for (auto& [offset, commit] : group.commits) {
    if (commit.number < next_number && !group.complete) continue;
    if (commit.number < next_number)
      return fail(ErrorKind::corrupt, path + ": revision @" + std::to_string(commit.number) + " at offset " + std::to_string(offset) + " is out of order");
    apply_commit(offset, std::move(commit));
  }
  for (const auto& [offset, ref] : group.refs) apply_ref(offset, ref);
  for (auto& [offset, mark] : group.gc_marks) {
    gc_mark_at = offset;
    gc_mark = std::move(mark);
  }
  if (group.checkpoint) {
    // The runs it names hold everything seen so far.
    CheckpointRecord& checkpoint = group.checkpoint->second;
    std::lock_guard lock(history_mutex);
    table.reset(std::move(checkpoint.revision_runs));
    index.reset(std::move(checkpoint.chunk_runs));
    next_number = std::max(next_number, checkpoint.next_number);  // numbers of what was collected stay used
    if (broken) {  // it knows what the damage took
      revision_count = checkpoint.revision_count;
      last_commit = checkpoint.last_commit;
      last_ref = checkpoint.last_ref;
      refs.clear();
      for (auto& stored : checkpoint.refs) refs[{stored.ref.kind, stored.ref.name}] = std::move(stored);
    }
    groups_since_checkpoint = bytes_since_checkpoint = 0;
  }
  return {};
}

void Onion::Impl::apply_commit(std::uint64_t offset, CommitRecord&& commit) {
  std::lock_guard lock(history_mutex);
  table.add(row_of(commit, offset));
  next_number = std::max(next_number, commit.number + 1);
  ++revision_count;
  last_commit = offset;
  recent_commits[recent_commit_next++ % recent_commits.size()] = {offset, std::make_shared<const CommitRecord>(std::move(commit))};
}

void Onion::Impl::apply_ref(std::uint64_t offset, const RefRecord& ref) {
  last_ref = offset;
  if (ref.removed) {
    refs.erase({ref.kind, ref.name});
    return;
  }
  refs[{ref.kind, ref.name}] = {Ref{ref.kind, ref.name, ref.after, ref.value}, ref.after_commit};
}

Result<Onion> Onion::create(const std::string& path, const CreateOptions& options) {
  FileSystem& fs = options.file_system ? *options.file_system : posix_file_system();
  if (fs.identify(path)) return fail(ErrorKind::exists, path + " exists already");
  if (options.page_size != 0 && (options.page_size < 4096 || options.page_size > 65536 || (options.page_size & (options.page_size - 1)) != 0))
    return fail(ErrorKind::usage, "page size must be a power of two from 4096 to 65536");
  const std::string temporary = directory_of(path) + "/." + base_name_of(path) + ".new-" + to_hex(random_array<6>());
  Superblock super;
  super.salt = random_array<16>();
  super.lineage = options.lineage ? *options.lineage : random_array<32>();
  super.page_size = options.page_size;
  const auto build = [&]() -> Status {
    PEEL_TRY(auto file, fs.open(temporary, OpenMode::create_new, options.permissions), "");
    PEEL_CHECK(file->write_at(0, Buffer(records_begin)), "");
    PEEL_CHECK(write_superblock(*file, super), "");
    auto impl = std::make_unique<Impl>();
    impl->path = temporary;
    impl->file_system = &fs;
    impl->access = Access::write;
    impl->store = std::make_shared<Store>(temporary, std::move(file), super.salt);
    impl->super = super;
    impl->locked = true;  // nobody else knows the name
    impl->table.reset({});
    auto writer = impl->begin_group();
    Impl::Outcome outcome;
    RefRecord head;
    head.kind = RefKind::setting;
    head.name = "branch";
    head.value = options.first_branch;
    head.reason = "create";
    PEEL_CHECK(impl->append_ref(writer, head, outcome), "");
    PEEL_CHECK(impl->finish_group(writer, std::move(outcome), true), "");
    PEEL_CHECK(impl->acknowledge_twice(), "");
    return impl->store->file().sync_data();
  };
  auto built = build();
  if (built) built = fs.rename(temporary, path, false);
  if (!built) {
    (void)fs.remove(temporary).ok();
    return std::move(built.error()).in("create " + path);
  }
  PEEL_CHECK(fs.sync_directory_of(path), "create " + path);
  OpenOptions open_options;
  open_options.access = Access::write;
  open_options.file_system = &fs;
  return open(path, open_options);
}

Result<Onion> Onion::open(const std::string& path, const OpenOptions& options) {
  PEEL_TRY(auto impl, Impl::open(path, options), "");
  return Onion(std::move(impl));
}

Status Onion::refresh() {
  Impl& m = *impl_;
  const auto named = m.file_system->identify(m.path);
  PEEL_TRY(const auto held, m.store->file().identity(), m.path);
  if (named && !(*named == held)) return m.reopen();
  PEEL_TRY(const auto slots, read_superblocks(m.store->file()), m.path);
  if (m.reload_needed || !m.damage.empty() || slots.current.group > m.position.group) return m.load_state();
  m.see(slots);
  PEEL_TRY(const bool there, m.tail_is_there(), "");
  return there ? m.catch_up() : m.forget_tail();
}

std::span<const Damage> Onion::damage() const { return impl_->damage; }
bool Onion::is_complete() const { return !impl_->broken; }

Onion::Onion(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Onion::Onion(Onion&&) noexcept = default;
Onion& Onion::operator=(Onion&&) noexcept = default;
Onion::~Onion() = default;

}  // namespace peel
