#pragma once
// The threads that work on a task together, and their shared memory. Device code.
//
//   X    (rows, stored_width)  X(:,J) of the task in shared memory, column by column: X(i,c) is x[c · stride + i]

#include "core/simt/kernel.h"
#include "core/simt/note_writes.h"
#include "sparse_syncfree/10_panel_launch.h"
#include "sparse_syncfree/systems_of_batch.h"

namespace lulab::sparse_syncfree {

constexpr int max_width = max_panel_width;

/// All threads of a block.
struct BlockOfTask {
  int thread = threadIdx.x, threads = blockDim.x;
  __device__ __forceinline__ void sync() const { __syncthreads(); }  // RACE: said at each call
};
/// A warp, for a leaf.
struct WarpOfTask {
  int thread = threadIdx.x % 32;
  static constexpr int threads = 32;
  __device__ __forceinline__ void sync() const { __syncwarp(); }  // RACE: said at each call
};

/// A warp's own shared memory.
template <class T>
struct Scratch {
  T* u;         // (max_width, W) U(K,J) or L(J,J) U(J,J), by rows
  T* triangle;  // (max_width · (max_width - 1) / 2) L(K,K) below its diagonal, by rows; in eliminate() (2, max_width)
                // the factors by which its pivots divide
};

/// Tells the simulator which words the task writes: L, and U where others read it. Tasks with rows of U alone are
/// not told apart.
template <class T>
__device__ __forceinline__ void note_words(const TasksView<T>& v, const PanelTask& task) {
  const bool has_diagonal = task.diag_at >= 0;
  const int first_l = has_diagonal ? 0 : task.l_row, first_u = has_diagonal ? task.u_row - task.diag_at : 0;
  const int rows_of_l = task.rows - task.l_at + task.l_row - first_l;
  const int rows_of_u = has_diagonal ? task.diag_at + task.width : task.l_at == task.rows ? task.u_row : 0;
  simt::note_writes(simt::written(v.words + task.words + first_l, rows_of_l, task.ld, task.width),
                    simt::written(v.words + task.u_words + std::int64_t(first_u) * task.stored_width,
                                  task.u_words < 0 ? 0 : std::int64_t(rows_of_u) * task.stored_width));
}

/// Where system `system` of a batch has its arrays.
template <class T>
__device__ __forceinline__ void move_to_system(DeviceFactorsView<T>& f, TasksView<T>& v, std::int32_t system) {
  f = factors_of(f, v.nnz, system);
  v.words += system * v.n_words;
}

}  // namespace lulab::sparse_syncfree
