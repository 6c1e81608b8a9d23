// Thread-block clusters: their barrier, and shared memory of another block.

#include <cmath>
#include <limits>

#include "testing/launch.h"

namespace lulab::simt {
namespace {

/// Thread t of block b gives its value to thread t of the next block of its cluster, `rounds` times around the ring,
/// through static and dynamic shared memory in turn.   out: (threads of the grid)
__global__ void ring_kernel(int rounds, int* out) {
  LULAB_SHARED(int, mailbox, 40);
  LULAB_DYNAMIC_SHARED(int, other_mailbox);
  const auto cluster = cooperative_groups::this_cluster();
  const int t = threadIdx.x;
  const int next = static_cast<int>((cluster.block_rank() + 1) % cluster.num_blocks());
  int value = static_cast<int>(blockIdx.x * blockDim.x) + t;
  cluster.sync();  // RACE: all blocks have started
  for (int round = 0; round < rounds; ++round) {
    int* mine = round % 2 == 0 ? &mailbox[0] : other_mailbox;
    cluster.map_shared_rank(mine, next)[t] = value;
    cluster.sync();  // RACE: the block before has written mine[t]; the mailbox of the last round is free again
    value = mine[t];
  }
  out[blockIdx.x * blockDim.x + t] = value;
  cluster.sync();  // RACE: no block returns while another writes to its shared memory
}

TEST(Cluster, ValuesTravelAroundTheRing) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  constexpr int threads = 40;
  for (const std::uint64_t seed : all_schedule_seeds())
    for (const int size : {1, 2, 4, 8, 16})
      for (const int rounds : {1, 3}) {
        const int blocks = 3 * size;
        const auto out = output_of<int>(ring_kernel,
                                        {.grid = static_cast<unsigned>(blocks),
                                         .block = threads,
                                         .shared_bytes = threads * sizeof(int),
                                         .cluster = static_cast<unsigned>(size)},
                                        blocks * threads, {.seed = seed}, rounds);
        LULAB_ASSERT_OK(out);
        for (int b = 0; b < blocks; ++b) {
          const int first = b / size * size, from = first + (b - first + rounds * (size - 1)) % size;
          for (int t = 0; t < threads; ++t)
            ASSERT_EQ((*out)[b * threads + t], from * threads + t) << "cluster " << size << " block " << b;
        }
      }
}

/// Sum over a cluster: each block its own, then block 0 those of all.   out: (clusters)
__global__ void sum_kernel(const double* x, double* out) {
  LULAB_SHARED(double, part, 64);
  const auto cluster = cooperative_groups::this_cluster();
  const int t = threadIdx.x, n = blockDim.x;
  part[t] = x[blockIdx.x * n + t];
  for (int half = n / 2; half > 0; half /= 2) {
    __syncthreads();  // RACE: part[t + half] is final
    if (t < half) part[t] += part[t + half];
  }
  cluster.sync();  // RACE: part[0] of every block is final
  if (cluster.block_rank() == 0 && t == 0) {
    double sum = 0;
    for (unsigned b = 0; b < cluster.num_blocks(); ++b) sum += *cluster.map_shared_rank(&part[0], static_cast<int>(b));
    out[blockIdx.x / cluster.num_blocks()] = sum;
  }
  cluster.sync();  // RACE: block 0 has read what the others would take with them
}

TEST(Cluster, ReductionsOverEverySizeOfCluster) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  constexpr int threads = 64, blocks = 32;
  std::vector<double> x(blocks * threads);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i * 7919 % 1009);  // sums are exact
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  auto d_x = DeviceBuffer<double>::create(x, *stream);
  LULAB_ASSERT_OK(d_x);
  LULAB_ASSERT_OK(stream->wait());
  for (const std::uint64_t seed : all_schedule_seeds())
    for (const int size : {1, 2, 4, 8, 16}) {
      const auto out =
          output_of<double>(sum_kernel, {.grid = blocks, .block = threads, .cluster = static_cast<unsigned>(size)},
                            blocks / size, {.seed = seed}, d_x->data());
      LULAB_ASSERT_OK(out);
      for (int c = 0; c < blocks / size; ++c) {
        double sum = 0;
        for (int i = 0; i < size * threads; ++i) sum += x[c * size * threads + i];
        ASSERT_EQ((*out)[c], sum) << "cluster " << c << " of " << size << " blocks, seed " << seed;
      }
    }
}

