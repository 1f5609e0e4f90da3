// Property: no body crashes a decoder, and what decodes encodes to the same bytes.
#include <algorithm>
#include <cstdlib>

#include "proto/history_messages.h"

using namespace peel;
using namespace peel::proto;

namespace {
template <class Message>
void check(Bytes body) {
  const auto message = Message::decode(body);
  if (!message) return;
  WireWriter w;
  message.value().encode(w);
  if (!std::equal(w.view().begin(), w.view().end(), body.begin(), body.end())) std::abort();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Bytes body(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  switch (static_cast<MessageType>(data[0])) {
    case MessageType::hello:
      check<Hello>(body);
      break;
    case MessageType::abort:
      (void)Abort::decode(body).ok();
      break;  // unknown kinds all read as network
    case MessageType::ls:
      check<Ls>(body);
      break;
    case MessageType::ls_entry:
      check<LsEntry>(body);
      break;
    case MessageType::join:
      check<Join>(body);
      break;
    case MessageType::joined:
      check<Joined>(body);
      break;
    case MessageType::fetch:
      check<Fetch>(body);
      break;
    case MessageType::push:
      check<Push>(body);
      break;
    case MessageType::repair:
      check<Repair>(body);
      break;
    case MessageType::haves:
      check<Haves>(body);
      break;
    case MessageType::refs:
      check<Refs>(body);
      break;
    case MessageType::onion_state:
      check<OnionState>(body);
      break;
    case MessageType::updates:
      check<Updates>(body);
      break;
    case MessageType::results:
      check<Results>(body);
      break;
    case MessageType::layer:
      check<LayerHead>(body);
      break;
    case MessageType::pieces:
      check<Pieces>(body);
      break;
    case MessageType::credit:
      check<Credit>(body);
      break;
    case MessageType::want:
      check<Want>(body);
      break;
    case MessageType::chunk:
      check<Chunk>(body);
      break;
    case MessageType::absent:
      check<Absent>(body);
      break;
    default:
      break;
  }
  return 0;
}
