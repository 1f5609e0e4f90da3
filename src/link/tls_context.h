// link/tls_context.h - what OpenSSL is told once per connection: versions, ciphers, certificates; and what its
// errors mean to us.
//
// Threads    Any.
#pragma once

#include <openssl/ssl.h>

#include <memory>

#include "link/tls.h"

namespace peel::link {

struct FreeContext {
  void operator()(SSL_CTX* context) const { ::SSL_CTX_free(context); }
};
struct FreeSsl {
  void operator()(SSL* ssl) const { ::SSL_free(ssl); }
};
using ContextPtr = std::unique_ptr<SSL_CTX, FreeContext>;
using SslPtr = std::unique_ptr<SSL, FreeSsl>;

enum class TlsRole : std::uint8_t { client, server };

ContextPtr make_tls_context(TlsRole role, const TlsIdentity& identity);

// "peel/1", as agreed by both sides.
bool agreed_on_peel(const SSL* ssl);

// Empties the error queue of this thread; the first entry decides. `fallback` is said when the queue is empty.
Error take_tls_error(const char* fallback);

// True when the processor has instructions for AES and carry-less multiplication.
bool has_fast_aes();

}  // namespace peel::link
