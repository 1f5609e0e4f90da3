// Property: no bytes crash the readers of the trust file, of remembered heads or of succession statements, and what
// they accept survives being written and read again.
#include <cstdlib>

#include "trust/identity.h"
#include "trust/remote_memory.h"
#include "trust/trust_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace peel::trust;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto file = decode_trust_file(text)) {
    const auto again = decode_trust_file(encode(*file));
    if (!again || *again != *file) std::abort();
    for (const Peer& peer : file->peers) {
      if (!is_safe_name(peer.name)) std::abort();
      for (const Grant& grant : peer.grants)
        if (!is_safe_prefix(grant.prefix)) std::abort();
    }
  }
  if (const auto heads = decode_remote_heads("x", text)) {
    const auto again = decode_remote_heads("x", encode_remote_heads({}, "x", *heads));
    if (!again || *again != *heads) std::abort();
  }
  if (const auto statement = decode_succession(peel::as_bytes(text))) {
    const peel::Buffer encoded = encode(*statement);
    if (encoded.size() != size || std::memcmp(encoded.data(), data, size) != 0) std::abort();
  }
  return 0;
}
