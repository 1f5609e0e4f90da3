#include "onion_scenario.h"

#include <algorithm>

namespace peel {

namespace {

constexpr std::int64_t first_time_ns = 1'700'000'000'000'000'000;

CommitOptions options_of(const std::string& note, const std::string& branch) {
  CommitOptions o;
  o.branch = branch;
  o.meta.note = note;
  o.meta.author = "tester";
  // Different for different notes, the same in every run.
  o.meta.time_ns = first_time_ns + static_cast<std::int64_t>(std::hash<std::string>()(note) % 1'000'000'000);
  return o;
}

Buffer sample(std::uint64_t seed, std::size_t size) {
  std::mt19937_64 random(seed);
  return random_bytes(random, size);
}

Step random_scan_step(std::uint64_t seed, std::size_t size, const std::string& note) {
  return [=](World& world) { return commit_scan_step(sample(seed, size), note)(world); };
}

// Number of revisions of the history that `import_step` brings.
constexpr std::uint64_t foreign_revisions = 4;

// The other side of an import, made once: the same for every run.
Onion& foreign_onion() {
  static auto fs = make_memory_file_system();
  static Onion onion = [] {
    CreateOptions o;
    o.file_system = fs.get();
    o.lineage = std::array<std::byte, 32>{std::byte{7}};
    auto made = Onion::create("foreign.onion", o);
    EXPECT_TRUE(made) << made.error().message();
    std::mt19937_64 random(77);
    Buffer content = random_bytes(random, 60'000);
    for (std::uint64_t i = 0; i < foreign_revisions; ++i) {
      change_somehow(content, random, 100'000);
      auto r = made->commit_scan(BufferSource(content), options_of("foreign " + std::to_string(i), "theirs"));
      EXPECT_TRUE(r && r->added);
    }
    return std::move(made).value();
  }();
  return onion;
}

Status import_step(World& world) {
  PEEL_TRY(Onion * onion, world.open(), "");
  PEEL_CHECK(onion->refresh(), "");
  const Onion& from = foreign_onion();
  PEEL_TRY(auto importer, Importer::begin(*onion, {"peer", ~0ull}), "");
  for (std::uint64_t n = 1; n <= foreign_revisions; ++n) {
    PEEL_TRY(auto layer, make_layer(from, n), "");
    for (const Piece& p : layer.pieces)
      if (!p.is_hole() && !importer.has_chunk(p.chunk)) {
        PEEL_TRY(const auto chunk, from.stored_chunk(p.locator), "");
        PEEL_CHECK(importer.add_chunk(chunk), "");
      }
    PEEL_CHECK(importer.sync_staged(), "");
    PEEL_CHECK(importer.add_revision(std::move(layer)), "");
  }
  RefChange head{RefKind::branch, "theirs", std::nullopt, from.ref(RefKind::branch, "theirs")->target,
                 std::nullopt,    "fetch"};
  return importer.finish({&head, 1});
}

Step ref_step(RefKind kind, std::string name, std::string target, std::optional<std::string> value = {}) {
  return [=](World& world) -> Status {
    PEEL_TRY(Onion * onion, world.open(), "");
    PEEL_CHECK(onion->refresh(), "");
    RefChange change{kind, name, std::nullopt, std::nullopt, value, "test"};
    if (!target.empty()) {
      PEEL_TRY(const auto number, onion->resolve(target), "");
      PEEL_TRY(const auto info, onion->revision(number), "");
      change.target = info.id;
    } else if (kind != RefKind::setting && !onion->ref(kind, name)) {
      return {};  // deleted already: the step was done before a crash
    }
    return onion->update_refs({&change, 1});
  };
}

Step gc_step(std::uint64_t keep_last, bool defer) {
  return [=](World& world) -> Status {
    PEEL_TRY(Onion * onion, world.open(), "");
    GcPolicy policy;
    policy.keep_last = keep_last;
    policy.defer = defer;
    PEEL_TRY([[maybe_unused]] const auto report, onion->gc(policy), "");
    return {};
  };
}

Status flush_step(World& world) {
  PEEL_TRY(Onion * onion, world.open(), "");
  return onion->flush();
}

// The step works through another process's handle, opened for it.
Step by_another_process(Step step) {
  return [step = std::move(step)](World& world) -> Status {
    world.onion.reset();
    return step(world);
  };
}

void prepare_history(World& world, std::uint64_t seed, int commits) {
  ASSERT_TRUE(create_onion(world));
  std::mt19937_64 random(seed);
  Buffer content = random_bytes(random, 30'000);
  for (int i = 0; i < commits; ++i) {
    auto done = commit_scan_step(content, "base " + std::to_string(i))(world);
    ASSERT_TRUE(done) << done.error().message();
    change_somehow(content, random, 60'000);
  }
}

// A process was killed while it wrote a commit much longer than what follows.
void leave_torn_tail(World& world, std::uint64_t seed) {
  const std::uint64_t whole = world.fs->contents(onion_path)->size();
  ASSERT_TRUE(commit_scan_step(sample(seed + 50, 200'000), "torn")(world));
  world.fs->kill();
  world.onion.reset();
  auto file = world.fs->open(onion_path, OpenMode::read_write);
  ASSERT_TRUE(file);
  std::mt19937_64 random(seed);
  ASSERT_TRUE((*file)->truncate(whole + random() % (*(*file)->size() - whole)));
}

}  // namespace

std::string HistoryState::text() const {
  if (!exists) return "no file\n";
  std::string out;
  for (const auto& r : revisions)
    out += "@" + std::to_string(r.number) + " " + short_hex(r.id) + " " + short_hex(r.content) + "\n";
  for (const auto& [key, value] : refs)
    out += "ref " + std::to_string(static_cast<int>(key.first)) + " " + key.second + " " + short_hex(value.first) +
           " '" + value.second + "'\n";
  return out;
}

HistoryState look_at(const Onion& onion, bool thorough) {
  HistoryState state;
  const auto list = onion.list();
  EXPECT_TRUE(list) << list.error().message();
  if (!list) return state;
  EXPECT_EQ(list->size(), onion.revision_count());
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto& row = (*list)[i];
    const auto info = onion.revision(row.number);
    EXPECT_TRUE(info) << info.error().message();
    if (!info) return state;
    EXPECT_EQ(to_hex(info->id), to_hex(row.id));
    state.revisions.push_back({info->number, info->id, info->content});
    if (!thorough || (i > 0 && i + 3 < list->size())) continue;
    const auto reader = onion.open_revision(row.number);
    EXPECT_TRUE(reader);
    const auto whole = reader->verify();
    EXPECT_TRUE(whole) << whole.error().message();
  }
  for (const Ref& ref : onion.refs()) {
    state.refs[{ref.kind, ref.name}] = {ref.target, ref.value};
    if (ref.kind != RefKind::setting) {
      EXPECT_TRUE(onion.find(ref.target)) << "ref " << ref.name << " names a revision that is not here";
    }
  }
  return state;
}

HistoryState look_at(FileSystem& fs, bool thorough) {
  auto onion = Onion::open(onion_path, {Access::read, &fs, false});
  if (!onion) {
    EXPECT_EQ(onion.error().kind(), ErrorKind::not_found) << onion.error().message();
    HistoryState nothing;
    nothing.exists = false;
    return nothing;
  }
  if (thorough) {
    const auto report = onion->verify({.deep = true});
    EXPECT_TRUE(report) << report.error().message();
    if (report)
      for (const Damage& d : report->damage)
        if (d.locator % 4096 != 0 || d.locator > 4096)  // dying may tear the superblock just being written; damage_test looks there
          ADD_FAILURE() << "damage at " << d.locator << ": " << d.what;
  }
  return look_at(*onion, thorough);
}

Result<Onion*> World::open() {
  if (!onion) {
    PEEL_TRY(auto opened, Onion::open(onion_path, {Access::write, fs, false}), "");
    onion.emplace(std::move(opened));
  }
  return &*onion;
}

Status create_onion(World& world) {
  if (world.fs->identify(onion_path)) return {};  // done before a crash
  CreateOptions o;
  o.file_system = world.fs;
  o.lineage = std::array<std::byte, 32>{std::byte{7}};
  PEEL_TRY(auto made, Onion::create(onion_path, o), "");
  world.onion.emplace(std::move(made));
  return {};
}

Step commit_scan_step(Buffer content, std::string note, std::string branch) {
  return [content = std::move(content), note = std::move(note), branch = std::move(branch)](World& world) -> Status {
    PEEL_TRY(Onion * onion, world.open(), "");
    PEEL_TRY(const auto result, onion->commit_scan(BufferSource(content), options_of(note, branch)), "");
    // Found done already after a crash: the head is it.
    if (result.revision.meta.note != note) return fail(ErrorKind::usage, "a commit of nothing new");
    return {};
  };
}

Step commit_writes_step(std::uint64_t seed, std::string note) {
  return [=](World& world) -> Status {
    PEEL_TRY(Onion * onion, world.open(), "");
    std::mt19937_64 random(seed);
    const Buffer a = random_bytes(random, 5000), b = random_bytes(random, 100);
    const std::array<Write, 2> writes{Write{random() % 20'000, a}, Write{random() % 29'000, b}};
    PEEL_TRY(const auto result, onion->commit_writes(writes, 30'000 + seed % 3, options_of(note, {})), "");
    if (result.revision.meta.note != note) return fail(ErrorKind::usage, "a commit of nothing new");
    return {};
  };
}

std::vector<Scenario> all_scenarios(std::uint64_t seed) {
  const auto history = [seed](int commits) { return [=](World& world) { prepare_history(world, seed, commits); }; };
  std::vector<Scenario> all;
  all.push_back({"create", {}, {create_onion, random_scan_step(seed, 20'000, "first")}});
  all.push_back(
      {"commits",
       history(2),
       {random_scan_step(seed + 1, 40'000, "scan"), commit_writes_step(seed, "writes"),
        commit_writes_step(seed + 1, "more writes"), commit_scan_step(sample(seed + 2, 9'000), "side", "side")}});
  all.push_back({"processes",
                 history(2),
                 {commit_writes_step(seed, "a"), by_another_process(commit_writes_step(seed + 1, "b")),
                  by_another_process(commit_writes_step(seed + 2, "c"))}});
  all.push_back({"checkpoint",
                 history(62),
                 {commit_writes_step(seed, "before"), commit_writes_step(seed + 1, "with"),
                  commit_writes_step(seed + 2, "after"), flush_step, commit_writes_step(seed + 3, "after flush")}});
  all.push_back({"refs",
                 history(3),
                 {ref_step(RefKind::branch, "other", "@2"), ref_step(RefKind::tag, "v1", "@1", "a note"),
                  ref_step(RefKind::setting, "key", "", "value"), ref_step(RefKind::branch, "other", "")}});
  all.push_back({"gc", history(6), {gc_step(2, false), commit_writes_step(seed, "after gc")}});
  all.push_back({"deferred gc", history(6), {gc_step(3, true), flush_step, commit_writes_step(seed, "after gc")}});
  all.push_back({"gc of another process",
                 history(4),
                 {commit_writes_step(seed, "before"),
                  [](World& world) -> Status {
                    World other(*world.fs);
                    return gc_step(2, false)(other);
                  },
                  commit_writes_step(seed + 1, "after gc")}});
  all.push_back({"import", history(2), {import_step, commit_writes_step(seed, "after import")}});
  all.push_back({"recovery",
                 [=](World& world) {
                   prepare_history(world, seed, 3);
                   leave_torn_tail(world, seed);
                 },
                 {commit_writes_step(seed, "over the torn one"), random_scan_step(seed + 3, 50'000, "next"),
                  commit_writes_step(seed + 1, "last")}});
  all.push_back({"large",
                 history(1),
                 {random_scan_step(seed + 4, 8'600'000, "several writes"), commit_writes_step(seed, "small")}});
  return all;
}

std::unique_ptr<FaultyFileSystem> prepared_machine(const Scenario& scenario, const FaultyFileSystem::Options& options) {
  auto machine = std::make_unique<FaultyFileSystem>(options);
  World world(*machine);
  if (scenario.prepare) scenario.prepare(world);
  world.onion.reset();
  machine->sync_everything();
  return machine;
}

Progressed run_steps(const Scenario& scenario, World& world, std::size_t first) {
  Progressed run{first, std::nullopt};
  for (; run.done < scenario.steps.size(); ++run.done)
    if (auto status = scenario.steps[run.done](world); !status) {
      run.error = std::move(status.error());
      break;
    }
  return run;
}

std::vector<HistoryState> undisturbed_states(const Scenario& scenario, std::uint64_t* changes) {
  auto machine = prepared_machine(scenario);
  std::vector<HistoryState> states{look_at(*machine)};
  const std::uint64_t before = machine->changes();
  World world(*machine);
  for (const Step& step : scenario.steps) {
    auto status = step(world);
    EXPECT_TRUE(status) << scenario.name << ": " << status.error().message();
    states.push_back(look_at(*machine));
  }
  if (changes) *changes = machine->changes() - before;
  return states;
}

}  // namespace peel
