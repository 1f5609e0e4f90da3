// bench/harness.h - what every table of docs/BENCHMARKS.md is measured with.
//
// A row is a ratio in one run: ours and the other side alternate, so that a slow moment of the machine hits both;
// medians and the spread of the ratios are reported, with CPU seconds beside wall time. `--check` runs each side
// once, for its own assertions. `--json FILE` writes the rows.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace peel::bench {

struct Options {
  bool check = false;
  double seconds = 1.0;     // per row
  std::string json_path;
  std::string filter;       // only rows whose name contains it
};

struct Side {
  std::string name;
  std::function<void()> run;  // one repetition; aborts when its own check fails
};

struct Row {
  std::string name, unit;     // unit of the figures: "us", "ns/revision", "GiB/s" ...
  double ours = 0, other = 0; // medians; other is 0 where the row has no second side
  double ratio = 0, ratio_min = 0, ratio_max = 0;
  double cpu_ours = 0, cpu_other = 0;  // seconds per repetition
  std::string budget, note;
  bool within = true;
};

class Table {
 public:
  Table(std::string name, std::string question, int argc, char** argv);
  ~Table();  // prints and writes JSON

  const Options& options() const { return options_; }
  // Alternates both sides until the row's time is used; `scale` turns seconds per repetition into the unit.
  // `ratio_max`: the budget for ours / other (0: none).
  Row& compare(const std::string& name, const std::string& unit, double scale, const Side& ours, const Side& other, double ratio_max = 0);
  // One side, with an absolute budget in the unit (0: none).
  Row& measure(const std::string& name, const std::string& unit, double scale, const std::function<void()>& run, double budget_max = 0);
  // A figure measured elsewhere (bytes, counts).
  Row& figure(const std::string& name, const std::string& unit, double ours, double other, double ratio_max = 0);
  bool wanted(const std::string& name) const;
  // GiB/s rows: bytes per repetition.
  Row& throughput(const std::string& name, double bytes, const Side& ours, const Side& other, double ratio_min = 0);

 private:
  double time_of(const std::function<void()>& run, std::uint64_t repetitions) const;
  std::string name_, question_;
  Options options_;
  std::vector<Row> rows_;
};

// Fails the bench with a message: a guard.
void require(bool condition, const char* what);
// Keeps a result alive.
void keep(const void* p);

}  // namespace peel::bench
