// The vector kernel of dbp compiled for AVX2; runs only where cpu_level() says so.
#if defined(__x86_64__)
#include "codec/dbp_vector.h"

namespace peel::codec {
const DbpKernels dbp_avx2 = all_kernels;
}  // namespace peel::codec
#endif
