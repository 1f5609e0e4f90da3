// The vector kernel of dbp compiled for AVX512; runs only where cpu_level() says so.
#if defined(__x86_64__)
#include "codec/dbp_vector.h"

namespace peel::codec {
const DbpKernels dbp_avx512 = all_kernels;
}  // namespace peel::codec
#endif
