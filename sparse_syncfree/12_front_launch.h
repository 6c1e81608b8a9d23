#pragma once
// What the host knows of the kernels of 12_multifrontal. Each is compiled once: 12_front_kernel_float.cu,
// 12_front_kernel_double.cu and, with delays for the tests, 12_front_kernel_delays_test.cu.

#include <cstdint>

#include "core/device_factors.h"
#include "core/simt/kernel.h"
#include "sparse_syncfree/12_front_plan.h"

namespace lulab::sparse_syncfree {

constexpr int front_threads = 256;  // of a block
// Of a tile in shared memory, so that a column lies in all banks; of what is staged, so that four rows do.
constexpr int front_stride = front_tile + 1, staged_stride = front_tile + 4;
constexpr int front_at(int row, int column) { return row * front_stride + column; }
constexpr int front_depth = 16;  // pivots that are staged, or eliminated, at once
static_assert(4 * front_depth * staged_stride >= front_tile * front_stride);

/// Shared memory of a block: a tile, parts of two others twice, what divides by the pivots.
template <class T>
constexpr std::int64_t front_shared_bytes = sizeof(T) *
                                            (front_tile * (front_stride + 2) + 4 * front_depth * staged_stride);

/// A plan (FrontPlan) in device memory.
template <class T>
struct FrontView {
  const FrontShape* fronts;
  const FrontTile* tiles;  // (n_tiles)
  const FrontInput* inputs;
  const std::uint8_t* places;  // (inputs, 2, front_tile): the strips of rows and columns of each
  const FrontColumn* columns;
  T* parts;
  T* left;
  std::int32_t* flags;  // 0 before a launch
  std::int32_t n_tiles;
};

/// Arguments: factors, plan, and the seed of injected delays.
/// grid: any   block: front_threads   shared: front_shared_bytes<T>
template <class T>
using FrontKernel = void (*)(DeviceFactorsView<T>, FrontView<T>, std::uint64_t);

template <class T, bool inject_delays>
FrontKernel<T> front_kernel();

}  // namespace lulab::sparse_syncfree
