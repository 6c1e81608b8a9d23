#pragma once
// The published kernel of synchronization-free LU: one launch, a block a column.          Zhao et al. 2021, Algorithm 2
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
// - Column k belongs to the block that draws ticket k, not to block k. Blocks start in any order: if block k had column
//   k, the resident blocks could all wait for columns of blocks that are not resident. A block draws its ticket when it
//   runs, and a column waits only for smaller columns, so the smallest unfinished column never waits. The launch ends
//   whatever blocks start first, even with one resident at a time.
// - atomicSubtract orders no other memory access. Here the last decrement is a release and the load of a degree an
//   acquire: a block that sees 0 sees L(:,i).
// - Row j of column k is found by bisection among the entries below (i,k). So a column needs no memory beside As and
//   its degree, and there may be as many blocks as columns.
// - Thread 0 waits, then works like the other threads; in the paper the other threads do all the work.
// - degree[k] starts as the number of entries of U(:,k) with the diagonal, which stands for the division: the text has
//   1 left when the upper part is done. And the outer loop ends before k itself, or column k would wait for column k.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/device_backend.h"
#include "core/simt/device_tools.h"
#include "core/simt/kernel.h"

namespace lulab::sparse_syncfree {

using Degree = cuda::atomic_ref<std::int32_t, cuda::thread_scope_device>;

/// The rules that make the kernel correct. 01_sflu_test.cu disables one rule at a time and expects a failure.
struct Protocol {
  // lab: publish begin
  static constexpr auto observe = cuda::memory_order_acquire;  // RACE: pairs with publish; see eliminate_columns_kernel
  static constexpr auto publish = cuda::memory_order_release;  // RACE: pairs with observe
  // lab: publish end
  static constexpr bool draws_tickets = true;
  static constexpr bool waits = true;
  static constexpr bool counts_every_entry = true;

  // What a block tells of itself. The simulator's reports need it; bench/timeline.cu writes down when it happens.
  __device__ static void takes(std::int32_t k) { simt::note_column(k); }
  __device__ static void begins_wait(std::int64_t /*ik*/, std::int32_t i) { simt::note_wait(i); }
  __device__ static void ends_wait(std::int64_t /*ik*/) {}
  __device__ static void finishes(std::int32_t /*k*/) {}
};

/// grid: n   block: any   shared: none
/// ticket: 0 on entry   degree: (n) entries of U(:,k) with the diagonal on entry, 0 on exit
template <class T, class Keeps = Protocol>
__global__ void eliminate_columns_kernel(DeviceFactorsView<T> f, std::int32_t* ticket, std::int32_t* degree,
                                         Keeps log) {
  // A column waits for columns with smaller tickets only; their degrees order what it reads of them.
  const std::int32_t k = Keeps::draws_tickets ? simt::block_ticket(ticket) : static_cast<std::int32_t>(blockIdx.x);
  log.takes(k);
  const std::int64_t begin = f.col_ptr[k], diag = f.diag[k], end = f.col_ptr[k + 1];
  T* const As = f.values;  // (nnz)

  for (std::int64_t ik = begin; ik < diag; ++ik) {  // U(i,k) != 0, ascending i
    const std::int32_t i = f.row_idx[ik];
    log.begins_wait(ik, i);
    // lab: publish begin
    if (threadIdx.x == 0 && Keeps::waits)
      // RACE: the block of column i sets it to 0 after it wrote L(:,i); acquire orders this block's reads of L(:,i)
      // after that. The wait ends: that block runs, see the head of this file
      while (Degree(degree[i]).load(Keeps::observe) != 0) {
      }
    // RACE: thread 0 has seen column i finished, all threads read L(:,i); the threads that wrote As(i,k) and As(j,k)
    // for the entry before are not those that read or write them now; the barrier orders both
    __syncthreads();
    // lab: publish end
    log.ends_wait(ik);
    const T u = As[ik];
    std::int64_t jk = ik;
    for (std::int64_t ji = f.diag[i] + 1 + threadIdx.x; ji < f.col_ptr[i + 1]; ji += blockDim.x) {
      jk = simt::find_row(f.row_idx, jk + 1, end - 1, f.row_idx[ji]);  // column k has row j: that is its fill
      As[jk] -= As[ji] * u;                                            // As(j,k) -= L(j,i) · U(i,k)
    }
    // RACE: other blocks load degree[k] meanwhile; above 0 it only says "not finished", so it orders nothing
    if (threadIdx.x == 0 && (Keeps::counts_every_entry || ik > begin))
      Degree(degree[k]).fetch_sub(1, cuda::memory_order_relaxed);
  }
  __syncthreads();  // RACE: threads wrote As(j,k); others read them below, and all read the pivot

  const T pivot = As[diag];
  bool sound = pivot != T(0);
  for (std::int64_t p = begin + threadIdx.x; p < end; p += blockDim.x) {
    const T value = p <= diag ? As[p] : As[p] / pivot;  // L(i,k) = As(i,k) / As(k,k)
    if (p > diag) As[p] = value;
    sound = sound && simt::is_finite(value);
  }
  // RACE: blocks of this launch lower failed_column; the atomic orders them, the end of the launch publishes it
  if (!sound) atomicMin(f.failed_column, k);
  log.finishes(k);
  // lab: publish begin
  __syncthreads();  // RACE: all threads wrote L(:,k), thread 0 publishes it; the barrier orders them before its release
  // RACE: the last decrement: release orders L(:,k) before the 0 that other blocks wait for
  if (threadIdx.x == 0) Degree(degree[k]).fetch_sub(1, Keeps::publish);
  // lab: publish end
}

/// Mean number of entries of L(:,i) in an update, which the threads of a block divide among themselves.
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
class SfluBackend : public DeviceBackend<T> {
 protected:
  Status prepare_rung() override {
    const FilledPattern& f = this->analysis().filled;
    std::vector<std::int32_t> start(f.n + std::size_t(1), 0);
    for (std::int32_t k = 0; k < f.n; ++k) start[k + 1] = static_cast<std::int32_t>(f.diag[k] - f.col_ptr[k] + 1);
    LULAB_RETURN_IF_ERROR(simt::make(d_start_, start, *this->stream()));
    LULAB_RETURN_IF_ERROR(simt::make(d_now_, d_start_.size()));
    simt::name_elements(d_now_.data(), 1, "ticket");
    simt::name_elements(d_now_.data() + 1, f.n, "degree");
    // The paper does not say how many threads a block has. Threads beyond the entries of an update have no work.
    threads_ = 32 * std::clamp(static_cast<int>((mean_update(f) + 31) / 32), 1, 8);
    return this->stream()->wait();  // start is a local
  }

  Status launch(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    if (f.n == 0) return {};
    LULAB_RETURN_IF_ERROR(simt::copy_on_device(d_now_.data(), d_start_.data(), 4 * d_start_.size(), stream));
    return simt::launch(eliminate_columns_kernel<T, Keeps>, {.grid = unsigned(f.n), .block = unsigned(threads_)},
                        stream, f, d_now_.data(), d_now_.data() + 1, log_);
  }

  std::int64_t work_bytes() const override { return 4 * (d_start_.size() + d_now_.size()); }

  Keeps log_ = {};

 private:
  simt::DeviceBuffer<std::int32_t> d_start_, d_now_;  // (1 + n) ticket, degrees
  int threads_ = 32;
};

}  // namespace lulab::sparse_syncfree
