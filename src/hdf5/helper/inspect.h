// hdf5/helper/inspect.h - is this file whole?
//
// Contract   Looks at the superblock and opens the file and its root group as any program would. Damage deeper
//            in the file is found by those who read there.
// Errors     Those of the source; everything about the file is in the Health.
// Threads    One thread.
#pragma once

#include "hdf5/report.h"
#include "peel/onion.h"

namespace peel::hdf5 {

Result<Health> inspect_file(const Source& source);

}  // namespace peel::hdf5
