#include "bench/context.h"

namespace lulab::bench {

std::string kernel_compiler() {
#ifdef __CUDACC_VER_MAJOR__
  return "nvcc " + std::to_string(__CUDACC_VER_MAJOR__) + "." + std::to_string(__CUDACC_VER_MINOR__) + "." +
         std::to_string(__CUDACC_VER_BUILD__);
#else
  return "host " __VERSION__;
#endif
}

}  // namespace lulab::bench
