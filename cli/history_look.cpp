// cli/history_look.cpp - show, reflog: one revision, and how the names moved.
#include "base/hex.h"
#include "cli/context.h"
#include "cli/handlers.h"
#include "cli/hdf5_changes.h"
#include "cli/human.h"
#include "cli/named_file.h"
#include "cli/progress.h"
#include "cli/revision_text.h"
#include "codec/blake3.h"

namespace peel::cli {
namespace {

Result<Digest> plain_blake3(const Context& context, const Reader& reader, const std::string& doing) {
  Progress progress(context, doing);
  codec::Hasher hasher;
  static constexpr std::array<std::byte, 65536> zeros{};
  const Status read =
      reader.stream(0, reader.size(), [&](std::uint64_t offset, Bytes data, std::uint64_t hole) -> Status {
        PEEL_CHECK(context.cancel.check(), "");
        hasher.update(data);
        for (std::uint64_t left = hole; left > 0;) {
          const std::uint64_t now = std::min<std::uint64_t>(left, zeros.size());
          hasher.update(Bytes(zeros).first(static_cast<std::size_t>(now)));
          left -= now;
        }
        progress.update(offset, reader.size());
        return {};
      });
  PEEL_CHECK(read, doing);
  return hasher.finish();
}

struct ShowParts {
  std::optional<Digest> b3sum;
  std::optional<StorageReport> storage;
  std::optional<Hdf5Outcome> changes;
};

void print_show(Output& out, const RevisionInfo& revision, const RefNames& names, const ShowParts& parts) {
  out.line(revision_line(revision, names));
  for (const std::string& line : note_lines(revision.meta.note)) out.line("    " + line);
  out.line("  id        " + to_hex(revision.id));
  out.line("  content   " + content_text(revision.content));
  if (parts.b3sum) out.line("  blake3    " + to_hex(*parts.b3sum));
  for (const RevisionId& parent : revision.parents) out.line("  parent    " + to_hex(parent));
  out.line("  recorded  " + local_time_text(revision.time_ns) + " on " + escape_for_terminal(revision.meta.host));
  out.line("  modified  " + local_time_text(revision.meta.mtime_ns));
  out.line("  size      " + count_text(revision.size) + " bytes, history +" + count_text(revision.bytes_added));
  if (parts.storage) {
    out.line("  stored    (whole history: " + size_text(parts.storage->file_bytes) + ")");
    for (const StorageReport::Row& row : parts.storage->rows)
      out.line("    " + row.codec + "  " + counted(row.chunks, "chunk", "chunks") + "  " + size_text(row.plain_bytes) +
               " -> " + size_text(row.stored_bytes));
  }
  if (parts.changes) print_changes(out, *parts.changes, "  ");
}

void write_show(JsonWriter& json, const NamedOnion& named, const RevisionInfo& revision, const RefNames& names,
                const ShowParts& parts) {
  json.begin_object();
  write_paths(json, named.paths);
  json.key("revision");
  write_revision(json, revision, &names);
  if (parts.changes && parts.changes->state == Hdf5Outcome::State::compared) {
    json.key("changes");
    write_changes(json, parts.changes->diff);
  }
  if (parts.b3sum) json.string("b3sum", to_hex(*parts.b3sum));
  if (parts.storage) {
    json.key("storage").begin_object().integer("onion_bytes", parts.storage->file_bytes).key("codecs").begin_array();
    for (const StorageReport::Row& row : parts.storage->rows)
      json.begin_object()
          .string("codec", row.codec)
          .integer("chunks", row.chunks)
          .integer("plain_bytes", row.plain_bytes)
          .integer("stored_bytes", row.stored_bytes)
          .end_object();
    json.end_array().end_object();
  }
  json.end_object();
}

}  // namespace

Result<int> run_show(Context& context) {
  PEEL_TRY(const NamedOnion named, open_named(context), "");
  PEEL_TRY(const auto number, named.onion.resolve(context.arguments.operand_or(1, "")), "");
  PEEL_TRY(const RevisionInfo revision, named.onion.revision(number), shown(named.paths));
  ShowParts parts;
  if (context.arguments.has("storage")) {
    PEEL_TRY(parts.storage, named.onion.storage(number), shown(named.paths));
  }
  if (context.arguments.has("b3sum")) {
    PEEL_TRY(const Reader reader, named.onion.open_revision(number), shown(named.paths));
    PEEL_TRY(parts.b3sum, plain_blake3(context, reader, shown(named.paths) + ": hashing"), "");
  }
  if (!context.arguments.has("no-hdf5")) {
    PEEL_TRY(parts.changes, changes_if_readable(context, named.onion, revision, {}), shown(named.paths));
  }
  const RefNames names(named.onion);
  if (!context.json) {
    print_show(context.out, revision, names, parts);
    return 0;
  }
  JsonWriter json;
  write_show(json, named, revision, names, parts);
  context.document(std::move(json));
  return 0;
}

namespace {

const char* kind_word(RefKind kind) {
  switch (kind) {
    case RefKind::branch:
      return "branch";
    case RefKind::tag:
      return "tag";
    case RefKind::remote:
      return "remote";
    case RefKind::setting:
      return "setting";
  }
  return "?";
}

}  // namespace

Result<int> run_reflog(Context& context) {
  PEEL_TRY(const NamedOnion named, open_named(context), "");
  PEEL_TRY(const auto most, context.arguments.count("number"), "");
  PEEL_TRY(const auto entries, named.onion.reflog(static_cast<std::size_t>(most.value_or(1000))), shown(named.paths));
  JsonWriter json;
  json.begin_object();
  write_paths(json, named.paths);
  json.key("entries").begin_array();
  for (const ReflogEntry& entry : entries) {
    if (!context.json) {
      const auto end = [](const RevisionId& id) { return id.is_zero() ? std::string("none") : short_hex(id); };
      context.out.line(local_time_text(entry.time_ns) + "  " + kind_word(entry.kind) + " " +
                       escape_for_terminal(entry.name) + "  " + end(entry.before) + " -> " + end(entry.after) + "  " +
                       escape_for_terminal(entry.who) + ": " + escape_for_terminal(entry.reason));
      continue;
    }
    json.begin_object().string("kind", kind_word(entry.kind)).string("name", entry.name);
    if (!entry.before.is_zero()) json.string("before", to_hex(entry.before));
    if (!entry.after.is_zero()) json.string("after", to_hex(entry.after));
    json.string("time", utc_time_text(entry.time_ns))
        .string("who", entry.who)
        .string("reason", entry.reason)
        .end_object();
  }
  json.end_array().end_object();
  if (context.json) context.document(std::move(json));
  PEEL_CHECK(complete(named), "");
  return 0;
}

}  // namespace peel::cli
