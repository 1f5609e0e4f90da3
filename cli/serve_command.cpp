// cli/serve_command.cpp - serve.
#include <cerrno>
#include <filesystem>

#include "cli/context.h"
#include "cli/handlers.h"
#include "cli/human.h"
#include "cli/named_file.h"
#include "hub/hub.h"
#include "trust/fingerprint.h"

namespace peel::cli {
namespace {

std::string log_line(const hub::LogEntry& entry) {
  std::string out = local_time_text(entry.time_ns) + "  ";
  if (!entry.peer.empty()) out += entry.peer + " ";
  if (!entry.address.empty()) out += "(" + entry.address + ")  ";
  out += entry.operation;
  if (!entry.onion.empty()) out += " " + entry.onion;
  if (!entry.text.empty()) out += ": " + entry.text;
  return out;
}

Result<hub::HubOptions> hub_options(const Context& context) {
  hub::HubOptions options;
  options.root = context.arguments.operand_or(0, "");
  options.listen = context.arguments.value("listen").value_or(options.listen);
  options.create = context.arguments.has("create");
  options.insecure = context.arguments.has("insecure");
  options.insecure_write = context.arguments.has("insecure-write");
  if (options.insecure_write && !options.insecure)
    return fail(ErrorKind::usage, "--insecure-write goes with --insecure (see: peel serve --help)");
  PEEL_TRY(const auto connections, context.arguments.count("connections"), "");
  if (connections && (*connections == 0 || *connections > 65536))
    return fail(ErrorKind::usage, "--connections: from 1 to 65536");
  if (connections) options.connections_max = static_cast<std::uint32_t>(*connections);
  PEEL_TRY(const auto quota, context.arguments.size("quota"), "");
  options.staging_quota = quota.value_or(options.staging_quota);
  options.log = [&context](const hub::LogEntry& entry) { context.messages.note(log_line(entry)); };
  return options;
}

}  // namespace

Result<int> run_serve(Context& context) {
  PEEL_TRY(hub::HubOptions options, hub_options(context), "");
  const std::string root = options.root;
  if (options.create) {
    std::error_code error;
    std::filesystem::create_directories(root, error);
    if (error) return fail(ErrorKind::io, shown(root) + ": cannot be made: " + error.message());
  }
  std::error_code ignored;
  if (!std::filesystem::exists(root, ignored))
    return fail(ErrorKind::not_found, "there is no directory " + shown(root) + ": make it with mkdir -p " +
                                          shown(root) + ", or say --create, which also lets peers make new histories");
  if (options.insecure)
    context.messages.warning("no encryption and no keys: everybody who reaches the port may read" +
                             std::string(options.insecure_write ? " and write" : ""));
  auto started = hub::Hub::start(std::move(options));
  if (!started && started.error().os_error() == EADDRINUSE)
    return std::move(started.error()).advise("choose another with --listen HOST:PORT; port 0 is any free one");
  if (!started) return std::move(started.error());
  hub::Hub hub = std::move(*started);
  const std::string key = hub.key().is_zero() ? "without a key" : "as " + trust::fingerprint(hub.key());
  context.out.line("serving " + shown(root) + " at " + hub.address() + " " + key);
  PEEL_CHECK(context.out.flush(), "");  // whoever started us waits for this line
  PEEL_CHECK(hub.run(context.cancel), "");
  const hub::HubStats stats = hub.stats();
  context.messages.note("stopped: " + counted(stats.connections_total, "connection", "connections") + ", " +
                        counted(stats.operations, "operation", "operations") + ", " + size_text(stats.bytes_received) +
                        " received, " + size_text(stats.bytes_sent) + " sent");
  return context.cancel.requested() ? exit_code(ErrorKind::cancelled) : 0;
}

}  // namespace peel::cli
