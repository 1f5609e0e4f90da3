// peel-hdf5 - the program that parses HDF5 for peel. It reads one question from its socket, confines itself,
// and answers. Everything it knows of the file it asks for over that socket (hdf5/protocol.h).
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <new>
#include <vector>

#include "hdf5/answer.h"
#include "hdf5/helper/compare.h"
#include "hdf5/helper/confine.h"
#include "hdf5/helper/inspect.h"
#include "hdf5/helper/list.h"
#include "hdf5/helper/open_file.h"
#include "hdf5/helper/remote_source.h"
#include "hdf5/protocol.h"

namespace peel::hdf5 {
namespace {

bool started_by_peel() {
  struct stat about;
  return ::fstat(helper_socket_fd, &about) == 0 && S_ISSOCK(about.st_mode);
}

Result<Request> receive_request() {
  std::array<std::byte, 4> raw;
  receive_or_exit(helper_socket_fd, raw);
  const std::uint32_t size = WireReader::load<std::uint32_t>(raw.data());
  if (size > request_size_max) return fail(ErrorKind::corrupt, "request too long");
  Buffer bytes(size);
  receive_or_exit(helper_socket_fd, bytes);
  return decode_request(bytes);
}

template <class Report>
Buffer encoded(const Result<Report>& report) {
  return report ? encode_answer(*report) : encode_answer(report.error());
}

Buffer answer_to(const Request& request, const std::vector<RemoteSource>& sources) {
  switch (request.question) {
    case Question::inspect: return encoded(inspect_file(sources[0]));
    case Question::list: return encoded(list_file(sources[0], request.time_ms, request.items_max));
    case Question::compare:
      return encoded(compare_files(sources[0], sources[1],
                                   {request.time_ms, request.items_max, request.path, request.changed}));
  }
  return {};
}

void send_answer(const Buffer& answer) {
  send_or_exit(helper_socket_fd, encode(FrameHeader{FrameKind::answer, 0, static_cast<std::uint32_t>(answer.size()), 0}));
  send_or_exit(helper_socket_fd, answer);
}

int run() {
  if (!started_by_peel()) {
    std::fputs("peel-hdf5 is a part of peel and does nothing by itself\n", stderr);
    return exit_not_started_by_peel;
  }
  std::set_new_handler([] { ::_exit(exit_out_of_memory); });
  const auto request = receive_request();
  if (!request) return exit_bad_request;
  ::tzset();  // libhdf5 converts times, and would look for the zone's file later
  if (!start_library()) return exit_not_confined;
  if (!confine(helper_socket_fd, request->memory_bytes_max, request->cpu_seconds_max)) return exit_not_confined;

  std::vector<RemoteSource> sources;
  for (const std::uint64_t size : request->sizes) {
    sources.emplace_back(helper_socket_fd, static_cast<std::uint8_t>(sources.size()), size);
  }
  send_answer(answer_to(*request, sources));
  return 0;
}

}  // namespace
}  // namespace peel::hdf5

// _exit: nothing is to be written or tidied up, and exit handlers would want system calls that are gone.
int main() { ::_exit(peel::hdf5::run()); }
