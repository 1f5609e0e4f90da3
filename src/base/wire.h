// base/wire.h - bounds-checked little-endian cursors. The only file that shifts bytes by hand.
//
// Errors     WireReader fails with `truncated`; the caller decides whether that means "wait" or "damage".
// Memory     The reader borrows its bytes; the writer owns its buffer.
#pragma once

#include <array>
#include <concepts>
#include <cstring>
#include <string>

#include "peel/error.h"
#include "peel/types.h"

namespace peel {

// Reads from the front of `bytes`, which must outlive the reader.
class WireReader {
 public:
  explicit WireReader(Bytes bytes) : rest_(bytes) {}

  template <std::unsigned_integral T>
  Result<T> integer() {
    if (rest_.size() < sizeof(T)) return fail(ErrorKind::truncated, "integer");
    const T value = load<T>(rest_.data());
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }
  // Signed 64-bit, two's complement.
  Result<std::int64_t> signed64() {
    PEEL_TRY(const auto v, integer<std::uint64_t>(), "");
    return static_cast<std::int64_t>(v);
  }
  template <std::size_t N>
  Result<std::array<std::byte, N>> array() {
    if (rest_.size() < N) return fail(ErrorKind::truncated, "array");
    std::array<std::byte, N> out;
    std::memcpy(out.data(), rest_.data(), N);
    rest_ = rest_.subspan(N);
    return out;
  }
  Result<Digest> digest() {
    PEEL_TRY(const auto a, array<32>(), "digest");
    return Digest{a};
  }
  // A view of the next n bytes.
  Result<Bytes> bytes(std::size_t n) {
    if (rest_.size() < n) return fail(ErrorKind::truncated, "bytes");
    const Bytes out = rest_.first(n);
    rest_ = rest_.subspan(n);
    return out;
  }
  // u16 length, then that many bytes.
  Result<std::string> string16() {
    PEEL_TRY(const auto n, integer<std::uint16_t>(), "string length");
    PEEL_TRY(const auto b, bytes(n), "string");
    return std::string(reinterpret_cast<const char*>(b.data()), b.size());
  }
  Bytes rest() const { return rest_; }
  bool empty() const { return rest_.empty(); }

  template <std::unsigned_integral T>
  static T load(const std::byte* p) {
    T value = 0;  // shifts, not a cast: no alignment or host order is assumed
    for (std::size_t i = 0; i < sizeof(T); ++i)
      value = static_cast<T>(value | static_cast<T>(std::to_integer<T>(p[i]) << (8 * i)));
    return value;
  }

 private:
  Bytes rest_;
};

class WireWriter {
 public:
  WireWriter() = default;
  // Appends to an existing buffer, so that a hot path can reuse one.
  explicit WireWriter(Buffer&& reuse) : out_(std::move(reuse)) {}

  template <std::unsigned_integral T>
  WireWriter& integer(T v) {
    std::array<std::byte, sizeof(T)> raw;
    for (std::size_t i = 0; i < sizeof(T); ++i) raw[i] = static_cast<std::byte>(v >> (8 * i));
    out_.insert(out_.end(), raw.begin(), raw.end());
    return *this;
  }
  WireWriter& signed64(std::int64_t v) { return integer(static_cast<std::uint64_t>(v)); }
  WireWriter& bytes(Bytes b) {
    out_.insert(out_.end(), b.begin(), b.end());
    return *this;
  }
  WireWriter& digest(const Digest& d) { return bytes(d.bytes); }
  // The caller keeps strings within 65,535 bytes.
  WireWriter& string16(std::string_view s) {
    assert(s.size() <= 0xffff);
    return integer(static_cast<std::uint16_t>(s.size())).bytes(as_bytes(s));
  }
  std::size_t size() const { return out_.size(); }
  Bytes view() const { return out_; }
  Buffer take() && { return std::move(out_); }

  template <std::unsigned_integral T>
  static void store(std::byte* p, T v) {
    for (std::size_t i = 0; i < sizeof(T); ++i) p[i] = static_cast<std::byte>(v >> (8 * i));
  }

 private:
  Buffer out_;
};

}  // namespace peel