/// Arrives, does what needs no other block, waits.   out: (threads of the grid)
__global__ void split_kernel(int* out) {
  LULAB_SHARED(int, tile, 32);
  const auto cluster = cooperative_groups::this_cluster();
  const int t = threadIdx.x, rank = static_cast<int>(cluster.block_rank());
  const int blocks = static_cast<int>(cluster.num_blocks());
  int sum = 0;
  for (int round = 0; round < 4; ++round) {
    tile[t] = 100 * round + 10 * rank + t;
    cluster.barrier_arrive();  // RACE: publishes tile[t] to the cluster
    sum += t;
    cluster.barrier_wait();  // RACE: tile of every block is written
    const int* next = cluster.map_shared_rank(&tile[0], (rank + 1) % blocks);
    sum += next[31 - t];
    auto token = cluster.barrier_arrive();  // RACE: this thread has read
    sum += 1;
    cluster.barrier_wait(static_cast<decltype(token)&&>(token));  // RACE: all have read, tile may be written again
  }
  out[blockIdx.x * blockDim.x + t] = sum;
}

TEST(Cluster, ArriveAndWaitSplitTheBarrier) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  for (const std::uint64_t seed : all_schedule_seeds()) {
    const auto out = output_of<int>(split_kernel, {.grid = 8, .block = 32, .cluster = 4}, 256, {.seed = seed});
    LULAB_ASSERT_OK(out);
    for (int b = 0; b < 8; ++b)
      for (int t = 0; t < 32; ++t) {
        const int next = (b + 1) % 4;
        ASSERT_EQ((*out)[b * 32 + t], 4 * t + 4 + 600 + 4 * (10 * next + 31 - t)) << b << " " << t;
      }
  }
}

/// out: (blocks, 8)
__global__ void names_kernel(unsigned* out) {
  LULAB_SHARED(int, tile, 2);
  const auto cluster = cooperative_groups::this_cluster();
  if (threadIdx.x + threadIdx.y == 0) {
    unsigned* mine = out + 8 * (blockIdx.x + gridDim.x * blockIdx.y);
    mine[0] = cluster.block_rank();
    mine[1] = cluster.num_blocks();
    mine[2] = cluster.block_index().x;
    mine[3] = cluster.dim_blocks().x;
    mine[4] = cluster.thread_rank();
    mine[5] = cluster.num_threads();
    mine[6] = cluster.query_shared_rank(&tile[1]);
    mine[7] = cluster.query_shared_rank(cluster.map_shared_rank(&tile[0], 1));
  }
  cluster.sync();  // RACE: none; no block returns before the others have asked
}

TEST(Cluster, BlocksKnowTheirPlace) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  const auto out =
      output_of<unsigned>(names_kernel, {.grid = dim3(6, 2), .block = dim3(4, 3), .cluster = 2}, 12 * 8, {.seed = 5});
  LULAB_ASSERT_OK(out);
  for (unsigned b = 0; b < 12; ++b) {
    const std::vector<unsigned> expected{b % 2, 2, b % 2, 2, b % 2 * 12, 24, b % 2, 1};
    EXPECT_EQ(std::vector<unsigned>(out->begin() + 8 * b, out->begin() + 8 * b + 8), expected) << "block " << b;
  }
}

/// Threads that return count as arrived.   out: (2)
__global__ void early_return_kernel(int* out) {
  const auto cluster = cooperative_groups::this_cluster();
  if (cluster.block_rank() == 1 && threadIdx.x % 2 == 1) return;
  cluster.sync();  // RACE: none; the barrier does not wait for threads that have returned
  if (threadIdx.x == 0) out[cluster.block_rank()] = 1;
}

