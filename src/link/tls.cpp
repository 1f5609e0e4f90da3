#include "link/tls.h"

#include <openssl/err.h>

#include <algorithm>
#include <cstdlib>

#include "link/tls_certificate.h"
#include "link/tls_context.h"

namespace peel::link {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t record_bytes = 16384;
// A new record is made only below this; with one record more and OpenSSL's own buffer it stays under 64 KiB.
constexpr std::size_t outbound_room_below = 24 * 1024;
// Answers OpenSSL gives on its own (alerts, key updates) come on top; a peer that asks for more is cut off.
constexpr std::size_t outbound_max = 48 * 1024;
constexpr std::chrono::milliseconds goodbye_patience{500}, refusal_linger{250};
constexpr std::string_view binding_label = "EXPORTER-peel-session";
// AES-GCM is good for 2^24 full records under one key (RFC 8446, 5.5); a new key costs microseconds.
constexpr std::uint64_t records_per_key = 1u << 16;
constexpr std::byte accepted{1}, turned_away{0};

class TlsChannel final : public Channel {
public:
  TlsChannel(std::unique_ptr<Channel> lower, TlsRole role) : lower_(std::move(lower)), role_(role) {
    properties_ = lower_->properties();
  }

  // Closes the channel below on failure.
  Status establish(const TlsIdentity& identity, const PeerCheck& check, Instant deadline, const Cancel* cancel);

  Result<ReadOutcome> read_some(MutableBytes out) override;
  Result<std::size_t> write_some(Bytes data) override;
  Status wait(Interest interest, std::optional<Instant> deadline, const Cancel* cancel) override;
  void close() override;
  const Properties& properties() const override { return properties_; }

private:
  void start(const TlsIdentity& identity);
  Status handshake(Instant deadline, const Cancel* cancel);
  Status meet_peer(const PeerCheck& check);
  void turn_away();

  std::size_t outbound_size() const { return outbound_.size() - flushed_; }
  Status flush();
  void push();
  void flush_until(Instant deadline);
  std::size_t decrypt(MutableBytes out);
  void read_admission();
  Error write_failed(Error error);
  Error tls_error();

  static int bio_write(BIO* bio, const char* data, std::size_t size, std::size_t* taken);
  static int bio_read(BIO* bio, char* out, std::size_t size, std::size_t* got);
  static long bio_control(BIO* bio, int command, long, void*);
  static const BIO_METHOD* bio_method();
  static TlsChannel& self_of(BIO* bio) { return *static_cast<TlsChannel*>(::BIO_get_data(bio)); }

