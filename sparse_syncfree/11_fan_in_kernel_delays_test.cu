// The kernel of 11_fan_in with delays between tasks, for the tests that inject them.

#include "sparse_syncfree/11_fan_in_kernel.h"

namespace lulab::sparse_syncfree {

template FanInKernel<double> fan_in_kernel<double, fan_in_threads, true>();
template FanInKernel<double> fan_in_kernel<double, fan_in_batch_threads, true>();

}  // namespace lulab::sparse_syncfree
