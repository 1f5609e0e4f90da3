// cli/hdf5_changes.cpp - see hdf5_changes.h.
#include "cli/hdf5_changes.h"

#include <algorithm>
#include <array>

#include "base/hex.h"
#include "cli/human.h"

namespace peel::cli {
namespace {

// "type changed" as a word for scripts: "type_changed".
std::string as_word(std::string text) {
  std::replace(text.begin(), text.end(), ' ', '_');
  return text;
}

char sign_of(hdf5::What what) {
  if (what == hdf5::What::added) return '+';
  if (what == hdf5::What::removed) return '-';
  return what == hdf5::What::not_compared ? '?' : '~';
}

bool named_like_hdf5(const std::string& file) {
  static constexpr std::array endings = {".h5", ".hdf5", ".he5", ".nc4"};
  return std::any_of(endings.begin(), endings.end(), [&](const char* ending) { return file.ends_with(ending); });
}

}  // namespace

Result<Hdf5Outcome> compare_hdf5(const Context& context, const Source& before, const Source& after,
                                 const Hdf5Request& request) {
  Hdf5Outcome out;
  const bool hdf5_before = hdf5::looks_like_hdf5(before), hdf5_after = hdf5::looks_like_hdf5(after);
  if (!hdf5_before || !hdf5_after) {
    out.state = Hdf5Outcome::State::no_hdf5;
    if (hdf5_before != hdf5_after) {
      out.state = Hdf5Outcome::State::failed;
      out.why = hdf5_before ? "the newer side is no HDF5 file" : "the older side is no HDF5 file";
    }
    return out;
  }
  hdf5::CompareOptions options{.path = request.path, .changed = request.changed, .limits = request.limits};
  options.limits.cancel = &context.cancel;
  context.messages.trace("compare as HDF5");
  Result<hdf5::FileDiff> diff = hdf5::compare(before, after, options);
  if (!diff) {
    if (diff.error().kind() == ErrorKind::cancelled) return std::move(diff.error());
    // An object that neither side has did not change.
    const bool in_neither = diff.error().kind() == ErrorKind::not_found && !request.path.empty();
    out.state = in_neither ? Hdf5Outcome::State::compared : Hdf5Outcome::State::failed;
    out.why = diff.error().message();
    return out;
  }
  out.state = Hdf5Outcome::State::compared;
  out.diff = std::move(*diff);
  return out;
}

std::optional<std::string> hdf5_illness(const Context& context, const Source& source, const std::string& file) {
  if (!hdf5::looks_like_hdf5(source)) {
    if (named_like_hdf5(file)) return "named like an HDF5 file, but does not begin like one";
    return std::nullopt;
  }
  hdf5::Limits limits;
  limits.cancel = &context.cancel;
  context.messages.trace("inspect as HDF5");
  const Result<hdf5::Health> health = hdf5::inspect(source, limits);
  if (!health) {
    const ErrorKind kind = health.error().kind();
    if (kind == ErrorKind::cancelled) return std::nullopt;
    // Without the helper nothing is known about the file, so nothing is said against it.
    if (kind == ErrorKind::not_found || kind == ErrorKind::unsupported) {
      context.messages.detail("not looked at as HDF5: " + health.error().message());
      return std::nullopt;
    }
    return escape_for_terminal(health.error().message());
  }
  if (health->state == hdf5::HealthState::healthy || health->state == hdf5::HealthState::not_hdf5) return std::nullopt;
  return std::string(hdf5::name_of(health->state)) + ": " + escape_for_terminal(health->text);
}

std::string change_line(const hdf5::Change& change) {
  std::string out = std::string(1, sign_of(change.what)) + " " + escape_for_terminal(change.path);
  if (change.object == hdf5::ObjectKind::attribute) out += " @" + escape_for_terminal(change.attribute);
  out += std::string("  ") + hdf5::name_of(change.object) + " " + hdf5::name_of(change.what);
  const std::string before = escape_for_terminal(change.before), after = escape_for_terminal(change.after);
  if (change.what == hdf5::What::added && !after.empty())
    out += ": " + after;
  else if (change.what == hdf5::What::removed && !before.empty())
    out += ": " + before;
  else if (!before.empty() || !after.empty())
    out += ": " + before + " -> " + after;
  // A single value that is shown already needs no counting.
  const bool shown_whole = change.total == 1 && !(before.empty() && after.empty());
  if (change.what == hdf5::What::values_changed && change.changed && !shown_whole) {
    out += (before.empty() && after.empty() ? ": " : "; ") + count_text(*change.changed) + " of " +
           counted(change.total, "element", "elements");
    if (change.max_difference) out += ", greatest difference " + rounded_text(*change.max_difference);
  }
  if (!change.note.empty()) out += " (" + escape_for_terminal(change.note) + ")";
  return out;
}

void write_changes(JsonWriter& json, const hdf5::FileDiff& diff) {
  json.begin_array();
  for (const hdf5::Change& change : diff.changes) {
    json.begin_object().string("path", change.path);
    if (change.object == hdf5::ObjectKind::attribute) json.string("attribute", change.attribute);
    json.string("kind", as_word(hdf5::name_of(change.object))).string("what", as_word(hdf5::name_of(change.what)));
    if (!change.before.empty()) json.string("before", change.before);
    if (!change.after.empty()) json.string("after", change.after);
    if (change.changed) json.integer("elements_changed", *change.changed);
    if (change.what == hdf5::What::values_changed) json.integer("elements", change.total);
    if (change.max_difference) json.number("max_difference", *change.max_difference);
    if (!change.note.empty()) json.string("note", change.note);
    json.end_object();
  }
  json.end_array();
}

Result<std::optional<Hdf5Outcome>> changes_of(const Context& context, const Onion& onion, const RevisionInfo& revision,
                                              Hdf5Request request) {
  if (!revision.first_parent) return std::optional<Hdf5Outcome>();
  PEEL_TRY(const Reader before, onion.open_revision(*revision.first_parent), "");
  PEEL_TRY(const Reader after, onion.open_revision(revision.number), "");
  PEEL_TRY(auto ranges, onion.diff(*revision.first_parent, revision.number), "");
  if (ranges.empty() && before.size() == after.size()) return std::optional<Hdf5Outcome>();
  request.changed = std::move(ranges);
  PEEL_TRY(Hdf5Outcome outcome, compare_hdf5(context, RevisionSource(before), RevisionSource(after), request), "");
  return std::optional(std::move(outcome));
}

Result<std::optional<Hdf5Outcome>> changes_if_readable(const Context& context, const Onion& onion, const RevisionInfo& revision,
                                                       Hdf5Request request) {
  auto changes = changes_of(context, onion, revision, std::move(request));
  if (changes || changes.error().kind() != ErrorKind::corrupt) return changes;
  Hdf5Outcome outcome;
  outcome.state = Hdf5Outcome::State::failed;
  outcome.why = changes.error().message();
  return std::optional(std::move(outcome));
}

void print_changes(Output& out, const Hdf5Outcome& outcome, const char* indent) {
  if (outcome.state == Hdf5Outcome::State::failed)
    out.line(indent + ("HDF5 not compared: " + escape_for_terminal(outcome.why)));
  if (outcome.state != Hdf5Outcome::State::compared) return;
  for (const hdf5::Change& change : outcome.diff.changes) out.line(indent + change_line(change));
  if (!outcome.diff.complete)
    out.line(indent + ("... and more: " + escape_for_terminal(outcome.diff.incomplete_because)));
}

}  // namespace peel::cli
