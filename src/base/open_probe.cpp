#include "base/open_probe.h"

#include <fcntl.h>
#include <sys/vfs.h>

#include <cerrno>
#include <csignal>

namespace peel {
namespace {

// A lease speaks for one kernel. Only where all writers go through this kernel does "granted" mean
// "no writer"; the list names such file systems, so that one nobody thought of is unknown.
bool all_writers_are_local(int fd) {
  struct statfs about;
  if (::fstatfs(fd, &about) != 0) return false;
  switch (static_cast<std::uint32_t>(about.f_type)) {
    case 0xef53:      // ext2, ext3, ext4
    case 0x58465342:  // xfs
    case 0x9123683e:  // btrfs
    case 0x01021994:  // tmpfs
    case 0x794c7630:  // overlayfs
    case 0xf2f52010:  // f2fs
    case 0x2fc12fc1:  // zfs
    case 0xca451a4e:  // bcachefs
    case 0x858458f6:  // ramfs
    case 0x3153464a:  // jfs
    case 0x3434:      // nilfs2
    case 0x4d44:      // vfat
    case 0x2011bab0:  // exfat
    case 0x7366746e:  // ntfs3
      return true;
    default: return false;
  }
}

}  // namespace

OpenForWriting probe_open_for_writing(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) != O_RDONLY) return OpenForWriting::unknown;

  // A writer that comes while the lease is held breaks it, which by default sends SIGIO, which by default
  // kills. SIGURG is ignored by default, and a lease break is the only thing this descriptor could signal.
  const int signal_before = ::fcntl(fd, F_GETSIG);
  if (signal_before < 0 || ::fcntl(fd, F_SETSIG, SIGURG) != 0) return OpenForWriting::unknown;

  OpenForWriting answer = OpenForWriting::unknown;
  if (::fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
    ::fcntl(fd, F_SETLEASE, F_UNLCK);
    ::fcntl(fd, F_SETOWN, 0);  // taking the lease made this process the owner
    if (all_writers_are_local(fd)) answer = OpenForWriting::no;
  } else if (errno == EAGAIN) {
    answer = OpenForWriting::yes;
  }
  ::fcntl(fd, F_SETSIG, signal_before);
  return answer;
}

}  // namespace peel
