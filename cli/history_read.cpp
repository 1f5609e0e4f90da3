// cli/history_read.cpp - export, cat, digest: bytes out of a history, and digests of files.
#include <array>
#include <cerrno>

#include <unistd.h>

#include "cli/context.h"
#include "cli/handlers.h"
#include "cli/human.h"
#include "cli/named_file.h"
#include "cli/progress.h"
#include "cli/revision_text.h"
#include "codec/grid_digest.h"

namespace peel::cli {
namespace {

Status cat_revision(Context& context, const std::string& rev, std::uint64_t offset, std::uint64_t length) {
  PEEL_TRY(const NamedOnion named, open_named(context), "");
  const auto sink = [&context](Bytes data) { return context.out.write_through(data); };
  const Result<std::uint64_t> written = workspace::cat(named.onion, rev, offset, length, sink, run_of(context));
  if (!written) return with_repair_hint(Error(written.error()).in(shown(named.paths)), named.paths);
  return {};
}

Result<workspace::FileDigest> digest_standard_input(const Context& context) {
  codec::ContentHasher hasher;
  workspace::FileDigest out;
  std::array<std::byte, 65536> buffer;
  while (true) {
    PEEL_CHECK(context.cancel.check(), "");
    const ssize_t n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error::from_errno(errno, "standard input");
    if (n == 0) break;
    hasher.update(Bytes(buffer).first(static_cast<std::size_t>(n)));
    out.size += static_cast<std::uint64_t>(n);
  }
  out.content = hasher.finish();
  return out;
}

Result<workspace::FileDigest> digest_one(const Context& context, const std::string& name) {
  if (name == "-") return digest_standard_input(context);
  Progress progress(context, shown(name) + ": hashing");
  return workspace::digest_file(name, {.cancel = &context.cancel, .progress = progress.function()});
}

}  // namespace

Result<int> run_export(Context& context) {
  const auto output = context.arguments.value("output");
  if (!output) return fail(ErrorKind::usage, "say where to with -o OUT (see: peel export --help)");
  const std::string rev = context.arguments.operand_or(1, "");
  const bool history = context.arguments.has("history");
  if (*output == "-") {
    if (history) return fail(ErrorKind::usage, "--history needs a file to write to, not standard output");
    PEEL_CHECK(cat_revision(context, rev, 0, ~0ull), "");
    return 0;
  }
  if (history && !rev.empty()) return fail(ErrorKind::usage, "--history exports every revision; leave out REV");
  PEEL_TRY(const NamedOnion named, open_named(context), "");
  Progress progress(context, shown(named.paths) + ": writing");
  workspace::ExportRequest request;
  request.force = context.arguments.has("force");
  request.run = {.cancel = &context.cancel, .progress = progress.function()};
  const Result<workspace::ExportReport> report = history
                                                     ? workspace::export_onion(named.paths, *output, request)
                                                     : workspace::export_revision(named.onion, rev, *output, request);
  if (!report) return with_repair_hint(report.error(), named.paths);
  progress.clear();
  if (history)
    context.report(shown(*output) + ": the history of " + shown(named.paths) + ", " + size_text(report->size));
  else
    context.report(shown(*output) + ": @" + std::to_string(report->number) + " of " + shown(named.paths) + ", " +
                   size_text(report->size) + ", " + content_text(report->content));
  return 0;
}

Result<int> run_cat(Context& context) {
  PEEL_TRY(const auto offset, context.arguments.size("offset"), "");
  PEEL_TRY(const auto length, context.arguments.size("length"), "");
  PEEL_CHECK(cat_revision(context, context.arguments.operand_or(1, ""), offset.value_or(0), length.value_or(~0ull)),
             "");
  return 0;
}

Result<int> run_digest(Context& context) {
  const std::vector<std::string>& names = context.arguments.operands();
  JsonWriter json;
  json.begin_object().key("files").begin_array();
  std::size_t failed = 0;
  for (const std::string& name : names) {
    const Result<workspace::FileDigest> digest = digest_one(context, name);
    if (!digest) {
      if (names.size() == 1 || digest.error().kind() == ErrorKind::cancelled) return Error(digest.error());
      context.messages.error(digest.error().message());
      ++failed;
      continue;
    }
    if (context.json)
      json.begin_object()
          .string("file", name)
          .integer("size", digest->size)
          .string("content", content_text(digest->content))
          .end_object();
    else
      context.out.line(content_text(digest->content) + "  " + shown(name));
  }
  json.end_array().end_object();
  if (context.json) context.document(std::move(json));
  if (failed > 0)
    return fail(ErrorKind::partial, std::to_string(failed) + " of " + std::to_string(names.size()) + " files not read");
  return 0;
}

}  // namespace peel::cli
