#include "link/tls_certificate.h"

#include <openssl/asn1.h>

#include <cstdlib>

namespace peel::link {
namespace {

// Only lack of memory or a broken OpenSSL gets here; neither can be handled further up.
void must(bool fine) {
  if (!fine) std::abort();
}

const unsigned char* raw(const std::byte* p) { return reinterpret_cast<const unsigned char*>(p); }
unsigned char* raw(std::byte* p) { return reinterpret_cast<unsigned char*>(p); }

}  // namespace

KeyPtr private_key(const TlsIdentity& identity) {
  KeyPtr key(::EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, raw(identity.private_seed.data()),
                                            identity.private_seed.size()));
  must(key != nullptr);
  return key;
}

CertificatePtr self_signed(EVP_PKEY* key) {
  CertificatePtr certificate(::X509_new());
  must(certificate != nullptr);
  X509* c = certificate.get();
  must(::X509_set_version(c, X509_VERSION_3) == 1);
  must(::ASN1_INTEGER_set(::X509_get_serialNumber(c), 1) == 1);
  must(::ASN1_TIME_set_string(::X509_getm_notBefore(c), "19700101000000Z") == 1);
  must(::ASN1_TIME_set_string(::X509_getm_notAfter(c), "99991231235959Z") == 1);  // RFC 5280: no well-defined end
  X509_NAME* name = ::X509_get_subject_name(c);
  const std::string common_name = "peel";
  must(::X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                    reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1, 0) == 1);
  must(::X509_set_issuer_name(c, name) == 1);
  must(::X509_set_pubkey(c, key) == 1);
  must(::X509_sign(c, key, nullptr) > 0);
  return certificate;
}

Result<Digest> ed25519_key_of(X509* certificate) {
  EVP_PKEY* key = certificate != nullptr ? ::X509_get0_pubkey(certificate) : nullptr;
  if (key == nullptr || ::EVP_PKEY_get_id(key) != EVP_PKEY_ED25519)
    return fail(ErrorKind::refused, "the peer has no Ed25519 certificate: it is not a peel peer");
  Digest out;
  std::size_t length = out.bytes.size();
  if (::EVP_PKEY_get_raw_public_key(key, raw(out.bytes.data()), &length) != 1 || length != out.bytes.size())
    return fail(ErrorKind::refused, "the peer's Ed25519 key is malformed");
  return out;
}

Digest tls_public_key(const TlsIdentity& identity) {
  const KeyPtr key = private_key(identity);
  Digest out;
  std::size_t length = out.bytes.size();
  must(::EVP_PKEY_get_raw_public_key(key.get(), raw(out.bytes.data()), &length) == 1);
  return out;
}

}  // namespace peel::link
