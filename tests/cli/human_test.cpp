// tests/cli/human_test.cpp - numbers and times as people read them.
#include "cli/human.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace peel::cli {
namespace {

TEST(Human, Sizes) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(1024), "1.0 KiB");
  EXPECT_EQ(size_text(1024 * 1024 - 1), "1.0 MiB");  // never "1024.0 KiB"
  EXPECT_EQ(size_text(~0ull), "16.0 EiB");
}

TEST(Human, Counts) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(1234567), "1,234,567");
  EXPECT_EQ(counted(1, "revision", "revisions"), "1 revision");
  EXPECT_EQ(counted(0, "revision", "revisions"), "0 revisions");
}

TEST(Human, Times) {
  EXPECT_EQ(utc_time_text(0), "1970-01-01T00:00:00.000000000Z");
  EXPECT_EQ(utc_time_text(1'796'047'200'000'000'001), "2026-11-30T14:00:00.000000001Z");
  EXPECT_EQ(utc_time_text(-1), "1969-12-31T23:59:59.999999999Z");
  ::setenv("TZ", "UTC-2", 1);
  ::tzset();
  EXPECT_EQ(local_time_text(1'796'047'200'000'000'001), "2026-11-30 16:00:00");
}

TEST(Human, Durations) {
  EXPECT_EQ(duration_text(0), "0:00");
  EXPECT_EQ(duration_text(7.4), "0:07");
  EXPECT_EQ(duration_text(3723), "1:02:03");
  EXPECT_EQ(duration_text(1e18), "days");
}

TEST(Human, Numbers) {
  EXPECT_EQ(number_text(0.5), "0.5");
  EXPECT_EQ(std::strtod(number_text(0.1 + 0.2).c_str(), nullptr), 0.1 + 0.2);
  EXPECT_EQ(rounded_text(4.99989999899999), "4.9999");
}

TEST(Human, PrintableKeepsTextAndStopsControls) {
  EXPECT_EQ(printable("a\\x1b b\n\xc3\xa9"), "a\\x1b b\n\xc3\xa9");  // escaped text is not escaped again
  EXPECT_EQ(printable("\x1b[2J\r\x7f"), "\\x1b[2J\\x0d\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\x9b");
}

}  // namespace
}  // namespace peel::cli
