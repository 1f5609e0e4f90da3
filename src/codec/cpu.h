// codec/cpu.h - which instructions the codecs may use here. The only place that asks the processor.
//
// Contract   cpu_level() is the highest level that this processor, its operating system and this build have,
//            or the lower one that PEEL_CPU=avx512|avx2|sse2|neon|plain names. A level above what is there, or a
//            name that is none, changes nothing. Every level stores, decodes and cuts alike: the level is
//            about time only. BLAKE3 has its own choice (blake3_path()).
// Errors     None.
// Threads    Any. The environment is read once.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace peel::codec {

// Ascending on each kind of processor; plain code runs on all.
enum class CpuLevel : std::uint8_t {
  plain,
  sse2,    // every x86-64
  avx2,    // with BMI1/2, POPCNT
  avx512,  // F, BW, VL, DQ, CD
  neon,    // every 64-bit ARM
};

CpuLevel cpu_level();
std::vector<CpuLevel> usable_cpu_levels();  // plain first; for tests that compare them
const char* cpu_level_name(CpuLevel level);

// What cpu_level() gives on a processor with `highest`, were PEEL_CPU `wish` (empty: not set).
CpuLevel limited_level(CpuLevel highest, std::string_view wish);

}  // namespace peel::codec
