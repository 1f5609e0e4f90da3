// cli/main.cpp - the command: parse, run, say what went wrong, exit with the right code.
#include <cerrno>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "cli/context.h"
#include "cli/signals.h"

namespace peel::cli {
namespace {

int report(const Messages& messages, const Cancel& cancel, const Error& error) {
  // Whatever failed after a request to stop failed because of it.
  if (cancel.requested() || error.kind() == ErrorKind::cancelled) {
    messages.error("interrupted; " + (error.advice().empty() ? "nothing was left half done" : error.advice()));
    if (error.kind() != ErrorKind::cancelled) messages.detail(error.message());
    return exit_code(ErrorKind::cancelled);
  }
  if (error.os_error() == EPIPE) die_of_closed_pipe();
  messages.error(error.message() + (error.advice().empty() ? "" : "; " + error.advice()));
  return exit_code(error.kind());
}

int run(const std::vector<std::string>& words, const Cancel& cancel) {
  Result<Arguments> arguments = parse(words);
  if (!arguments) return report(Messages(false, false, false), cancel, arguments.error());

  Context context(std::move(*arguments), cancel);
  context.messages.trace(std::string("begin ") + context.arguments.command().name);
  const Result<int> result = context.arguments.command().run(context);
  // What was printed before a failure is still worth reading, and comes before the message.
  const Status flushed = context.out.flush();
  if (!result) return report(context.messages, cancel, result.error());
  if (!flushed) return report(context.messages, cancel, flushed.error());
  context.messages.trace("end, exit code " + std::to_string(*result));
  return *result;
}

}  // namespace
}  // namespace peel::cli

int main(int argc, char** argv) {
  static peel::Cancel cancel;  // a signal may still come while main returns
  peel::cli::stop_on_signals(cancel);
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  // Nothing of ours throws on purpose; what the standard library throws must not end in a core dump.
  try {
    return peel::cli::run(words, cancel);
  } catch (const std::bad_alloc&) {
    peel::cli::Messages(false, false, false).error("out of memory");
  } catch (const std::exception& exception) {
    peel::cli::Messages(false, false, false).error(std::string("internal error: ") + exception.what());
  }
  return peel::exit_code(peel::ErrorKind::io);
}
