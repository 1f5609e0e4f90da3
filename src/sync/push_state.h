// sync/push_state.h - what the serving end holds while a push goes on. Private to responder*.cpp.
#pragma once

#include "sync/responder.h"

namespace peel::sync {

struct Responder::Pushing {
  Pushing(std::unique_ptr<Onion> o, Importer i, bool is_new, TransferStats& stats)
      : onion(std::move(o)), importer(std::move(i)), sink(*onion, importer, stats), created(is_new) {}
  std::unique_ptr<Onion> onion;  // at a fixed address: importer and sink refer to it
  Importer importer;
  LayerSink sink;
  std::uint64_t memory = 0;  // taken from the service
  bool created;              // not published yet
  bool atomic = false;
  std::vector<proto::RefUpdate> updates;
  std::vector<proto::RefResult> results;  // same order
  std::vector<bool> open;                 // still to be decided
};

}  // namespace peel::sync
