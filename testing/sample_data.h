// testing/sample_data.h - seeded bytes, a source over a buffer, and the seeds a randomised test runs with.
//
// Threads    BufferSource: any. The rest: one owner.
#pragma once

#include <random>

#include "peel/onion.h"

namespace peel {

// The first `few` seeds; 20 times as many with PEEL_LONG=1; only N with PEEL_SEED=N. A test prints the seed it
// fails with (SCOPED_TRACE), and PEEL_SEED brings it back.
std::vector<std::uint64_t> test_seeds(std::size_t few);

Buffer random_bytes(std::mt19937_64& random, std::size_t size);

// A few edits in place, an insertion, a new tail, zeros: what a working file may become. At most `size_max` bytes.
void change_somehow(Buffer& data, std::mt19937_64& random, std::size_t size_max);

// A Source over bytes that outlive it.
class BufferSource final : public Source {
public:
  explicit BufferSource(Bytes data) : data_(data) {}
  std::uint64_t size() const override { return data_.size(); }
  Result<std::size_t> read_at(std::uint64_t offset, MutableBytes out) const override;

private:
  Bytes data_;
};

}  // namespace peel
