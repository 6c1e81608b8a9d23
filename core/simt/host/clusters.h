#pragma once
// Thread-block clusters: blocks that start together, meet at a barrier and reach into each other's shared memory.

#include "core/simt/host/runtime.h"
#include "core/simt/host/types.h"

namespace cooperative_groups {

/// Clusters here lie along x, as LaunchShape makes them.
class cluster_group {
  using Site = lulab::simt::host::Site;

 public:
  struct arrival_token {};

  static void sync(Site site = Site::here()) {
    lulab::simt::host::cluster_arrive(site);
    lulab::simt::host::cluster_wait(site);
  }
  static arrival_token barrier_arrive(Site site = Site::here()) {
    lulab::simt::host::cluster_arrive(site);
    return {};
  }
  static void barrier_wait(Site site = Site::here()) { lulab::simt::host::cluster_wait(site); }
  static void barrier_wait(arrival_token&&, Site site = Site::here()) { lulab::simt::host::cluster_wait(site); }

  template <class T>
  static T* map_shared_rank(T* p, int rank, Site site = Site::here()) {
    return static_cast<T*>(lulab::simt::host::map_shared(p, rank, site));
  }
  static unsigned query_shared_rank(const void* p, Site site = Site::here()) {
    return lulab::simt::host::owner_of_shared(p, site);
  }

  static unsigned block_rank() { return lulab::simt::host::cluster_rank(); }
  static unsigned num_blocks() { return lulab::simt::host::cluster_size(); }
  static dim3 block_index() { return dim3(block_rank()); }
  static dim3 dim_blocks() { return dim3(num_blocks()); }
  static dim3 thread_index() { return dim3(block_rank() * blockDim.x + threadIdx.x, threadIdx.y, threadIdx.z); }
  static dim3 dim_threads() { return dim3(num_blocks() * blockDim.x, blockDim.y, blockDim.z); }
  static unsigned num_threads() { return num_blocks() * blockDim.x * blockDim.y * blockDim.z; }
  static unsigned thread_rank() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * (threadIdx.z + blockDim.z * block_rank()));
  }
  static unsigned size() { return num_threads(); }
};

inline cluster_group this_cluster() { return {}; }

}  // namespace cooperative_groups
