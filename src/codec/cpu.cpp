#include "codec/cpu.h"

#include <cstdlib>

namespace peel::codec {
namespace {

// Those of the kind of processor that `highest` belongs to.
bool below(CpuLevel level, CpuLevel highest) {
  return level <= highest && (highest != CpuLevel::neon || level == CpuLevel::plain || level == CpuLevel::neon);
}

constexpr CpuLevel all_levels[] = {CpuLevel::plain, CpuLevel::sse2, CpuLevel::avx2, CpuLevel::avx512, CpuLevel::neon};

CpuLevel detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("popcnt");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512cd");
  if (avx2) return avx512 ? CpuLevel::avx512 : CpuLevel::avx2;
  return CpuLevel::sse2;
#elif defined(__aarch64__) && defined(__ARM_NEON)
  return CpuLevel::neon;
#else
  return CpuLevel::plain;
#endif
}

}  // namespace

CpuLevel limited_level(CpuLevel highest, std::string_view wish) {
  for (const CpuLevel level : all_levels)
    if (wish == cpu_level_name(level) && below(level, highest)) return level;
  return highest;
}

CpuLevel cpu_level() {
  static const CpuLevel level = [] {
    const char* wish = std::getenv("PEEL_CPU");
    return limited_level(detect(), wish != nullptr ? wish : "");
  }();
  return level;
}

std::vector<CpuLevel> usable_cpu_levels() {
  std::vector<CpuLevel> levels;
  for (const CpuLevel level : all_levels)
    if (below(level, cpu_level())) levels.push_back(level);
  return levels;
}

const char* cpu_level_name(CpuLevel level) {
  switch (level) {
    case CpuLevel::plain: return "plain";
    case CpuLevel::sse2: return "sse2";
    case CpuLevel::avx2: return "avx2";
    case CpuLevel::avx512: return "avx512";
    case CpuLevel::neon: return "neon";
  }
  return "?";
}

}  // namespace peel::codec
