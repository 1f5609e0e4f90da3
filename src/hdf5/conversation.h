// hdf5/conversation.h - asks a helper one question and serves its reads until it has answered.
//
// Contract   The helper is believed in nothing: frames, ranges and lengths are checked, the time is kept here,
//            and the helper is dead when ask() returns. What the answer says is checked by whoever decodes it.
// Errors     corrupt: it died or broke the protocol · timeout · cancelled · whatever a source returns ·
//            those of HelperProcess.
// Threads    Sources are read from the calling thread.
// Memory     read_size_max for transfer, answer_size_max for the answer.
// Source     hdf5/protocol.h
#pragma once

#include <chrono>
#include <span>

#include "base/cancel.h"
#include "hdf5/protocol.h"

namespace peel::hdf5 {

struct Patience {
  std::chrono::milliseconds time_max{0};
  const Cancel* cancel = nullptr;
};

// `sources` in the order of request.sizes, which ask() fills in.
Result<Buffer> ask(Request request, std::span<const Source* const> sources, const Patience& patience);

}  // namespace peel::hdf5
