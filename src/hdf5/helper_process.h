// hdf5/helper_process.h - one running helper: started with nothing but a socket, ended without mercy.
//
// Contract   start() finds the program (beside this one, then where it was installed; PEEL_HDF5_HELPER
//            overrides both) and runs it with an empty environment, the socket as descriptor 3, /dev/null as
//            0 to 2, every other descriptor closed, default signals, in a process group of its own so that
//            Ctrl-C reaches only us. The destructor kills and reaps.
// Errors     unsupported: the program is not installed · io.
// Threads    One owner.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/unique_fd.h"
#include "peel/error.h"

namespace peel::hdf5 {

class HelperProcess {
 public:
  static Result<HelperProcess> start();
  HelperProcess(HelperProcess&& other) noexcept;
  HelperProcess& operator=(HelperProcess&&) = delete;
  ~HelperProcess();

  int socket() const { return socket_.get(); }
  // Kills it unless it has ended by itself, reaps it and says how it ended, as an error with a remedy.
  Error end();

 private:
  HelperProcess(pid_t pid, UniqueFd socket) : pid_(pid), socket_(std::move(socket)) {}
  // The wait status, or -1 when somebody else reaped the child.
  int reap();

  pid_t pid_ = -1;
  UniqueFd socket_;
};

// Where the helper is.
Result<std::string> find_helper();

}  // namespace peel::hdf5
