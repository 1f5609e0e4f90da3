// link/tls_certificate.h - the self-signed Ed25519 certificate of an identity, and the key inside a peer's.
//
// Contract   A certificate carries nothing but its key: no name, no dates that could pass. It is made in memory.
// Errors     refused: a certificate of another kind. OpenSSL running out of memory aborts.
// Threads    Any.
// Source     RFC 8410
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

#include "link/tls.h"

namespace peel::link {

struct FreeKey {
  void operator()(EVP_PKEY* key) const { ::EVP_PKEY_free(key); }
};
struct FreeCertificate {
  void operator()(X509* certificate) const { ::X509_free(certificate); }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeKey>;
using CertificatePtr = std::unique_ptr<X509, FreeCertificate>;

KeyPtr private_key(const TlsIdentity& identity);
CertificatePtr self_signed(EVP_PKEY* key);

Result<Digest> ed25519_key_of(X509* certificate);

}  // namespace peel::link
