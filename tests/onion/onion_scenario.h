// tests/onion/onion_scenario.h - operations on an onion as repeatable steps, and what must be seen after each.
//
// Every step is deterministic (times and lineage are given), so the states that an undisturbed run passes through
// are exactly the states that any disturbed run may show: a crash after step i shows state i or, where step i + 1
// was in flight, state i + 1. Running the remaining steps afterwards must end in the same last state.
#pragma once

#include <gtest/gtest.h>

#include <map>

#include "base/hex.h"
#include "onion/importer.h"
#include "testing/faulty_file_system.h"
#include "testing/sample_data.h"

namespace peel {

inline constexpr char onion_path[] = "x.onion";

// What a history shows, as far as two runs must agree.
struct HistoryState {
  struct Revision {
    std::uint64_t number = 0;
    RevisionId id;
    Digest content;
    bool operator==(const Revision&) const = default;
  };
  bool exists = true;
  std::vector<Revision> revisions;
  std::map<std::pair<RefKind, std::string>, std::pair<RevisionId, std::string>> refs;
  bool operator==(const HistoryState&) const = default;
  std::string text() const;
};

// Reads the state and checks it: every ref names a revision that is here, parents are here or collected, the newest
// revisions read back to their content digest, and a deep verification finds nothing. A failure is a test failure.
HistoryState look_at(const Onion& onion, bool thorough = true);
// The same through a fresh handle; `exists` is false where there is no file. Never corrupt.
HistoryState look_at(FileSystem& fs, bool thorough = true);

// The machine and the process a scenario runs in.
struct World {
  FaultyFileSystem* fs = nullptr;
  std::optional<Onion> onion;

  explicit World(FaultyFileSystem& machine) : fs(&machine) {}
  Result<Onion*> open();  // the handle, opened when first needed
};

using Step = std::function<Status(World&)>;

struct Scenario {
  std::string name;
  std::function<void(World&)> prepare;  // undisturbed; may be empty
  std::vector<Step> steps;
};

// All operations an onion has, with the troubles they may meet. `seed` varies contents.
std::vector<Scenario> all_scenarios(std::uint64_t seed);

// --- steps ---------------------------------------------------------------------------------------
Status create_onion(World& world);
Step commit_scan_step(Buffer content, std::string note, std::string branch = {});
Step commit_writes_step(std::uint64_t seed, std::string note);

// A machine as `scenario.prepare` leaves it, everything on the disk.
std::unique_ptr<FaultyFileSystem> prepared_machine(const Scenario& scenario,
                                                   const FaultyFileSystem::Options& options = {});

struct Progressed {
  std::size_t done = 0;  // steps that returned success
  std::optional<Error> error;
};
// Steps from `first` on until one fails.
Progressed run_steps(const Scenario& scenario, World& world, std::size_t first = 0);

// States of an undisturbed run: states[i] after i steps.
std::vector<HistoryState> undisturbed_states(const Scenario& scenario, std::uint64_t* changes = nullptr);

}  // namespace peel
