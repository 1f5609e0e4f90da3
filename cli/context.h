// cli/context.h - what a running command sees of the world: its arguments, both output streams, the stop flag.
//
// Contract   Results go to standard output, everything else (warnings, progress, errors, trace) to standard error.
//            Output is collected and written in pieces; a full disk or a closed pipe is noticed. Text handed to
//            these classes must be escaped already where it came from outside; what still could steer a terminal
//            is made harmless here.
// Errors     io from Output; with EPIPE when the reader is gone. cancelled when a signal came while it blocked.
// Threads    One owner; Progress may be told from any thread.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>

#include "base/cancel.h"
#include "cli/arguments.h"
#include "cli/json_writer.h"
#include "peel/types.h"

namespace peel::cli {

// Standard output.
class Output {
public:
  explicit Output(const Cancel& cancel) : cancel_(cancel) {}
  // A line of text.
  void line(std::string_view text);
  // Bytes as they are.
  void raw(std::string_view text);
  Status flush();
  // Past the collected text, which is written first.
  Status write_through(Bytes data);

private:
  Status write_all(std::string_view text);

  const Cancel& cancel_;
  std::string pending_;
  Status state_;  // the first failure; later writes are dropped
};

// Standard error.
class Messages {
public:
  Messages(bool quiet, bool verbose, bool trace)
      : quiet_(quiet), verbose_(verbose), trace_(trace), start_(std::chrono::steady_clock::now()) {}
  void error(std::string_view text) const;    // "peel: TEXT"
  void warning(std::string_view text) const;  // also with -q: it concerns the data
  void note(std::string_view text) const;     // not with -q
  void detail(std::string_view text) const;   // with -v
  void trace(std::string_view text) const;    // with --trace, with the time since the start
  bool quiet() const { return quiet_; }
  bool verbose() const { return verbose_; }

private:
  bool quiet_, verbose_, trace_;
  std::chrono::steady_clock::time_point start_;
};

class Context {
public:
  Context(Arguments arguments_in, const Cancel& cancel_in)
      : arguments(std::move(arguments_in)),
        out(cancel_in),
        messages(arguments.has("quiet"), arguments.has("verbose"), arguments.has("trace")),
        cancel(cancel_in),
        json(arguments.has("json")) {}

  const Arguments arguments;
  Output out;
  const Messages messages;
  const Cancel& cancel;
  const bool json;

  // What a command that changes something says when it is done: not with -q, not with --json.
  void report(std::string_view text) {
    if (!messages.quiet() && !json) out.line(text);
  }
  // The one document of a --json command.
  void document(JsonWriter&& writer) { out.raw(std::move(writer).take()); }
};

}  // namespace peel::cli
