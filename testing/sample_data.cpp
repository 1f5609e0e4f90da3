#include "testing/sample_data.h"

#include <algorithm>
#include <cstdlib>

namespace peel {

std::vector<std::uint64_t> test_seeds(std::size_t few) {
  if (const char* one = std::getenv("PEEL_SEED")) return {std::strtoull(one, nullptr, 10)};
  const char* many = std::getenv("PEEL_LONG");
  std::vector<std::uint64_t> seeds(many && *many == '1' ? 20 * few : few);
  for (std::size_t i = 0; i < seeds.size(); ++i) seeds[i] = i + 1;
  return seeds;
}

Buffer random_bytes(std::mt19937_64& random, std::size_t size) {
  Buffer bytes(size);
  for (std::size_t at = 0; at < size; at += 8) {
    const std::uint64_t word = random();
    std::memcpy(bytes.data() + at, &word, std::min<std::size_t>(8, size - at));
  }
  return bytes;
}

void change_somehow(Buffer& data, std::mt19937_64& random, std::size_t size_max) {
  switch (data.empty() ? 2 : random() % 5) {
    case 0:
      for (int i = 0; i < 4; ++i) data[random() % data.size()] ^= std::byte{1};
      break;
    case 1: {
      const Buffer inserted = random_bytes(random, 1 + random() % 700);
      data.insert(data.begin() + static_cast<std::ptrdiff_t>(random() % data.size()), inserted.begin(), inserted.end());
      break;
    }
    case 2: {
      const Buffer tail = random_bytes(random, 1 + random() % 9000);
      data.insert(data.end(), tail.begin(), tail.end());
      break;
    }
    case 3: {
      const std::size_t at = random() % data.size(), n = std::min<std::size_t>(data.size() - at, random() % 10000);
      std::fill_n(data.begin() + static_cast<std::ptrdiff_t>(at), n, std::byte{0});
      data[at] ^= std::byte{7};
      break;
    }
    default:
      data.resize(1 + random() % data.size());
      data.back() ^= std::byte{5};
  }
  if (data.size() > size_max) data.resize(size_max);
}

Result<std::size_t> BufferSource::read_at(std::uint64_t offset, MutableBytes out) const {
  if (offset >= data_.size()) return std::size_t{0};
  const auto n = std::min<std::size_t>(out.size(), data_.size() - offset);
  std::copy_n(data_.begin() + static_cast<std::ptrdiff_t>(offset), n, out.begin());
  return n;
}

}  // namespace peel
