#include "testing/faulty_file_system.h"

#include <algorithm>
#include <cerrno>
#include <limits>

namespace peel {

namespace {

using Random = std::mt19937_64;

Error powered_off() { return fail(ErrorKind::io, "the power is off"); }

// One write (bytes at an offset) or truncation (no bytes, a new length) that no sync has covered yet.
struct Unsynced {
  std::uint64_t offset = 0;
  Buffer bytes;
  bool truncation = false;
};

void apply_all(Buffer& image, const Unsynced& change) {
  if (change.truncation) {
    image.resize(change.offset);
    return;
  }
  const std::uint64_t end = change.offset + change.bytes.size();
  if (image.size() < end) image.resize(end);
  std::copy(change.bytes.begin(), change.bytes.end(), image.begin() + static_cast<std::ptrdiff_t>(change.offset));
}

// Any of the sectors of a write reach the image, each on its own.
void apply_some(Buffer& image, const Unsynced& change, std::size_t sector, Random& random, double share) {
  const auto keeps = [&] { return std::uniform_real_distribution<double>(0, 1)(random) < share; };
  if (change.truncation) {
    if (keeps()) image.resize(change.offset);
    return;
  }
  const std::uint64_t end = change.offset + change.bytes.size();
  for (std::uint64_t at = change.offset; at < end;) {
    const std::uint64_t until = std::min(end, (at / sector + 1) * sector);
    if (keeps()) {
      if (image.size() < until) image.resize(until);
      std::copy(change.bytes.begin() + static_cast<std::ptrdiff_t>(at - change.offset),
                change.bytes.begin() + static_cast<std::ptrdiff_t>(until - change.offset),
                image.begin() + static_cast<std::ptrdiff_t>(at));
    }
    at = until;
  }
  // The length may arrive without the bytes.
  if (image.size() < end && random() % 2 == 0) image.resize(end);
}

}  // namespace

struct FaultyFileSystem::Node {
  std::uint64_t inode = 0;
  Buffer seen, durable;
  std::vector<Unsynced> unsynced;
  const File* locked_by = nullptr;
  std::shared_ptr<std::uint64_t> used;  // of the machine's disk
  ~Node() { *used -= seen.size(); }

  void resize(std::uint64_t size) {
    *used = *used - seen.size() + size;
    seen.resize(size);
  }
  void change(Unsynced u) {
    const std::uint64_t before = seen.size();
    apply_all(seen, u);
    *used = *used - before + seen.size();
    unsynced.push_back(std::move(u));
  }
  void sync() {
    for (const auto& u : unsynced) apply_all(durable, u);
    unsynced.clear();
  }
};

struct FaultyFileSystem::Machine {
  // `from` empty: created. `to` empty: removed.
  struct NameChange {
    std::string from, to;
    std::shared_ptr<Node> node;
    bool inside(const std::string& directory) const {
      return (!from.empty() && directory_of(from) == directory) || (!to.empty() && directory_of(to) == directory);
    }
  };
  using Names = std::map<std::string, std::shared_ptr<Node>>;

  Options options;
  Random random{1};
  std::shared_ptr<std::uint64_t> used = std::make_shared<std::uint64_t>(0);
  std::uint64_t capacity = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last_inode = 0, generation = 0, changes = 0;
  std::uint64_t stop_at = std::numeric_limits<std::uint64_t>::max();
  Stop stop = Stop::power;
  std::array<std::uint64_t, calls> count{};
  struct Injection {
    Call call;
    std::uint64_t at;
    int error;
  };
  std::optional<Injection> injection;
  bool injected = false;
  std::array<bool, calls> refused{};
  Names names, durable_names;
  std::vector<NameChange> unsynced_names;

  bool off() const { return changes >= stop_at; }

  // Counts a call; an error when it must fail. `changing` calls are those a stop counts.
  Status enter(Call call, bool changing) {
    if (off()) return powered_off();
    if (changing) ++changes;
    const auto n = ++count[static_cast<std::size_t>(call)];
    if (refused[static_cast<std::size_t>(call)]) return Error::from_errno(EIO, "refused");
    if (injection && injection->call == call && injection->at == n) {
      const int error = injection->error;
      injection.reset();
      injected = true;
      return Error::from_errno(error, "injected");
    }
    return {};
  }

  static void apply_name(Names& in, const NameChange& c) {
    if (!c.from.empty()) {
      const auto it = in.find(c.from);
      if (it != in.end() && it->second == c.node) in.erase(it);
    }
    if (!c.to.empty()) in[c.to] = c.node;
  }
  void change_name(NameChange c) {
    apply_name(names, c);
    unsynced_names.push_back(std::move(c));
  }
  std::shared_ptr<Node> new_node() {
    auto node = std::make_shared<Node>();
    node->inode = ++last_inode;
    node->used = used;
    return node;
  }
};

class FaultyFileSystem::Handle final : public File {
public:
  Handle(std::shared_ptr<Machine> machine, std::shared_ptr<Node> node, bool writable)
      : machine_(std::move(machine)), node_(std::move(node)), generation_(machine_->generation), writable_(writable) {}
  ~Handle() override { Handle::unlock(); }

