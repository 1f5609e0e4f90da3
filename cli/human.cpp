// cli/human.cpp - see human.h.
#include "cli/human.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>

namespace peel::cli {

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  static constexpr std::array units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // 1023.95 would print as "1024.0".
  while (value >= 1023.95 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, units[unit]);
  return text;
}

std::string count_text(std::uint64_t n) {
  std::string out = std::to_string(n);
  for (std::size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, ",");
  return out;
}

std::string counted(std::uint64_t n, const char* one, const char* many) {
  return count_text(n) + " " + (n == 1 ? one : many);
}

namespace {

// Seconds rounded down, also before 1970.
std::time_t seconds_of(std::int64_t time_ns) {
  return static_cast<std::time_t>(time_ns / 1'000'000'000 - (time_ns % 1'000'000'000 < 0 ? 1 : 0));
}

std::string formatted(const std::tm& when, const char* format) {
  char text[64];
  const std::size_t n = std::strftime(text, sizeof text, format, &when);
  return {text, n};
}

}  // namespace

std::string local_time_text(std::int64_t time_ns) {
  const std::time_t seconds = seconds_of(time_ns);
  std::tm when{};
  if (localtime_r(&seconds, &when) == nullptr) return "?";
  return formatted(when, "%Y-%m-%d %H:%M:%S");
}

std::string utc_time_text(std::int64_t time_ns) {
  const std::time_t seconds = seconds_of(time_ns);
  std::tm when{};
  if (gmtime_r(&seconds, &when) == nullptr) return "?";
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%09lldZ",
                static_cast<long long>(time_ns - static_cast<std::int64_t>(seconds) * 1'000'000'000));
  return formatted(when, "%Y-%m-%dT%H:%M:%S") + fraction;
}

std::string duration_text(double seconds) {
  if (seconds > 359'999) return "days";
  const auto whole = static_cast<unsigned>(seconds < 0 ? 0 : seconds + 0.5);
  char text[32];
  if (whole >= 3600)
    std::snprintf(text, sizeof text, "%u:%02u:%02u", whole / 3600, whole / 60 % 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%u:%02u", whole / 60, whole % 60);
  return text;
}

std::string number_text(double value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}

std::string rounded_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F are control characters too; in UTF-8 they begin with C2.
    const bool c1 = c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0 &&
                    static_cast<unsigned char>(text[i + 1]) >= 0x80;
    if ((c >= 0x20 && c != 0x7f && !c1) || c == '\n') {
      out += text[i];
      continue;
    }
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", c);
    out += escaped;
  }
  return out;
}

}  // namespace peel::cli
