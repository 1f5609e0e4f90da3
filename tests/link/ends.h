// Both ends of every kind of link, made the same way for every test.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "link/channel.h"
#include "link/tls.h"

namespace peel::link::test {

struct Ends {
  std::unique_ptr<Channel> a, b;
};

struct Link {
  std::string name;
  std::function<Ends()> make;
  std::size_t capacity;  // bytes a writer may get rid of with nobody reading, at most
  bool tells_vanishing;  // from an orderly end, when the other channel object just goes away
};

const std::vector<Link>& all_links();

Instant soon(int milliseconds);
TlsIdentity identity_of(unsigned char fill);

// Wraps both ends in TLS, accepting any key.
Ends with_tls(Ends plain);

// Connected TCP channels over loopback.
Ends tcp_ends();

// Writes all, waiting as needed; reads exactly n bytes. Test failures on error.
Status write_all(Channel& channel, Bytes data, int patience_ms = 5000);
Result<Buffer> read_exactly_n(Channel& channel, std::size_t n, int patience_ms = 5000);
// Takes `data` from one channel to the other, driving both from this thread.
Result<Buffer> carry(Channel& from, Bytes data, Channel& to, int patience_ms = 5000);
// Reads until the orderly end or an error.
Result<Buffer> read_to_end(Channel& channel, int patience_ms = 5000);

}  // namespace peel::link::test
