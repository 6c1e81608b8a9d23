// The kernel of 11_fan_in for float.

#include "sparse_syncfree/11_fan_in_kernel.h"

namespace lulab::sparse_syncfree {

template FanInKernel<float> fan_in_kernel<float, fan_in_threads, false>();
template FanInKernel<float> fan_in_kernel<float, fan_in_batch_threads, false>();

}  // namespace lulab::sparse_syncfree
