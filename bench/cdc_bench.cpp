// Question   How fast are content-defined borders found, and how much of a shifted file is found again?
// Budget     1 MiB: random and float >= 12 GiB/s a core, sparse >= 30. After 100 insertions in 32 MiB, within 0.5 points of gear.
// Inside     Average 8 KiB, data in cache (1 MiB) or not (32 MiB). Cutting only: no hashing. The other side is our gear
//            chunker (FastCDC's normalised cutting, one byte at a time). "sparse" is nine tenths zeros, "cold" the seed's
//            cold-only bytes (all above 63).
// Seed       1 MB random / float / cold-only: FastCDC 2.71 / 2.66 / 2.47 GiB/s, its SIMD gear 1.42 / 1.43 / 6.61.
#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "codec/vector_chunker.h"
#include "codec_data_sets.h"

using namespace peel;
using namespace peel::bench;

namespace {

constexpr std::uint32_t average = 8192;

Buffer bytes_of(const std::string& name, std::size_t size) {
  if (name != "cold") return data_set(name, size);
  Buffer out = data_set("random", size);
  for (std::byte& b : out) b = static_cast<std::byte>(64 + std::to_integer<unsigned>(b) % 192);
  return out;
}

template <class C>
std::size_t cut_all(const C& chunker, Bytes data) {
  std::size_t chunks = 0;
  for (std::size_t at = 0; at < data.size(); ++chunks) at += chunker.next_cut(data.subspan(at), true);
  return chunks;
}

// 100 insertions of 1 to 100 bytes, anywhere.
Buffer shifted(const Buffer& data) {
  std::mt19937_64 rng(5);
  std::vector<std::size_t> places;
  for (int i = 0; i < 100; ++i) places.push_back(rng() % data.size());
  std::sort(places.begin(), places.end());
  Buffer out;
  std::size_t last = 0;
  for (const std::size_t place : places) {
    out.insert(out.end(), data.begin() + static_cast<std::ptrdiff_t>(last), data.begin() + static_cast<std::ptrdiff_t>(place));
    for (std::size_t n = 1 + rng() % 100; n > 0; --n) out.push_back(static_cast<std::byte>(rng()));
    last = place;
  }
  out.insert(out.end(), data.begin() + static_cast<std::ptrdiff_t>(last), data.end());
  return out;
}

// The percentage of `after` in chunks that `before` has, too.
template <class C>
double found_again(const C& chunker, Bytes before, Bytes after) {
  std::unordered_set<std::string_view> known;
  const auto text = [](Bytes b) { return std::string_view(reinterpret_cast<const char*>(b.data()), b.size()); };
  const auto each = [&](Bytes data, auto&& f) {
    for (std::size_t at = 0, n; at < data.size(); at += n) {
      n = chunker.next_cut(data.subspan(at), true);
      f(data.subspan(at, n));
    }
  };
  each(before, [&](Bytes chunk) { known.insert(text(chunk)); });
  std::size_t again = 0;
  each(after, [&](Bytes chunk) { again += known.count(text(chunk)) != 0 ? chunk.size() : 0; });
  return 100.0 * static_cast<double>(again) / static_cast<double>(after.size());
}

}  // namespace

int main(int argc, char** argv) {
  Table table("cdc", std::string("How fast are content-defined borders found, and how much of a shifted file is found again? CPU level: ") +
                         codec::cpu_level_name(codec::cpu_level()), argc, argv);
  const codec::Key key{};
  const auto sizes = codec::ChunkerSizes::around(average);
  const codec::Chunker gear(sizes, key);
  const codec::VectorChunker ours(sizes, key);
  struct Speed {
    const char* name;
    double least;  // GiB/s at 1 MiB
  };
  for (const auto& [name, least] : {Speed{"random", 12}, Speed{"field", 12}, Speed{"sparse", 30}, Speed{"cold", 0}})
    for (const std::size_t size : {64u << 10, 1u << 20, 32u << 20}) {
      const Buffer data = bytes_of(name, size);
      for (const codec::CpuLevel level : codec::usable_cpu_levels()) {
        if (level == codec::CpuLevel::sse2) continue;  // runs the plain code
        const codec::VectorChunker at_level(sizes, key, level);
        require(cut_all(at_level, data) == cut_all(ours, data), "every level cuts alike");
        if (level != codec::cpu_level() && size != 1u << 20) continue;
        Row& row = table.throughput(std::string(name) + ", " + (size >= 1u << 20 ? std::to_string(size >> 20) + " MiB" : std::to_string(size >> 10) + " KiB") + ", " +
                                        codec::cpu_level_name(level), static_cast<double>(size),
                                    {"vector", [&] { const auto n = cut_all(at_level, data); keep(&n); }}, {"gear", [&] { const auto n = cut_all(gear, data); keep(&n); }});
        if (row.ours == 0 || least == 0 || size != 1u << 20 || level != codec::cpu_level()) continue;
        char text[64];
        std::snprintf(text, sizeof text, ">= %.0f GiB/s", least);
        row.budget = text;
        row.within = row.ours >= least;
      }
    }
  for (const char* name : {"random", "weights", "field", "field64", "drift", "image", "text", "table", "compressed", "labels", "sparse"}) {
    const Buffer before = data_set(name, 32u << 20), after = shifted(before);
    const double with_gear = found_again(gear, before, after), with_ours = found_again(ours, before, after);
    Row& row = table.figure(std::string(name) + ", 32 MiB, 100 insertions: found again, vector / gear", "%", with_ours, with_gear);
    row.note = "average chunk " + std::to_string(before.size() / cut_all(ours, before)) + " / " + std::to_string(before.size() / cut_all(gear, before)) + " B";
    row.budget = ">= gear - 0.5 points";
    row.within = with_ours >= with_gear - 0.5;
  }
}
