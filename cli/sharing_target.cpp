// cli/sharing_target.cpp - see sharing_target.h.
#include "cli/sharing_target.h"

#include <algorithm>
#include <filesystem>

#include "base/hex.h"
#include "cli/human.h"
#include "sync/remotes.h"

namespace peel::cli {

namespace {

bool is_url(const std::string& text) { return text.find_first_of(":/") != std::string::npos; }

}  // namespace

sync::ConnectOptions connect_options(const Context& context, Progress& progress) {
  sync::ConnectOptions options;
  options.insecure = context.arguments.has("insecure");
  options.accept_rollback = context.arguments.has("accept-rollback");
  options.cancel = &context.cancel;
  options.progress = [&progress](const sync::TransferStats& stats) {
    progress.update(stats.bytes_sent + stats.bytes_received, 0, counted(stats.chunks, "chunk", "chunks"));
  };
  return options;
}

Result<sync::Url> parse_url(const std::string& text) {
  std::error_code ignored;
  const bool plain_name = text.find_first_of(":/") == std::string::npos && std::filesystem::exists(text, ignored);
  return sync::Url::parse(plain_name ? "./" + text : text);
}

Result<Target> target_of(const Context& context, const Onion& onion) {
  const std::string text = context.arguments.operand_or(1, "");
  if (!is_url(text)) {
    PEEL_TRY(const sync::Remote remote, sync::find_remote(onion, text), "");
    PEEL_TRY(sync::Url url, sync::Url::parse(remote.url), "remote " + shown(remote.name));
    return Target{remote.name, std::move(url)};
  }
  PEEL_TRY(sync::Url url, parse_url(text), "");
  const std::vector<sync::Remote> known = sync::remotes(onion);
  for (const sync::Remote& remote : known)
    if (remote.url == url.text()) return Target{remote.name, std::move(url)};
  if (known.empty()) return Target{"origin", std::move(url), false};
  std::string name = !url.peer.empty() ? url.peer : !url.host.empty() ? url.host : "file";
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ':' || c == '%'; }, '_');
  return Target{std::move(name), std::move(url)};
}

Status remember(Context& context, NamedOnion& named, const Target& target) {
  if (target.remembered) return {};
  PEEL_CHECK(sync::set_remote(named.onion, target.remote, target.url), shown(named.paths));
  context.messages.note(shown(named.paths) + ": " + shown(target.url.text()) + " is now the remote " + target.remote);
  return {};
}

std::string transfer_text(const sync::TransferStats& stats, const char* verb) {
  return counted(stats.revisions, "revision", "revisions") + " and " + counted(stats.chunks, "chunk", "chunks") + " " +
         verb + ", " + size_text(stats.bytes_sent + stats.bytes_received) + " on the wire";
}

void write_transfer(JsonWriter& json, const sync::TransferStats& stats) {
  json.key("transfer")
      .begin_object()
      .integer("revisions", stats.revisions)
      .integer("chunks", stats.chunks)
      .integer("chunks_reused", stats.chunks_reused)
      .integer("bytes_sent", stats.bytes_sent)
      .integer("bytes_received", stats.bytes_received)
      .end_object();
}

void write_id(JsonWriter& json, const char* name, const RevisionId& id) {
  if (!id.is_zero()) json.string(name, to_hex(id));
}

}  // namespace peel::cli
