#pragma once
// As 02_sync_free.h, but one block takes the narrow levels, where x(j) is awaited in its shared memory: the last of the
// first triangle and the first of the second, the top of the elimination tree. They lie between two parts of the order
// of tickets. Their block is the first that started; like all others it works on the part before them first.

#include <cstdint>

#include "core/simt/kernel.h"
#include "solve/02_sync_free.h"

namespace lulab::device_solver {

constexpr int middle_threads = 512;

/// The narrow levels: tasks from `begin` of the first triangle on, tasks before `end` of the second.
struct MiddleView {
  std::int32_t begin, end;
  std::int32_t first_row, rows[2];  // the positions of their rows: first_row .. first_row + rows[0], 0 .. rows[1]
  const std::int32_t* position[2];  // (n) of each row in the order of its triangle
};

/// grid: any   block: 32 * any   shared: (rows[0] + rows[1], ld) words
template <class T, class S>
__global__ void __launch_bounds__(middle_threads) solve_narrow_middle_kernel(SolveView<T, S> v, MiddleView m) {
  LULAB_DYNAMIC_SHARED(Word<T>, words);
  LULAB_SHARED(unsigned, started, 1);
  LULAB_SHARED(unsigned, tickets, 2);
  if (!v.is_wanted()) return;
  if (threadIdx.x == 0) {
    started[0] = atomicAdd(&v.progress->blocks[0], 1u);  // RACE: one block is the first
    tickets[0] = tickets[1] = 0;
  }
  __syncthreads();  // RACE: thread 0 wrote the block's number and its tickets, all use them
  const bool has_middle = started[0] == 0;
  if (has_middle) {
    for (int i = threadIdx.x; i < (m.rows[0] + m.rows[1]) * v.ld; i += blockDim.x) words[i] = not_yet<T>;
    __syncthreads();  // RACE: orders "not yet" before the first word that a warp publishes
  }
  const unsigned groups = v.rhs_groups();
  const Awaited<T> y = {v.solved[0], v.ld}, x = {v.solved[1], v.ld};
  take_tasks(&v.progress->tickets[0], m.begin * groups, [&](unsigned k) { solve_task<0>(v, k, y, y); });
  if (has_middle) {
    const AwaitedInMiddle<T> y_here = {y, m.position[0], m.first_row, m.rows[0], words};
    const AwaitedInMiddle<T> x_here = {x, m.position[1], 0, m.rows[1], words + m.rows[0] * v.ld};
    take_tasks(&tickets[0], (v.triangle[0].n_tasks - m.begin) * groups,
               [&](unsigned k) { solve_task<0>(v, m.begin * groups + k, y_here, y_here); });
    take_tasks(&tickets[1], m.end * groups, [&](unsigned k) { solve_task<1>(v, k, y_here, x_here); });
  }
  take_tasks(&v.progress->tickets[1], (v.triangle[1].n_tasks - m.end) * groups,
             [&](unsigned k) { solve_task<1>(v, m.end * groups + k, y, x); });
}

}  // namespace lulab::device_solver

namespace lulab::solve_rungs {

inline constexpr SolveRung narrow_middle = {
    .id = "solve/03_narrow_middle",
    .paper = "Liu et al. 2016; one block for the narrow levels: ours",
    .idea = "02, but one block keeps the narrow levels, the end of L and the start of U, in its shared memory",
    .method = SolveMethod::narrow_middle};

}  // namespace lulab::solve_rungs
