#pragma once
// The published kernel of synchronization-free LU: one launch, a block a column.           Zhao et al. 2021, Algorithm 2
//
//   for all columns k, in parallel                               a block takes the next column
//     for i = 0 to k-1 with As(i,k) != 0
//       while degree[i] != 0: busy wait                          thread 0, then a barrier of the block
//       for j > i with As(j,i) != 0, in parallel                 a thread an entry of L(:,i)
//         As(j,k) = As(j,k) - As(j,i) * As(i,k)
//       degree[k] = degree[k] - 1
//     for i > k with As(i,k) != 0, in parallel:  As(i,k) = As(i,k) / As(k,k)
//     degree[k] = degree[k] - 1                                  now 0: column k is finished
//
// Where the paper leaves something open or relies on what CUDA does not promise:
// - Column k belongs to whoever draws ticket k, not to block k. Blocks start in any order: numbered ones could all wait for
//   columns whose blocks find no place. A ticket is drawn by a block that runs, and a column waits for smaller ones only; the
//   smallest one at work waits for nobody. So the launch ends whatever blocks start first, even with one alive at a time.
// - atomicSubtract orders nothing but itself. The last one here is a release, the look at a degree an acquire: who sees
//   0 sees L(:,i).
// - Row j of column k is found by bisection among the entries below (i,k), so that a column needs no memory beside As and its
//   degree, and there may be as many blocks as columns.
// - Thread 0 watches, and then works like the others; in the paper the others do all the work.
// - degree[k] starts as the entries of U(:,k) with the diagonal, which stands for the division: the text has 1 left when
//   the upper part is done. And the outer loop ends before k itself, or column k would wait for column k.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/device_factorizer.h"
#include "core/simt/kernel.h"

