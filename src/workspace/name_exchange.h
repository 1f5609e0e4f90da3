// workspace/name_exchange.h - two names trade their files in one step, and back.
//
// RENAME_EXCHANGE where the file system has it. Elsewhere (some network file systems): a second link to
// the old file, then a rename over it. That leaves an instant in which a file that somebody renamed to
// the name between our last look and the rename would be lost; such file systems also cannot say who has
// a file open, so the user has vouched by then that nobody is at work.
//
// Errors     refused (the name means another file) · unsupported (neither way works here) · io.
#pragma once

#include <string>

#include "base/file.h"
#include "workspace/temp_name.h"
#include "workspace/workspace.h"

namespace peel::workspace {

// Before: the new file is at temp.fresh_path(). After: it is at `file`, and the old one at temp.swap_path().
Status exchange_names(const TempName& temp, const std::string& file, const FileTimes& old_file);

enum class PutBack : std::uint8_t { done, failed };
// Undoes that, when `file` still means `new_file`. The new file is then at temp.swap_path().
PutBack put_names_back(const TempName& temp, const std::string& file, const FileIdentity& new_file);

// Gives what is at temp.swap_path() a name beside `file` that a person sees. Returns where it is now.
std::string keep_visible(const TempName& temp, const std::string& file);

}  // namespace peel::workspace
