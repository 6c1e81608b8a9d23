// The kernel of 12_multifrontal with delays between tiles, for the tests that inject them.

#include "sparse_syncfree/12_front_kernel.h"

namespace lulab::sparse_syncfree {

template FrontKernel<double> front_kernel<double, true>();

}  // namespace lulab::sparse_syncfree
