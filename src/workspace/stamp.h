// workspace/stamp.h - the last look at the working file, kept in the onion as a setting.
//
// A stamp lets `status` and `commit` skip reading a file whose times prove that nothing happened. They
// prove it only when (1) no writer had the file open around the look, (2) the times were at least
// margin_ns older than the look began, (3) size, times, inode and device are still the same, and (4) no
// writer has it open now. A store through a mapping changes no time after its page was first dirtied,
// and kernels stamp in ticks: (1), (2) and (4) are for those. Whatever replaces the file never asks.
//
// Format     Setting "working-file": "1 SIZE MTIME CTIME DEVICE INODE LOOKED QUIET REVISION CONTENT",
//            decimal but for the two hexadecimal digests. Anything else is no stamp.
#pragma once

#include "peel/onion.h"
#include "workspace/workspace.h"

namespace peel::workspace {

inline constexpr const char* stamp_setting = "working-file";
inline constexpr std::int64_t stamp_margin_ns = 2'000'000'000;

struct Stamp {
  FileTimes times;            // allocated, mode and links are not kept
  std::int64_t looked_ns = 0; // when the look began
  bool quiet = false;         // certainly no writer, before and after
  RevisionId revision;        // what the working file was equal to
  Digest content;
};

std::string encode_stamp(const Stamp& stamp);
std::optional<Stamp> decode_stamp(std::string_view text);

std::optional<Stamp> load_stamp(const Onion& onion);
RefChange stamp_change(const Stamp& stamp);
// For readers that learned something: stored only when that needs no waiting; failure is no matter.
void store_stamp_if_idle(const Paths& paths, const Stamp& stamp);

// The times alone prove that the file still has stamp.content.
bool proves_unchanged(const Stamp& stamp, const FileTimes& now, Writer writer);

Writer probe_writer(int fd);

}  // namespace peel::workspace
