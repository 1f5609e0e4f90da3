// base/random.h - bytes from the operating system's generator.
//
// Errors     None: getrandom cannot fail once the machine is up; a process without it aborts.
#pragma once

#include "peel/types.h"

namespace peel {

void fill_random(MutableBytes out);

template <std::size_t N>
std::array<std::byte, N> random_array() {
  std::array<std::byte, N> out;
  fill_random(out);
  return out;
}

}  // namespace peel
