// The kernel of 12_multifrontal for double.

#include "sparse_syncfree/12_front_kernel.h"

namespace lulab::sparse_syncfree {

template FrontKernel<double> front_kernel<double, false>();

}  // namespace lulab::sparse_syncfree
