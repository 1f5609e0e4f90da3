#include "trust/identity.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <cstdlib>
#include <memory>

#include "base/hex.h"
#include "base/random.h"
#include "base/wire.h"
#include "trust/text_lines.h"

namespace peel::trust {
namespace {

constexpr const char* file_name = "identity";
constexpr std::size_t max_file_bytes = 64 * 1024;
constexpr std::string_view first_line_key = "peel-identity";
// What is signed begins with this, so that no other signature of the same key can be taken for a succession.
constexpr std::string_view succession_domain = "peel 2026 key succession\n";
constexpr std::byte succession_version{1};
constexpr std::size_t succession_bytes = 1 + 32 + 32 + 8 + 64;

struct FreeKey {
  void operator()(EVP_PKEY* key) const { ::EVP_PKEY_free(key); }
};
struct FreeDigestContext {
  void operator()(EVP_MD_CTX* context) const { ::EVP_MD_CTX_free(context); }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeKey>;
using DigestContextPtr = std::unique_ptr<EVP_MD_CTX, FreeDigestContext>;

// Lack of memory or an OpenSSL without Ed25519: nothing further up could go on.
void must(bool fine) {
  if (!fine) std::abort();
}

const unsigned char* raw(const std::byte* p) { return reinterpret_cast<const unsigned char*>(p); }
unsigned char* raw(std::byte* p) { return reinterpret_cast<unsigned char*>(p); }

KeyPtr private_key(const std::array<std::byte, 32>& seed) {
  KeyPtr key(::EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, raw(seed.data()), seed.size()));
  must(key != nullptr);
  return key;
}

Buffer signed_part(const Succession& s) {
  WireWriter out;
  out.bytes(as_bytes(succession_domain)).digest(s.predecessor).digest(s.successor).signed64(s.time_ns);
  return std::move(out).take();
}

// The file as a whole.
struct IdentityFile {
  Identity identity;
  std::vector<Succession> successions;
};

std::string encode_file(const IdentityFile& file) {
  std::string out = std::string(first_line_key) + " 1\n";
  out += "key " + fingerprint(file.identity.public_key) + "\n";
  out += "seed " + to_hex(file.identity.private_seed) + "\n";
  for (const Succession& s : file.successions) out += "succession " + to_hex(encode(s)) + "\n";
  return out + "end\n";
}

Result<IdentityFile> decode_file(std::string_view text) {
  TextLines lines(text);
  IdentityFile file;
  std::optional<PublicKey> key;
  bool seed = false, end = false;
  PEEL_CHECK(lines.expect_first(first_line_key, "identity file"), "");
  while (!end && lines.next()) {
    if (lines.key() == "key") {
      auto parsed = parse_fingerprint(lines.value());
      if (!parsed) return lines.error(parsed.error().message());
      key = *parsed;
    } else if (lines.key() == "seed") {
      auto parsed = digest_from_hex(lines.value());
      if (!parsed || seed) return lines.error("the seed is damaged");
      file.identity = identity_from_seed(parsed->bytes);
      ::OPENSSL_cleanse(parsed->bytes.data(), parsed->bytes.size());
      seed = true;
    } else if (lines.key() == "succession") {
      const auto bytes = from_hex(lines.value());
      if (!bytes || file.successions.size() == max_successions) return lines.error("a damaged statement");
      auto statement = decode_succession(*bytes);
      if (!statement) return lines.error(statement.error().message());
      file.successions.push_back(*statement);
    } else if (lines.key() == "end") {
      end = true;
    } else if (lines.key().front() != '#') {
      return lines.error("'" + escape_for_terminal(lines.key()) + "' means nothing here");
    }
  }
  if (!end) return lines.error("the file ends too early");
  if (!seed || !key || *key != file.identity.public_key) return lines.error("seed and key do not belong together");
  return file;
}

Result<std::optional<IdentityFile>> load_file(const ConfigDirectory& directory) {
  const std::string remedy = directory.path_of(file_name) + " (restore it from a backup; a new one has another key)";
  PEEL_TRY(auto content, directory.read(file_name, max_file_bytes), "");
  if (!content) return std::optional<IdentityFile>();
  auto file = decode_file({reinterpret_cast<const char*>(content->data()), content->size()});
  ::OPENSSL_cleanse(content->data(), content->size());
  if (!file) return std::move(file.error()).in(remedy);
  return std::optional<IdentityFile>(std::move(*file));
}

Status save_file(const ConfigDirectory& directory, const IdentityFile& file) {
  std::string text = encode_file(file);
  const Status written = directory.write(file_name, as_bytes(text));
  ::OPENSSL_cleanse(text.data(), text.size());
  return written;
}

Identity fresh_identity() { return identity_from_seed(random_array<32>()); }

// With the lock held.
Result<IdentityFile> load_or_create_file(const ConfigDirectory& directory) {
  PEEL_TRY(auto file, load_file(directory), "");
  if (file) return std::move(*file);
  IdentityFile fresh{fresh_identity(), {}};
  PEEL_CHECK(save_file(directory, fresh), "store a new identity");
  return fresh;
}

}  // namespace

Identity identity_from_seed(const std::array<std::byte, 32>& seed) {
  Identity identity;
  identity.private_seed = seed;
  std::size_t length = identity.public_key.bytes.size();
  must(::EVP_PKEY_get_raw_public_key(private_key(seed).get(), raw(identity.public_key.bytes.data()), &length) == 1);
  return identity;
}

Result<Identity> load_or_create_identity(const ConfigDirectory& directory) {
  // The usual case takes no lock, and works in a directory that cannot be written.
  PEEL_TRY(const auto present, load_file(directory), "identity");
  if (present) return present->identity;
  PEEL_TRY(const auto lock, directory.lock(), "identity");
  PEEL_TRY(const auto file, load_or_create_file(directory), "identity");
  return file.identity;
}

Signature sign(const Identity& identity, Bytes message) {
  const DigestContextPtr context(::EVP_MD_CTX_new());
  const KeyPtr key = private_key(identity.private_seed);
  Signature signature;
  std::size_t length = signature.size();
  must(context && ::EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1);
  must(::EVP_DigestSign(context.get(), raw(signature.data()), &length, raw(message.data()), message.size()) == 1);
  return signature;
}

Status verify(const PublicKey& key, Bytes message, const Signature& signature) {
  const DigestContextPtr context(::EVP_MD_CTX_new());
  const KeyPtr public_part(
      ::EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw(key.bytes.data()), key.bytes.size()));
  must(context && public_part);
  must(::EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, public_part.get()) == 1);
  if (::EVP_DigestVerify(context.get(), raw(signature.data()), signature.size(), raw(message.data()), message.size()) !=
      1)
    return fail(ErrorKind::refused, "the signature of " + fingerprint(key) + " does not verify");
  return {};
}

