// trust/fingerprint.h - the printable form of a public key, and the base32 that fingerprints and invites share.
//
// Contract   "peel1-" and 56 characters: base32 of the 32-byte key and a 24-bit checksum, so that a typing error is
//            found. The alphabet is abcdefghijkmnpqrstuvwxyz23456789: no l, o, 0, 1. Reading ignores case and
//            blanks around it.
// Errors     usage, saying what is wrong.
// Threads    Free functions.
#pragma once

#include <string>
#include <string_view>

#include "peel/error.h"
#include "peel/types.h"

namespace peel::trust {

// A raw Ed25519 public key.
using PublicKey = Digest;

std::string fingerprint(const PublicKey& key);
Result<PublicKey> parse_fingerprint(std::string_view text);

std::string to_base32(Bytes bytes);
// Bits left over must be zero, so that one value has one text.
Result<Buffer> from_base32(std::string_view text);

}  // namespace peel::trust
