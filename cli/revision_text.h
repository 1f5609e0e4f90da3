// cli/revision_text.h - revisions as lines and as JSON, with the names that point at them.
//
// Contract   All text from outside is escaped here.
// Threads    One owner.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/json_writer.h"
#include "peel/onion.h"

namespace peel::cli {

// Which branches and tags point at which revision; read once.
class RefNames {
public:
  explicit RefNames(const Onion& onion);
  struct Names {
    std::vector<std::string> branches, tags;  // remote branches as REMOTE/BRANCH; not escaped
  };
  const Names& of(const RevisionId& id) const;
  const std::string& current_branch() const { return current_branch_; }

private:
  std::map<RevisionId, Names> names_;
  std::string current_branch_;
};

// "@4  3f2a9c01b2d4  2026-11-30 13:55:20  1.2 MiB  +12.3 KiB  alice  (main, tag published)  [unhealthy]"
std::string revision_line(const RevisionInfo& revision, const RefNames& names);
// "@4 3f2a9c01b2d4"
std::string revision_name(const RevisionInfo& revision);
// The note's lines, escaped; none when it is empty.
std::vector<std::string> note_lines(const std::string& note);
std::vector<std::string> label_names(std::uint32_t labels);
// "peel1:HEX"
std::string content_text(const Digest& content);

// An object of the form `revision` (cli/json_objects.cpp). `names` null: branches and tags are left empty. `more`
// may add keys to the same object.
void write_revision(JsonWriter& json, const RevisionInfo& revision, const RefNames* names,
                    const std::function<void()>& more = {});

// "bytes 4096 to 8191 (4.0 KiB)"
std::string range_text(const Range& range);

}  // namespace peel::cli
