// A TLS peer made with OpenSSL alone, that can be told to do what peel never does.
#pragma once

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <future>
#include <memory>
#include <string>

#include "base/unique_fd.h"
#include "link/stdio.h"
#include "link/tls.h"

namespace peel::link::test {

enum class KeyKind { ed25519, rsa, ec, ed448, none };

struct RawOptions {
  bool server = false;
  KeyKind key = KeyKind::ed25519;
  int max_version = TLS1_3_VERSION;
  std::string alpn = "peel/1";  // empty: not offered
};

class RawPeer {
public:
  explicit RawPeer(const RawOptions& options)
      : context_(::SSL_CTX_new(options.server ? ::TLS_server_method() : ::TLS_client_method())), options_(options) {
    SSL_CTX* c = context_.get();
    ::SSL_CTX_set_max_proto_version(c, options.max_version);
    ::SSL_CTX_set_verify(c, SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
    if (options.key != KeyKind::none) use_certificate();
    if (options.alpn.empty()) return;
    const std::string wire = static_cast<char>(options.alpn.size()) + options.alpn;
    if (options.server) {
      ::SSL_CTX_set_alpn_select_cb(c, select_any, this);
    } else {
      ::SSL_CTX_set_alpn_protos(c, reinterpret_cast<const unsigned char*>(wire.data()),
                                static_cast<unsigned>(wire.size()));
    }
  }

  // Our end of the connection; the raw one is this object's.
  std::unique_ptr<Channel> channel() {
    std::array<int, 2> fds{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) std::abort();
    fd_ = UniqueFd(fds[0]);
    const timeval patience{5, 0};  // no test may hang
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return std::move(stdio_channel(UniqueFd(::dup(fds[1])), UniqueFd(fds[1]), "raw")).value();
  }

  // Blocks. True when this side thinks that the handshake is done.
  bool handshake() {
    ssl_.reset(::SSL_new(context_.get()));
    ::SSL_set_fd(ssl_.get(), fd_.get());
    return (options_.server ? ::SSL_accept(ssl_.get()) : ::SSL_connect(ssl_.get())) == 1;
  }
  SSL* ssl() { return ssl_.get(); }
  void hang_up() { fd_.reset(); }

private:
  struct Free {
    void operator()(SSL_CTX* p) const { ::SSL_CTX_free(p); }
    void operator()(SSL* p) const { ::SSL_free(p); }
    void operator()(EVP_PKEY* p) const { ::EVP_PKEY_free(p); }
    void operator()(X509* p) const { ::X509_free(p); }
  };

  static int select_any(SSL*, const unsigned char** out, unsigned char* length, const unsigned char*, unsigned,
                        void* self) {
    const std::string& name = static_cast<RawPeer*>(self)->options_.alpn;
    *out = reinterpret_cast<const unsigned char*>(name.data());
    *length = static_cast<unsigned char>(name.size());
    return SSL_TLSEXT_ERR_OK;
  }

  static EVP_PKEY* make_key(KeyKind kind) {
    switch (kind) {
      case KeyKind::rsa:
        return EVP_RSA_gen(2048);
      case KeyKind::ec:
        return EVP_EC_gen("P-256");
      case KeyKind::ed448:
        return ::EVP_PKEY_Q_keygen(nullptr, nullptr, "ED448");
      default:
        return ::EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
    }
  }

  void use_certificate() {
    const std::unique_ptr<EVP_PKEY, Free> key(make_key(options_.key));
    const std::unique_ptr<X509, Free> certificate(::X509_new());
    ::X509_set_version(certificate.get(), X509_VERSION_3);
    ::ASN1_INTEGER_set(::X509_get_serialNumber(certificate.get()), 1);
    ::X509_gmtime_adj(::X509_getm_notBefore(certificate.get()), 0);
    ::X509_gmtime_adj(::X509_getm_notAfter(certificate.get()), 3600);
    ::X509_set_pubkey(certificate.get(), key.get());
    const bool edwards = options_.key == KeyKind::ed25519 || options_.key == KeyKind::ed448;
    ::X509_sign(certificate.get(), key.get(), edwards ? nullptr : ::EVP_sha256());
    ::SSL_CTX_use_certificate(context_.get(), certificate.get());
    ::SSL_CTX_use_PrivateKey(context_.get(), key.get());
  }

  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ssl_;
  UniqueFd fd_;
  RawOptions options_;
};

}  // namespace peel::link::test
