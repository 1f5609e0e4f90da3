// cli/history_log.cpp - log: the history as a list, with what changed inside HDF5.
#include <chrono>
#include <filesystem>
#include <set>
#include <vector>

#include "base/hex.h"
#include "cli/context.h"
#include "cli/handlers.h"
#include "cli/hdf5_changes.h"
#include "cli/human.h"
#include "cli/named_file.h"
#include "cli/progress.h"
#include "cli/revision_text.h"

namespace peel::cli {
namespace {

// Looking inside HDF5 costs a helper process for each revision: log does it for so many, for so long.
constexpr std::size_t hdf5_revisions_max = 20;
constexpr std::chrono::seconds hdf5_time_max{20};
constexpr std::uint32_t hdf5_items_max = 200;

// Ancestors of a revision, newest first: parents always have smaller numbers.
class Ancestors {
public:
  Ancestors(const Onion& onion, std::uint64_t from) : onion_(onion) { waiting_.insert(from); }

  Result<std::optional<RevisionInfo>> next() {
    if (waiting_.empty()) return std::optional<RevisionInfo>();
    const auto newest = std::prev(waiting_.end());
    PEEL_TRY(RevisionInfo revision, onion_.revision(*newest), "");
    waiting_.erase(newest);
    for (const RevisionId& parent : revision.parents)
      if (const auto number = onion_.find(parent)) waiting_.insert(*number);
    return std::optional(std::move(revision));
  }

private:
  const Onion& onion_;
  std::set<std::uint64_t> waiting_;
};

// Every revision of the onion, newest first.
class Everything {
public:
  static Result<Everything> of(const Onion& onion) {
    PEEL_TRY(const auto list, onion.list(), "");
    return Everything(onion, list);
  }
  // One that cannot be read is passed over where the history is known to be damaged.
  Result<std::optional<RevisionInfo>> next() {
    while (!left_.empty()) {
      const std::uint64_t number = left_.back().number;
      left_ = left_.first(left_.size() - 1);
      auto revision = onion_.revision(number);
      if (revision) return std::optional(std::move(*revision));
      if (onion_.is_complete() || revision.error().kind() != ErrorKind::corrupt) return std::move(revision.error());
    }
    return std::optional<RevisionInfo>();
  }

private:
  Everything(const Onion& onion, std::span<const RevisionSummary> list) : onion_(onion), left_(list) {}
  const Onion& onion_;
  std::span<const RevisionSummary> left_;
};

struct Entry {
  RevisionInfo revision;
  std::optional<Hdf5Outcome> changes;
};

// Whether the first revision of a line holds the dataset at all: then it added it.
Result<std::optional<Hdf5Outcome>> added_in_root(const Context& context, const Onion& onion, const RevisionInfo& root,
                                                 const std::string& dataset) {
  PEEL_TRY(const Reader reader, onion.open_revision(root.number), "");
  const RevisionSource source(reader);
  if (!hdf5::looks_like_hdf5(source)) return std::optional<Hdf5Outcome>();
  hdf5::Limits limits = hdf5::patient();
  limits.cancel = &context.cancel;
  const Result<hdf5::Listing> listing = hdf5::list(source, limits);
  Hdf5Outcome outcome;
  if (!listing) {
    if (listing.error().kind() == ErrorKind::cancelled) return Error(listing.error());
    outcome.state = Hdf5Outcome::State::failed;
    outcome.why = listing.error().message();
    return std::optional(std::move(outcome));
  }
  outcome.state = Hdf5Outcome::State::compared;
  for (const hdf5::Object& object : listing->objects)
    if (object.path == dataset || object.path.rfind(dataset + "/", 0) == 0)
      outcome.diff.changes.push_back({.path = object.path,
                                      .attribute = {},
                                      .object = object.kind,
                                      .what = hdf5::What::added,
                                      .before = {},
                                      .after = object.type,
                                      .changed = {},
                                      .total = 0,
                                      .max_difference = {},
                                      .note = {}});
  return std::optional(std::move(outcome));
}

// Gets the entries one by one, and prints or writes them at once: a long history is never held in memory.
class EntrySink {
public:
  EntrySink(Context& context, const NamedOnion& named) : context_(context), names_(named.onion) {
    if (!context.json) return;
    json_.begin_object();
    write_paths(json_, named.paths);
    json_.string("branch", named.onion.current_branch()).key("revisions").begin_array();
  }

