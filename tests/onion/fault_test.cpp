// Calls that fail one by one and a disk that fills up: an error is returned, the acknowledged state stays, and work
// goes on.
#include <cerrno>

#include "base/cancel.h"
#include "onion_scenario.h"

using namespace peel;

namespace {

using Call = FaultyFileSystem::Call;

constexpr std::array<Call, FaultyFileSystem::calls> all_calls = {
    Call::open, Call::write, Call::truncate, Call::sync, Call::rename, Call::remove, Call::sync_directory};
constexpr std::array<const char*, FaultyFileSystem::calls> call_names = {"open",   "write",  "truncate",      "sync",
                                                                         "rename", "remove", "sync_directory"};

int error_of(Call call, std::uint64_t seed) {
  if (call == Call::write) return seed % 2 ? ENOSPC : EIO;
  return call == Call::open ? EMFILE : EIO;
}

std::uint64_t size_of(const FaultyFileSystem& machine) {
  const auto bytes = machine.contents(onion_path);
  return bytes ? bytes->size() : 0;
}

// Runs the steps from `at` to the end, which must be the usual one and durable.
void finish(const Scenario& scenario, FaultyFileSystem& machine, World& world, const std::vector<HistoryState>& states,
            std::size_t at) {
  const Progressed run = run_steps(scenario, world, at);
  ASSERT_FALSE(run.error) << "step " << run.done << ": " << run.error->message();
  EXPECT_EQ(look_at(machine).text(), states.back().text());
  EXPECT_EQ(look_at(*machine.power_cut(at), false).text(), states.back().text());
}

// One failing call somewhere in the scenario. False when there is no such call any more.
bool fail_once(const Scenario& scenario, const FaultyFileSystem& prepared, const std::vector<HistoryState>& states,
               Call call, std::uint64_t nth, std::uint64_t seed) {
  auto machine = prepared.power_cut(seed);
  machine->fail_call(call, nth, error_of(call, seed));
  World world(*machine);
  const Progressed run = run_steps(scenario, world);
  if (!machine->failed()) return false;
  if (!run.error) {  // nothing that matters failed
    EXPECT_EQ(look_at(*machine).text(), states.back().text());
    return true;
  }
  EXPECT_EQ(run.error->kind(), ErrorKind::io) << run.error->message();
  const HistoryState seen = look_at(*machine);
  const bool after = seen != states[run.done] && seen == states[run.done + 1];
  // Only what comes after the step has happened may fail and leave it done.
  if (after) {
    EXPECT_TRUE(call == Call::sync_directory || call == Call::remove || call == Call::open) << run.error->message();
  } else {
    EXPECT_EQ(seen.text(), states[run.done].text()) << run.error->message();
    // The handle that met the error shows nothing that is not there; what a collection replaced, it may still have.
    if (world.onion) {
      const HistoryState shown = look_at(*world.onion);
      EXPECT_TRUE(std::find(states.begin(), states.begin() + static_cast<std::ptrdiff_t>(run.done) + 1, shown) !=
                  states.begin() + static_cast<std::ptrdiff_t>(run.done) + 1)
          << shown.text();
    }
  }
  std::size_t at = run.done + (after ? 1 : 0);
  if (call == Call::sync) {
    // Perhaps poisoned; then it says so, and nothing happens through it.
    const Progressed more = run_steps(scenario, world, at);
    if (more.error) {
      EXPECT_EQ(more.error->kind(), ErrorKind::io);
      EXPECT_EQ(more.done, at);
      world.onion.reset();
    } else {
      at = more.done;
    }
  } else if (seed % 2) {
    world.onion.reset();
  }
  finish(scenario, *machine, world, states, at);
  return true;
}

class FaultTest : public ::testing::TestWithParam<std::size_t> {};

TEST_P(FaultTest, EachCallFailsOnce) {
  for (const std::uint64_t seed : test_seeds(all_scenarios(1)[GetParam()].name == "large" ? 1 : 2)) {
    const Scenario scenario = all_scenarios(seed)[GetParam()];
    const auto states = undisturbed_states(scenario);
    FaultyFileSystem::Options options;
    options.forget_on_failed_sync = seed % 2;
    options.seed = seed;
    const auto prepared = prepared_machine(scenario, options);
    for (const Call call : all_calls)
      for (std::uint64_t nth = 1; !HasFailure(); ++nth) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", " + call_names[static_cast<std::size_t>(call)] + " number " +
                     std::to_string(nth));
        if (!fail_once(scenario, *prepared, states, call, nth, seed * 100 + nth)) break;
      }
  }
}

