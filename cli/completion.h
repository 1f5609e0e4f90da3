// cli/completion.h - completion scripts for bash, zsh and fish, made from the command table.
//
// Contract   The scripts are complete in themselves: completing starts no peel process.
// Threads    Free functions.
#pragma once

#include <string>
#include <string_view>

#include "peel/error.h"

namespace peel::cli {

// usage: an unknown shell.
Result<std::string> completion_script(std::string_view shell);

}  // namespace peel::cli
