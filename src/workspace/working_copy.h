// workspace/working_copy.h - the steps that restore, switch, rollback, pull and merge share.
//
// Errors     As workspace.h.
// Threads    One owner of the onion.
#pragma once

#include "workspace/replacement.h"
#include "workspace/workspace.h"

namespace peel::workspace {

Result<RevisionInfo> head_of(const Onion& onion, const std::string& branch);
RefChange current_branch_change(const std::string& branch);

// Installs `target` unless the file has its content already; fills revision, file_changed, file_created.
Status replace_content(const Onion& onion, Replacement& replacement, const RevisionInfo& target, ReplaceReport& report);
// What to record about the working file then.
Result<RefChange> stamp_after(const Paths& paths, const Replacement& replacement, const ReplaceReport& report);

}  // namespace peel::workspace