TEST_P(FaultTest, FullDisk) {
  const bool large = all_scenarios(1)[GetParam()].name == "large";
  for (const std::uint64_t seed : test_seeds(large ? 1 : 2)) {
    const Scenario scenario = all_scenarios(seed)[GetParam()];
    const auto states = undisturbed_states(scenario);
    const auto prepared = prepared_machine(scenario);
    std::mt19937_64 random(seed);
    std::size_t failures = 0;
    for (std::uint64_t room = 0; room < 20'000'000 && !HasFailure();
         room = room * (large ? 9 : 5) / 3 + 1 + random() % 50) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", room for " + std::to_string(room));
      auto machine = prepared->power_cut(seed);
      machine->set_capacity(machine->used() + room);
      World world(*machine);
      Progressed run;
      std::uint64_t size = 0;
      for (; run.done < scenario.steps.size() && !run.error; ++run.done) {
        size = size_of(*machine);
        if (auto status = scenario.steps[run.done](world); !status) {
          run.error = std::move(status.error());
          break;
        }
      }
      if (!run.error) {
        EXPECT_EQ(look_at(*machine).text(), states.back().text());
        break;
      }
      ++failures;
      EXPECT_EQ(run.error->kind(), ErrorKind::io);
      EXPECT_LE(size_of(*machine), size) << "the space of what failed was not given back";
      EXPECT_LE(machine->names().size(), 2u) << "files were left behind";  // the onion, and a staging file
      EXPECT_EQ(look_at(*machine).text(), states[run.done].text());
      machine->set_capacity(~0ull);
      if (random() % 2) world.onion.reset();
      finish(scenario, *machine, world, states, run.done);
    }
    EXPECT_TRUE(failures > 0 || scenario.name == "recovery");  // that one may go where the torn bytes are
  }
}

std::string scenario_name(const ::testing::TestParamInfo<std::size_t>& info) {
  std::string name = all_scenarios(1)[info.param].name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Onion, FaultTest, ::testing::Range(std::size_t{0}, all_scenarios(1).size()), scenario_name);

// A new onion with `commits` revisions of a few pages.
void fill(World& world, int commits) {
  ASSERT_TRUE(create_onion(world));
  std::mt19937_64 random(1);
  for (int i = 0; i < commits; ++i) {
    const auto done = commit_scan_step(random_bytes(random, 6000), std::to_string(i))(world);
    ASSERT_TRUE(done) << done.error().message();
  }
}

Onion open_onion(FaultyFileSystem& machine) {
  auto onion = Onion::open(onion_path, {Access::write, &machine, false});
  EXPECT_TRUE(onion) << onion.error().message();
  return std::move(onion).value();
}

