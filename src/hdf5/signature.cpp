#include "hdf5/signature.h"

namespace peel::hdf5 {

bool is_signature(Bytes first_bytes) {
  static constexpr unsigned char expected[signature_size] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  return first_bytes.size() >= signature_size && std::memcmp(first_bytes.data(), expected, signature_size) == 0;
}

Result<std::optional<std::uint64_t>> find_signature(const Source& source) {
  const std::uint64_t size = source.size();
  std::uint64_t at = 0;
  while (at < size && size - at >= signature_size) {
    std::array<std::byte, signature_size> bytes;
    PEEL_TRY(const std::size_t n, source.read_at(at, bytes), "");
    if (is_signature(Bytes(bytes).first(n))) return std::optional(at);
    if (at > size / 2) break;  // doubling would only overflow
    at = at == 0 ? 512 : at * 2;
  }
  return std::optional<std::uint64_t>();
}

}  // namespace peel::hdf5
