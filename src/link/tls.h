// link/tls.h - an encrypted channel, both ends pinned, over any other channel.
//
// Contract   TLS 1.3 and nothing older, mutual authentication with self-signed Ed25519 certificates made in memory
//            from the identity key. The chain means nothing: the peer's raw public key goes to `check`, once the
//            handshake has proven that the peer holds its private half and before any byte of the caller travels
//            either way. A client decides before its own certificate leaves the machine. No tickets, no resumption,
//            no early data, ALPN "peel/1".
//            The server's first byte inside TLS says whether it accepts the client's key (1) or not (0); it is
//            consumed here and costs no round trip: a client that was turned away learns it from its first read.
//            Bytes taken by write_some but not yet by the channel below leave during later calls, wait() included.
//            The stream has an orderly end only by close_notify; anything else is a network error, so truncation is
//            never taken for an end.
// Errors     refused: `check` said no (its message is kept), the peer turned our key away, or it offers no
//            Ed25519 certificate, no TLS 1.3, no "peel/1" · network: damage, garbage, lost connection · timeout,
//            cancelled. After an error during the handshake the channel below is closed.
// Threads    One owner. Identities and checks are only used during the call.
// Memory     At most 64 KiB each way, OpenSSL's record buffers included; plus the channel below.
// Source     RFC 8446 (TLS 1.3), RFC 8410 (Ed25519 in X.509), RFC 5705 (exporters)
#pragma once

#include <functional>

#include "link/channel.h"

namespace peel::link {

struct TlsIdentity {
  std::array<std::byte, 32> private_seed{};
};

// Gets the peer's proven raw Ed25519 public key. A failure closes the channel; its kind becomes `refused`.
using PeerCheck = std::function<Status(const Digest& peer_public_key)>;

// properties().peer_key holds the verified key, properties().binding the exporter value of the connection.
Result<std::unique_ptr<Channel>> tls_connect(std::unique_ptr<Channel> lower, const TlsIdentity& identity,
                                             PeerCheck check, Instant deadline, const Cancel* cancel);
Result<std::unique_ptr<Channel>> tls_accept(std::unique_ptr<Channel> lower, const TlsIdentity& identity,
                                            PeerCheck check, Instant deadline, const Cancel* cancel);

// The raw Ed25519 public key that belongs to an identity.
Digest tls_public_key(const TlsIdentity& identity);

}  // namespace peel::link
