// Indices, block barriers, shared memory and the grid's barrier.

#include "testing/launch.h"

namespace lulab::simt {
namespace {

/// Every thread writes its own rank.   out: (threads of the grid)
__global__ void rank_kernel(int* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned rank = block * (blockDim.x * blockDim.y * blockDim.z) + thread;
  out[rank] = static_cast<int>(rank);
}

TEST(Block, EveryThreadRunsOnceWithItsOwnIndex) {
  LULAB_NEED_DEVICE();
  for (const std::uint64_t seed : all_schedule_seeds()) {
    const auto out =
        output_of<int>(rank_kernel, {.grid = dim3(5, 3, 2), .block = dim3(7, 3, 2)}, 30 * 42, {.seed = seed});
    LULAB_ASSERT_OK(out);
    for (std::size_t i = 0; i < out->size(); ++i) ASSERT_EQ((*out)[i], static_cast<int>(i));
  }
}

/// Block b reverses b, b+1, ... through shared memory, three rounds.   out: (blocks, threads)
template <class T>
__global__ void reverse_kernel(T* out) {
  LULAB_SHARED(T, tile, 96);
  LULAB_DYNAMIC_SHARED(T, other);
  const int t = threadIdx.x, n = blockDim.x;
  for (int round = 0; round < 3; ++round) {
    tile[t] = T(blockIdx.x + t + round);
    other[n - 1 - t] = tile[t];
    __syncthreads();  // RACE: t reads what thread n-1-t wrote
    out[blockIdx.x * n + t] = other[t] + T(1000) * tile[n - 1 - t];
    __syncthreads();  // RACE: the next round overwrites what slower threads still read
  }
}

template <class T>
void expect_reversed(std::uint64_t seed) {
  const int blocks = 9, n = 96;
  const auto out = output_of<T>(reverse_kernel<T>, {.grid = blocks, .block = n, .shared_bytes = n * sizeof(T)},
                                blocks * n, {.seed = seed, .resident_blocks = 4});
  LULAB_ASSERT_OK(out);
  for (int b = 0; b < blocks; ++b)
    for (int t = 0; t < n; ++t) ASSERT_EQ((*out)[b * n + t], T(1001) * T(b + n - 1 - t + 2));
}

TEST(Block, SharedMemoryBelongsToItsBlockAndItsTemplateInstance) {
  LULAB_NEED_DEVICE();
  for (const std::uint64_t seed : all_schedule_seeds()) {
    expect_reversed<int>(seed);
    expect_reversed<double>(seed);
  }
}

__global__ void transpose_kernel(int* out) {
  LULAB_SHARED_2D(int, tile, 16, 17);
  tile[threadIdx.y][threadIdx.x] = static_cast<int>(threadIdx.y * 16 + threadIdx.x);
  __syncthreads();  // RACE: (x,y) reads what (y,x) wrote
  out[threadIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

TEST(Block, SharedArraysMayHaveTwoDimensions) {
  LULAB_NEED_DEVICE();
  const auto out = output_of<int>(transpose_kernel, {.grid = 1, .block = dim3(16, 16)}, 256, {});
  LULAB_ASSERT_OK(out);
  for (int y = 0; y < 16; ++y)
    for (int x = 0; x < 16; ++x) EXPECT_EQ((*out)[y * 16 + x], x * 16 + y);
}

/// Large dynamic shared memory: the last element is there.   out: (1)
__global__ void large_shared_kernel(int n, int* out) {
  LULAB_DYNAMIC_SHARED(int, work);
  for (int i = threadIdx.x; i < n; i += blockDim.x) work[i] = i;
  __syncthreads();  // RACE: thread 0 reads what others wrote
  if (threadIdx.x == 0) *out = work[n - 1] + work[0] + work[n / 2];
}

TEST(Block, DynamicSharedMemoryBeyond48KbIsOptedInto) {
  LULAB_NEED_DEVICE();
  const std::size_t bytes = std::size_t{96} << 10;
  const int n = static_cast<int>(bytes / sizeof(int));
  const auto out = output_of<int>(large_shared_kernel, {.grid = 1, .block = 64, .shared_bytes = bytes}, 1, {}, n);
  LULAB_ASSERT_OK(out);
  EXPECT_EQ(out->front(), n - 1 + n / 2);
}

/// Static and dynamic shared memory side by side.   out: (1)
__global__ void both_kinds_of_shared_memory_kernel(int n, int* out) {
  LULAB_SHARED(int, fixed, 4096);
  LULAB_DYNAMIC_SHARED(int, work);
  for (int i = threadIdx.x; i < n; i += blockDim.x) work[i] = i;
  for (int i = threadIdx.x; i < 4096; i += blockDim.x) fixed[i] = -i;
  __syncthreads();  // RACE: thread 0 reads what others wrote
  if (threadIdx.x == 0) *out = work[n - 1] + fixed[4095];
}

TEST(Block, StaticSharedMemoryCountsTowardsThe48Kb) {
  LULAB_NEED_DEVICE();
  const std::size_t bytes = std::size_t{40} << 10;  // and 16 KB of static ones
  const int n = static_cast<int>(bytes / sizeof(int));
  const auto resident = max_resident_blocks_per_sm(both_kinds_of_shared_memory_kernel, 64, bytes);
  LULAB_ASSERT_OK(resident);
  EXPECT_GE(*resident, 1);
  const auto out =
      output_of<int>(both_kinds_of_shared_memory_kernel, {.grid = 1, .block = 64, .shared_bytes = bytes}, 1, {}, n);
  LULAB_ASSERT_OK(out);
  EXPECT_EQ(out->front(), n - 1 - 4095);
}

/// NaN in both precisions, negative, and not the word that says "not written yet" (core/awaited_scalar.h).
__device__ bool is_poison(unsigned long long word) {
  const double as_double = __longlong_as_double(static_cast<long long>(word));
  bool poisoned = as_double != as_double;
  for (const int half : {static_cast<int>(word), static_cast<int>(word >> 32)}) {
    const float as_float = __int_as_float(half);
    poisoned = poisoned && as_float != as_float && half < -1;
  }
  return poisoned;
}

/// out += the poisoned words among `fresh` and (n) dynamic ones, which are written then.
__global__ void poison_kernel(const unsigned long long* device_memory, int n, int* out) {
  LULAB_SHARED(unsigned long long, fresh, 8);
  LULAB_DYNAMIC_SHARED(unsigned long long, dynamic);
  if (is_poison(fresh[threadIdx.x])) atomicAdd(out, 1);
  fresh[threadIdx.x] = 5;
  for (int i = threadIdx.x; i < n; i += 8) {
    if (is_poison(dynamic[i]) && is_poison(device_memory[i])) atomicAdd(out, 1);
    dynamic[i] = 5;
  }
}

TEST(Block, FreshMemoryIsPoisonedInEveryBlock) {
  LULAB_NEED_SIMULATOR();
  for (const int n : {8, 1000}) {
    const auto fresh = DeviceBuffer<unsigned long long>::create(n);
    LULAB_ASSERT_OK(fresh);
    const auto out = output_of<int>(
        poison_kernel,
        {.grid = 20, .block = 8, .shared_bytes = sizeof(unsigned long long) * static_cast<std::size_t>(n)}, 1,
        {.seed = 3, .resident_blocks = 2}, fresh->data(), n);
    LULAB_ASSERT_OK(out);
    EXPECT_EQ(out->front(), -1 + 20 * (8 + n));
  }
}

/// out: (3, threads)
__global__ void vote_kernel(int* out) {
  const int t = threadIdx.x, n = blockDim.x;
  out[t] = __syncthreads_count(t % 3 == 0);
  out[n + t] = __syncthreads_and(t >= 0) != 0;
  out[2 * n + t] = __syncthreads_or(t == 1000) != 0;
}

TEST(Block, BarrierVotesMatchTheirDefinitions) {
  LULAB_NEED_DEVICE();
  for (const std::uint64_t seed : all_schedule_seeds()) {
    const auto out = output_of<int>(vote_kernel, {.grid = 1, .block = 100}, 300, {.seed = seed});
    LULAB_ASSERT_OK(out);
    for (int t = 0; t < 100; ++t) {
      EXPECT_EQ((*out)[t], 34);
      EXPECT_EQ((*out)[100 + t], 1);
      EXPECT_EQ((*out)[200 + t], 0);
    }
  }
}

/// Each round every thread adds what its neighbour in the next block wrote.   in: (2, threads), out: (threads)
__global__ void grid_kernel(int rounds, long long* buffer, long long* out) {
  auto grid = cooperative_groups::this_grid();
  const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  buffer[i] = i;
  for (int k = 0; k < rounds; ++k) {
    grid.sync();  // RACE: the neighbour's value of this round must be there
    const long long next = buffer[(k % 2) * n + (i + blockDim.x) % n];
    buffer[(k + 1) % 2 * n + i] = buffer[(k % 2) * n + i] + next;
  }
  out[i] = buffer[rounds % 2 * n + i];
}

TEST(Block, GridBarrierOrdersAllBlocks) {
  LULAB_NEED_DEVICE();
  const int blocks = 4, threads = 64, n = blocks * threads, rounds = 6;
  std::vector<long long> a(n), b(n);
  for (int i = 0; i < n; ++i) a[i] = i;
  for (int k = 0; k < rounds; ++k, std::swap(a, b))
    for (int i = 0; i < n; ++i) b[i] = a[i] + a[(i + threads) % n];
  auto d_buffer = DeviceBuffer<long long>::create(2 * n);
  LULAB_ASSERT_OK(d_buffer);
  for (const std::uint64_t seed : all_schedule_seeds()) {
    const auto out = output_of<long long>(grid_kernel, {.grid = blocks, .block = threads, .cooperative = true}, n,
                                          {.seed = seed}, rounds, d_buffer->data());
    LULAB_ASSERT_OK(out);
    EXPECT_EQ(*out, a) << "seed " << seed;
  }
}

}  // namespace
}  // namespace lulab::simt
