// workspace/temp_name.h - names for half-made files, and what becomes of them after a crash.
//
// A run that makes a file beside a target NAME owns three names with one random TAG:
//
//   .NAME.peel-run-TAG    empty, locked as long as the run lives: whoever can lock it knows the run died
//   .NAME.peel-new-TAG    being made by us: never a user's bytes, removed at will
//   .NAME.peel-swap-TAG   complete; at the exchange it becomes the displaced user's file
//
// remove_stale() clears up after dead runs: "new" files are deleted, a "swap" file only when its content
// is in the onion, else it stays and is named to the user.
//
// Errors     io: the directory cannot be written. Where the file system has no locks everything works,
//            but nothing is cleaned up later.
// Threads    One owner.
#pragma once

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "peel/onion.h"

namespace peel::workspace {

class TempName {
 public:
  // Reserves names beside `target`. Creates only the run file.
  static Result<TempName> reserve(const std::string& target);
  TempName(TempName&& other) noexcept;
  TempName& operator=(TempName&&) = delete;
  ~TempName();  // removes the "new" and the run file

  const std::string& fresh_path() const { return fresh_; }
  const std::string& swap_path() const { return swap_; }
  // O_EXCL; `permissions` as in open(): less the umask, or by the directory's default ACL.
  Result<UniqueFd> create_fresh(unsigned permissions = 0600) const;

 private:
  TempName() = default;
  std::string run_, fresh_, swap_;
  UniqueFd run_fd_;
};

// Clears up what dead runs left beside `target`; `onion` may be absent. Returns what it had to leave.
std::vector<std::string> remove_stale(const std::string& target, const Onion* onion);

// Some revision of `onion` has this content: the newest such number. Costs one read per revision of
// the same size.
Result<std::optional<std::uint64_t>> find_content(const Onion& onion, const Digest& content, std::uint64_t size);

}  // namespace peel::workspace
