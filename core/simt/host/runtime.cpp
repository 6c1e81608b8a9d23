#include "core/simt/host/runtime.h"

#include <stdexcept>

#include "core/simt/host/scheduler.h"

namespace lulab::simt::host {

namespace {

// Atomics and fences are meaningful on the host too (__host__ __device__ functions); barriers and shared memory are
// not.
Scheduler& kernel_only() {
  if (!active_scheduler) throw std::logic_error("a barrier, warp primitive or shared memory outside a kernel");
  return *active_scheduler;
}

}  // namespace

void before_atomic(const void* address, int bytes, bool writes, Site site) {
  if (active_scheduler) active_scheduler->before_atomic(address, bytes, writes, site);
}
void after_atomic(const AtomicAccess& access, Site site) {
  if (active_scheduler) active_scheduler->after_atomic(access, site);
}
void fence(int order, Scope scope, Site site) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (active_scheduler) active_scheduler->fence(order, scope, site);
}
void nanosleep(Site site) { kernel_only().nanosleep(site); }
long long clock() { return kernel_only().clock(); }
int block_barrier(BlockBarrier kind, int predicate, Site site) {
  return kernel_only().block_barrier(kind, predicate, site);
}
void grid_barrier(Site site) { kernel_only().grid_barrier(site); }
void cluster_arrive(Site site) { kernel_only().cluster_arrive(site); }
void cluster_wait(Site site) { kernel_only().cluster_wait(site); }
void* map_shared(const void* p, int rank, Site site) { return kernel_only().map_shared(p, rank, site); }
unsigned owner_of_shared(const void* p, Site site) { return kernel_only().owner_of_shared(p, site); }
unsigned cluster_rank() { return kernel_only().cluster_rank(); }
unsigned cluster_size() { return kernel_only().cluster_size(); }
std::uint64_t warp_collective(WarpOp op, unsigned mask, std::uint64_t value, int source_lane, Site site) {
  return kernel_only().warp_collective(op, mask, value, source_lane, site);
}
int lane_id() { return kernel_only().lane(); }
void* static_shared(const char* key, std::size_t bytes, std::size_t alignment, Site site) {
  return kernel_only().static_shared(key, bytes, alignment, site);
}
void* dynamic_shared() { return kernel_only().dynamic_shared(); }
void count_access(Access access) {
  constexpr std::int64_t AccessCounts::*what[] = {&AccessCounts::global_loads, &AccessCounts::global_stores,
                                                  &AccessCounts::shared_loads, &AccessCounts::shared_stores};
  if (active_scheduler) active_scheduler->count(what[static_cast<int>(access)]);
}

}  // namespace lulab::simt::host

namespace lulab::simt {

void note_column(std::int64_t column) {
  if (host::active_scheduler) host::active_scheduler->note_column(column);
}
void note_wait(std::int64_t column) {
  if (host::active_scheduler) host::active_scheduler->note_wait(column);
}
void note_writes(const Written& a, const Written& b, const Written& c) {
  if (host::active_scheduler) host::active_scheduler->note_writes({a, b, c});
}

}  // namespace lulab::simt
