// cli/human.h - numbers and times as people read them, and as JSON holds them.
//
// Threads    Free functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace peel::cli {

std::string size_text(std::uint64_t bytes);                               // "512 B", "1.2 MiB"
std::string count_text(std::uint64_t n);                                  // "1,234,567"
std::string counted(std::uint64_t n, const char* one, const char* many);  // "1 revision", "3 revisions"
std::string local_time_text(std::int64_t time_ns);                        // "2026-11-30 13:55:20"
std::string utc_time_text(std::int64_t time_ns);                          // "2026-11-30T13:55:20.000000001Z"
std::string duration_text(double seconds);                                // "0:07", "1:02:03"
std::string number_text(double value);                                    // shortest that reads back
std::string rounded_text(double value);                                   // six digits

// Makes text that should be clean already safe to print: control characters other than newline become \xNN.
std::string printable(std::string_view text);

}  // namespace peel::cli
