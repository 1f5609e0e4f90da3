#include "harness.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace peel::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "bench: check failed: %s\n", what);
  std::exit(4);
}

void keep(const void* p) { asm volatile("" : : "r"(p) : "memory"); }

Table::Table(std::string name, std::string question, int argc, char** argv) : name_(std::move(name)), question_(std::move(question)) {
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const auto value = [&] { return i + 1 < argc ? std::string(argv[++i]) : std::string(); };
    if (arg == "--check") options_.check = true;
    else if (arg == "--json") options_.json_path = value();
    else if (arg == "--seconds") options_.seconds = std::atof(value().c_str());
    else if (arg == "--filter") options_.filter = value();
    else { std::fprintf(stderr, "usage: %s [--check] [--seconds S] [--filter TEXT] [--json FILE]\n", argv[0]); std::exit(2); }
  }
}

bool Table::wanted(const std::string& name) const { return options_.filter.empty() || name.find(options_.filter) != std::string::npos; }

double Table::time_of(const std::function<void()>& run, std::uint64_t repetitions) const {
  const auto start = Clock::now();
  for (std::uint64_t i = 0; i < repetitions; ++i) run();
  return seconds_since(start) / static_cast<double>(repetitions);
}

Row& Table::compare(const std::string& name, const std::string& unit, double scale, const Side& ours, const Side& other, double ratio_max) {
  Row row;
  row.name = name;
  row.unit = unit;
  if (wanted(name)) {
    const double first = time_of(ours.run, 1), first_other = time_of(other.run, 1);
    if (!options_.check) {
      // Slices of about 2 ms, at least one repetition, alternating.
      const auto repetitions = [](double one) { return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(0.002 / std::max(one, 1e-9))); };
      const auto n = repetitions(first), n_other = repetitions(first_other);
      std::vector<double> a, b, ratios;
      double cpu_a = 0, cpu_b = 0;
      const auto start = Clock::now();
      while (seconds_since(start) < options_.seconds || a.size() < 5) {
        double cpu = cpu_seconds();
        a.push_back(time_of(ours.run, n));
        cpu_a += cpu_seconds() - cpu;
        cpu = cpu_seconds();
        b.push_back(time_of(other.run, n_other));
        cpu_b += cpu_seconds() - cpu;
        ratios.push_back(a.back() / b.back());
      }
      row.ours = median(a) * scale;
      row.other = median(b) * scale;
      row.ratio = median(ratios);
      std::sort(ratios.begin(), ratios.end());
      row.ratio_min = ratios[ratios.size() / 10];
      row.ratio_max = ratios[ratios.size() * 9 / 10];
      row.cpu_ours = cpu_a / static_cast<double>(a.size() * n);
      row.cpu_other = cpu_b / static_cast<double>(b.size() * n_other);
      if (ratio_max > 0) {
        char text[64];
        std::snprintf(text, sizeof text, "<= %.2f x", ratio_max);
        row.budget = text;
        row.within = row.ratio <= ratio_max;
      }
    }
    row.note = "against " + other.name;
  }
  rows_.push_back(row);
  return rows_.back();
}

Row& Table::throughput(const std::string& name, double bytes, const Side& ours, const Side& other, double ratio_min) {
  Row& row = compare(name, "GiB/s", 1, ours, other, 0);
  if (row.ours > 0) {
    const double gib = bytes / 1073741824.0;
    row.ours = gib / row.ours;
    row.other = gib / row.other;
    const double low = 1 / row.ratio_max, high = 1 / row.ratio_min;
    row.ratio = 1 / row.ratio;
    row.ratio_min = low;
    row.ratio_max = high;
    if (ratio_min > 0) {
      char text[64];
      std::snprintf(text, sizeof text, ">= %.2f x", ratio_min);
      row.budget = text;
      row.within = row.ratio >= ratio_min;
    }
  }
  return row;
}

Row& Table::measure(const std::string& name, const std::string& unit, double scale, const std::function<void()>& run, double budget_max) {
  Row row;
  row.name = name;
  row.unit = unit;
  if (wanted(name)) {
    const double first = time_of(run, 1);
    if (!options_.check) {
      const auto n = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(0.002 / std::max(first, 1e-9)));
      std::vector<double> a;
      double cpu = cpu_seconds();
      const auto start = Clock::now();
      while (seconds_since(start) < options_.seconds || a.size() < 3) a.push_back(time_of(run, n));
      row.ours = median(a) * scale;
      row.cpu_ours = (cpu_seconds() - cpu) / static_cast<double>(a.size() * n);
      if (budget_max > 0) {
        char text[64];
        std::snprintf(text, sizeof text, "<= %.3g %s", budget_max, unit.c_str());
        row.budget = text;
        row.within = row.ours <= budget_max;
      }
    }
  }
  rows_.push_back(row);
  return rows_.back();
}

Row& Table::figure(const std::string& name, const std::string& unit, double ours, double other, double ratio_max) {
  Row row;
  row.name = name;
  row.unit = unit;
  row.ours = ours;
  row.other = other;
  row.ratio = row.ratio_min = row.ratio_max = other > 0 ? ours / other : 0;
  if (ratio_max > 0 && !options_.check) {
    char text[64];
    std::snprintf(text, sizeof text, "<= %.3f x", ratio_max);
    row.budget = text;
    row.within = row.ratio <= ratio_max;
  }
  rows_.push_back(row);
  return rows_.back();
}

Table::~Table() {
  if (options_.check) {
    std::printf("%s: checked, %zu rows\n", name_.c_str(), rows_.size());
    return;
  }
  std::printf("## %s\n%s\n\n| row | ours | other | ratio (10..90 %%) | CPU s ours / other | budget | note |\n|---|---|---|---|---|---|---|\n", name_.c_str(), question_.c_str());
  std::string json = "{\"table\":" + quoted(name_) + ",\"question\":" + quoted(question_) + ",\"rows\":[";
  bool comma = false;
  for (const Row& r : rows_) {
    if (r.ours == 0 && r.other == 0) continue;
    std::printf("| %s | %.4g %s | ", r.name.c_str(), r.ours, r.unit.c_str());
    if (r.other > 0) std::printf("%.4g | %.2f (%.2f..%.2f) | ", r.other, r.ratio, r.ratio_min, r.ratio_max);
    else std::printf("- | - | ");
    std::printf("%.3g / %.3g | %s | %s%s |\n", r.cpu_ours, r.cpu_other, r.budget.empty() ? "-" : r.budget.c_str(), r.within ? "" : "**not reached** ", r.note.c_str());
    char line[512];
    std::snprintf(line, sizeof line, "%s{\"row\":%s,\"unit\":%s,\"ours\":%.6g,\"other\":%.6g,\"ratio\":%.4g,\"ratio_p10\":%.4g,\"ratio_p90\":%.4g,\"cpu_ours\":%.4g,\"cpu_other\":%.4g,\"budget\":%s,\"within\":%s,\"note\":",
                  comma ? "," : "", quoted(r.name).c_str(), quoted(r.unit).c_str(), r.ours, r.other, r.ratio, r.ratio_min, r.ratio_max, r.cpu_ours, r.cpu_other,
                  quoted(r.budget).c_str(), r.within ? "true" : "false");
    json += line + quoted(r.note) + "}";
    comma = true;
  }
  json += "]}\n";
  if (!options_.json_path.empty()) std::ofstream(options_.json_path) << json;
}

}  // namespace peel::bench
