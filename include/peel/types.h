// peel/types.h - the few value types every public header shares.
//
// Threads    Value types.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace peel {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;
using Buffer = std::vector<std::byte>;

inline Bytes as_bytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

// 32 bytes of BLAKE3. What was hashed, and in which domain, is said by the name of the variable.
struct Digest {
  std::array<std::byte, 32> bytes{};

  auto operator<=>(const Digest&) const = default;
  bool is_zero() const { return *this == Digest{}; }
};

// The id of a revision: BLAKE3 over parents, metadata and content (docs/FORMAT.md, Revision ids).
using RevisionId = Digest;

// Digests are uniformly distributed, so their first word is a hash already. Not for digests an
// attacker may choose to collide: those tables must be keyed.
struct DigestHash {
  std::size_t operator()(const Digest& d) const {
    std::uint64_t word;
    std::memcpy(&word, d.bytes.data(), sizeof word);
    return static_cast<std::size_t>(word);
  }
};

}  // namespace peel
