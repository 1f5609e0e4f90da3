// onion/layer_proof.h - does a received layer give the content it claims? Asked before the onion's lock is taken.
//
// A few kilobytes of pieces can stand for many gigabytes that repeat a few chunks. Hashing those is no work for a time
// in which other writers wait, and a false claim shall not get that far. Layers whose content is about as large as the
// chunks it is made of are left to LayerApplier: whoever sent them had to send that much.
//
// Errors     corrupt (another content than claimed), not_found, io, cancelled.
// Threads    Any; no lock is needed.
// Memory     One chunk, one page, 32 bytes a distinct chunk, and the memo.
#pragma once

#include "onion/layer_applier.h"

namespace peel::onion {

using PlainChunk = std::function<Result<Buffer>(const ChunkName&)>;

// The layer's content needs no parent, and is far larger than the distinct chunks that it is made of.
bool wants_proof(const RevisionLayer& layer);
// `memo` learns what the pages are, so that applying the layer need not hash them again.
Status prove_content(const RevisionLayer& layer, unsigned page_log2, const PlainChunk& read, PageMemo& memo,
                     const Cancel* cancel);

}  // namespace peel::onion
