// Question   How small do chunks of numbers become, and how fast, against what the field uses?
// Budget     f32_smooth: 4 KiB <= 1300 B, 64 KiB <= 20,500 B, at >= 6 x the round trip of shuf+zstd-3. lcg 4 KiB <= 3348 B at
//            >= 3 x. int8_seq 4 KiB <= 276 B. weights 64 KiB <= 55,500 B at >= 2 x zstd-3. random: raw, >= 5 GiB/s.
// Inside     Data in cache, contexts kept, output buffers reused. A round trip is encode and decode. "commit" is the automatic
//            choice, told the element width; "seed" is shuf+zstd-3, which is the seed's ZstdTdt. Every round trip is checked.
// Seed       f32_smooth 4 / 64 KB 3050 / 35859 B, 580 MiB/s; f32_random and int32_random (lcg) 3348 / 49429 B, 612 MiB/s;
//            int8_seq 283 B. Its zstd: 3767 B at 312 MiB/s, 4106 B at 1.2 GiB/s, 276 B.
#include "codec_data_sets.h"

#include <lz4.h>
#if __has_include(<blosc.h>)
#include <blosc.h>
#define PEEL_BENCH_BLOSC
#endif

#include "codec/cpu.h"
#include "codec/page_codec.h"

using namespace peel;
using namespace peel::bench;
using codec::Codec;
using codec::Effort;

namespace {

// A way to store bytes, with buffers of its own.
class Way {
 public:
  virtual ~Way() = default;
  virtual std::size_t encode(Bytes plain) = 0;  // returns the stored size
  virtual void decode(MutableBytes plain) = 0;  // of what encode was given last
  virtual std::string chosen() const { return ""; }

  void round_trip(Bytes plain) {
    back_.resize(plain.size());
    encode(plain);
    decode(back_);
    keep(back_.data());
  }
  std::size_t checked_size(Bytes plain) {
    back_.assign(plain.size(), std::byte{0x55});
    const std::size_t n = encode(plain);
    decode(back_);
    require(std::equal(plain.begin(), plain.end(), back_.begin()), "round trip");
    return n;
  }

 protected:
  Buffer stored_;

 private:
  Buffer back_;
};

class Automatic : public Way {
 public:
  Automatic(std::uint8_t width, Effort effort) : width_(width), effort_(effort) {}
  std::size_t encode(Bytes plain) override {
    stored_.clear();
    encoded_ = codec::encode(plain, {width_, effort_}, stored_);
    return encoded_.size;
  }
  void decode(MutableBytes plain) override { require(codec::decode(encoded_.codec, encoded_.width, stored_, plain).ok(), "decode"); }
  std::string chosen() const override { return codec::codec_name(encoded_.codec); }

 private:
  std::uint8_t width_;
  Effort effort_;
  codec::Encoded encoded_;
};

class Forced : public Way {
 public:
  Forced(Codec codec, std::uint8_t width, Effort effort) : codec_(codec), width_(width), effort_(effort) {}
  std::size_t encode(Bytes plain) override {
    stored_.clear();
    const auto e = codec::encode_as(codec_, width_, effort_, plain, stored_);
    require(e.ok(), "encode_as");
    return e->size;
  }
  void decode(MutableBytes plain) override { require(codec::decode(codec_, width_, stored_, plain).ok(), "decode"); }

 private:
  Codec codec_;
  std::uint8_t width_;
  Effort effort_;
};

#if defined(PEEL_BENCH_BLOSC)
class Blosc : public Way {
 public:
  Blosc(const char* compressor, int level, std::size_t width) : compressor_(compressor), level_(level), width_(width) {}
  std::size_t encode(Bytes plain) override {
    stored_.resize(plain.size() + BLOSC_MAX_OVERHEAD);
    const int n = blosc_compress_ctx(level_, BLOSC_SHUFFLE, width_, plain.size(), plain.data(), stored_.data(), stored_.size(), compressor_, 0, 1);
    require(n > 0, "blosc");
    return static_cast<std::size_t>(n);
  }
  void decode(MutableBytes plain) override { require(blosc_decompress_ctx(stored_.data(), plain.data(), plain.size(), 1) > 0, "blosc"); }

