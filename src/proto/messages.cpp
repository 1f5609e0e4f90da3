#include "proto/messages.h"

namespace peel::proto {
namespace {

constexpr std::uint32_t hello_magic = 0x4c454550;  // "PEEL"

// Index: wire code. Pinned by tests/proto; append only.
constexpr ErrorKind kinds_by_code[] = {
    ErrorKind::usage,       ErrorKind::not_found, ErrorKind::exists,  ErrorKind::truncated, ErrorKind::corrupt,
    ErrorKind::unsupported, ErrorKind::io,        ErrorKind::network, ErrorKind::timeout,   ErrorKind::limit,
    ErrorKind::refused,     ErrorKind::conflict,  ErrorKind::partial, ErrorKind::cancelled,
};

Result<std::uint8_t> read_flags(WireReader& r, std::uint8_t known) {
  PEEL_TRY(const auto flags, r.integer<std::uint8_t>(), "flags");
  if ((flags & ~known) != 0) return fail(ErrorKind::corrupt, "unknown flags");
  return flags;
}

template <class Message>
Result<Message> decode_empty(Bytes body) {
  PEEL_CHECK(finish_decode(WireReader(body)), "");
  return Message{};
}

}  // namespace

std::uint8_t abort_code(ErrorKind kind) {
  for (std::uint8_t code = 0; code < std::size(kinds_by_code); ++code)
    if (kinds_by_code[code] == kind) return code;
  return abort_code(ErrorKind::network);
}

ErrorKind kind_of_abort_code(std::uint8_t code) {
  return code < std::size(kinds_by_code) ? kinds_by_code[code] : ErrorKind::network;
}

Status finish_decode(const WireReader& r) {
  if (!r.empty()) return fail(ErrorKind::corrupt, std::to_string(r.rest().size()) + " bytes left over");
  return {};
}

Result<std::string> read_string(WireReader& r, std::size_t most) {
  PEEL_TRY(auto text, r.string16(), "");
  if (text.size() > most) return fail(ErrorKind::limit, "string of " + std::to_string(text.size()) + " bytes");
  return text;
}

namespace {
Result<std::size_t> check_count(std::size_t n, const WireReader& r, std::size_t most, std::size_t entry_size_min) {
  if (n > most) return fail(ErrorKind::limit, "list of " + std::to_string(n) + " entries");
  if (n > r.rest().size() / entry_size_min) return fail(ErrorKind::truncated, "list");
  return n;
}
}  // namespace

Result<std::size_t> read_count32(WireReader& r, std::size_t most, std::size_t entry_size_min) {
  PEEL_TRY(const auto n, r.integer<std::uint32_t>(), "count");
  return check_count(n, r, most, entry_size_min);
}
Result<std::size_t> read_count16(WireReader& r, std::size_t most, std::size_t entry_size_min) {
  PEEL_TRY(const auto n, r.integer<std::uint16_t>(), "count");
  return check_count(n, r, most, entry_size_min);
}

void Hello::encode(WireWriter& w) const {
  assert(capabilities.size() <= capabilities_max && statements.size() <= statements_max);
  w.integer(hello_magic).integer(lowest).integer(highest).string16(software);
  w.integer(static_cast<std::uint16_t>(capabilities.size()));
  for (const auto& capability : capabilities) w.string16(capability);
  w.integer(static_cast<std::uint16_t>(statements.size()));
  for (const auto& statement : statements) w.integer(static_cast<std::uint16_t>(statement.size())).bytes(statement);
}

Result<Hello> Hello::decode(Bytes body) {
  WireReader r(body);
  Hello m;
  PEEL_TRY(const auto magic, r.integer<std::uint32_t>(), "magic");
  if (magic != hello_magic) return fail(ErrorKind::corrupt, "the other end does not speak peel");
  PEEL_TRY(m.lowest, r.integer<std::uint16_t>(), "version");
  PEEL_TRY(m.highest, r.integer<std::uint16_t>(), "version");
  PEEL_TRY(m.software, read_string(r, capability_size_max), "software");
  PEEL_TRY(const auto n, read_count16(r, capabilities_max, 2), "capabilities");
  for (std::size_t i = 0; i < n; ++i) {
    PEEL_TRY(auto capability, read_string(r, capability_size_max), "capability");
    m.capabilities.push_back(std::move(capability));
  }
  PEEL_TRY(const auto k, read_count16(r, statements_max, 2), "statements");
  for (std::size_t i = 0; i < k; ++i) {
    PEEL_TRY(const auto size, r.integer<std::uint16_t>(), "statement");
    if (size > statement_size_max) return fail(ErrorKind::limit, "statement");
    PEEL_TRY(const auto bytes, r.bytes(size), "statement");
    m.statements.emplace_back(bytes.begin(), bytes.end());
  }
  PEEL_CHECK(finish_decode(r), "hello");
  return m;
}

void Abort::encode(WireWriter& w) const {
  w.integer(abort_code(kind)).string16(std::string_view(text).substr(0, abort_text_size_max));
}

Result<Abort> Abort::decode(Bytes body) {
  WireReader r(body);
  Abort m;
  PEEL_TRY(const auto code, r.integer<std::uint8_t>(), "kind");
  m.kind = kind_of_abort_code(code);
  PEEL_TRY(m.text, read_string(r, abort_text_size_max), "text");
  PEEL_CHECK(finish_decode(r), "abort");
  return m;
}

Result<Alive> Alive::decode(Bytes body) { return decode_empty<Alive>(body); }
Result<Done> Done::decode(Bytes body) { return decode_empty<Done>(body); }

void Ls::encode(WireWriter& w) const { w.string16(prefix); }

Result<Ls> Ls::decode(Bytes body) {
  WireReader r(body);
  Ls m;
  PEEL_TRY(m.prefix, read_string(r, onion_name_size_max), "prefix");
  PEEL_CHECK(finish_decode(r), "ls");
  return m;
}

void LsEntry::encode(WireWriter& w) const {
  w.string16(name).string16(current_branch).integer(static_cast<std::uint32_t>(heads.size()));
  for (const auto& head : heads) w.string16(head.branch).digest(head.id);
}

Result<LsEntry> LsEntry::decode(Bytes body) {
  WireReader r(body);
  LsEntry m;
  PEEL_TRY(m.name, read_string(r, onion_name_size_max), "name");
  PEEL_TRY(m.current_branch, read_string(r, ref_name_size_max), "branch");
  PEEL_TRY(const auto n, read_count32(r, refs_max, 34), "heads");
  m.heads.resize(n);
  for (auto& head : m.heads) {
    PEEL_TRY(head.branch, read_string(r, ref_name_size_max), "branch");
    PEEL_TRY(head.id, r.digest(), "head");
  }
  PEEL_CHECK(finish_decode(r), "ls entry");
  return m;
}

void Join::encode(WireWriter& w) const { w.bytes(secret).string16(name); }

Result<Join> Join::decode(Bytes body) {
  WireReader r(body);
  Join m;
  PEEL_TRY(m.secret, r.array<16>(), "secret");
  PEEL_TRY(m.name, read_string(r, capability_size_max), "name");
  PEEL_CHECK(finish_decode(r), "join");
  return m;
}

void Joined::encode(WireWriter& w) const {
  w.string16(name).integer(static_cast<std::uint16_t>(grants.size()));
  for (const auto& grant : grants) w.integer(grant.level).string16(grant.prefix);
}

Result<Joined> Joined::decode(Bytes body) {
  WireReader r(body);
  Joined m;
  PEEL_TRY(m.name, read_string(r, capability_size_max), "name");
  PEEL_TRY(const auto n, read_count16(r, grants_max, 3), "grants");
  m.grants.resize(n);
  for (auto& grant : m.grants) {
    PEEL_TRY(grant.level, r.integer<std::uint8_t>(), "level");
    PEEL_TRY(grant.prefix, read_string(r, onion_name_size_max), "prefix");
  }
  PEEL_CHECK(finish_decode(r), "joined");
  return m;
}

void Fetch::encode(WireWriter& w) const { w.integer(static_cast<std::uint8_t>(tags ? 1 : 0)).string16(name); }

Result<Fetch> Fetch::decode(Bytes body) {
  WireReader r(body);
  Fetch m;
  PEEL_TRY(const auto flags, read_flags(r, 1), "");
  m.tags = (flags & 1) != 0;
  PEEL_TRY(m.name, read_string(r, onion_name_size_max), "name");
  PEEL_CHECK(finish_decode(r), "fetch");
  return m;
}

void Push::encode(WireWriter& w) const {
  w.integer(static_cast<std::uint8_t>(create ? 1 : 0)).string16(name).bytes(lineage);
}

Result<Push> Push::decode(Bytes body) {
  WireReader r(body);
  Push m;
  PEEL_TRY(const auto flags, read_flags(r, 1), "");
  m.create = (flags & 1) != 0;
  PEEL_TRY(m.name, read_string(r, onion_name_size_max), "name");
  PEEL_TRY(m.lineage, r.array<32>(), "lineage");
  PEEL_CHECK(finish_decode(r), "push");
  return m;
}

void Repair::encode(WireWriter& w) const { w.string16(name); }

Result<Repair> Repair::decode(Bytes body) {
  WireReader r(body);
  Repair m;
  PEEL_TRY(m.name, read_string(r, onion_name_size_max), "name");
  PEEL_CHECK(finish_decode(r), "repair");
  return m;
}

}  // namespace peel::proto
