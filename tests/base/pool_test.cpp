#include "base/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace peel {
namespace {

TEST(Pool, CallsEveryIndexOnce) {
  for (const unsigned threads : {1u, 2u, 4u, 9u}) {
    Pool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const std::size_t n : {0, 1, 2, 3, 100, 5000}) {
      std::vector<std::atomic<int>> calls(n);
      pool.for_each_index(n, [&](std::size_t i) { calls[i].fetch_add(1); });
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(calls[i].load(), 1) << threads << " " << i;
    }
  }
}

TEST(Pool, ReturnsOnlyWhenAllCallsHaveReturned) {
  Pool pool(4);
  for (int round = 0; round < 300; ++round) {
    std::atomic<int> running{0}, done{0};
    pool.for_each_index(8, [&](std::size_t) {
      running.fetch_add(1);
      std::this_thread::yield();
      running.fetch_sub(1);
      done.fetch_add(1);
    });
    ASSERT_EQ(running.load(), 0);
    ASSERT_EQ(done.load(), 8);
  }
}

TEST(Pool, SeveralCallersShareTheWorkers) {
  Pool pool(3);
  std::vector<std::thread> callers;
  std::atomic<std::size_t> total{0};
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        std::atomic<std::size_t> mine{0};
        pool.for_each_index(20, [&](std::size_t i) { mine.fetch_add(i); });
        EXPECT_EQ(mine.load(), 190u);
        total.fetch_add(mine.load());
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total.load(), 4u * 100u * 190u);
}

TEST(Pool, MakingAndDroppingIsCheapAndClean) {
  for (int i = 0; i < 50; ++i) Pool pool(3);
  EXPECT_GE(Pool::default_threads(), 1u);
  EXPECT_LE(Pool::default_threads(), 16u);
}

}  // namespace
}  // namespace peel