 private:
  const char* compressor_;
  int level_;
  std::size_t width_;
};
#endif

struct Set {
  const char* name;
  std::uint8_t width;
};
constexpr Set sets[] = {{"f32_smooth", 4}, {"lcg", 4}, {"int8_seq", 1}, {"random", 4}, {"weights", 4}, {"field", 4}, {"field64", 8},
                        {"drift", 4}, {"image", 2}, {"labels", 1}, {"table", 8}, {"text", 1}, {"compressed", 4}, {"sparse", 4}};

struct Bar {
  const char* set;
  std::size_t size;
  double bytes_max;
  double speed_min;  // times the seed's codec; weights: times zstd-3
};
constexpr Bar bars[] = {{"f32_smooth", 4096, 1300, 6}, {"f32_smooth", 65536, 20500, 6}, {"lcg", 4096, 3348, 3},
                        {"int8_seq", 4096, 276, 0},    {"weights", 65536, 55500, 2}};

void set_budget(Row& row, bool within, const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  row.budget = text;
  row.within = within;
}

}  // namespace

int main(int argc, char** argv) {
  Table table("codec", std::string("How small do chunks of numbers become, and how fast, against what the field uses? CPU level: ") +
                           codec::cpu_level_name(codec::cpu_level()), argc, argv);
  for (const std::size_t size : {4096u, 65536u, 1u << 20})
    for (const Set& set : sets) {
      const Buffer plain = data_set(set.name, size);
      const std::string what = std::string(set.name) + ", " + std::to_string(size >> 10) + " KiB";
      const bool hint = std::string(set.name) != "sparse" && std::string(set.name) != "table";
      Automatic commit(hint ? set.width : 0, Effort::fast), repack(hint ? set.width : 0, Effort::thorough);
      Forced seed(Codec::shuffle_zstd, set.width, Effort::balanced), zstd1(Codec::zstd, 1, Effort::fast), zstd3(Codec::zstd, 1, Effort::balanced),
          lz4(Codec::lz4, 1, Effort::fast);
      const Bar* bar = nullptr;
      for (const Bar& b : bars)
        if (b.set == std::string(set.name) && b.size == size) bar = &b;
      const bool weights = set.name == std::string("weights");

      Row& bytes = table.figure(what + ": bytes, commit / seed", "B", static_cast<double>(commit.checked_size(plain)), static_cast<double>(seed.checked_size(plain)));
      const std::string repacked = std::to_string(repack.checked_size(plain));
      bytes.note = commit.chosen() + "; repack " + repacked + " (" + repack.chosen() + "); zstd-1 " + std::to_string(zstd1.checked_size(plain)) + ", zstd-3 " + std::to_string(zstd3.checked_size(plain)) + ", lz4 " + std::to_string(lz4.checked_size(plain));
#if defined(PEEL_BENCH_BLOSC)
      Blosc blosc_lz4("lz4", 5, set.width), blosc_zstd("zstd", 5, set.width);
      bytes.note += ", blosc lz4 " + std::to_string(blosc_lz4.checked_size(plain)) + ", blosc zstd " + std::to_string(blosc_zstd.checked_size(plain));
#endif
      if (bar != nullptr) set_budget(bytes, bytes.ours <= bar->bytes_max, "<= %.0f B", bar->bytes_max);
      if (set.name == std::string("random")) set_budget(bytes, commit.chosen() == "raw", "raw", 0);

      const double n = static_cast<double>(size);
      const auto versus = [&](const std::string& name, Way& ours, const std::string& label, Way& other, double ratio_min) -> Row& {
        return table.throughput(what + ": round trip, " + name, n, {"peel", [&] { ours.round_trip(plain); }}, {label, [&] { other.round_trip(plain); }}, ratio_min);
      };
      Row& speed = versus("commit / seed", commit, "shuf+zstd-3", seed, bar != nullptr && !weights ? bar->speed_min : 0);
      if (set.name == std::string("random") && !table.options().check && speed.ours > 0) set_budget(speed, speed.ours >= 5, ">= %.0f GiB/s", 5);
      if (bar != nullptr && set.width == 4 && !weights && set.name == std::string("f32_smooth")) {
        Forced dbp(Codec::dbp, set.width, Effort::fast);
        dbp.checked_size(plain);
        versus("dbp alone / seed", dbp, "shuf+zstd-3", seed, bar->speed_min);
      }
      if (size != 65536) continue;
      versus("commit / zstd-3", commit, "zstd-3", zstd3, weights ? 2 : 0);
      versus("commit / lz4", commit, "lz4", lz4, 0);
#if defined(PEEL_BENCH_BLOSC)
      versus("commit / blosc lz4", commit, "blosc", blosc_lz4, 0);
#endif
    }
}