TEST(Cluster, ThreadsThatReturnedAreNotWaitedFor) {
  LULAB_NEED_SIMULATOR();
  for (const std::uint64_t seed : all_schedule_seeds()) {
    const auto out = output_of<int>(early_return_kernel, {.grid = 2, .block = 64, .cluster = 2}, 2, {.seed = seed});
    LULAB_ASSERT_OK(out);
    EXPECT_EQ(*out, (std::vector<int>{1, 1}));
  }
}

void expect_refused(const LaunchShape& shape, SimulatorOptions options, const char* limit) {
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  auto d_out = DeviceBuffer<int>::create(4096);
  LULAB_ASSERT_OK(d_out);
  const Status status = status_of_launch(split_kernel, shape, options, d_out->data());
  EXPECT_EQ(status.code, StatusCode::invalid_argument) << status.to_string();
  EXPECT_TRUE(contains(status.message, limit)) << limit << " is missing in: " << status.message;
  const SimulatorScope scope(options);
  EXPECT_EQ(max_resident_clusters(split_kernel, shape).status().code, StatusCode::invalid_argument);
}

TEST(Cluster, ShapesBeyondALimitNameIt) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  expect_refused({.grid = 34, .block = 32, .cluster = 17}, {}, "17 blocks");
  expect_refused({.grid = 10, .block = 32, .cluster = 4}, {}, "multiple");
}

TEST(Cluster, MoreBlocksThanCanBeResidentAreRefused) {
  LULAB_NEED_SIMULATOR();
  expect_refused({.grid = 8, .block = 32, .cluster = 8}, {.resident_blocks = 7}, "only 7 can be resident");
  expect_refused({.grid = 16, .block = 1024, .cluster = 16}, {}, "resident");
  const auto out = output_of<int>(split_kernel, {.grid = 16, .block = 32, .cluster = 8}, 512, {.resident_blocks = 15});
  LULAB_ASSERT_OK(out);  // one cluster after the other
}

TEST(Cluster, AsManyClustersAsAreResidentAreCounted) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  const auto clusters = max_resident_clusters(split_kernel, {.grid = 8, .block = 64, .cluster = 8});
  LULAB_ASSERT_OK(clusters);
  EXPECT_GE(*clusters, 1);
  const auto properties = device_properties();
  LULAB_ASSERT_OK(properties);
  EXPECT_LE(*clusters * 8 * 64, properties->sm_count * properties->max_threads_per_sm);
  const auto blocks = max_resident_clusters(split_kernel, {.grid = 8, .block = 64});
  LULAB_ASSERT_OK(blocks);
  EXPECT_GE(*blocks, *clusters * 8);
}

/// Block 0 waits at the barrier, block 1 for a flag that no thread raises.
__global__ void skip_kernel(int* flag) {
  if (cooperative_groups::this_cluster().block_rank() == 0)
    cooperative_groups::this_cluster().sync();  // RACE: none; never completes
  else
    while (cuda::atomic_ref<int, cuda::thread_scope_device>(*flag).load(cuda::memory_order_relaxed) == -1) {
    }
}
/// Block 1 waits at its own barrier instead, with a thread missing there.
__global__ void wrong_barrier_kernel(int*) {
  const auto cluster = cooperative_groups::this_cluster();
  if (cluster.block_rank() == 0 || threadIdx.x == 0)
    cluster.sync();  // RACE: none; never completes
  else
    __syncthreads();
}

void expect_failure(const Status& status, StatusCode code, std::initializer_list<const char*> parts) {
  EXPECT_EQ(status.code, code) << status.to_string();
  for (const char* part : parts)
    EXPECT_TRUE(contains(status.message, part)) << part << " is missing in: " << status.message;
}

TEST(Cluster, ABlockThatNeverComesToTheBarrierIsADeadlock) {
  LULAB_NEED_SIMULATOR();
  for (const std::uint64_t seed : all_schedule_seeds())
    for (auto* kernel : {skip_kernel, wrong_barrier_kernel})
      expect_failure(output_of<int>(kernel, {.grid = 2, .block = 32, .cluster = 2}, 1, {.seed = seed}).status(),
                     StatusCode::deadlock,
                     {"block 0 threads 0-31", "wait at the cluster's barrier", "cluster_test.cu:"});
}

