// cli/hdf5_merge.h - whether bytes joined from two HDF5 files are a sound HDF5 file.
//
// Contract   Where ours or theirs is HDF5, the result must be: it opens and is healthy where ours was; all that could be
//            read in ours and in theirs can be read in it; what only one side changed is there as that side has it,
//            where both changed the values of one dataset, each element is that of one side, and no more differ from a
//            side than the other side changed; no side changed what the other removed; and not both sides grew the
//            file, for then HDF5 gave the same place to two things.
//            Not checked: one place given to two things inside the old size (free space that a file keeps track of);
//            elements of a dataset whose shape, type or storage both sides changed too; values in other files, or
//            behind filters libhdf5 lacks, of which the stored bytes are compared.
//            What the helper does not answer in time is a warning and no fault.
// Errors     cancelled.
// Threads    One owner.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"
#include "workspace/workspace.h"

namespace peel::cli {

// Escaped; nothing: sound, no HDF5, or not checked. `file` is shown in warnings.
Result<std::optional<std::string>> hdf5_merge_fault(const Context& context, const std::string& file,
                                                    const workspace::MergeParts& parts);

// Objects and attributes that both sides of a conflict changed, escaped; none where that cannot be told.
Result<std::vector<std::string>> hdf5_changed_by_both(const Context& context, const workspace::Paths& paths,
                                                      const workspace::MergeReport& report);

}  // namespace peel::cli
