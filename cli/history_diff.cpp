// cli/history_diff.cpp - diff: what changed, in words of HDF5 and in bytes.
#include "base/hex.h"
#include "cli/context.h"
#include "cli/handlers.h"
#include "cli/hdf5_changes.h"
#include "cli/human.h"
#include "cli/named_file.h"
#include "cli/progress.h"
#include "cli/revision_text.h"
#include "workspace/file_source.h"

namespace peel::cli {
namespace {

struct Sides {
  RevisionInfo a;
  std::optional<RevisionInfo> b;  // absent: the working file
};

Result<Sides> sides_of(const Context& context, const Onion& onion) {
  Sides out;
  PEEL_TRY(const auto a, onion.resolve(context.arguments.operand_or(1, "")), "");
  PEEL_TRY(out.a, onion.revision(a), "");
  if (const auto newer = context.arguments.operand(2)) {
    PEEL_TRY(const auto b, onion.resolve(*newer), "");
    PEEL_TRY(out.b, onion.revision(b), "");
  }
  return out;
}

Result<Hdf5Outcome> compare_inside(const Context& context, const NamedOnion& named, const Sides& sides,
                                   const workspace::DiffReport& bytes) {
  Hdf5Outcome out;
  if (context.arguments.has("no-hdf5") || bytes.same()) return out;
  PEEL_TRY(const Reader before, named.onion.open_revision(sides.a.number), "");
  Hdf5Request request;
  request.changed = bytes.ranges;
  if (sides.b) {
    PEEL_TRY(const Reader after, named.onion.open_revision(sides.b->number), "");
    return compare_hdf5(context, RevisionSource(before), RevisionSource(after), request);
  }
  PEEL_TRY(const auto after, workspace::FileSource::open(named.paths.file, workspace::Symlinks::follow), "");
  return compare_hdf5(context, RevisionSource(before), *after, request);
}

std::string hdf5_word(const Context& context, const Hdf5Outcome& outcome) {
  switch (outcome.state) {
    case Hdf5Outcome::State::off:
      return context.arguments.has("no-hdf5") ? "off" : "none";
    case Hdf5Outcome::State::no_hdf5:
      return "none";
    case Hdf5Outcome::State::compared:
      return "compared";
    case Hdf5Outcome::State::failed:
      return outcome.why;
  }
  return "none";
}

std::string size_change_text(const workspace::DiffReport& bytes) {
  if (bytes.size_a == bytes.size_b) return "size " + count_text(bytes.size_a) + " bytes";
  return "size " + count_text(bytes.size_a) + " -> " + count_text(bytes.size_b) + " bytes";
}

void print(Context& context, const NamedOnion& named, const Sides& sides, const workspace::DiffReport& bytes,
           const Hdf5Outcome& inside) {
  Output& out = context.out;
  const std::string other = sides.b ? revision_name(*sides.b) : "the working file";
  if (bytes.same()) {
    context.report(shown(named.paths) + ": no difference between " + revision_name(sides.a) + " and " + other);
    return;
  }
  out.line(shown(named.paths) + ": " + revision_name(sides.a) + " -> " + other);
  const bool only_sums = context.arguments.has("stat");
  if (only_sums && inside.state == Hdf5Outcome::State::compared)
    out.line("  " + counted(inside.diff.changes.size(), "change", "changes") + " in HDF5 objects");
  else
    print_changes(out, inside, "  ");
  out.line("  " + counted(bytes.ranges.size(), "range", "ranges") + ", " + size_text(bytes.bytes_changed) +
           " changed; " + size_change_text(bytes));
  if (context.arguments.has("pages") && !only_sums)
    for (const Range& range : bytes.ranges) out.line("  " + range_text(range));
}

void write(const Context& context, JsonWriter& json, const NamedOnion& named, const Sides& sides,
           const workspace::DiffReport& bytes, const Hdf5Outcome& inside) {
  const RefNames names(named.onion);
  json.begin_object();
  write_paths(json, named.paths);
  json.key("a");
  write_revision(json, sides.a, &names);
  if (sides.b) {
    json.key("b");
    write_revision(json, *sides.b, &names);
  }
  json.boolean("same", bytes.same())
      .integer("size_a", bytes.size_a)
      .integer("size_b", bytes.size_b)
      .integer("bytes_changed", bytes.bytes_changed)
      .integer("range_count", bytes.ranges.size());
  if (context.arguments.has("pages")) {
    json.key("ranges").begin_array();
    for (const Range& range : bytes.ranges)
      json.begin_object().integer("offset", range.offset).integer("length", range.length).end_object();
    json.end_array();
  }
  json.string("hdf5", hdf5_word(context, inside));
  if (inside.state == Hdf5Outcome::State::compared) {
    json.boolean("changes_complete", inside.diff.complete).key("changes");
    write_changes(json, inside.diff);
  }
  json.end_object();
}

}  // namespace

Result<int> run_diff(Context& context) {
  PEEL_TRY(const NamedOnion named, open_named(context), "");
  PEEL_TRY(const Sides sides, sides_of(context, named.onion), "");
  Progress progress(context, shown(named.paths) + ": comparing");
  workspace::DiffRequest request;
  request.run = {.cancel = &context.cancel, .progress = progress.function()};
  Result<workspace::DiffReport> bytes =
      sides.b ? workspace::diff_revisions(named.onion, sides.a.number, sides.b->number, request)
              : workspace::diff_working(named.onion, sides.a.number, named.paths, request);
  if (!bytes) return std::move(bytes.error());
  PEEL_TRY(const Hdf5Outcome inside, compare_inside(context, named, sides, *bytes), shown(named.paths));
  progress.clear();
  if (context.json) {
    JsonWriter json;
    write(context, json, named, sides, *bytes, inside);
    context.document(std::move(json));
  } else {
    print(context, named, sides, *bytes, inside);
  }
  return bytes->same() ? 0 : 1;
}

}  // namespace peel::cli