  Result<std::size_t> read_at(std::uint64_t offset, MutableBytes out) const override {
    if (dead()) return powered_off();
    const auto& seen = node_->seen;
    if (offset >= seen.size()) return std::size_t{0};
    const std::size_t n = std::min<std::size_t>(out.size(), seen.size() - offset);
    std::copy_n(seen.begin() + static_cast<std::ptrdiff_t>(offset), n, out.begin());
    return n;
  }

  Status write_at(std::uint64_t offset, Bytes data) override {
    if (dead()) return powered_off();
    if (!writable_) return Error::from_errno(EBADF, "write");
    if (auto entered = machine_->enter(Call::write, true); !entered) {
      if (!machine_->off()) put(offset, data.first(machine_->random() % (data.size() + 1)));  // it got somewhere
      return entered;
    }
    const std::uint64_t end = offset + data.size(), size = node_->seen.size();
    const std::uint64_t growth = end > size ? end - size : 0,
                        room = machine_->capacity - std::min(machine_->capacity, *machine_->used);
    if (growth > room) {
      const std::uint64_t last = size + room;
      if (last > offset) put(offset, data.first(last - offset));
      return Error::from_errno(ENOSPC, "write at " + std::to_string(offset));
    }
    // The last call before a process is killed gets somewhere.
    if (machine_->off() && machine_->stop == Stop::killed && machine_->random() % 2 == 0)
      data = data.first(machine_->random() % (data.size() + 1));
    put(offset, data);
    return {};
  }

  Status sync_data() override {
    if (dead()) return powered_off();
    if (auto entered = machine_->enter(Call::sync, true); !entered) {
      if (machine_->off()) return entered;
      node_->unsynced.clear();
      if (machine_->options.forget_on_failed_sync) {
        node_->resize(node_->durable.size());
        node_->seen = node_->durable;
      }
      return entered;
    }
    node_->sync();
    return {};
  }

  Result<std::uint64_t> size() const override {
    if (dead()) return powered_off();
    return std::uint64_t{node_->seen.size()};
  }
  Status truncate(std::uint64_t size) override {
    if (dead()) return powered_off();
    PEEL_CHECK(machine_->enter(Call::truncate, true), "");
    node_->change({size, {}, true});
    return {};
  }
  Result<FileIdentity> identity() const override {
    if (dead()) return powered_off();
    return FileIdentity{1, node_->inode};
  }
  Status lock(bool) override {
    if (dead()) return powered_off();
    if (node_->locked_by && node_->locked_by != this) return fail(ErrorKind::conflict, "another handle is writing");
    node_->locked_by = this;
    return {};
  }
  void unlock() override {
    if (node_->locked_by == this) node_->locked_by = nullptr;
  }

private:
  bool dead() const { return machine_->off() || generation_ != machine_->generation; }
  void put(std::uint64_t offset, Bytes data) {
    if (!data.empty()) node_->change({offset, Buffer(data.begin(), data.end()), false});
  }

