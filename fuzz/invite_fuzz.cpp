// Property: no text crashes the parser of invites, and whatever it accepts has one text and keeps its meaning.
#include <cstdlib>

#include "trust/invites.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace peel::trust;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto check = [](std::string_view token) {
    const auto invite = parse_invite(token);
    if (!invite) return;
    const auto again = parse_invite(format_invite(*invite));
    if (!again || *again != *invite) std::abort();
  };
  check(text);
  // The checksum keeps a fuzzer out: give it content that passes, too.
  Invite invite;
  if (size > 64) {
    std::memcpy(invite.server.bytes.data(), data, 32);
    std::memcpy(invite.secret.data(), data + 32, invite.secret.size());
    invite.grants.push_back({static_cast<Level>(data[48] % 6), std::string(text.substr(64, 255))});
    invite.addresses.push_back(std::string(text.substr(49, data[49] % 16)));
    check(format_invite(invite));
  }
  (void)parse_fingerprint(text);
  return 0;
}
