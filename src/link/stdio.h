// link/stdio.h - a channel over two descriptors: stdin and stdout, a pair of pipes, a child process.
//
// Contract   Nothing but peel may write to the outgoing descriptor. O_NONBLOCK is never set on them: the open file
//            descriptions may be shared with other processes. As with TCP, the end of the stream does not say why
//            it ended.
//            A child gets one pipe to its stdin and one from its stdout and keeps our stderr; close() gives it two
//            seconds to leave, then terminates it; a channel dropped without close() kills it at once.
// Errors     network: the other end is gone · io: the descriptors cannot be used · not_found: no such program.
//            SIGPIPE is set to be ignored by the process if nothing else was chosen for it.
// Threads    One owner.
// Memory     None beyond the kernel's pipe buffers.
#pragma once

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "link/channel.h"

namespace peel::link {

// `peer_name` is for messages. The two may be one descriptor duplicated (a socket).
Result<std::unique_ptr<Channel>> stdio_channel(UniqueFd incoming, UniqueFd outgoing, std::string peer_name);

// Takes descriptors 0 and 1 over; what else uses them talks to /dev/null from then on.
Result<std::unique_ptr<Channel>> standard_streams_channel();

// argv[0] is searched on PATH; no shell is involved.
Result<std::unique_ptr<Channel>> spawn_channel(const std::vector<std::string>& argv);

}  // namespace peel::link
