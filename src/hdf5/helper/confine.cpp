#include "hdf5/helper/confine.h"

#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <memory>

namespace peel::hdf5 {
namespace {

// Sanitizers reserve terabytes of address space, try memory by writing it into pipes, and look around when they
// report: builds with them are for finding bugs, not for keeping strangers in.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif
#else
constexpr bool sanitized = false;
#endif

Status limit(__rlimit_resource_t what, std::uint64_t most) {
  rlimit now;
  if (::getrlimit(what, &now) != 0) return Error::from_errno(errno, "getrlimit");
  // Never above what we were given.
  const rlim_t value = now.rlim_max == RLIM_INFINITY ? most : std::min<rlim_t>(most, now.rlim_max);
  const rlimit wanted{value, value};
  if (::setrlimit(what, &wanted) != 0) return Error::from_errno(errno, "setrlimit");
  return {};
}

Status limit_everything(std::uint64_t memory_bytes_max, std::uint32_t cpu_seconds_max) {
  if (!sanitized) {
    PEEL_CHECK(limit(RLIMIT_AS, memory_bytes_max), "");
    PEEL_CHECK(limit(RLIMIT_NOFILE, 0), "");
  }
  PEEL_CHECK(limit(RLIMIT_CPU, cpu_seconds_max), "");
  PEEL_CHECK(limit(RLIMIT_FSIZE, 0), "");
  PEEL_CHECK(limit(RLIMIT_CORE, 0), "");
  return limit(RLIMIT_MEMLOCK, 0);
}

class Filter {
 public:
  Filter() : context_(seccomp_init(SCMP_ACT_KILL_PROCESS), seccomp_release) {}
  bool ok() const { return context_ != nullptr && ok_; }

  template <class... Conditions>
  void allow(int call, Conditions... conditions) {
    add(SCMP_ACT_ALLOW, call, conditions...);
  }
  void refuse(int call) { add(SCMP_ACT_ERRNO(EACCES), call); }
  bool load() { return ok() && seccomp_load(context_.get()) == 0; }

 private:
  template <class... Conditions>
  void add(std::uint32_t action, int call, Conditions... conditions) {
    if (call == __NR_SCMP_ERROR || call < 0) return;  // this architecture has no such call
    if (ok() && seccomp_rule_add(context_.get(), action, call, sizeof...(conditions), conditions...) != 0) ok_ = false;
  }

  std::unique_ptr<void, decltype(&seccomp_release)> context_;
  bool ok_ = true;
};

bool filter_calls(int socket) {
  const auto fd = static_cast<scmp_datum_t>(socket);
  const auto self = static_cast<scmp_datum_t>(::getpid());
  Filter filter;
  if (!filter.ok()) return false;
  for (const int call : {SCMP_SYS(recvfrom), SCMP_SYS(sendto)}) filter.allow(call, SCMP_A0(SCMP_CMP_EQ, fd));
  // Memory, but no new code; and no mapping of files, for there are none.
  filter.allow(SCMP_SYS(mmap), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0), SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));
  filter.allow(SCMP_SYS(mprotect), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
  for (const int call : {SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(brk), SCMP_SYS(madvise), SCMP_SYS(futex)}) filter.allow(call);
  for (const int call : {SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(getpid), SCMP_SYS(gettid)}) filter.allow(call);
  // libhdf5 waits a nanosecond before it reads metadata with a wrong checksum again.
  for (const int call : {SCMP_SYS(nanosleep), SCMP_SYS(clock_nanosleep)}) filter.allow(call);
  for (const int call : {SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigprocmask), SCMP_SYS(restart_syscall)}) filter.allow(call);
  // abort(), so that a failed check ends as what it is.
  filter.allow(SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, self), SCMP_A2(SCMP_CMP_EQ, SIGABRT));
  // libhdf5 may try these for a file named in a file; it copes with being refused.
  for (const int call : {SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(openat2), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(newfstatat),
                         SCMP_SYS(statx), SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getcwd)}) {
    filter.refuse(call);
  }
  if (sanitized) {
    for (const int call : {SCMP_SYS(write), SCMP_SYS(pipe), SCMP_SYS(pipe2), SCMP_SYS(close), SCMP_SYS(sigaltstack),
                           SCMP_SYS(rt_sigaction), SCMP_SYS(sched_yield)}) {
      filter.allow(call);
    }
  }
  return filter.load();
}

}  // namespace

Status confine(int socket, std::uint64_t memory_bytes_max, std::uint32_t cpu_seconds_max) {
  // Not to be looked into by others, and gone with the thread of peel that waits for us.
  if (::prctl(PR_SET_DUMPABLE, 0) != 0 || ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return Error::from_errno(errno, "prctl");
  }
  PEEL_CHECK(limit_everything(memory_bytes_max, cpu_seconds_max), "");
  if (!filter_calls(socket)) return fail(ErrorKind::unsupported, "seccomp");
  return {};
}

}  // namespace peel::hdf5
