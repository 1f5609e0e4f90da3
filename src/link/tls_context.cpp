#include "link/tls_context.h"

#include <openssl/err.h>

#include <cstdlib>

#include "link/tls_certificate.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace peel::link {
namespace {

constexpr std::string_view alpn = "\x06peel/1";  // length, name: as the extension has it
constexpr long max_certificate_bytes = 16384;
constexpr std::size_t read_buffer_bytes = 40 * 1024;  // two full records a read

void must(bool fine) {
  if (!fine) std::abort();  // no memory, or an OpenSSL without what TLS 1.3 requires
}

const unsigned char* raw(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

// Replaces chain building: only the kind of key matters here. Whether this key is trusted is asked after the
// handshake, when the peer has proven that it is its own.
int accept_ed25519_only(X509_STORE_CTX* store, void*) {
  if (ed25519_key_of(::X509_STORE_CTX_get0_cert(store))) return 1;
  ::X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED);
  return 0;
}

int choose_alpn(SSL*, const unsigned char** out, unsigned char* out_length, const unsigned char* offered,
                unsigned offered_length, void*) {
  unsigned char* chosen = nullptr;
  if (::SSL_select_next_proto(&chosen, out_length, raw(alpn), static_cast<unsigned>(alpn.size()), offered,
                              offered_length) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

void set_ciphers(SSL_CTX* context) {
  const char* order = has_fast_aes() ? "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
                                     : "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384";
  must(::SSL_CTX_set_ciphersuites(context, order) == 1);
  // The server's order counts, except that a client which puts ChaCha20 first has no fast AES: then ChaCha20.
  ::SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
}

const char* refusal_of(int reason) {
  switch (reason) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
    case SSL_R_NO_CERTIFICATES_RETURNED:
    case SSL_R_WRONG_SIGNATURE_TYPE:
    case SSL_R_WRONG_CERTIFICATE_TYPE:
    case SSL_R_UNKNOWN_CERTIFICATE_TYPE:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS:
      return "the peer has no Ed25519 certificate: it is not a peel peer";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_WRONG_SSL_VERSION:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return "the peer does not speak TLS 1.3";
    case SSL_R_NO_APPLICATION_PROTOCOL:
    case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL:
      return "the peer speaks TLS, but not peel/1";
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return "the peer refused our Ed25519 certificate: it may not be a peel peer";
    default:
      return nullptr;
  }
}

}  // namespace

bool has_fast_aes() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("aes") != 0 && __builtin_cpu_supports("pclmul") != 0;
#elif defined(__aarch64__)
  return (::getauxval(AT_HWCAP) & (HWCAP_AES | HWCAP_PMULL)) == (HWCAP_AES | HWCAP_PMULL);
#else
  return false;
#endif
}

ContextPtr make_tls_context(TlsRole role, const TlsIdentity& identity) {
  ContextPtr context(::SSL_CTX_new(role == TlsRole::client ? ::TLS_client_method() : ::TLS_server_method()));
  SSL_CTX* c = context.get();
  must(c != nullptr);
  must(::SSL_CTX_set_min_proto_version(c, TLS1_3_VERSION) == 1);
  must(::SSL_CTX_set_max_proto_version(c, TLS1_3_VERSION) == 1);
  must(::SSL_CTX_set1_sigalgs_list(c, "ed25519") == 1);
  must(::SSL_CTX_set1_groups_list(c, "X25519:P-256") == 1);
  set_ciphers(c);

  const KeyPtr key = private_key(identity);
  const CertificatePtr certificate = self_signed(key.get());
  must(::SSL_CTX_use_certificate(c, certificate.get()) == 1);
  must(::SSL_CTX_use_PrivateKey(c, key.get()) == 1);
  ::SSL_CTX_set_verify(c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  ::SSL_CTX_set_cert_verify_callback(c, accept_ed25519_only, nullptr);
  ::SSL_CTX_set_max_cert_list(c, max_certificate_bytes);

  ::SSL_CTX_set_options(c, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  // The machine's openssl.cnf may set these; the first would turn a cut into an end, the second give up fresh keys.
  ::SSL_CTX_clear_options(c, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_ALLOW_NO_DHE_KEX);
  ::SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  must(::SSL_CTX_set_num_tickets(c, 0) == 1);
  must(::SSL_CTX_set_max_early_data(c, 0) == 1);

  // A short write must not oblige the caller to come back with the same bytes.
  ::SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  ::SSL_CTX_set_read_ahead(c, 1);
  ::SSL_CTX_set_default_read_buffer_len(c, read_buffer_bytes);

  if (role == TlsRole::client) {
    must(::SSL_CTX_set_alpn_protos(c, raw(alpn), static_cast<unsigned>(alpn.size())) == 0);  // 0 is success here
  } else {
    ::SSL_CTX_set_alpn_select_cb(c, choose_alpn, nullptr);
  }
  return context;
}

bool agreed_on_peel(const SSL* ssl) {
  const unsigned char* name = nullptr;
  unsigned length = 0;
  ::SSL_get0_alpn_selected(ssl, &name, &length);
  const std::string_view wanted = alpn.substr(1);
  return length == wanted.size() && std::memcmp(name, wanted.data(), length) == 0;
}

Error take_tls_error(const char* fallback) {
  const unsigned long code = ::ERR_get_error();
  ::ERR_clear_error();
  if (code == 0) return fail(ErrorKind::network, fallback);
  if (ERR_GET_LIB(code) == ERR_LIB_SSL) {
    const int reason = ERR_GET_REASON(code);
    if (const char* why = refusal_of(reason)) return fail(ErrorKind::refused, why);
    if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST || reason == SSL_R_BAD_PACKET)
      return fail(ErrorKind::unsupported, "the peer does not speak TLS");
  }
  const char* reason = ::ERR_reason_error_string(code);
  return fail(ErrorKind::network, std::string("TLS: ") + (reason != nullptr ? reason : fallback));
}

}  // namespace peel::link
