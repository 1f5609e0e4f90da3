#include "base/random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdlib>

namespace peel {

void fill_random(MutableBytes out) {
  while (!out.empty()) {
    const ssize_t n = ::getrandom(out.data(), out.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) std::abort();
    out = out.subspan(static_cast<std::size_t>(n));
  }
}

}  // namespace peel