  void add(const Entry& entry) {
    ++count_;
    if (!context_.json) {
      print(entry);
      return;
    }
    write_revision(json_, entry.revision, &names_, [&] {
      if (!entry.changes || entry.changes->state != Hdf5Outcome::State::compared) return;
      json_.key("changes");
      write_changes(json_, entry.changes->diff);
    });
    context_.out.raw(json_.drain());
  }

  void finish() {
    if (!context_.json) return;
    json_.end_array().end_object();
    context_.document(std::move(json_));
  }

  std::uint64_t count() const { return count_; }

private:
  void print(const Entry& entry) {
    context_.out.line(revision_line(entry.revision, names_));
    for (const std::string& line : note_lines(entry.revision.meta.note)) context_.out.line("    " + line);
    if (entry.changes) print_changes(context_.out, *entry.changes, "      ");
  }

  Context& context_;
  const RefNames names_;
  JsonWriter json_;
  std::uint64_t count_ = 0;
};

template <class Walk>
Status log_dataset(const Context& context, const Onion& onion, Walk walk, std::uint64_t most,
                   const std::string& dataset, EntrySink& sink) {
  Progress progress(context, "comparing");
  for (std::uint64_t looked_at = 0; sink.count() < most; ++looked_at) {
    PEEL_CHECK(context.cancel.check(), "");
    PEEL_TRY(auto revision, walk.next(), "");
    if (!revision) break;
    Hdf5Request request{.path = dataset, .changed = {}, .limits = hdf5::patient()};
    PEEL_TRY(auto changes, changes_if_readable(context, onion, *revision, std::move(request)), "");
    if (!revision->first_parent) {
      PEEL_TRY(changes, added_in_root(context, onion, *revision, dataset), "");
    }
    // What could not be compared is shown rather than passed over in silence.
    const bool shown_anyway = changes && changes->state == Hdf5Outcome::State::failed;
    if (shown_anyway || (changes && !changes->diff.changes.empty())) {
      progress.clear();
      sink.add({std::move(*revision), std::move(changes)});
    }
    progress.update(looked_at, onion.revision_count());
  }
  return {};
}

// Adds HDF5 changes to a short list, until the time for it is used up.
Status look_inside(const Context& context, const Onion& onion, std::vector<Entry>& entries) {
  const auto end = std::chrono::steady_clock::now() + hdf5_time_max;
  for (Entry& entry : entries) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      context.messages.note("looking inside HDF5 takes long; stopped at @" + std::to_string(entry.revision.number) +
                            " (peel show looks at one)");
      break;
    }
    Hdf5Request request;
    request.limits.time_max = left;
    request.limits.items_max = hdf5_items_max;
    PEEL_TRY(entry.changes, changes_if_readable(context, onion, entry.revision, std::move(request)), "");
  }
  return {};
}

template <class Walk>
Status log_all(const Context& context, const Onion& onion, Walk walk, std::uint64_t most, EntrySink& sink) {
  // The first entries wait until it is known whether the list is short enough to look inside.
  std::vector<Entry> first;
  bool short_list = !context.arguments.has("no-hdf5");
  for (std::uint64_t i = 0; i < most; ++i) {
    PEEL_CHECK(context.cancel.check(), "");
    PEEL_TRY(auto revision, walk.next(), "");
    if (!revision) break;
    first.push_back({std::move(*revision), {}});
    if (short_list && first.size() <= hdf5_revisions_max) continue;
    if (short_list)
      context.messages.detail("more than " + std::to_string(hdf5_revisions_max) +
                              " revisions: not looking inside; use -n");
    short_list = false;
    for (const Entry& entry : first) sink.add(entry);
    first.clear();
  }
  if (short_list) PEEL_CHECK(look_inside(context, onion, first), "");
  for (const Entry& entry : first) sink.add(entry);
  return {};
}

