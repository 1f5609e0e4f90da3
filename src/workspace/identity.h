// workspace/identity.h - who commits, and where.
//
// Errors     None: what cannot be found out is left empty.
// Threads    Any (getpwuid_r, gethostname).
#pragma once

#include <optional>
#include <string>

#include "peel/onion.h"

namespace peel::workspace {

inline constexpr std::size_t meta_text_bytes_max = 65535;

// Author (else $PEEL_AUTHOR, else the user's name), host, time and note.
RevisionMeta describe_commit(const std::optional<std::string>& author, const std::string& note);

// The note of a revision labelled unhealthy: a last line "[unhealthy: WHY]", whatever has to be cut.
std::string with_unhealthy_line(const std::string& note, const std::string& why);

// Cuts at a character border.
std::string cut_text(std::string text, std::size_t bytes_max);

}  // namespace peel::workspace
