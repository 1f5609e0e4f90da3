#include "workspace/stamp.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>

#include "base/hex.h"
#include "base/open_probe.h"
#include "base/unique_fd.h"
#include "workspace/file_source.h"

namespace peel::workspace {
namespace {

// The next field up to a space; false when there is none.
bool next_field(std::string_view& rest, std::string_view& field) {
  if (rest.empty()) return false;
  const auto space = rest.find(' ');
  field = rest.substr(0, space);
  rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
  return !field.empty();
}

template <class T>
bool next_number(std::string_view& rest, T& out) {
  std::string_view field;
  if (!next_field(rest, field)) return false;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), out);
  return error == std::errc() && end == field.data() + field.size();
}

bool next_digest(std::string_view& rest, Digest& out) {
  std::string_view field;
  if (!next_field(rest, field)) return false;
  const auto digest = digest_from_hex(field);
  if (!digest) return false;
  out = *digest;
  return true;
}

// Nobody holds the onion's writer lock at this moment. Asked, not tried: a reader must not make a writer fail.
bool is_idle(const std::string& onion_path) {
  const UniqueFd fd(::open(onion_path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd) return false;
  struct flock question {};
  question.l_type = F_WRLCK;
  question.l_whence = SEEK_SET;
  return ::fcntl(fd.get(), F_OFD_GETLK, &question) == 0 && question.l_type == F_UNLCK;
}

}  // namespace

std::string encode_stamp(const Stamp& stamp) {
  std::string out = "1";
  const auto add = [&](const std::string& field) { out += " " + field; };
  add(std::to_string(stamp.times.size));
  add(std::to_string(stamp.times.mtime_ns));
  add(std::to_string(stamp.times.ctime_ns));
  add(std::to_string(stamp.times.device));
  add(std::to_string(stamp.times.inode));
  add(std::to_string(stamp.looked_ns));
  add(stamp.quiet ? "1" : "0");
  add(to_hex(stamp.revision));
  add(to_hex(stamp.content));
  return out;
}

std::optional<Stamp> decode_stamp(std::string_view text) {
  Stamp stamp;
  unsigned version = 0, quiet = 0;
  const bool ok = next_number(text, version) && version == 1 && next_number(text, stamp.times.size) &&
                  next_number(text, stamp.times.mtime_ns) && next_number(text, stamp.times.ctime_ns) &&
                  next_number(text, stamp.times.device) && next_number(text, stamp.times.inode) &&
                  next_number(text, stamp.looked_ns) && next_number(text, quiet) && quiet <= 1 &&
                  next_digest(text, stamp.revision) && next_digest(text, stamp.content) && text.empty();
  if (!ok) return std::nullopt;
  stamp.quiet = quiet == 1;
  return stamp;
}

std::optional<Stamp> load_stamp(const Onion& onion) {
  const auto setting = onion.ref(RefKind::setting, stamp_setting);
  return setting ? decode_stamp(setting->value) : std::nullopt;
}

RefChange stamp_change(const Stamp& stamp) {
  RefChange change;
  change.kind = RefKind::setting;
  change.name = stamp_setting;
  change.value = encode_stamp(stamp);
  return change;
}

void store_stamp_if_idle(const Paths& paths, const Stamp& stamp) {
  if (!is_idle(paths.onion)) return;
  auto onion = open_onion(paths, Access::write);
  if (!onion) return;
  const RefChange change = stamp_change(stamp);
  if (auto stored = onion->update_refs(std::span(&change, 1)); !stored) return;
}

bool proves_unchanged(const Stamp& stamp, const FileTimes& now, Writer writer) {
  const std::int64_t newest = std::max(stamp.times.mtime_ns, stamp.times.ctime_ns);
  return stamp.quiet && writer == Writer::no && same_moment(stamp.times, now) &&
         newest <= stamp.looked_ns - stamp_margin_ns;
}

Writer probe_writer(int fd) {
  switch (probe_open_for_writing(fd)) {
    case OpenForWriting::no: return Writer::no;
    case OpenForWriting::yes: return Writer::yes;
    case OpenForWriting::unknown: return Writer::unknown;
  }
  return Writer::unknown;
}

}  // namespace peel::workspace
