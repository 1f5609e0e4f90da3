// proto/session_send.h - the two templates both halves of HistorySession use. Private to proto/session*.cpp.
#pragma once

#include "proto/session.h"

namespace peel::proto {

template <class Message>
void HistorySession::send(const Message& message) {
  append_frame(output_, static_cast<std::uint8_t>(Message::type), [&](WireWriter& w) { message.encode(w); });
}

// A frame is whole, so a body that ends early is damage.
template <class Message>
bool HistorySession::take(Bytes body, Message& out) {
  auto message = Message::decode(body);
  if (message) {
    out = std::move(message).value();
    return true;
  }
  const ErrorKind kind = message.error().kind() == ErrorKind::truncated ? ErrorKind::corrupt : message.error().kind();
  fail_with(kind, "message " + std::to_string(static_cast<unsigned>(Message::type)) + ": " + message.error().message());
  return false;
}

}  // namespace peel::proto