  std::unique_ptr<Channel> lower_;
  TlsRole role_;
  Properties properties_;
  ContextPtr context_;
  SslPtr ssl_;
  Buffer outbound_;          // encrypted, not yet taken by lower_
  std::size_t flushed_ = 0;  // of outbound_
  std::optional<Error> lower_error_;
  std::optional<Error> broken_;     // nothing works any more; sticky
  std::optional<Error> deaf_peer_;  // writing does not work any more; what came before can still be read
  std::uint64_t records_ = 0;       // written with the present key
  bool lower_ended_ = false;        // end of the stream below
  bool drained_ = false;            // OpenSSL holds nothing that could be read without more bytes from below
  bool ended_ = false;              // close_notify seen
  bool closed_here_ = false;
  bool awaits_admission_ = false;
};

// --- OpenSSL's view of the channel below ------------------------------------------------------------------

int TlsChannel::bio_write(BIO* bio, const char* data, std::size_t size, std::size_t* taken) {
  TlsChannel& self = self_of(bio);
  ::BIO_clear_retry_flags(bio);
  if (self.outbound_size() + size > outbound_max) {
    self.lower_error_ = fail(ErrorKind::network, "the peer provokes answers without reading them");
    return 0;
  }
  const Bytes bytes = as_bytes(std::string_view(data, size));
  self.outbound_.insert(self.outbound_.end(), bytes.begin(), bytes.end());
  *taken = size;
  return 1;
}

int TlsChannel::bio_read(BIO* bio, char* out, std::size_t size, std::size_t* got) {
  TlsChannel& self = self_of(bio);
  ::BIO_clear_retry_flags(bio);
  *got = 0;
  if (self.lower_ended_) return 0;
  auto outcome = self.lower_->read_some(std::as_writable_bytes(std::span(out, size)));
  if (!outcome) {
    self.lower_error_ = std::move(outcome.error());
    return 0;
  }
  if (outcome->bytes > 0) {
    *got = outcome->bytes;
    return 1;
  }
  if (outcome->closed) {
    self.lower_ended_ = true;
    return 0;
  }
  ::BIO_set_retry_read(bio);
  return 0;
}

long TlsChannel::bio_control(BIO* bio, int command, long, void*) {
  switch (command) {
    case BIO_CTRL_FLUSH:
      return 1;  // our own flush() decides when
    case BIO_CTRL_EOF:
      return self_of(bio).lower_ended_ ? 1 : 0;
    default:
      return 0;
  }
}

const BIO_METHOD* TlsChannel::bio_method() {
  static const BIO_METHOD* method = [] {
    BIO_METHOD* made = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "channel");
    if (made == nullptr) std::abort();
    ::BIO_meth_set_write_ex(made, bio_write);
    ::BIO_meth_set_read_ex(made, bio_read);
    ::BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  return method;
}

// --- Handshake --------------------------------------------------------------------------------------------

void TlsChannel::start(const TlsIdentity& identity) {
  context_ = make_tls_context(role_, identity);
  ssl_.reset(::SSL_new(context_.get()));
  BIO* bio = ::BIO_new(bio_method());
  if (!ssl_ || bio == nullptr) std::abort();
  ::BIO_set_data(bio, this);
  ::BIO_set_init(bio, 1);
  ::SSL_set_bio(ssl_.get(), bio, bio);
  if (role_ == TlsRole::client) {
    ::SSL_set_connect_state(ssl_.get());
  } else {
    ::SSL_set_accept_state(ssl_.get());
  }
}

// Returns when OpenSSL is content. What it said last may still be in outbound_: a client must not send its
// certificate to a server it has not looked at.
Status TlsChannel::handshake(Instant deadline, const Cancel* cancel) {
  while (true) {
    ::ERR_clear_error();
    const int done = ::SSL_do_handshake(ssl_.get());
    if (done == 1) return {};
    if (const int code = ::SSL_get_error(ssl_.get(), done); code != SSL_ERROR_WANT_READ) return tls_error();
    PEEL_CHECK(flush(), "");
    PEEL_CHECK(lower_->wait({.read = true, .write = outbound_size() > 0}, deadline, cancel), "");
  }
}

Status TlsChannel::meet_peer(const PeerCheck& check) {
  if (!agreed_on_peel(ssl_.get())) return fail(ErrorKind::refused, "the peer speaks TLS, but not peel/1");
  PEEL_TRY(const auto key, ed25519_key_of(::SSL_get0_peer_certificate(ssl_.get())), "");
  Digest binding;
  if (::SSL_export_keying_material(ssl_.get(), reinterpret_cast<unsigned char*>(binding.bytes.data()),
                                   binding.bytes.size(), binding_label.data(), binding_label.size(), nullptr, 0,
                                   0) != 1)
    return tls_error();
  if (const Status verdict = check(key); !verdict) return fail(ErrorKind::refused, verdict.error().message());
  properties_.peer_key = key;
  properties_.binding = binding;
  properties_.encrypted = true;
  return {};
}

Status TlsChannel::establish(const TlsIdentity& identity, const PeerCheck& check, Instant deadline,
                             const Cancel* cancel) {
  start(identity);
  const std::string context = "TLS with " + properties_.peer_name;
  if (Status done = handshake(deadline, cancel); !done) {
    (void)flush();  // the alert that says why
    lower_->close();
    return std::move(done.error()).in(context);
  }
  if (Status met = meet_peer(check); !met) {
    turn_away();
    return std::move(met.error()).in(context);
  }
  if (role_ == TlsRole::client) {
    awaits_admission_ = true;
  } else {
    std::size_t taken = 0;
    ::SSL_write_ex(ssl_.get(), &accepted, 1, &taken);
  }
  // The server cannot go on before it has our last flight, and our caller may have nothing to say for a while. The
  // other way round nobody waits: one byte, read when the client reads.
  Status sent = flush();
  while (role_ == TlsRole::client && sent && outbound_size() > 0) {
    sent = lower_->wait({.read = false, .write = true}, deadline, cancel);
    if (sent) sent = flush();
  }
  if (!sent) {
    lower_->close();
    return std::move(sent.error()).in(context);
  }
  return {};
}

void TlsChannel::turn_away() {
  closed_here_ = true;
  if (role_ == TlsRole::server) {
    std::size_t taken = 0;
    ::ERR_clear_error();
    ::SSL_write_ex(ssl_.get(), &turned_away, 1, &taken);
    ::SSL_shutdown(ssl_.get());
    const Instant until = steady_clock::now() + refusal_linger;
    flush_until(until);
    // The client may have sent its first request already. Closing on unread bytes would reset the connection, and
    // the client would never learn why.
    std::array<std::byte, 4096> sink;
    for (std::size_t seen = 0; seen < (1u << 20);) {
      const auto got = lower_->read_some(sink);
      if (!got || got->closed) break;
      seen += got->bytes;
      if (got->bytes == 0 && !lower_->wait({.read = true, .write = false}, until, nullptr)) break;
    }
  }
  // A client just leaves: its certificate is still in outbound_ and stays there.
  lower_->close();
}

// --- Traffic ----------------------------------------------------------------------------------------------

// A server that turned us away hangs up while we may still be writing: its reason is waiting to be read.
Error TlsChannel::write_failed(Error error) {
  if (!deaf_peer_) deaf_peer_ = std::move(error);
  if (awaits_admission_ && !broken_) read_admission();
  return broken_ ? *broken_ : *deaf_peer_;
}

// What the last failed call of OpenSSL means.
Error TlsChannel::tls_error() {
  if (lower_error_) {
    ::ERR_clear_error();
    return *lower_error_;
  }
  if (lower_ended_) {
    ::ERR_clear_error();
    return fail(ErrorKind::network, "the connection was cut: it ended without a goodbye");
  }
  return take_tls_error("the connection failed");
}

Status TlsChannel::flush() {
  while (outbound_size() > 0) {
    auto taken = lower_->write_some(Bytes(outbound_).subspan(flushed_));
    if (!taken) return std::move(taken.error());
    if (*taken == 0) break;
    flushed_ += *taken;
  }
  if (flushed_ == outbound_.size()) {
    outbound_.clear();
    flushed_ = 0;
  } else if (flushed_ > record_bytes) {
    outbound_.erase(outbound_.begin(), outbound_.begin() + static_cast<std::ptrdiff_t>(flushed_));
    flushed_ = 0;
  }
  return {};
}

// flush(), with a failure left to be said by the next write.
void TlsChannel::push() {
  if (deaf_peer_) return;
  if (Status sent = flush(); !sent) (void)write_failed(std::move(sent.error()));
}

void TlsChannel::flush_until(Instant deadline) {
  while (flush() && outbound_size() > 0) {
    if (!lower_->wait({.read = false, .write = true}, deadline, nullptr)) return;
  }
}

// Plain bytes that are there now. Sets drained_, ended_ or broken_ when it returns less than asked for.
std::size_t TlsChannel::decrypt(MutableBytes out) {
  std::size_t total = 0;
  drained_ = false;
  while (total < out.size()) {
    std::size_t got = 0;
    ::ERR_clear_error();
    const int done = ::SSL_read_ex(ssl_.get(), out.data() + total, out.size() - total, &got);
    if (done == 1) {
      total += got;
      continue;
    }
    switch (::SSL_get_error(ssl_.get(), done)) {
      case SSL_ERROR_WANT_READ:
        drained_ = true;
        break;
      case SSL_ERROR_ZERO_RETURN:
        ended_ = true;
        break;
      default:
        broken_ = tls_error();
        break;
    }
    break;
  }
  return total;
}

void TlsChannel::read_admission() {
  std::byte verdict{};
  if (decrypt({&verdict, 1}) == 1) {
    awaits_admission_ = false;
    if (verdict == turned_away) {
      broken_ = fail(ErrorKind::refused, properties_.peer_name +
                                             " does not trust this machine's key: the owner there "
                                             "can run 'peel trust' with the line 'peel id' prints here");
    } else if (verdict != accepted) {
      broken_ = fail(ErrorKind::network, properties_.peer_name + " answers out of protocol");
    }
  } else if (ended_) {
    broken_ = fail(ErrorKind::network, properties_.peer_name + " closed the connection before answering");
  }
}

Result<ReadOutcome> TlsChannel::read_some(MutableBytes out) {
  if (closed_here_) return fail(ErrorKind::network, "this connection was closed here");
  push();
  if (awaits_admission_ && !broken_) read_admission();
  if (broken_) return *broken_;
  if (awaits_admission_ || out.empty()) return ReadOutcome{};
  if (ended_) return ReadOutcome{0, true};
  const std::size_t got = decrypt(out);
  if (got > 0) return ReadOutcome{got, false};
  if (broken_) return *broken_;
  return ReadOutcome{0, ended_};
}

Result<std::size_t> TlsChannel::write_some(Bytes data) {
  if (closed_here_) return fail(ErrorKind::network, "this connection was closed here");
  if (broken_) return *broken_;
  if (deaf_peer_) return *deaf_peer_;
  std::size_t total = 0;
  while (total < data.size() && outbound_size() < outbound_room_below) {
    const Bytes piece = data.subspan(total, std::min(record_bytes, data.size() - total));
    std::size_t taken = 0;
    ::ERR_clear_error();
    if (++records_ % records_per_key == 0) ::SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
    if (::SSL_write_ex(ssl_.get(), piece.data(), piece.size(), &taken) != 1) {
      broken_ = tls_error();
      return *broken_;
    }
    total += taken;
    if (Status sent = flush(); !sent) return write_failed(std::move(sent.error()));
  }
  if (total == 0) {
    if (Status sent = flush(); !sent) return write_failed(std::move(sent.error()));
  }
  return total;
}

Status TlsChannel::wait(Interest interest, std::optional<Instant> deadline, const Cancel* cancel) {
  while (true) {
    if (cancel != nullptr) PEEL_CHECK(cancel->check(), "");
    if (broken_ || closed_here_) return {};  // the next read or write says what is wrong
    push();
    if (interest.read && (!drained_ || ended_)) return {};
    if (interest.write && (deaf_peer_ || outbound_size() < outbound_room_below)) return {};
    const bool unsent = !deaf_peer_ && outbound_size() > 0;
    PEEL_CHECK(lower_->wait({.read = interest.read, .write = unsent}, deadline, cancel), "");
    // Which of the two woke us is not said. Reading is cheap to try; each round with something to send sends some.
    if (interest.read) return {};
  }
}

void TlsChannel::close() {
  if (closed_here_) return;
  closed_here_ = true;
  if (!broken_ && !deaf_peer_) {
    ::ERR_clear_error();
    ::SSL_shutdown(ssl_.get());
    flush_until(steady_clock::now() + goodbye_patience);
  } else {
    (void)flush();  // an alert that says why
  }
  lower_->close();
}

Result<std::unique_ptr<Channel>> establish_over(std::unique_ptr<Channel> lower, TlsRole role,
                                                const TlsIdentity& identity, const PeerCheck& check, Instant deadline,
                                                const Cancel* cancel) {
  auto channel = std::make_unique<TlsChannel>(std::move(lower), role);
  PEEL_CHECK(channel->establish(identity, check, deadline, cancel), "");
  return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace

Result<std::unique_ptr<Channel>> tls_connect(std::unique_ptr<Channel> lower, const TlsIdentity& identity,
                                             PeerCheck check, Instant deadline, const Cancel* cancel) {
  return establish_over(std::move(lower), TlsRole::client, identity, check, deadline, cancel);
}

Result<std::unique_ptr<Channel>> tls_accept(std::unique_ptr<Channel> lower, const TlsIdentity& identity,
                                            PeerCheck check, Instant deadline, const Cancel* cancel) {
  return establish_over(std::move(lower), TlsRole::server, identity, check, deadline, cancel);
}

}  // namespace peel::link