namespace lulab::sparse_syncfree {

using Degree = cuda::atomic_ref<std::int32_t, cuda::thread_scope_device>;

/// What makes the kernel correct. sflu_test.cu takes away one at a time and sees that it is missed.
struct Protocol {
  static constexpr auto observe = cuda::memory_order_acquire;  // RACE: pairs with publish; see eliminate_columns_kernel
  static constexpr auto publish = cuda::memory_order_release;  // RACE: pairs with observe
  static constexpr bool draws_tickets = true;
  static constexpr bool waits = true;
  static constexpr bool counts_every_entry = true;
};

/// Position of row j in the rows at [low, high).   Requires it is there; rows ascending.
__device__ __forceinline__ std::int64_t find_row(const std::int32_t* row_idx, std::int64_t low, std::int64_t high,
                                                 std::int32_t j) {
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    if (row_idx[middle] <= j)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/// grid: n   block: any   shared: none
/// ticket: 0 on entry   degree: (n) entries of U(:,k) with the diagonal on entry, 0 on exit
template <class T, class Keeps = Protocol>
__global__ void eliminate_columns_kernel(DeviceFactorsView<T> f, std::int32_t* ticket, std::int32_t* degree) {
  LULAB_SHARED(std::int32_t, taken, 1);
  if (threadIdx.x == 0)  // RACE: no two blocks get one column; what a column needs, its degree orders
    taken[0] = Keeps::draws_tickets ? atomicAdd(ticket, 1) : static_cast<std::int32_t>(blockIdx.x);
  __syncthreads();  // RACE: thread 0 wrote the column, all threads read it
  const std::int32_t k = taken[0];
  const std::int64_t begin = f.col_ptr[k], diag = f.diag[k], end = f.col_ptr[k + 1];
  T* const As = f.values;

  for (std::int64_t ik = begin; ik < diag; ++ik) {
    const std::int32_t i = f.row_idx[ik];
    if (threadIdx.x == 0 && Keeps::waits)
      // RACE: the block of column i made it 0 after L(:,i); acquire orders this block's reads of L(:,i) after that.
      // It comes: that block runs, see the head of this file
      while (Degree(degree[i]).load(Keeps::observe) != 0) {
      }
    // RACE: thread 0 has seen column i finished, all threads read L(:,i); the threads that wrote As(i,k) and As(j,k) for
    // the entry before are not those that read or write them now; the barrier orders both
    __syncthreads();
    const T u = As[ik];
    std::int64_t jk = ik;
    for (std::int64_t ji = f.diag[i] + 1 + threadIdx.x; ji < f.col_ptr[i + 1]; ji += blockDim.x) {
      jk = find_row(f.row_idx, jk + 1, end, f.row_idx[ji]);
      As[jk] -= As[ji] * u;  // As(j,k) -= L(j,i) · U(i,k)
    }
    // RACE: other blocks look at degree[k] meanwhile; above 0 it tells them nothing, so it orders nothing
    if (threadIdx.x == 0 && (Keeps::counts_every_entry || ik > begin))
      Degree(degree[k]).fetch_sub(1, cuda::memory_order_relaxed);
  }
  __syncthreads();  // RACE: threads wrote As(j,k); others read them below, and all read the pivot

  const T pivot = As[diag];
  bool sound = pivot != T(0);
  for (std::int64_t p = begin + threadIdx.x; p < end; p += blockDim.x) {
    const T value = p <= diag ? As[p] : As[p] / pivot;  // L(i,k) = As(i,k) / As(k,k)
    if (p > diag) As[p] = value;
    sound = sound && value - value == T(0);  // false for NaN and infinity
  }
  // RACE: blocks of this launch lower failed_column; the atomic orders them, the end of the launch publishes it
  if (!sound) atomicMin(f.failed_column, k);
  __syncthreads();  // RACE: all threads wrote L(:,k), thread 0 tells of it; the barrier orders them before its release
  // RACE: the last decrement: release orders L(:,k) before the 0 that other blocks wait for
  if (threadIdx.x == 0) Degree(degree[k]).fetch_sub(1, Keeps::publish);
}

/// Entries of L(:,i) in the mean of all updates: what the threads of a block share out.
inline double mean_update(const FilledPattern& f) {
  std::int64_t updates = 0;
  double entries = 0;
  for (std::int32_t k = 0; k < f.n; ++k)
    for (std::int64_t ik = f.col_ptr[k]; ik < f.diag[k]; ++ik, ++updates) {
      const std::int32_t i = f.row_idx[ik];
      entries += static_cast<double>(f.col_ptr[i + 1] - f.diag[i] - 1);
    }
  return updates == 0 ? 0 : entries / static_cast<double>(updates);
}

template <class T, class Keeps = Protocol>
class SfluFactorizer final : public DeviceFactorizer<T> {
 protected:
  Status prepare() override {
    const FilledPattern& f = this->analysis().filled;
    std::vector<std::int32_t> start(f.n + std::size_t(1), 0);
    for (std::int32_t k = 0; k < f.n; ++k) start[k + 1] = static_cast<std::int32_t>(f.diag[k] - f.col_ptr[k] + 1);
    LULAB_RETURN_IF_ERROR(simt::make(d_start_, start, *this->stream()));
    LULAB_RETURN_IF_ERROR(simt::make(d_now_, d_start_.size()));
    // The paper does not say how many threads a block has. More than an update has entries only wait.
    threads_ = 32 * std::clamp(static_cast<int>((mean_update(f) + 31) / 32), 1, 8);
    return this->stream()->wait();  // start is a local
  }

  Status enqueue(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    if (f.n == 0) return {};
    LULAB_RETURN_IF_ERROR(simt::copy_on_device(d_now_.data(), d_start_.data(), 4 * d_start_.size(), stream));
    return simt::launch(eliminate_columns_kernel<T, Keeps>, {.grid = unsigned(f.n), .block = unsigned(threads_)},
                        stream, f, d_now_.data(), d_now_.data() + 1);
  }

  std::int64_t work_bytes() const override { return 4 * (d_start_.size() + d_now_.size()); }

 private:
  simt::DeviceBuffer<std::int32_t> d_start_, d_now_;  // (1 + n) ticket, degrees
  int threads_ = 32;
};

}  // namespace lulab::sparse_syncfree
