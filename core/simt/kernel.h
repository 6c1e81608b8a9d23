#pragma once
// What a file with kernels (.cu) includes: plain CUDA for the device side, launch() for the host side.
//
// The same file is compiled by nvcc for the GPU and by the host compiler for the simulator; no #ifdef is needed.
// Device code may use
//   __global__ __device__ __host__ __forceinline__ __restrict__ __launch_bounds__, threadIdx blockIdx blockDim gridDim
//   warpSize
//   __syncthreads (_count _and _or), __syncwarp(mask), __shfl_sync (_up _down _xor), __ballot_sync __any_sync
//   __all_sync
//   __activemask __reduce_*_sync __match_any_sync __match_all_sync, __popc __popcll __ffs __ffsll __clz __clzll __brev
//   atomicAdd Sub Exch CAS Min Max And Or Xor Inc Dec, cuda::atomic_ref<T, scope> and cuda::atomic_thread_fence with
//   every memory order, __threadfence (_block _system), __nanosleep, __ldg __ldcg __ldcs __stcg, clock64,
//   cooperative_groups::this_grid().sync() and this_thread_block().sync(), printf
//   cooperative_groups::this_cluster(): sync, barrier_arrive and barrier_wait, map_shared_rank, query_shared_rank,
//   block_rank, num_blocks, thread_rank, ... of a launch with LaunchShape::cluster. CUDA declares it for sm_90 and
//   newer; cuda/language.h declares it for older GPUs too, where it traps, so that kernels need no #if. A cluster's
//   blocks meet at its barrier before they first reach into each other's shared memory, and again before they return.
//   core/simt/transfer.h: words sent into another block of the cluster, and a barrier that counts their bytes
//   core/simt/staging.h: copies into shared memory that go on meanwhile
// and, because static shared memory is the one thing a macro must hide:
//   LULAB_SHARED(double, tile, 256);         __shared__ double tile[256];
//   LULAB_SHARED_2D(double, tile, 16, 17);   __shared__ double tile[16][17];
//   LULAB_DYNAMIC_SHARED(double, work);      double* work = the launch's shared_bytes, aligned to 16 bytes
// simt::note_column(j) says which column a thread works on, simt::note_wait(k) for which it waits in the spin that
// follows: for the simulator's reports of races and deadlocks.
// simt::global_time() is one clock for all blocks: ns (in the simulator steps of its scheduler, which are no time);
// simt::multiprocessor() is where the thread runs.
// counted_global(p) and counted_shared(p) wrap a pointer so that the simulator counts what goes through it
// (AccessCounts).
//
// Host code:   LULAB_RETURN_IF_ERROR(launch(axpy_kernel<double>, {.grid = 8, .block = 128}, stream, n, a, d_x, d_y));

#include <cstddef>

#include "core/simt/device.h"

#ifdef LULAB_CUDA
#include "core/simt/cuda/language.h"
#else
#include "core/simt/host/language.h"
#endif

namespace lulab::simt {

struct LaunchShape {
  dim3 grid;                     // blocks
  dim3 block;                    // threads of a block
  std::size_t shared_bytes = 0;  // dynamic shared memory of a block; more than 48 KB is opted into
  bool cooperative = false;      // all blocks resident at once, this_grid().sync() allowed
  unsigned cluster = 0;          // blocks of a cluster, consecutive along x, at most 16; 0: no clusters
};

/// Enqueues kernel(args...) on the stream. Arguments are converted to the kernel's parameter types and copied.
///
/// Errors    invalid_argument naming the limit that the shape exceeds (threads per block, grid size, shared memory,
///           co-resident blocks of a cooperative launch, size of a cluster), device_error (no GPU, or an earlier
///           fault). What the kernel meets while it runs (fault, deadlock, divergence) is answered by Stream::wait().
template <class... P, class... A>
Status launch(void (*kernel)(P...), const LaunchShape& shape, Stream& stream, A&&... args);

/// Blocks of this kernel that one multiprocessor holds at once; times sm_count, what the device holds (for persistent
/// kernels). Errors    invalid_argument when not even one fits, device_error.
template <class... P>
Result<int> max_resident_blocks_per_sm(void (*kernel)(P...), int threads_per_block, std::size_t shared_bytes = 0);

/// Clusters of this shape that the device holds at once, with the kernel's registers and shared memory.
/// Errors    as launch(); invalid_argument also when not even one cluster fits.
template <class... P>
Result<int> max_resident_clusters(void (*kernel)(P...), const LaunchShape& shape);

}  // namespace lulab::simt

#ifdef LULAB_CUDA
#include "core/simt/cuda/launch.h"
#else
#include "core/simt/host/launch.h"
#endif
