// The kernel of 12_multifrontal for float.

#include "sparse_syncfree/12_front_kernel.h"

namespace lulab::sparse_syncfree {

template FrontKernel<float> front_kernel<float, false>();

}  // namespace lulab::sparse_syncfree
