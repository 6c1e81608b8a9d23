// The kernel of 11_fan_in for double.

#include "sparse_syncfree/11_fan_in_kernel.h"

namespace lulab::sparse_syncfree {

template FanInKernel<double> fan_in_kernel<double, fan_in_threads, false>();
template FanInKernel<double> fan_in_kernel<double, fan_in_batch_threads, false>();

}  // namespace lulab::sparse_syncfree
