// cli/sharing_target.cpp - see sharing_target.h.
#include "cli/sharing_target.h"

#include <algorithm>
#include <filesystem>

#include "base/hex.h"
#include "cli/human.h"
#include "sync/remotes.h"

namespace peel::cli {

namespace {

// A path as it is remembered: the same from every directory.
std::string absolute_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  if (error) return path;
  // ".." behind a symbolic link leads elsewhere than the text says.
  const bool climbs = std::find(whole.begin(), whole.end(), "..") != whole.end();
  const std::filesystem::path tidy =
      climbs ? std::filesystem::weakly_canonical(whole, error) : whole.lexically_normal();
  return error ? whole.string() : tidy.string();
}

bool is_word(const std::string& text) { return text.find_first_of(":/") == std::string::npos; }

bool is_here(const std::string& text) {
  std::error_code ignored;
  return std::filesystem::exists(text, ignored) || std::filesystem::exists(text + ".onion", ignored);
}

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
  // One word that is not here is more likely a peer or a remote misspelt than a file to be made.
  if (!text.empty() && is_word(text) && !is_here(text))
    return fail(ErrorKind::not_found, "there is no file or history " + shown(text) + " here; a peer is written " +
                                          shown(text) + ":, a path that shall be made ./" + shown(text));
  const bool bare = !text.empty() && text.find(':') == std::string::npos && text[0] != '/';
  PEEL_TRY(sync::Url url, sync::Url::parse(bare ? "./" + text : text), "");
  if (url.kind == sync::Url::Kind::file) url.path = absolute_path(url.path);
  return url;
}

Result<Target> target_of(const Context& context, const Onion& onion) {
  const std::string text = context.arguments.operand_or(1, "");
  const std::vector<sync::Remote> known = sync::remotes(onion);
  const bool a_name = std::any_of(known.begin(), known.end(), [&](const auto& remote) { return remote.name == text; });
  if (a_name || (is_word(text) && !is_here(text)) || text.empty()) {
    PEEL_TRY(const sync::Remote remote, sync::find_remote(onion, text), "");
    PEEL_TRY(sync::Url url, sync::Url::parse(remote.url), "remote " + shown(remote.name));
    return Target{remote.name, std::move(url)};
  }
  PEEL_TRY(sync::Url url, parse_url(text), "");
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