template <class Walk>
Status log_entries(const Context& context, const Onion& onion, Walk walk, EntrySink& sink) {
  PEEL_TRY(const auto most, context.arguments.count("number"), "");
  const auto dataset = context.arguments.value("dataset");
  if (!dataset) return log_all(context, onion, std::move(walk), most.value_or(~0ull), sink);
  const std::string path = !dataset->empty() && dataset->front() == '/' ? *dataset : "/" + *dataset;
  PEEL_CHECK(log_dataset(context, onion, std::move(walk), most.value_or(~0ull), path, sink), "");
  if (sink.count() == 0) context.messages.note("no revision changed " + escape_for_terminal(path));
  return {};
}

Result<int> log_file(Context& context) {
  PEEL_TRY(const NamedOnion named, open_named(context), "");
  const Onion& onion = named.onion;
  const bool all = context.arguments.has("all") || (!onion.is_complete() && !context.arguments.operand(1));  // ancestors may be lost
  std::optional<std::uint64_t> from;
  if (!all && onion.revision_count() > 0) {
    PEEL_TRY(from, onion.resolve(context.arguments.operand_or(1, "")), "");
  }
  EntrySink sink(context, named);
  if (all) {
    PEEL_TRY(auto walk, Everything::of(onion), "");
    PEEL_CHECK(log_entries(context, onion, walk, sink), "");
  } else if (from) {
    PEEL_CHECK(log_entries(context, onion, Ancestors(onion, *from), sink), "");
  }
  sink.finish();
  PEEL_CHECK(complete(named), "");
  return 0;
}

// One history of a directory, in two lines or as an object.
Status log_one_of_many(Context& context, const workspace::Paths& paths, JsonWriter& json) {
  PEEL_TRY(const Onion onion, workspace::open_onion(paths), "");
  std::error_code ignored;
  const std::uint64_t bytes = std::filesystem::file_size(paths.onion, ignored);
  std::optional<RevisionInfo> head;
  if (onion.ref(RefKind::branch, onion.current_branch())) {
    PEEL_TRY(const auto number, onion.resolve(""), "");
    PEEL_TRY(head, onion.revision(number), "");
  }
  const RefNames names(onion);
  if (!context.json) {
    context.out.line(shown(paths) + "  " + counted(onion.revision_count(), "revision", "revisions") + ", " +
                     size_text(bytes));
    if (head) context.out.line("  " + revision_line(*head, names));
    return {};
  }
  json.begin_object();
  write_paths(json, paths);
  json.integer("revisions", onion.revision_count()).integer("onion_bytes", bytes);
  if (head) {
    json.key("head");
    write_revision(json, *head, &names);
  }
  json.end_object();
  return {};
}

Result<int> log_directory(Context& context, const std::string& directory) {
  PEEL_TRY(const auto all, workspace::onions_in(directory), "");
  JsonWriter json;
  json.begin_object().key("files").begin_array();
  std::size_t failed = 0;
  for (const workspace::Paths& paths : all) {
    PEEL_CHECK(context.cancel.check(), "");
    if (const Status listed = log_one_of_many(context, paths, json); !listed) {
      context.messages.error(listed.error().message());
      ++failed;
    }
  }
  json.end_array().end_object();
  if (context.json) context.document(std::move(json));
  if (all.empty()) context.report("no histories here; begin one with: peel commit FILE");
  if (failed > 0)
    return fail(ErrorKind::partial,
                counted(failed, "history", "histories") + " of " + count_text(all.size()) + " not read");
  return 0;
}

}  // namespace

Result<int> run_log(Context& context) {
  const std::string name = context.arguments.operand_or(0, ".");
  std::error_code ignored;
  if (std::filesystem::is_directory(name, ignored)) {
    if (context.arguments.operand(1)) return fail(ErrorKind::usage, shown(name) + " is a directory; REV needs a file");
    return log_directory(context, name);
  }
  return log_file(context);
}

}  // namespace peel::cli
