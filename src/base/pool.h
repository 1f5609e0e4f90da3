// base/pool.h - a fixed set of worker threads for hashing, compressing and reading.
//
// Contract   for_each_index(n, f) calls f(0..n-1), each once, from the workers and the calling thread,
//            and returns when all calls have returned. f must not throw and must not wait for the pool.
// Threads    for_each_index may be called from several threads at once; they share the workers.
// Memory     No queue: a call in flight is one shared counter.
#pragma once

#include <functional>
#include <memory>

namespace peel {

class Pool {
 public:
  // `threads` counts the caller too: 1 means everything runs in the calling thread.
  explicit Pool(unsigned threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  unsigned threads() const;
  void for_each_index(std::size_t n, const std::function<void(std::size_t)>& f);

  // One worker per processor this process may use, at most 16.
  static unsigned default_threads();

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace peel