Succession make_succession(const Identity& predecessor, const PublicKey& successor, std::int64_t now_ns) {
  Succession s{predecessor.public_key, successor, now_ns, {}};
  s.signature = sign(predecessor, signed_part(s));
  return s;
}

Buffer encode(const Succession& s) {
  WireWriter out;
  out.bytes({&succession_version, 1}).digest(s.predecessor).digest(s.successor).signed64(s.time_ns).bytes(s.signature);
  return std::move(out).take();
}

Result<Succession> decode_succession(Bytes encoded) {
  if (encoded.size() < succession_bytes) return fail(ErrorKind::truncated, "key succession");
  if (encoded.size() > succession_bytes) return fail(ErrorKind::corrupt, "key succession: bytes too many");
  if (encoded[0] != succession_version) return fail(ErrorKind::unsupported, "key succession of a newer version");
  WireReader in(encoded.subspan(1));
  Succession s;
  PEEL_TRY(s.predecessor, in.digest(), "key succession");
  PEEL_TRY(s.successor, in.digest(), "key succession");
  PEEL_TRY(s.time_ns, in.signed64(), "key succession");
  PEEL_TRY(s.signature, in.array<64>(), "key succession");
  PEEL_CHECK(verify(s.predecessor, signed_part(s), s.signature), "key succession");
  return s;
}

Result<Identity> rotate_identity(const ConfigDirectory& directory, std::int64_t now_ns) {
  PEEL_TRY(const auto lock, directory.lock(), "rotate");
  PEEL_TRY(auto file, load_or_create_file(directory), "rotate");
  const Identity successor = fresh_identity();
  file.successions.push_back(make_succession(file.identity, successor.public_key, now_ns));
  if (file.successions.size() > max_successions) file.successions.erase(file.successions.begin());
  file.identity = successor;
  PEEL_CHECK(save_file(directory, file), "rotate");
  return successor;
}

Result<std::vector<Succession>> load_successions(const ConfigDirectory& directory) {
  PEEL_TRY(auto file, load_file(directory), "identity");
  if (!file) return std::vector<Succession>();
  return std::move(file->successions);
}

}  // namespace peel::trust