  std::shared_ptr<Machine> machine_;
  std::shared_ptr<Node> node_;
  std::uint64_t generation_;
  bool writable_;
};

FaultyFileSystem::FaultyFileSystem() : FaultyFileSystem(Options{}) {}
FaultyFileSystem::FaultyFileSystem(const Options& options) : machine_(std::make_shared<Machine>()) {
  machine_->options = options;
  machine_->random.seed(options.seed);
}
FaultyFileSystem::~FaultyFileSystem() = default;

std::uint64_t FaultyFileSystem::changes() const { return machine_->changes; }
void FaultyFileSystem::stop_after(std::uint64_t more_changes, Stop how) {
  machine_->stop_at = machine_->changes + more_changes;
  machine_->stop = how;
}
bool FaultyFileSystem::stopped() const { return machine_->off(); }

void FaultyFileSystem::kill() {
  Machine& m = *machine_;
  ++m.generation;
  m.stop_at = std::numeric_limits<std::uint64_t>::max();
  for (const auto& [path, node] : m.names) node->locked_by = nullptr;
}

std::unique_ptr<FaultyFileSystem> FaultyFileSystem::power_cut(std::uint64_t seed) const {
  const Machine& m = *machine_;
  Options options = m.options;
  options.seed = seed;
  auto after = std::make_unique<FaultyFileSystem>(options);
  after->machine_->capacity = m.capacity;
  Random random(seed);
  // Everything, nothing and all shares between.
  const double share = static_cast<double>(random() % 9) / 8;
  Machine::Names names = m.durable_names;
  for (const auto& c : m.unsynced_names)
    if (random() % 2 == 0) Machine::apply_name(names, c);
  for (const auto& [path, node] : names) {
    auto fresh = after->machine_->new_node();
    Buffer image = node->durable;
    for (const auto& u : node->unsynced) apply_some(image, u, m.options.sector_size, random, share);
    fresh->resize(image.size());
    fresh->seen = fresh->durable = std::move(image);
    after->machine_->names[path] = fresh;
  }
  after->machine_->durable_names = after->machine_->names;
  return after;
}

void FaultyFileSystem::sync_everything() {
  for (const auto& [path, node] : machine_->names) node->sync();
  machine_->durable_names = machine_->names;
  machine_->unsynced_names.clear();
}

void FaultyFileSystem::fail_call(Call call, std::uint64_t nth, int error) {
  machine_->injected = false;
  machine_->injection = Machine::Injection{call, calls_of(call) + nth, error};
}
void FaultyFileSystem::refuse(Call call) { machine_->refused[static_cast<std::size_t>(call)] = true; }
bool FaultyFileSystem::failed() const { return machine_->injected; }
std::uint64_t FaultyFileSystem::calls_of(Call call) const { return machine_->count[static_cast<std::size_t>(call)]; }
void FaultyFileSystem::set_capacity(std::uint64_t bytes) { machine_->capacity = bytes; }
std::uint64_t FaultyFileSystem::used() const { return *machine_->used; }

std::vector<std::string> FaultyFileSystem::names() const {
  std::vector<std::string> out;
  for (const auto& [path, node] : machine_->names) out.push_back(path);
  return out;
}

std::optional<Buffer> FaultyFileSystem::contents(const std::string& path) const {
  const auto it = machine_->names.find(path);
  return it == machine_->names.end() ? std::nullopt : std::optional(it->second->seen);
}

void FaultyFileSystem::flip(const std::string& path, std::uint64_t offset, std::byte mask) {
  Node& node = *machine_->names.at(path);
  node.seen.at(offset) ^= mask;
  if (offset < node.durable.size()) node.durable[offset] ^= mask;
}

Result<std::unique_ptr<File>> FaultyFileSystem::open(const std::string& path, OpenMode mode, unsigned) {
  Machine& m = *machine_;
  const bool creates = mode == OpenMode::create_new;
  PEEL_CHECK(m.enter(Call::open, creates), "open " + path);
  auto it = m.names.find(path);
  if (creates) {
    if (it != m.names.end()) return fail(ErrorKind::exists, path);
    m.change_name({"", path, m.new_node()});
    it = m.names.find(path);
  }
  if (it == m.names.end()) return fail(ErrorKind::not_found, path);
  return std::unique_ptr<File>(new Handle(machine_, it->second, mode != OpenMode::read));
}

Result<FileIdentity> FaultyFileSystem::identify(const std::string& path) {
  if (machine_->off()) return powered_off();
  const auto it = machine_->names.find(path);
  if (it == machine_->names.end()) return fail(ErrorKind::not_found, path);
  return FileIdentity{1, it->second->inode};
}

Status FaultyFileSystem::rename(const std::string& from, const std::string& to, bool replace) {
  Machine& m = *machine_;
  PEEL_CHECK(m.enter(Call::rename, true), "rename " + from);
  const auto it = m.names.find(from);
  if (it == m.names.end()) return fail(ErrorKind::not_found, from);
  if (!replace && m.names.count(to)) return fail(ErrorKind::exists, to);
  m.change_name({from, to, std::shared_ptr<Node>(it->second)});
  return {};
}

Status FaultyFileSystem::remove(const std::string& path) {
  Machine& m = *machine_;
  PEEL_CHECK(m.enter(Call::remove, true), "remove " + path);
  const auto it = m.names.find(path);
  if (it == m.names.end()) return fail(ErrorKind::not_found, path);
  m.change_name({path, "", std::shared_ptr<Node>(it->second)});
  return {};
}

Status FaultyFileSystem::sync_directory_of(const std::string& path) {
  Machine& m = *machine_;
  PEEL_CHECK(m.enter(Call::sync_directory, true), "sync directory of " + path);
  const std::string directory = directory_of(path);
  std::erase_if(m.unsynced_names, [&](const Machine::NameChange& c) {
    if (!c.inside(directory)) return false;
    Machine::apply_name(m.durable_names, c);
    return true;
  });
  return {};
}

Result<std::uint64_t> FaultyFileSystem::free_space(const std::string&) {
  if (machine_->off()) return powered_off();
  return machine_->capacity - std::min(machine_->capacity, *machine_->used);
}

}  // namespace peel
