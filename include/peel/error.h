// peel/error.h - the one way peel reports an expected failure.
//
// Purpose    Result<T> holds a T or an Error; Status is Result<void>. An Error carries a kind that a
//            caller can branch on and a context chain that a person can read ("commit data.h5: read
//            at 4096: Input/output error").
// Errors     Bad input, I/O failure, a misbehaving peer: an Error is returned. A broken invariant in
//            our own code: assert. Nothing in the library throws on purpose.
// Threads    Value types without shared state.
// Source     docs/adr/0001-errors-are-values.md
#pragma once

#include <cassert>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace peel {

// What a caller may do about it. Where it came from belongs in the context, not here.
enum class ErrorKind : std::uint8_t {
  usage,        // the request itself makes no sense
  not_found,    // retrying cannot help: the object does not exist here
  exists,       // the name is taken
  truncated,    // more bytes are needed: normal while streaming, damage at the end of a file
  corrupt,      // checksum or structure is wrong: never retried, never repaired silently
  unsupported,  // valid, but from a newer format or an unoffered capability
  io,           // the operating system said no; os_error() holds errno
  network,      // a peer or the path to it failed; retrying later may help
  timeout,      // a deadline passed; safe to retry
  limit,        // a stated bound would be exceeded
  refused,      // stopped for safety: unsaved changes, untrusted peer, unsafe name, open file
  conflict,     // two changes collide, or another writer came first
  partial,      // done, except for the parts the message names
  cancelled,    // the user or the caller stopped it
};

// The process exit code of an error kind, a part of the command-line contract.
constexpr int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::conflict: return 1;
    case ErrorKind::usage: return 2;
    case ErrorKind::not_found: return 3;
    case ErrorKind::truncated:
    case ErrorKind::corrupt: return 4;
    case ErrorKind::exists: return 2;
    case ErrorKind::unsupported:
    case ErrorKind::limit:
    case ErrorKind::io: return 5;
    case ErrorKind::network:
    case ErrorKind::timeout: return 6;
    case ErrorKind::refused: return 7;
    case ErrorKind::partial: return 8;
    case ErrorKind::cancelled: return 130;
  }
  return 5;
}

class [[nodiscard]] Error {
 public:
  Error(ErrorKind kind, std::string what) : kind_(kind), what_(std::move(what)) {}

  // `saved_errno` is passed in, not read here: by the time a message is built it may have changed.
  static Error from_errno(int saved_errno, std::string_view call) {
    Error error(ErrorKind::io, std::string(call) + ": " + std::strerror(saved_errno));
    error.os_error_ = saved_errno;
    return error;
  }

  // Adds an outer frame: "open data.h5.onion: superblock: checksum mismatch".
  Error in(std::string_view context) && {
    if (!context.empty()) what_ = std::string(context) + ": " + what_;
    return std::move(*this);
  }

  // What is left and what to do next, where that is no part of what went wrong.
  Error advise(std::string text) && {
    advice_ = std::move(text);
    return std::move(*this);
  }

  ErrorKind kind() const { return kind_; }
  int os_error() const { return os_error_; }
  const std::string& message() const { return what_; }
  const std::string& advice() const { return advice_; }

 private:
  ErrorKind kind_;
  int os_error_ = 0;
  std::string what_, advice_;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  // Asking a failure for its value, or a success for its error, is a bug in the caller.
  T& value() & { assert(ok()); return *std::get_if<0>(&state_); }
  const T& value() const& { assert(ok()); return *std::get_if<0>(&state_); }
  T&& value() && { assert(ok()); return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() { assert(!ok()); return *std::get_if<1>(&state_); }
  const Error& error() const { assert(!ok()); return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  Error& error() { assert(!ok()); return *std::get_if<1>(&state_); }
  const Error& error() const { assert(!ok()); return *std::get_if<1>(&state_); }

 private:
  std::variant<std::monostate, Error> state_;
};

using Status = Result<void>;

inline Error fail(ErrorKind kind, std::string what) { return Error(kind, std::move(what)); }

}  // namespace peel

// PEEL_TRY(auto page, store.read(id), "read page"): binds the value, or returns the error with one
// more frame of context. PEEL_CHECK(status, "sync") does the same for a Status. Statements, not
// expressions, so they need no compiler extension.
#define PEEL_CAT2(a, b) a##b
#define PEEL_CAT(a, b) PEEL_CAT2(a, b)
#define PEEL_TRY_IMPL(tmp, decl, expr, context)            \
  auto tmp = (expr);                                       \
  if (!tmp) return std::move(tmp.error()).in(context);     \
  decl = std::move(tmp).value()
#define PEEL_TRY(decl, expr, context) PEEL_TRY_IMPL(PEEL_CAT(peel_try_, __COUNTER__), decl, expr, context)
#define PEEL_CHECK(expr, context)                                                       \
  do {                                                                                  \
    if (auto peel_status = (expr); !peel_status) return std::move(peel_status.error()).in(context); \
  } while (false)
