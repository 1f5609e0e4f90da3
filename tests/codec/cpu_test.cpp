#include "codec/cpu.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace peel::codec {
namespace {

TEST(CpuLevel, AWishOnlyLowers) {
  EXPECT_EQ(limited_level(CpuLevel::avx512, ""), CpuLevel::avx512);
  EXPECT_EQ(limited_level(CpuLevel::avx512, "avx2"), CpuLevel::avx2);
  EXPECT_EQ(limited_level(CpuLevel::avx2, "avx512"), CpuLevel::avx2);
  EXPECT_EQ(limited_level(CpuLevel::avx2, "plain"), CpuLevel::plain);
  EXPECT_EQ(limited_level(CpuLevel::avx2, "sse2"), CpuLevel::sse2);
  EXPECT_EQ(limited_level(CpuLevel::plain, "sse2"), CpuLevel::plain);
  EXPECT_EQ(limited_level(CpuLevel::avx2, "AVX9"), CpuLevel::avx2);
  EXPECT_EQ(limited_level(CpuLevel::avx2, "neon"), CpuLevel::avx2);
  EXPECT_EQ(limited_level(CpuLevel::neon, "avx2"), CpuLevel::neon);
  EXPECT_EQ(limited_level(CpuLevel::neon, "plain"), CpuLevel::plain);
}

TEST(CpuLevel, IsAsTheEnvironmentSays) {
  EXPECT_EQ(usable_cpu_levels().front(), CpuLevel::plain);
  EXPECT_EQ(usable_cpu_levels().back(), cpu_level());
  const char* wish = std::getenv("PEEL_CPU");
  if (wish != nullptr && std::string_view(wish) == "plain") { EXPECT_EQ(cpu_level(), CpuLevel::plain); }
}

}  // namespace
}  // namespace peel::codec
