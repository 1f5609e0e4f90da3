// Power cuts and killed processes at every changing call of every operation: the last acknowledged state is there,
// whole, at most the one in flight in addition, and work goes on from there, through a second crash too.
#include "onion_scenario.h"

using namespace peel;

namespace {

// How far a history has come: `durable` steps were acknowledged on this disk; `seen` is the state that is there. They
// differ while what a killed process wrote waits in the memory of the living machine.
struct Standing {
  std::size_t durable = 0, seen = 0;
};

// The state must be one from `low` to `high`; says which.
std::size_t expect_state(FileSystem& fs, const std::vector<HistoryState>& states, std::size_t low, std::size_t high,
                         bool thorough) {
  high = std::min(high, states.size() - 1);
  const HistoryState seen = look_at(fs, thorough);
  // A step may change nothing that shows (a collection for later): the earliest that fits, so it is done again.
  for (std::size_t i = low; i <= high; ++i)
    if (seen == states[i]) return i;
  ADD_FAILURE() << "the history shows\n"
                << seen.text() << "but should show the state after " << low << " to " << high << " steps:\n"
                << states[low].text();
  return low;
}

// Steps from where the history stands until one fails.
void advance(const Scenario& scenario, FaultyFileSystem& machine, Standing& at, std::optional<Error>* error = nullptr) {
  World world(machine);
  Progressed run = run_steps(scenario, world, at.seen);
  // An acknowledged step makes everything before it durable too.
  if (run.done > at.seen) at.durable = run.done;
  at.seen = run.done;
  if (error) *error = std::move(run.error);
}

// Runs what is left to the end on this machine; the end must be the same as ever, and stay.
void finish_scenario(const Scenario& scenario, FaultyFileSystem& machine, const std::vector<HistoryState>& states,
                     Standing at) {
  std::optional<Error> error;
  advance(scenario, machine, at, &error);
  ASSERT_FALSE(error) << "step " << at.seen << ": " << error->message();
  const std::size_t last = states.size() - 1;
  expect_state(machine, states, last, last, true);
  const auto after = machine.power_cut(at.seen);
  expect_state(*after, states, at.durable, last, false);
}

struct Case {
  std::size_t scenario;
  FaultyFileSystem::Stop how;
};

class CrashTest : public ::testing::TestWithParam<Case> {
protected:
  // The first crash after `first_stop` changes, a second at a random later one, then to the end.
  void crash_twice(const Scenario& scenario, FaultyFileSystem& prepared, const std::vector<HistoryState>& states,
                   std::uint64_t changes, std::uint64_t first_stop, FaultyFileSystem::Stop how, std::uint64_t seed) {
    std::mt19937_64 random(seed * 1000 + first_stop);
    auto machine = prepared.power_cut(random());
    Standing at;
    for (int round = 0; round < 2; ++round) {
      const std::uint64_t stop = round == 0 ? first_stop : random() % (random() % 2 ? changes + 1 : 4);
      SCOPED_TRACE("crash " + std::to_string(round + 1) + " after " + std::to_string(stop) + " changes");
      machine->stop_after(stop, how);
      advance(scenario, *machine, at);
      const bool kill = how == FaultyFileSystem::Stop::killed && (round == 0 || random() % 2 == 0);
      if (kill)
        machine->kill();
      else
        machine = machine->power_cut(random());
      // A power cut also takes what was seen but never acknowledged.
      at.seen = expect_state(*machine, states, kill ? at.seen : at.durable, at.seen + 1, round == 0);
      if (!kill) at.durable = at.seen;
      if (HasFailure()) return;
    }
    finish_scenario(scenario, *machine, states, at);
  }
};

TEST_P(CrashTest, AtEveryChange) {
  const auto [which, how] = GetParam();
  const bool large = all_scenarios(1)[which].name == "large";
  for (const std::uint64_t seed : test_seeds(large ? 1 : 8)) {
    const Scenario scenario = all_scenarios(1 + seed % 3)[which];
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::uint64_t changes = 0;
    const auto states = undisturbed_states(scenario, &changes);
    FaultyFileSystem::Options options;
    options.sector_size = seed % 2 ? 4096 : 512;
    options.seed = seed;
    const auto prepared = prepared_machine(scenario, options);
    ASSERT_GT(changes, 0u);
    for (std::uint64_t stop = 0; stop <= changes && !HasFailure(); stop += large ? 2 : 1)
      crash_twice(scenario, *prepared, states, changes, stop, how, seed);
    if (HasFailure()) return;
  }
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (std::size_t i = 0; i < all_scenarios(1).size(); ++i)
    for (const auto how : {FaultyFileSystem::Stop::power, FaultyFileSystem::Stop::killed}) cases.push_back({i, how});
  return cases;
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  std::string name = all_scenarios(1)[info.param.scenario].name +
                     (info.param.how == FaultyFileSystem::Stop::power ? " power" : " killed");
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Onion, CrashTest, ::testing::ValuesIn(all_cases()), name_of);

}  // namespace
