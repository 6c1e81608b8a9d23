#pragma once
// What the host knows of the kernels of 11_fan_in. Each is compiled once: 11_fan_in_kernel_float.cu,
// 11_fan_in_kernel_double.cu and, with delays for the tests, 11_fan_in_kernel_delays_test.cu.

#include <cstdint>

#include "core/awaited_scalar.h"
#include "core/backend.h"
#include "core/device_factors.h"
#include "core/simt/kernel.h"
#include "sparse_syncfree/11_fan_in_plan.h"

namespace lulab::sparse_syncfree {

/// What outlasts a factorization, all 0 before the first one.
struct FanInState {
  std::int32_t turn;    // even: the first half of the words is at work, odd: the second
  std::int32_t ticket;  // of the next task of a system
  std::int32_t done;    // blocks that found no task left
};

/// What a block needs to bring a task on chip.
struct FanInFetch {
  std::uint32_t begin;   // in units of 16 bytes
  std::uint32_t staged;  // bytes
  std::uint32_t x_scalars;
};

/// A plan (FanInPlan) in device memory.
template <class T>
struct FanInView {
  const char* tasks;          // each after those it awaits
  const FanInFetch* fetches;  // (n_tasks)
  ScaledValues<T> a;
  RightSide b;                  // where it is column n of A; scaled null: 0
  T* y;                         // (n + 1) that column of U
  const std::int64_t* col_ptr;  // (n + 1) of As
  Word<T>* words;  // (half, 2) full/empty scalars; a launch takes one half, (n_words, systems) of it, which
                   // is empty, and empties the other for the next one
  FanInState* state;
  std::int32_t *failed_column, *perturbed;  // (systems) the outcome. The launch collects it in those of the factors,
                                            // which are n and 0 before it and after it
  std::int64_t n_words, half;
  std::int64_t nnz, nnz_a;  // from a system's values of As, and of A, to the next one's
  std::int32_t systems;     // of the launch; those of a task come one after another
  std::int32_t n, n_tasks;  // n: with that column
  std::uint32_t arena;      // bytes of shared memory for X and two tasks
};

/// Arguments: factors, plan, and the seed of injected delays.
/// grid: any   block: as FanInPlan::shape says   shared: FanInShape::scratch() scalars, then
/// v.arena bytes
template <class T>
using FanInKernel = void (*)(DeviceFactorsView<T>, FanInView<T>, std::uint64_t);

template <class T, int threads, bool inject_delays>
FanInKernel<T> fan_in_kernel();

}  // namespace lulab::sparse_syncfree
