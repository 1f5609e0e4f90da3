#include "trust/remote_memory.h"

#include "base/hex.h"
#include "codec/blake3.h"
#include "trust/heads_file.h"
#include "trust/text_lines.h"

namespace peel::trust {
namespace {

constexpr std::size_t max_file_bytes = 16u << 20;
constexpr std::string_view first_line_key = "peel-heads";

std::string_view text_of(const Buffer& content) {
  return {reinterpret_cast<const char*>(content.data()), content.size()};
}

// Nobody edits these files; a head that quietly went missing would let a server go backwards.
std::string checksum_of(std::string_view text_before_end) {
  return short_hex(codec::blake3(as_bytes(text_before_end)), 16);
}

Status save_locked(const ConfigDirectory& directory, const PublicKey& peer, const std::string& onion_name,
                   const RemoteHeads& heads) {
  if (heads.contains("")) return fail(ErrorKind::usage, "a branch without a name");
  const std::string text = encode_remote_heads(peer, onion_name, heads);
  if (text.size() > max_file_bytes) return fail(ErrorKind::limit, "too many branches to remember");
  return directory.write(heads_file_name(peer, onion_name), as_bytes(text));
}

}  // namespace

Status move_heads(const ConfigDirectory& directory, const PublicKey& from, const PublicKey& to) {
  const std::string source = directory.path_of(heads_directory_name(from));
  const std::string target = directory.path_of(heads_directory_name(to));
  FileSystem& files = posix_file_system();
  if (const auto present = files.identify(source); !present)
    return present.error().kind() == ErrorKind::not_found ? Status{} : Status(present.error());
  PEEL_CHECK(files.rename(source, target, true), "remembered heads");
  return files.sync_directory_of(target);
}

std::string heads_directory_name(const PublicKey& peer) { return "heads/" + to_hex(peer); }

std::string heads_file_name(const PublicKey& peer, const std::string& onion_name) {
  // An onion's name may be long and hold anything; its hash is a file name.
  return heads_directory_name(peer) + "/" + to_hex(codec::blake3(as_bytes(onion_name)));
}

std::string encode_remote_heads(const PublicKey& peer, const std::string& onion_name, const RemoteHeads& heads) {
  std::string out = std::string(first_line_key) + " 1\n";
  out += "peer " + fingerprint(peer) + "\n";
  out += "onion " + escaped(onion_name) + "\n";
  for (const auto& [branch, revision] : heads) out += "head " + to_hex(revision) + " " + escaped(branch) + "\n";
  return out + "end " + checksum_of(out) + "\n";
}

Result<RemoteHeads> decode_remote_heads(const std::string& onion_name, std::string_view text) {
  TextLines lines(text);
  RemoteHeads heads;
  bool named = false, end = false;
  PEEL_CHECK(lines.expect_first(first_line_key, "file of remembered heads"), "");
  while (lines.next()) {
    if (end) return lines.error("text after 'end'");
    if (lines.key() == "onion") {
      const auto name = unescaped(lines.value());
      if (!name || *name != onion_name || named) return lines.error("these are the heads of another onion");
      named = true;
    } else if (lines.key() == "head") {
      const auto gap = lines.value().find(' ');
      const auto revision = digest_from_hex(lines.value().substr(0, gap));
      if (!revision || gap == std::string_view::npos) return lines.error("expected 'head REVISION BRANCH'");
      auto branch = unescaped(lines.value().substr(gap + 1));
      if (!branch) return lines.error(branch.error().message());
      if (!heads.emplace(std::move(*branch), *revision).second) return lines.error("a branch appears twice");
    } else if (lines.key() == "end") {
      const auto before = static_cast<std::size_t>(lines.line().data() - text.data());
      if (lines.value() != checksum_of(text.substr(0, before))) return lines.error("the checksum does not fit");
      end = true;
    } else if (lines.key() != "peer" && lines.key().front() != '#') {
      return lines.error("'" + escape_for_terminal(lines.key()) + "' means nothing here");
    }
  }
  if (!end) return lines.error("the file ends too early: 'end' is missing");
  if (!named) return lines.error("the onion's name is missing");
  return heads;
}

Result<RemoteHeads> RemoteMemory::load(const PublicKey& peer, const std::string& onion_name) const {
  const std::string name = heads_file_name(peer, onion_name);
  PEEL_TRY(const auto content, directory_.read(name, max_file_bytes), "remembered heads");
  if (!content) return RemoteHeads{};
  auto heads = decode_remote_heads(onion_name, text_of(*content));
  if (!heads)
    return std::move(heads.error())
        .in(directory_.path_of(name) + " (what was seen of this remote is lost; delete the file to begin anew)");
  return heads;
}

Status RemoteMemory::save(const PublicKey& peer, const std::string& onion_name, const RemoteHeads& heads) const {
  PEEL_TRY(const auto lock, directory_.lock(), "remembered heads");
  return save_locked(directory_, peer, onion_name, heads);
}

Status RemoteMemory::update(const PublicKey& peer, const std::string& onion_name,
                            const std::function<Status(RemoteHeads&)>& change) const {
  PEEL_TRY(const auto lock, directory_.lock(), "remembered heads");
  PEEL_TRY(auto heads, load(peer, onion_name), "");
  PEEL_CHECK(change(heads), "");
  return save_locked(directory_, peer, onion_name, heads);
}

Status RemoteMemory::forget(const PublicKey& peer, const std::string& onion_name) const {
  PEEL_TRY(const auto lock, directory_.lock(), "remembered heads");
  return directory_.remove(heads_file_name(peer, onion_name));
}

}  // namespace peel::trust
