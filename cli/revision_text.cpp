// cli/revision_text.cpp - see revision_text.h.
#include "cli/revision_text.h"

#include <cstdio>

#include "base/hex.h"
#include "cli/human.h"

namespace peel::cli {

RefNames::RefNames(const Onion& onion) : current_branch_(onion.current_branch()) {
  for (const Ref& ref : onion.refs()) {
    if (ref.target.is_zero()) continue;
    if (ref.kind == RefKind::branch || ref.kind == RefKind::remote) names_[ref.target].branches.push_back(ref.name);
    if (ref.kind == RefKind::tag) names_[ref.target].tags.push_back(ref.name);
  }
}

const RefNames::Names& RefNames::of(const RevisionId& id) const {
  static const Names none;
  const auto found = names_.find(id);
  return found == names_.end() ? none : found->second;
}

std::string revision_name(const RevisionInfo& revision) {
  return "@" + std::to_string(revision.number) + " " + short_hex(revision.id);
}

std::string content_text(const Digest& content) { return "peel1:" + to_hex(content); }

std::vector<std::string> label_names(std::uint32_t labels) {
  static constexpr std::pair<RevisionLabel, const char*> known[] = {{label_torn, "torn"},
                                                                    {label_unhealthy, "unhealthy"},
                                                                    {label_snapshot, "snapshot"},
                                                                    {label_merge, "merge"},
                                                                    {label_rollback, "rollback"}};
  std::vector<std::string> out;
  for (const auto& [label, name] : known)
    if ((labels & label) != 0) out.emplace_back(name);
  return out;
}

std::string revision_line(const RevisionInfo& revision, const RefNames& names) {
  std::string out = "@" + std::to_string(revision.number) + "  " + short_hex(revision.id) + "  " +
                    local_time_text(revision.time_ns) + "  " + size_text(revision.size) + "  +" +
                    size_text(revision.bytes_added);
  if (!revision.meta.author.empty()) out += "  " + escape_for_terminal(revision.meta.author);
  const RefNames::Names& here = names.of(revision.id);
  std::string refs;
  for (const std::string& branch : here.branches) {
    refs += refs.empty() ? "" : ", ";
    refs += (branch == names.current_branch() ? "* " : "") + escape_for_terminal(branch);
  }
  for (const std::string& tag : here.tags) refs += (refs.empty() ? "tag " : ", tag ") + escape_for_terminal(tag);
  if (!refs.empty()) out += "  (" + refs + ")";
  for (const std::string& label : label_names(revision.meta.labels)) out += "  [" + label + "]";
  return out;
}

std::vector<std::string> note_lines(const std::string& note) {
  std::vector<std::string> out;
  std::string_view rest = note;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    out.push_back(escape_for_terminal(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  while (!out.empty() && out.back().empty()) out.pop_back();
  return out;
}

void write_revision(JsonWriter& json, const RevisionInfo& revision, const RefNames* names,
                    const std::function<void()>& more) {
  char mode[16];
  std::snprintf(mode, sizeof mode, "%04o", revision.meta.mode);
  json.begin_object()
      .integer("number", revision.number)
      .string("id", to_hex(revision.id))
      .integer("generation", revision.generation)
      .key("parents")
      .begin_array();
  for (const RevisionId& parent : revision.parents) json.string(to_hex(parent));
  json.end_array()
      .integer("size", revision.size)
      .string("content", content_text(revision.content))
      .integer("bytes_added", revision.bytes_added)
      .string("time", utc_time_text(revision.time_ns))
      .string("mtime", utc_time_text(revision.meta.mtime_ns))
      .string("mode", mode)
      .string("author", revision.meta.author)
      .string("host", revision.meta.host)
      .string("note", revision.meta.note)
      .key("labels")
      .begin_array();
  for (const std::string& label : label_names(revision.meta.labels)) json.string(label);
  const RefNames::Names here = names == nullptr ? RefNames::Names{} : names->of(revision.id);
  json.end_array().key("branches").begin_array();
  for (const std::string& branch : here.branches) json.string(branch);
  json.end_array().key("tags").begin_array();
  for (const std::string& tag : here.tags) json.string(tag);
  json.end_array();
  if (more) more();
  json.end_object();
}

std::string range_text(const Range& range) {
  return "bytes " + count_text(range.offset) + " to " + count_text(range.offset + range.length - 1) + " (" +
         size_text(range.length) + ")";
}

}  // namespace peel::cli
