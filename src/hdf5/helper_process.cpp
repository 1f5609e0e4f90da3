#include "hdf5/helper_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <vector>

#include "hdf5/protocol.h"

namespace peel::hdf5 {
namespace {

Result<std::string> directory_of_this_program() {
  std::array<char, PATH_MAX> buffer;
  const ssize_t n = ::readlink("/proc/self/exe", buffer.data(), buffer.size());
  if (n <= 0) return Error::from_errno(errno, "readlink /proc/self/exe");
  const std::string path(buffer.data(), static_cast<std::size_t>(n));
  return path.substr(0, path.rfind('/'));
}

// What the helper may see of our environment: where its libraries are, and how a sanitizer should behave.
std::vector<std::string> helper_environment() {
  std::vector<std::string> out{"HDF5_PLUGIN_PRELOAD=::", "HDF5_USE_FILE_LOCKING=FALSE", "TZ=UTC0", "LC_ALL=C"};
  for (const char* name : {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"}) {
    if (const char* value = ::secure_getenv(name)) out.push_back(std::string(name) + "=" + value);
  }
  return out;
}

// posix_spawn's attribute objects, destroyed in every case.
struct SpawnPlan {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnPlan() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
  }
};

void fill(SpawnPlan& plan, int socket) {
  // The socket first: our own 0 to 2 may be closed, and then it may be one of them.
  ::posix_spawn_file_actions_adddup2(&plan.actions, socket, helper_socket_fd);
  ::posix_spawn_file_actions_addopen(&plan.actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&plan.actions, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&plan.actions, 2, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addclosefrom_np(&plan.actions, helper_socket_fd + 1);

  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&plan.attributes, &none);
  ::posix_spawnattr_setsigdefault(&plan.attributes, &all);
  ::posix_spawnattr_setpgroup(&plan.attributes, 0);
  ::posix_spawnattr_setflags(&plan.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

Error explain_exit(int code) {
  switch (code) {
    case exit_out_of_memory:
      return fail(ErrorKind::limit, "HDF5 reader needs more memory than it is allowed: the file is damaged or too complex");
    case exit_not_confined:
      return fail(ErrorKind::unsupported, "HDF5 reader cannot be confined on this system (seccomp is missing or forbidden)");
    case exit_bad_request:
    case exit_not_started_by_peel:
      return fail(ErrorKind::unsupported, "HDF5 reader is of another version: reinstall peel");
    case 127: return fail(ErrorKind::unsupported, "HDF5 reader cannot be started: reinstall peel");
    default:
      return fail(ErrorKind::corrupt,
                  "HDF5 reader stopped (exit " + std::to_string(code) + "): the file is damaged or too complex");
  }
}

}  // namespace

Result<std::string> find_helper() {
  if (const char* chosen = ::secure_getenv("PEEL_HDF5_HELPER")) return std::string(chosen);
  PEEL_TRY(const auto here, directory_of_this_program(), "");
  const std::array<std::string, 3> places{here + "/../libexec/peel-hdf5", here + "/" PEEL_HDF5_HELPER_FROM_BIN,
                                          PEEL_HDF5_HELPER_INSTALLED};
  for (const std::string& place : places) {
    if (::access(place.c_str(), X_OK) == 0) return place;
  }
  return fail(ErrorKind::unsupported, "HDF5 reader " + places[2] + " is missing: reinstall peel, or name it in PEEL_HDF5_HELPER");
}

Result<HelperProcess> HelperProcess::start() {
  PEEL_TRY(auto path, find_helper(), "");
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return Error::from_errno(errno, "socketpair");
  UniqueFd ours(pair[0]), theirs(pair[1]);

  SpawnPlan plan;
  fill(plan, theirs.get());
  std::vector<std::string> environment = helper_environment();
  std::vector<char*> environment_pointers;
  for (std::string& entry : environment) environment_pointers.push_back(entry.data());
  environment_pointers.push_back(nullptr);
  std::string name = "peel-hdf5";
  char* const arguments[] = {name.data(), nullptr};

  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, path.c_str(), &plan.actions, &plan.attributes, arguments, environment_pointers.data());
  if (error != 0) return Error::from_errno(error, "start " + path);
  return HelperProcess(pid, std::move(ours));
}

HelperProcess::HelperProcess(HelperProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), socket_(std::move(other.socket_)) {}

HelperProcess::~HelperProcess() { reap(); }

int HelperProcess::reap() {
  if (pid_ < 0) return -1;
  // Harmless when it has ended already: it stays a zombie, and its status stays what it was.
  ::kill(pid_, SIGKILL);
  int status = -1;
  pid_t got;
  do {
    got = ::waitpid(pid_, &status, 0);
  } while (got < 0 && errno == EINTR);
  const bool known = got == pid_;
  pid_ = -1;
  socket_.reset();
  return known ? status : -1;
}

Error HelperProcess::end() {
  const int status = reap();
  if (status >= 0 && WIFEXITED(status)) return explain_exit(WEXITSTATUS(status));
  if (status >= 0 && WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGXCPU) return fail(ErrorKind::timeout, "HDF5 reader used up its processor time");
    return fail(ErrorKind::corrupt,
                "HDF5 reader stopped (signal " + std::to_string(signal) + "): the file is damaged or too complex");
  }
  return fail(ErrorKind::corrupt, "HDF5 reader stopped: the file is damaged or too complex");
}

}  // namespace peel::hdf5
