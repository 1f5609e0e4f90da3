#include <sys/stat.h>

#include "base/hex.h"
#include "workspace/file_source.h"
#include "workspace/stamp.h"
#include "workspace/temp_name.h"
#include "workspace/workspace.h"

namespace peel::workspace {
namespace {

Status read_history(const Onion& onion, StatusReport& report) {
  report.revisions = onion.revision_count();
  report.branch = onion.current_branch();
  struct stat st;
  if (::stat(onion.path().c_str(), &st) == 0) report.onion_bytes = static_cast<std::uint64_t>(st.st_size);
  const auto branch = onion.ref(RefKind::branch, report.branch);
  const auto number = branch ? onion.find(branch->target) : std::nullopt;
  if (!number) return {};
  PEEL_TRY(report.head, onion.revision(*number), "");
  return {};
}

// Opens the working file; absent (with state and reason set) when there is nothing to compare.
std::unique_ptr<FileSource> open_working(const Paths& paths, StatusReport& report) {
  auto source = FileSource::open(paths.file, Symlinks::follow);
  if (source) return std::move(*source);
  const ErrorKind kind = source.error().kind();
  const bool something_else = kind == ErrorKind::refused || kind == ErrorKind::usage;  // a device; a directory
  report.state = kind == ErrorKind::not_found || something_else ? State::missing : State::unknown;
  report.why = source.error().message();
  return nullptr;
}

// Content by times alone, else by reading. Absent: it could not be read, or moved meanwhile.
std::optional<Digest> content_of(const Paths& paths, const Onion& onion, const StatusRequest& request, FileSource& source,
                                 StatusReport& report) {
  const auto stamp = load_stamp(onion);
  if (!request.always_hash && stamp && proves_unchanged(*stamp, source.opened(), report.writer)) return stamp->content;
  Stamp next;
  next.looked_ns = now_ns();
  next.times = source.opened();
  source.set_watch(true);
  auto content = hash_source(source, request.run);
  if (!content) {
    report.state = State::unknown;
    report.why = content.error().message();
    return std::nullopt;
  }
  report.hashed = true;
  next.content = *content;
  next.quiet = report.writer == Writer::no && probe_writer(source.fd()) == Writer::no;
  const bool teaches = proves_unchanged(next, next.times, Writer::no);
  const auto number = teaches ? find_content(onion, *content, source.size()) : std::optional<std::uint64_t>();
  if (number && *number) {
    if (auto info = onion.revision(**number)) {
      next.revision = info->id;
      store_stamp_if_idle(paths, next);
    }
  }
  return *content;
}

}  // namespace

const char* state_name(State state) {
  switch (state) {
    case State::unmodified: return "unmodified";
    case State::modified: return "modified";
    case State::missing: return "missing";
    case State::untracked: return "untracked";
    case State::unknown: return "unknown";
  }
  return "?";
}

Result<StatusReport> status(const Paths& paths, const StatusRequest& request) {
  StatusReport report;
  report.paths = paths;
  auto onion = open_onion(paths);
  if (!onion) {
    if (onion.error().kind() != ErrorKind::not_found) return std::move(onion.error());
    const auto source = FileSource::open(paths.file, Symlinks::follow);
    if (!source) return std::move(onion.error());  // neither file nor onion
    report.state = State::untracked;
    report.file = (*source)->opened();
    report.writer = probe_writer((*source)->fd());
    return report;
  }
  report.damage.assign(onion->damage().begin(), onion->damage().end());
  PEEL_CHECK(read_history(*onion, report), "status of " + escape_for_terminal(paths.file));
  if (const auto stamp = load_stamp(*onion)) report.based_on = onion->find(stamp->revision);
  const auto source = open_working(paths, report);
  if (!source) return report;
  report.file = source->opened();
  report.writer = probe_writer(source->fd());
  const auto content = content_of(paths, *onion, request, *source, report);
  if (!content) {
    if (request.run.cancel) PEEL_CHECK(request.run.cancel->check(), "");
    return report;
  }
  const bool is_head = report.head && report.head->content == *content;
  report.state = is_head ? State::unmodified : State::modified;
  if (is_head) {
    report.same_as = report.head->number;
  } else {
    PEEL_TRY(report.same_as, find_content(*onion, *content, source->size()), "");
  }
  return report;
}

}  // namespace peel::workspace