enum class Misuse { arrive_twice, wait_alone, bad_rank, negative_rank, not_shared, another_block };

__global__ void misuse_kernel(Misuse misuse, int* global) {
  LULAB_SHARED(int, tile, 32);
  const auto cluster = cooperative_groups::this_cluster();
  int* p = &tile[0];
  switch (misuse) {
    case Misuse::arrive_twice:
      cluster.barrier_arrive();
      cluster.barrier_arrive();
      break;
    case Misuse::wait_alone: cluster.barrier_wait(); break;
    case Misuse::bad_rank: p = cluster.map_shared_rank(p, 2); break;
    case Misuse::negative_rank: p = cluster.map_shared_rank(p, -1); break;
    case Misuse::not_shared: p = cluster.map_shared_rank(global, 1); break;
    case Misuse::another_block:
      p = cluster.map_shared_rank(p, 1 - static_cast<int>(cluster.block_rank()));
      p = cluster.map_shared_rank(p, 0);
      break;
  }
  if (p == nullptr) *global = 0;
}

TEST(Cluster, MisuseIsNamedWithItsLine) {
  LULAB_NEED_SIMULATOR();
  const auto run = [](Misuse misuse) {
    return output_of<int>(misuse_kernel, {.grid = 4, .block = 32, .cluster = 2}, 1, {}, misuse).status();
  };
  const auto error = StatusCode::device_error;
  expect_failure(run(Misuse::arrive_twice), error, {"second time", "cluster_test.cu:", "block ", "misuse_kernel"});
  expect_failure(run(Misuse::wait_alone), error, {"without having arrived", "cluster_test.cu:"});
  expect_failure(run(Misuse::bad_rank), error, {"block 2 of a cluster of 2", "cluster_test.cu:"});
  expect_failure(run(Misuse::negative_rank), error, {"block -1 of a cluster of 2"});
  expect_failure(run(Misuse::not_shared), error, {"not in the shared memory of the calling block", "cluster_test.cu:"});
  expect_failure(run(Misuse::another_block), error, {"not in the shared memory of the calling block"});
}

/// Block 0 returns after the first barrier, which completes the second; block 1 reads too late.   out: (2)
__global__ void late_read_kernel(double* out) {
  LULAB_SHARED(double, tile, 1);
  LULAB_DYNAMIC_SHARED(double, work);
  const auto cluster = cooperative_groups::this_cluster();
  tile[0] = work[0] = 1.5;
  cluster.sync();  // RACE: both blocks have written
  if (cluster.block_rank() == 0) return;
  const double* remote_tile = cluster.map_shared_rank(&tile[0], 0);
  const double* remote_work = cluster.map_shared_rank(work, 0);
  cluster.sync();  // RACE: completes when block 0 has returned
  out[0] = *remote_tile;
  out[1] = *remote_work;
}

TEST(Cluster, SharedMemoryOfABlockThatReturnedIsPoisoned) {
  LULAB_NEED_SIMULATOR();
  const LaunchShape shape{.grid = 2, .block = 1, .shared_bytes = sizeof(double), .cluster = 2};
#ifdef __SANITIZE_ADDRESS__
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH((void)output_of<double>(late_read_kernel, shape, 2, {}), "use-after-poison");
  return;
#endif
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "a race; Race.ClusterEndIsReportedWhenMissing looks for it";
#endif
  for (const std::uint64_t seed : all_schedule_seeds()) {
    const auto out = output_of<double>(late_read_kernel, shape, 2, {.seed = seed});
    LULAB_ASSERT_OK(out);
    EXPECT_TRUE(std::isnan((*out)[0]) && std::isnan((*out)[1])) << (*out)[0] << " " << (*out)[1];
  }
}

TEST(Cluster, ArrivalsAreCounted) {
  LULAB_NEED_SIMULATOR();
  const SimulatorScope outer({});
  LULAB_ASSERT_OK(output_of<int>(split_kernel, {.grid = 8, .block = 32, .cluster = 4}, 256, {.count_accesses = true}));
  EXPECT_EQ(outer.access_counts().cluster_barriers, 8 * 256);
}

}  // namespace
}  // namespace lulab::simt
