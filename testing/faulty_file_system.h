// testing/faulty_file_system.h - a file system in memory whose crashes, full disks and failing calls a test owns.
//
// Model      Every file has the bytes that all processes of the living machine see, and a durable image. What was
//            written or cut off since the last successful sync waits in a list; names created, renamed and removed
//            wait likewise until sync_directory_of. power_cut() keeps the durable part and, of what waits, any part:
//              - each sector of each write on its own, so writes are torn and reordered;
//              - the new length of a file with or without the bytes (which then are zeros);
//              - each change of a name on its own, a rename whole or not at all.
//            kill() is softer: processes die, the machine goes on, nothing is lost but their locks.
// Stops      stop_after(n) lets n more changing calls happen; later calls fail and change nothing, so the code under
//            test cannot tidy up: it is dead, it only does not know yet. Then power_cut() or kill(); a write that
//            killing interrupts has got to any byte of it, or to its end.
// Sync       A sync that fails drops what it should have written: nobody will try again. Afterwards the machine still
//            shows those bytes (Linux, until memory is short) or no longer does (`forget_on_failed_sync`).
// Errors     io with the errno asked for, ENOSPC when the disk is full; not_found, exists, conflict as the real one.
// Threads    File::read_at from many threads; everything else from one.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <random>

#include "base/file.h"

namespace peel {

class FaultyFileSystem final : public FileSystem {
public:
  enum class Call : std::uint8_t { open, write, truncate, sync, rename, remove, sync_directory };
  static constexpr std::size_t calls = 7;

  struct Options {
    std::size_t sector_size = 4096;
    bool forget_on_failed_sync = false;
    std::uint64_t seed = 1;  // how much of a failing or interrupted write happens
  };
  FaultyFileSystem();
  explicit FaultyFileSystem(const Options& options);
  ~FaultyFileSystem() override;

  // --- what a test does to it ----------------------------------------------------------------
  // Changing calls so far: creations, writes, truncations, syncs, renames, removals, syncs of a directory.
  std::uint64_t changes() const;
  enum class Stop : std::uint8_t { power, killed };
  void stop_after(std::uint64_t more_changes, Stop how = Stop::power);
  bool stopped() const;
  // Every process dies: open handles are dead, their locks free.
  void kill();
  // What the disk holds after the power went: a new machine.
  std::unique_ptr<FaultyFileSystem> power_cut(std::uint64_t seed) const;
  // As if every sync had succeeded just now.
  void sync_everything();
  // The nth call of its kind from now on (1: the next) fails with this errno. One at a time.
  void fail_call(Call call, std::uint64_t nth, int error);
  // From now on every call of this kind fails with EIO.
  void refuse(Call call);
  // Whether the call that fail_call asked for came.
  bool failed() const;
  std::uint64_t calls_of(Call call) const;
  void set_capacity(std::uint64_t bytes);
  std::uint64_t used() const;

  // --- looking ---------------------------------------------------------------------------------
  std::vector<std::string> names() const;
  std::optional<Buffer> contents(const std::string& path) const;
  // Damage on the disk: the byte changes under everybody's feet.
  void flip(const std::string& path, std::uint64_t offset, std::byte mask);

  // --- FileSystem ------------------------------------------------------------------------------
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode, unsigned permissions = 0666) override;
  Result<FileIdentity> identify(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to, bool replace) override;
  Status remove(const std::string& path) override;
  Status sync_directory_of(const std::string& path) override;
  Result<std::uint64_t> free_space(const std::string& path) override;

private:
  struct Machine;
  struct Node;
  class Handle;
  std::shared_ptr<Machine> machine_;
};

}  // namespace peel
