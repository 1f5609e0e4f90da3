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
  PEEL_CHECK(impl->reopen(), "");
  return impl;
}

Status Onion::Impl::reopen() {
  PEEL_TRY(auto file, file_system->open(path, access == Access::write ? OpenMode::read_write : OpenMode::read), "");
  PEEL_TRY(super, read_superblock(*file), path);
  store = std::make_shared<Store>(path, std::move(file), super.salt);
  poisoned = name_synced = false;
  synced_end = dead_end = 0;
  next_epoch = 0;
  return load_state();
}

Status Onion::Impl::load_state() {
  reload_needed = true;  // until all of it is there
  recent_commits = {};
  PEEL_TRY(super, read_superblock(store->file()), path);
  PEEL_TRY(const auto size, store->file().size(), path);
  if (size < super.tail)
    return fail(ErrorKind::corrupt, path + ": the file ends at " + std::to_string(size) + " but " + std::to_string(super.tail) +
                                        " bytes were acknowledged; restore it from a copy or clone it again");
  CheckpointRecord checkpoint;
  if (super.checkpoint != 0) {
    PEEL_TRY(const auto record, store->read_record(super.checkpoint, RecordType::checkpoint), "");
    PEEL_TRY(checkpoint, decode_checkpoint(record.payload()), path);
  }
  next_number = checkpoint.next_number;
  revision_count = checkpoint.revision_count;
  last_commit = checkpoint.last_commit;
  last_ref = checkpoint.last_ref;
  gc_mark_at = checkpoint.gc_mark;
  gc_mark.clear();
  if (gc_mark_at != 0) {
    PEEL_TRY(const auto record, store->read_record(gc_mark_at, RecordType::gc_mark), "");
    PEEL_TRY(gc_mark, decode_gc_mark(record.payload()), path);
  }
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
  PEEL_CHECK(catch_up(), "");
  PEEL_CHECK(check_acknowledged(), "");
  reload_needed = false;
  return {};
}

Status Onion::Impl::check_acknowledged() const {
  if (position.end >= super.acknowledged) return {};
  return fail(ErrorKind::corrupt, path + ": damage at offset " + std::to_string(position.end) + ": a commit there was acknowledged and cannot be " +
                                      "read; restore the file from a copy or clone it again");
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
  if (size <= position.end) return {};
  PEEL_CHECK(scan_groups(store->file(), super.salt, position, [&](SeenGroup&& group) -> Status {
    return apply(std::move(group));
  }), path);
  return {};
}

Status Onion::Impl::apply(SeenGroup&& group) {
  ++groups_since_checkpoint;
  bytes_since_checkpoint += group.end - group.begin;
  {
    std::lock_guard lock(history_mutex);
    for (const auto& chunk : group.chunks) index.add(chunk.key, chunk.offset);
  }
  for (auto& [offset, commit] : group.commits) {
    if (commit.number < next_number)
      return fail(ErrorKind::corrupt, "revision @" + std::to_string(commit.number) + " at offset " + std::to_string(offset) + " is out of order");
    apply_commit(offset, std::move(commit));
  }
  for (const auto& [offset, ref] : group.refs) apply_ref(offset, ref);
  for (auto& [offset, mark] : group.gc_marks) {
    gc_mark_at = offset;
    gc_mark = std::move(mark);
  }
  if (group.checkpoint) {
    // The runs it names hold everything seen so far.
    std::lock_guard lock(history_mutex);
    table.reset(std::move(group.checkpoint->second.revision_runs));
    index.reset(std::move(group.checkpoint->second.chunk_runs));
    next_number = std::max(next_number, group.checkpoint->second.next_number);  // numbers of what was collected stay used
    groups_since_checkpoint = bytes_since_checkpoint = 0;
  }
  return {};
}

void Onion::Impl::apply_commit(std::uint64_t offset, CommitRecord&& commit) {
  RevisionRow row;
  row.summary = {commit.number, commit.id, commit.generation, commit.size, commit.meta.time_ns, std::nullopt};
  if (!commit.parents.empty() && commit.parents[0].commit != 0) row.summary.first_parent = commit.parents[0].number;
  row.content = commit.content;
  row.commit = offset;
  row.root = commit.root;
  row.page_log2 = commit.page_log2;
  row.parents = static_cast<std::uint8_t>(commit.parents.size());
  std::lock_guard lock(history_mutex);
  table.add(row);
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
  PEEL_TRY(const auto current, read_superblock(m.store->file()), m.path);
  if (m.reload_needed || current.group > m.position.group) return m.load_state();
  m.super = current;
  PEEL_TRY(const bool there, m.tail_is_there(), "");
  if (!there) return m.forget_tail();
  PEEL_CHECK(m.catch_up(), "");
  return m.check_acknowledged();
}

Onion::Onion(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Onion::Onion(Onion&&) noexcept = default;
Onion& Onion::operator=(Onion&&) noexcept = default;
Onion::~Onion() = default;

}  // namespace peel