TEST(OnionFaults, FailedSyncPoisonsTheHandleForGood) {
  FaultyFileSystem machine;
  World world(machine);
  fill(world, 2);
  machine.fail_call(Call::sync, 1, EIO);
  EXPECT_FALSE(commit_writes_step(1, "lost")(world));
  ASSERT_TRUE(machine.failed());
  EXPECT_EQ(world.onion->revision_count(), 2u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(commit_writes_step(2, "refused")(world).error().kind(), ErrorKind::io);
  World other(machine);
  ASSERT_TRUE(commit_writes_step(3, "kept")(other));
  EXPECT_EQ(look_at(*machine.power_cut(1)).revisions.size(), 3u);
}

// A process is killed between writing a group and syncing it; another opens the file, sees the group and goes on.
// Whatever a power cut keeps then, the second group is never there without the first.
TEST(OnionFaults, NothingIsWrittenBehindAGroupInMemoryOnly) {
  for (const std::uint64_t seed : test_seeds(60)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FaultyFileSystem machine;
    World first(machine);
    fill(first, 2);
    machine.sync_everything();
    machine.stop_after(1);
    EXPECT_FALSE(commit_writes_step(1, "in memory")(first));
    machine.kill();
    World second(machine);
    ASSERT_EQ(second.open().value()->revision_count(), 3u);
    machine.stop_after(1 + seed % 4);
    (void)commit_writes_step(2, "behind it")(second).ok();
    const auto count = look_at(*machine.power_cut(seed)).revisions.size();
    EXPECT_TRUE(count >= 2 && count <= 4);
    if (HasFailure()) return;
  }
}

// The group of a writer whose sync failed was seen by another process before it was taken back.
TEST(OnionFaults, WhatWasSeenAndTakenBackIsForgotten) {
  for (const bool by_refresh : {true, false}) {
    FaultyFileSystem machine;
    World writer(machine);
    fill(writer, 2);
    const std::uint64_t size = size_of(machine);
    Onion reader = open_onion(machine);
    machine.stop_after(1);  // the write happens, the sync does not
    EXPECT_FALSE(commit_writes_step(1, "in memory only")(writer));
    const auto before_kill = machine.power_cut(1);
    machine.kill();
    Onion seer = open_onion(machine);
    ASSERT_EQ(seer.revision_count(), 3u);
    ASSERT_TRUE(machine.open(onion_path, OpenMode::read_write).value()->truncate(size));
    if (by_refresh) {
      ASSERT_TRUE(seer.refresh());
      EXPECT_EQ(seer.revision_count(), 2u);
    }
    World other(machine);
    ASSERT_TRUE(commit_writes_step(2, "another")(other));
    const Buffer content(3000, std::byte{8});
    CommitOptions options;
    ASSERT_TRUE(seer.commit_scan(BufferSource(content), options));
    const HistoryState state = look_at(machine);
    EXPECT_EQ(state.revisions.size(), 4u);
    EXPECT_EQ(look_at(seer).text(), state.text());
  }
}

// A handle mends a torn tail and gives its own commit up; another process, which finds no leftovers, commits.
TEST(OnionFaults, MendingAndGivingUpDoesNotHideTheNextCommit) {
  FaultyFileSystem machine;
  World world(machine);
  fill(world, 2);
  const std::uint64_t size = size_of(machine);
  Onion patient = open_onion(machine);
  ASSERT_TRUE(commit_writes_step(1, "torn")(world));
  ASSERT_TRUE(machine.open(onion_path, OpenMode::read_write).value()->truncate(size + 1000));
  std::mt19937_64 random(2);
  const Buffer large = random_bytes(random, 14u << 20);
  Cancel cancel;
  CommitOptions options;
  options.cancel = &cancel;
  options.progress = [&](const Progress& p) {
    if (p.done > (7u << 20)) cancel.request();
  };
  const auto given_up = patient.commit_scan(BufferSource(large), options);
  ASSERT_EQ(given_up.error().kind(), ErrorKind::cancelled);
  EXPECT_EQ(size_of(machine), size);
  World other(machine);
  ASSERT_TRUE(commit_writes_step(2, "acknowledged")(other));
  const Buffer small(100, std::byte{1});
  ASSERT_TRUE(patient.commit_scan(BufferSource(small), {}));
  EXPECT_EQ(look_at(machine).revisions.size(), 4u);
}

// A commit fails and even its bytes cannot be given back; the next one must not find its chunks among them.
TEST(OnionFaults, ChunksOfAFailedCommitAreNotFound) {
  FaultyFileSystem machine;
  World world(machine);
  fill(world, 1);
  std::mt19937_64 random(3);
  const Buffer large = random_bytes(random, 9u << 20);
  machine.fail_call(Call::write, 2, EIO);
  machine.refuse(Call::truncate);
  ASSERT_EQ(commit_scan_step(large, "fails")(world).error().kind(), ErrorKind::io);
  ASSERT_TRUE(commit_scan_step(Buffer(large.begin(), large.begin() + 200'000), "front of it")(world));
  ASSERT_TRUE(commit_writes_step(1, "over the rest")(world));
  EXPECT_EQ(look_at(machine).revisions.size(), 3u);
}

// A failed commit's record is in no cache: the next one at the same place is what its children build on.
TEST(OnionFaults, CommitAfterAFailedOneOfTheSameShape) {
  FaultyFileSystem machine;
  World world(machine);
  fill(world, 1);
  machine.fail_call(Call::write, 1, ENOSPC);
  ASSERT_FALSE(commit_writes_step(1, "note a")(world));
  EXPECT_EQ(world.onion->revision_count(), 1u);
  ASSERT_TRUE(commit_writes_step(1, "note b")(world));
  ASSERT_TRUE(commit_writes_step(2, "note c")(world));
  const auto info = world.onion->revision(3);
  ASSERT_TRUE(info);
  EXPECT_EQ(to_hex(info->parents.at(0)), to_hex(world.onion->revision(2)->id));
  EXPECT_EQ(world.onion->revision(2)->meta.note, "note b");
  EXPECT_EQ(look_at(machine).revisions.size(), 3u);
}

// Chunks that sync_staged returned for are there after a power cut: no verified chunk travels twice.
TEST(OnionFaults, SyncedStagedChunksSurvive) {
  for (const std::uint64_t seed : test_seeds(20)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FaultyFileSystem machine;
    World world(machine);
    fill(world, 3);
    FaultyFileSystem other;
    CreateOptions create;
    create.file_system = &other;
    auto target = Onion::create(onion_path, create);
    ASSERT_TRUE(target);
    auto importer = Importer::begin(*target, {"peer", ~0ull});
    ASSERT_TRUE(importer);
    std::vector<ChunkName> names;
    for (std::uint64_t n = 1; n <= 3; ++n) {
      const auto layer = make_layer(*world.onion, n, true);
      ASSERT_TRUE(layer);
      for (const Piece& p : layer->pieces) {
        ASSERT_TRUE(importer->add_chunk(*world.onion->stored_chunk(p.locator)));
        names.push_back(p.chunk);
      }
    }
    ASSERT_TRUE(importer->sync_staged());
    const auto after = other.power_cut(seed);
    auto reopened = Onion::open(onion_path, {Access::write, after.get(), false});
    ASSERT_TRUE(reopened);
    auto resumed = Importer::begin(*reopened, {"peer", ~0ull});
    ASSERT_TRUE(resumed);
    for (const ChunkName& name : names) EXPECT_TRUE(resumed->has_chunk(name));
    if (HasFailure()) return;
  }
}

}  // namespace
