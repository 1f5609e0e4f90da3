#include "workspace/identity.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "workspace/file_source.h"

namespace peel::workspace {
namespace {

std::string user_name() {
  std::vector<char> buffer(16384);
  passwd entry;
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found) return found->pw_name;
  return "uid " + std::to_string(::geteuid());  // a container without a passwd entry
}

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return {};
  return name;
}

}  // namespace

std::string cut_text(std::string text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
  return text;
}

std::string with_unhealthy_line(const std::string& note, const std::string& why) {
  const std::string line = "[unhealthy: " + cut_text(why, 4096) + "]";
  const std::string head = cut_text(note, meta_text_bytes_max - line.size() - 1);
  return head.empty() ? line : head + "\n" + line;
}

RevisionMeta describe_commit(const std::optional<std::string>& author, const std::string& note) {
  RevisionMeta meta;
  const char* from_environment = std::getenv("PEEL_AUTHOR");
  if (author) meta.author = *author;
  else if (from_environment && *from_environment) meta.author = from_environment;
  else meta.author = user_name();
  meta.author = cut_text(std::move(meta.author), meta_text_bytes_max);
  meta.host = cut_text(host_name(), meta_text_bytes_max);
  meta.note = cut_text(note, meta_text_bytes_max);
  meta.time_ns = now_ns();
  return meta;
}

}  // namespace peel::workspace
