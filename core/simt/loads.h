#pragma once
// Loads as the compiler would not make them. Device code.

#include "core/simt/kernel.h"

namespace lulab::simt {

/// condition ? *from : 0   for `from` in device memory, without a branch: of several conditional loads each would wait
/// for the one before it.   T: float or double
/// (The zero is set in the asm: as an operand of it, it makes kernels spill.)
template <class T>
__device__ __forceinline__ T load_if(bool condition, const T* from) {
#ifdef LULAB_CUDA
  T value;
  if constexpr (sizeof(T) == sizeof(double))
    asm volatile("{.reg .pred p; setp.ne.s32 p, %2, 0; mov.f64 %0, 0d0000000000000000; @p ld.global.f64 %0, [%1];}"
                 : "=&d"(value)
                 : "l"(from), "r"(int(condition))
                 : "memory");
  else
    asm volatile("{.reg .pred p; setp.ne.s32 p, %2, 0; mov.f32 %0, 0f00000000; @p ld.global.f32 %0, [%1];}"
                 : "=&f"(value)
                 : "l"(from), "r"(int(condition))
                 : "memory");
  return value;
#else
  return condition ? *from : T(0);
#endif
}

/// Reads after this go to memory again, instead of using what registers keep from before, until it spills.
__device__ __forceinline__ void read_again() { asm volatile("" ::: "memory"); }

}  // namespace lulab::simt
