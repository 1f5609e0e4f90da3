#include "base/pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace peel {

namespace {
// One for_each_index in flight. Workers take indexes from `next`; the last one out wakes the caller.
struct Job {
  const std::function<void(std::size_t)>* call;
  std::size_t count;
  std::atomic<std::size_t> next{0};
  unsigned inside = 0;  // workers currently holding this job; guarded by the pool's mutex
};

void run(Job& job) {
  for (std::size_t i; (i = job.next.fetch_add(1, std::memory_order_relaxed)) < job.count;) (*job.call)(i);
}
}  // namespace

struct Pool::Shared {
  std::mutex mutex;
  std::condition_variable work_ready, worker_left;
  std::deque<Job*> jobs;
  bool stopping = false;
  std::vector<std::thread> workers;

  void work() {
    std::unique_lock lock(mutex);
    while (true) {
      work_ready.wait(lock, [&] { return stopping || !jobs.empty(); });
      if (stopping) return;
      Job* job = jobs.front();
      if (job->next.load(std::memory_order_relaxed) >= job->count) {
        jobs.pop_front();
        continue;
      }
      ++job->inside;
      lock.unlock();
      run(*job);
      lock.lock();
      --job->inside;
      worker_left.notify_all();
    }
  }
};

Pool::Pool(unsigned threads) : shared_(std::make_unique<Shared>()) {
  for (unsigned i = 1; i < threads; ++i) shared_->workers.emplace_back([s = shared_.get()] { s->work(); });
}

Pool::~Pool() {
  {
    std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
  }
  shared_->work_ready.notify_all();
  for (auto& worker : shared_->workers) worker.join();
}

unsigned Pool::threads() const { return static_cast<unsigned>(shared_->workers.size()) + 1; }

void Pool::for_each_index(std::size_t n, const std::function<void(std::size_t)>& f) {
  if (shared_->workers.empty() || n < 2) {
    for (std::size_t i = 0; i < n; ++i) f(i);
    return;
  }
  Job job{&f, n, {}, 0};
  {
    std::lock_guard lock(shared_->mutex);
    shared_->jobs.push_back(&job);
  }
  shared_->work_ready.notify_all();
  run(job);
  std::unique_lock lock(shared_->mutex);
  std::erase(shared_->jobs, &job);
  shared_->worker_left.wait(lock, [&] { return job.inside == 0; });
}

unsigned Pool::default_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::clamp<unsigned>(static_cast<unsigned>(CPU_COUNT(&set)), 1, 16);
}

}  // namespace peel
