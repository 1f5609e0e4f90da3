// onion/importer.h - revisions from another machine come in here, verified, all or nothing.
//
// Flow       begin -> add_chunk (any order, survives an interruption) -> add_revision (parents first) ->
//            finish(ref changes). Nothing is visible before finish returns; everything is durable after it.
//            Chunks wait in a staging file beside the onion (PATH.staging-KEY); a later import with the
//            same key finds them again, so no verified chunk travels twice.
// Errors     corrupt: bytes do not match their name, a layer does not give the claimed content digest, or
//            a revision id is not the hash of what it claims. conflict: a ref change was refused.
//            limit: the staging quota. cancelled: what is staged stays.
// Threads    One owner. The onion's lock is held in finish() alone.
// Memory     One chunk, about 64 bytes per staged chunk, and every layer given (64 bytes a piece) until finish().
#pragma once

#include "peel/onion.h"

namespace peel {

// A revision as it travels: what it is, and how its content differs from its first parent's
// (from nothing for a root, or when `whole`).
struct RevisionLayer {
  RevisionInfo info;         // number, first_parent and bytes_added are local and ignored
  bool whole = false;        // pieces cover everything
  std::vector<Piece> pieces; // ascending, not overlapping; what is not covered stays the first parent's
};

// The layer of `number` against its first parent; whole when the parent is not here or `whole` is asked.
Result<RevisionLayer> make_layer(const Onion& onion, std::uint64_t number, bool whole = false);

class Importer {
 public:
  struct Options {
    std::string staging_key;               // who: separates the staging of different peers; [A-Za-z0-9_-]
    std::uint64_t staging_quota = ~0ull;   // bytes
    const Cancel* cancel = nullptr;        // ends begin() and finish(); must outlive the importer
  };
  static Result<Importer> begin(Onion& onion, Options options);
  Importer(Importer&&) noexcept;
  ~Importer();  // keeps staged chunks for a later resume

  std::size_t staged_chunks() const;             // what a later resume would find
  bool has_chunk(const ChunkName& name) const;   // in the onion or staged
  Status add_chunk(const StoredChunk& chunk);    // verified against its name, then staged
  Status sync_staged();                          // staged chunks survive a crash after this
  Status add_revision(RevisionLayer layer);      // every chunk must be present, every parent known
  // Appends everything in one group with the ref changes; conflict leaves the staging in place.
  Status finish(std::span<const RefChange> changes);
  Status discard();                              // forgets and removes the staging

 private:
  struct Impl;
  explicit Importer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace peel
