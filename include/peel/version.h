// peel/version.h - the version of the library this header belongs to.
#pragma once

namespace peel {
inline constexpr int version_major = 0, version_minor = 1, version_patch = 0;
inline constexpr const char* version_string = "0.1.0";
}  // namespace peel
