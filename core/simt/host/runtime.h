#pragma once
// What the device-language headers ask of the scheduler. Kernels never call these by name.
//
// Functions that touch the user's memory are inlined into the kernel's own translation unit, where ThreadSanitizer
// instruments them; the functions declared here live in files compiled without it.

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/status.h"

namespace lulab::simt::host {

/// A line of kernel source. As a default argument it names the caller's line.
struct Site {
  const char* file;
  int line;
  static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

enum class Scope { block, device, system };
enum class BlockBarrier { sync, count, conjunction, disjunction };
enum class WarpOp {
  sync,
  shuffle,
  ballot,
  any,
  all,
  match_any,
  match_all,
  add,
  min_signed,
  min_unsigned,
  max_signed,
  max_unsigned,
  bit_and,
  bit_or,
  bit_xor
};

/// What an atomic access did, for the scheduler (is this a spin?), the race model (fences) and the access counts.
struct AtomicAccess {
  const void* address;
  int bytes;
  std::uint64_t value;  // the bits now at the address
  bool reads;
  bool writes;
  bool changed;  // the bits differ from those before
  int order;     // __ATOMIC_*
  Scope scope;
};

/// Before any atomic access: alignment, and a thread that writes may be held back.   After it: bookkeeping, and other
/// threads may run.
void before_atomic(const void* address, int bytes, bool writes, Site site);
void after_atomic(const AtomicAccess& access, Site site);
void fence(int order, Scope scope, Site site);
void nanosleep(Site site);
long long clock();

int block_barrier(BlockBarrier kind, int predicate, Site site);
void grid_barrier(Site site);
void cluster_arrive(Site site);
void cluster_wait(Site site);
/// The same place in the shared memory of the rank-th block of the caller's cluster.
void* map_shared(const void* p, int rank, Site site);
/// The rank of the block of the caller's cluster in whose shared memory p lies.
unsigned owner_of_shared(const void* p, Site site);
unsigned cluster_rank();
unsigned cluster_size();
/// Each lane of mask brings a value and (shuffle) the lane it reads from; each gets its result.
std::uint64_t warp_collective(WarpOp op, unsigned mask, std::uint64_t value, int source_lane, Site site);
/// The lane of the calling thread within its warp.
int lane_id();

/// This block's copy of the static shared array whose name is at `key`, each at a place of its own, poisoned when the
/// block first asks for it.
void* static_shared(const char* key, std::size_t bytes, std::size_t alignment, Site site);
void* dynamic_shared();

enum class Access { global_load, global_store, shared_load, shared_store };
void count_access(Access access);

}  // namespace lulab::simt::host

namespace lulab::simt {

/// The column that the calling thread works on from now on, for reports of races. Empty on the GPU.
void note_column(std::int64_t column);
/// The column for which the calling thread waits in the spin that follows, for reports of deadlocks. Empty on the GPU.
void note_wait(std::int64_t column);

/// For a debugger that stopped inside a kernel:   print lulab::simt::where()
/// "block (3,0,0) thread (17,0,0) warp 0 lane 17 of kernel lulab::axpy_kernel<double>"
const char* where();

}  // namespace lulab::simt
