// cli/history_care.cpp - gc, verify: keeping a history small and sound.
#include <cstdlib>

#include "base/hex.h"
#include "cli/context.h"
#include "cli/handlers.h"
#include "cli/human.h"
#include "cli/named_file.h"
#include "cli/progress.h"
#include "cli/revision_text.h"
#include "cli/sharing_target.h"
#include "sync/client.h"

namespace peel::cli {
namespace {

Result<GcPolicy> policy_of(const Context& context) {
  GcPolicy policy;
  PEEL_TRY(policy.keep_last, context.arguments.count("keep-last"), "");
  PEEL_TRY(policy.keep_daily, context.arguments.count("keep-daily"), "");
  PEEL_TRY(policy.keep_within_ns, context.arguments.duration_ns("keep-within"), "");
  policy.defer = context.arguments.has("defer");
  policy.dry_run = context.arguments.has("dry-run");
  policy.repack = context.arguments.has("repack");
  policy.cancel = &context.cancel;
  return policy;
}

std::string gc_text(const workspace::Paths& paths, const GcPolicy& policy, const GcReport& report) {
  const std::uint64_t gone = report.revisions_before - report.revisions_kept;
  const char* verb = policy.dry_run ? "would remove " : policy.defer ? "marked " : "removed ";
  std::string out = shown(paths) + ": " + verb + counted(gone, "revision", "revisions") + " of " +
                    count_text(report.revisions_before) + ", history " + size_text(report.bytes_before) + " -> ";
  if (policy.dry_run || policy.defer) out += "about ";
  out += size_text(report.bytes_after);
  if (policy.defer && gone > 0) out += "; finish with: peel gc " + shown(paths) + " --flush";
  return out;
}

void write_gc(JsonWriter& json, const workspace::Paths& paths, const GcPolicy& policy, const GcReport& report) {
  json.begin_object();
  write_paths(json, paths);
  json.boolean("dry_run", policy.dry_run)
      .boolean("compacted", report.compacted)
      .integer("revisions_before", report.revisions_before)
      .integer("revisions_kept", report.revisions_kept)
      .integer("bytes_before", report.bytes_before)
      .integer("bytes_after", report.bytes_after)
      .key("removed")
      .begin_array();
  for (const std::uint64_t number : report.removed) json.integer(number);
  json.end_array().end_object();
}

// "5" or "5%" as a share.
Result<double> sample_of(const Context& context) {
  const auto text = context.arguments.value("sample");
  if (!text) return 1.0;
  char* end = nullptr;
  const double percent = std::strtod(text->c_str(), &end);
  const bool read = end != text->c_str() && (*end == '\0' || (*end == '%' && end[1] == '\0'));
  if (!read || !(percent > 0) || percent > 100)
    return fail(ErrorKind::usage, "--sample: " + shown(*text) + " is no percentage above 0 and up to 100");
  return percent / 100;
}

std::string damage_text(const Damage& damage) {
  std::string where = damage.chunk.length > 0 ? "chunk " + short_hex(damage.chunk.digest) : "structure";
  if (damage.revision) {
    where = "@" + std::to_string(*damage.revision);
    if (damage.range.length > 0) where += ", " + range_text(damage.range);
  }
  return where + ": " + damage.what;
}

void write_damage(JsonWriter& json, const std::vector<Damage>& all) {
  json.begin_array();
  for (const Damage& damage : all) {
    json.begin_object().string("what", damage.what);
    if (damage.revision) json.integer("revision", *damage.revision);
    if (damage.range.length > 0) json.integer("offset", damage.range.offset).integer("length", damage.range.length);
    if (damage.chunk.length > 0) json.string("chunk", to_hex(damage.chunk.digest));
    json.end_object();
  }
  json.end_array();
}

}  // namespace

Result<int> run_gc(Context& context) {
  PEEL_TRY(GcPolicy policy, policy_of(context), "");
  PEEL_TRY(NamedOnion named, open_named(context, Access::write), "");
  if (context.arguments.has("flush")) {
    PEEL_CHECK(named.onion.flush(), shown(named.paths));
    context.report(shown(named.paths) + ": finished what was deferred");
    if (context.json) {
      JsonWriter json;
      GcReport nothing;
      nothing.revisions_before = nothing.revisions_kept = named.onion.revision_count();
      nothing.compacted = true;
      write_gc(json, named.paths, {}, nothing);
      context.document(std::move(json));
    }
    return 0;
  }
  Progress progress(context, shown(named.paths) + ": collecting");
  policy.progress = progress.function();
  PEEL_TRY(const GcReport report, named.onion.gc(policy), shown(named.paths));
  progress.clear();
  if (context.json) {
    JsonWriter json;
    write_gc(json, named.paths, policy, report);
    context.document(std::move(json));
    return 0;
  }
  context.report(gc_text(named.paths, policy, report));
  if (policy.dry_run && context.messages.verbose())
    for (const std::uint64_t number : report.removed) context.out.line("  @" + std::to_string(number));
  return 0;
}

Result<int> run_verify(Context& context) {
  const auto repair_url = context.arguments.value("repair-from");
  VerifyOptions options;
  options.deep = context.arguments.has("deep") || repair_url.has_value();
  PEEL_TRY(options.sample, sample_of(context), "");
  options.cancel = &context.cancel;
  std::optional<sync::RepairSource> repair;
  if (repair_url) {
    PEEL_TRY(const sync::Url url, parse_url(*repair_url), "");
    sync::ConnectOptions connect;
    connect.cancel = &context.cancel;
    PEEL_TRY(repair, sync::RepairSource::open(url, connect), "");
    options.repair_from = [&repair, &context](const ChunkName& name) {
      Result<StoredChunk> chunk = repair->chunk(name);
      if (!chunk) context.messages.warning(chunk.error().message());
      return chunk;
    };
  }
  PEEL_TRY(const workspace::Paths paths, paths_of(context), "");
  PEEL_TRY(Onion onion, workspace::open_onion(paths, repair ? Access::write : Access::read, workspace::Damaged::readable), "");
  Progress progress(context, shown(paths) + ": verifying");
  options.progress = progress.function();
  PEEL_TRY(const VerifyReport report, onion.verify(options), shown(paths));
  progress.clear();
  if (context.json) {
    JsonWriter json;
    json.begin_object();
    write_paths(json, paths);
    json.integer("revisions", report.revisions).integer("chunks", report.chunks).integer("bytes", report.bytes).integer("unfinished", report.unfinished);
    json.key("damage");
    write_damage(json, report.damage);
    json.key("repaired");
    write_damage(json, report.repaired);
    json.end_object();
    context.document(std::move(json));
  } else {
    for (const Damage& damage : report.repaired)
      context.out.line(shown(paths) + ": repaired: " + damage_text(damage));
    for (const Damage& damage : report.damage)
      context.out.line(shown(paths) + ": DAMAGED: " + damage_text(damage));
    context.report(shown(paths) + ": " + (report.damage.empty() ? "sound, " : "damaged, ") +
                   counted(report.revisions, "revision", "revisions") + ", " +
                   counted(report.chunks, "chunk", "chunks") + ", " + size_text(report.bytes) +
                   (options.deep ? " decoded and hashed" : " checked"));
    if (report.unfinished > 0)
      context.report("  " + size_text(report.unfinished) + " behind the last revision were left by an interrupted write; the next one overwrites them");
  }
  if (report.damage.empty()) return 0;
  return fail(ErrorKind::corrupt,
              shown(paths) + ": " + counted(report.damage.size(), "damaged place", "damaged places") +
                  "; mend it from a copy with: peel verify " + shown(paths) + " --repair-from URL");
}

}  // namespace peel::cli
