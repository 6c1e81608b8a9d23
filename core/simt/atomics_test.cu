// Atomics against their definitions, under contention.

#include "testing/launch.h"

namespace lulab::simt {
namespace {

/// out: (12), all -1 before (all bits set).
__global__ void atomics_kernel(unsigned long long* big, double* real, float* single, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&out[0], i);
  atomicSub(&out[1], i);
  atomicMin(&out[2], -i);
  atomicMax(&out[3], i);
  atomicAnd(&out[4], ~(1 << (i % 8)));
  atomicXor(&out[5], 1 << (i % 4));
  atomicExch(&out[6], 42);
  atomicCAS(&out[7], -1, i);
  atomicOr(&out[8], 5);
  atomicAdd(big, 1ull << 33);
  atomicAdd(real, 0.5);
  atomicAdd(single, 1.0f);
  unsigned* wrap = reinterpret_cast<unsigned*>(&out[9]);
  atomicInc(wrap, 4u);  // 0xffffffff wraps to 0 first
}

TEST(Atomics, EveryFunctionMatchesItsDefinition) {
  LULAB_NEED_DEVICE();
  const int n = 4 * 64;
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  for (const std::uint64_t seed : all_schedule_seeds()) {
    auto d_big = DeviceBuffer<unsigned long long>::create(std::vector<unsigned long long>{7}, *stream);
    auto d_real = DeviceBuffer<double>::create(std::vector<double>{0.25}, *stream);
    auto d_single = DeviceBuffer<float>::create(std::vector<float>{-1.0f}, *stream);
    LULAB_ASSERT_OK(d_big);
    LULAB_ASSERT_OK(d_real);
    LULAB_ASSERT_OK(d_single);
    LULAB_ASSERT_OK(stream->wait());
    const auto out = output_of<int>(atomics_kernel, {.grid = 4, .block = 64}, 12, {.seed = seed}, d_big->data(),
                                    d_real->data(), d_single->data());
    LULAB_ASSERT_OK(out);
    const int sum = n * (n - 1) / 2;
    EXPECT_EQ((*out)[0], -1 + sum);
    EXPECT_EQ((*out)[1], -1 - sum);
    EXPECT_EQ((*out)[2], -(n - 1));
    EXPECT_EQ((*out)[3], n - 1);
    EXPECT_EQ((*out)[4], ~0xff);
    EXPECT_EQ((*out)[5], -1);  // every bit flipped an even number of times
    EXPECT_EQ((*out)[6], 42);
    EXPECT_TRUE((*out)[7] >= 0 && (*out)[7] < n);
    EXPECT_EQ((*out)[8], -1);
    EXPECT_EQ((*out)[9], (n - 1) % 5);
    std::vector<unsigned long long> big(1);
    std::vector<double> real(1);
    std::vector<float> single(1);
    LULAB_ASSERT_OK(d_big->download(big, *stream));
    LULAB_ASSERT_OK(d_real->download(real, *stream));
    LULAB_ASSERT_OK(d_single->download(single, *stream));
    LULAB_ASSERT_OK(stream->wait());
    EXPECT_EQ(big[0], 7 + (1ull << 33) * n);
    EXPECT_EQ(real[0], 0.25 + 0.5 * n);  // exact in binary
    EXPECT_EQ(single[0], -1.0f + n);
  }
}

template <class T>
using DeviceAtomic = cuda::atomic_ref<T, cuda::thread_scope_device>;

/// out: (6): sum, min, max, tickets, failures, exchanges. Zeroed by thread 0 of a launch before.
__global__ void zero_kernel(int n, int* x) {
  for (int i = 0; i < n; ++i) x[i] = 0;
}
__global__ void atomic_ref_kernel(int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  DeviceAtomic<int>(out[0]).fetch_add(i, cuda::memory_order_relaxed);
  DeviceAtomic<int>(out[1]).fetch_min(-i, cuda::memory_order_relaxed);
  DeviceAtomic<int>(out[2]).fetch_max(i, cuda::memory_order_relaxed);
  DeviceAtomic<int> counter(out[3]);
  int seen = counter.load(cuda::memory_order_relaxed);
  while (!counter.compare_exchange_weak(seen, seen + 1, cuda::memory_order_acq_rel, cuda::memory_order_relaxed)) {
  }
  DeviceAtomic<int>(out[4]).fetch_sub(2);
  DeviceAtomic<int>(out[5]).exchange(9, cuda::memory_order_acq_rel);
}

TEST(Atomics, AtomicRefMatchesItsDefinition) {
  LULAB_NEED_DEVICE();
  const int n = 4 * 64;
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  for (const std::uint64_t seed : all_schedule_seeds()) {
    const SimulatorScope scope({.seed = seed});
    auto d_out = DeviceBuffer<int>::create(6);
    LULAB_ASSERT_OK(d_out);
    LULAB_ASSERT_OK(launch(zero_kernel, {.grid = 1, .block = 1}, *stream, 6, d_out->data()));
    LULAB_ASSERT_OK(launch(atomic_ref_kernel, {.grid = 4, .block = 64}, *stream, d_out->data()));
    std::vector<int> out(6);
    LULAB_ASSERT_OK(d_out->download(out, *stream));
    LULAB_ASSERT_OK(stream->wait());
    EXPECT_EQ(out, (std::vector<int>{n * (n - 1) / 2, -(n - 1), n - 1, n, -2 * n, 9}));
  }
}

/// A spin lock: one lane of each warp at a time increments a plain counter.
__global__ void lock_kernel(int* lock, int* counter) {
  if (threadIdx.x % 32 != 0) return;
  for (int k = 0; k < 5; ++k) {
    DeviceAtomic<int> mutex(*lock);
    // RACE: taking the lock acquires what the last owner released
    while (mutex.exchange(1, cuda::memory_order_acquire) != 0) __nanosleep(20);
    *counter += 1;
    mutex.store(0, cuda::memory_order_release);  // RACE: publishes counter to the next owner
  }
}

TEST(Atomics, SpinLockExcludesOthers) {
  LULAB_NEED_DEVICE();
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  for (const std::uint64_t seed : all_schedule_seeds()) {
    const SimulatorScope scope({.seed = seed});
    auto d = DeviceBuffer<int>::create(std::vector<int>{0, 0}, *stream);
    LULAB_ASSERT_OK(d);
    LULAB_ASSERT_OK(launch(lock_kernel, {.grid = 4, .block = 128}, *stream, d->data(), d->data() + 1));
    std::vector<int> out(2);
    LULAB_ASSERT_OK(d->download(out, *stream));
    LULAB_ASSERT_OK(stream->wait());
    EXPECT_EQ(out, (std::vector<int>{0, 4 * 4 * 5}));
  }
}

__global__ void block_scope_kernel(int* flag) {
  cuda::atomic_ref<int, cuda::thread_scope_block>(*flag).fetch_add(1, cuda::memory_order_relaxed);
}
__global__ void block_scope_shared_kernel(int* out) {
  LULAB_SHARED(int, sum, 1);
  if (threadIdx.x == 0) sum[0] = 0;
  __syncthreads();  // RACE: others add to what thread 0 zeroed
  cuda::atomic_ref<int, cuda::thread_scope_block>(sum[0]).fetch_add(1, cuda::memory_order_relaxed);
  __syncthreads();  // RACE: thread 0 reads what others added
  if (threadIdx.x == 0) out[blockIdx.x] = sum[0];
}

TEST(Atomics, BlockScopeAcrossBlocksIsAnError) {
  LULAB_NEED_SIMULATOR();
  const auto wrong = output_of<int>(block_scope_kernel, {.grid = 2, .block = 1}, 1, {});
  ASSERT_EQ(wrong.status().code, StatusCode::device_error);
  EXPECT_TRUE(contains(wrong.status().message, "wrong scope")) << wrong.status().message;
  EXPECT_TRUE(output_of<int>(block_scope_kernel, {.grid = 1, .block = 64}, 1, {}).ok());
}

TEST(Atomics, BlockScopeWithinItsBlockIsFine) {
  LULAB_NEED_DEVICE();
  const auto out = output_of<int>(block_scope_shared_kernel, {.grid = 6, .block = 50}, 6, {.seed = 2});
  LULAB_ASSERT_OK(out);
  EXPECT_EQ(*out, std::vector<int>(6, 50));
}

__global__ void misaligned_kernel(char* p) { atomicAdd(reinterpret_cast<int*>(p + 1), 1); }

TEST(Atomics, MisalignedAddressIsAnError) {
  LULAB_NEED_SIMULATOR();
  const auto out = output_of<char>(misaligned_kernel, {.grid = 1, .block = 1}, 16, {});
  EXPECT_EQ(out.status().code, StatusCode::device_error);
  EXPECT_TRUE(contains(out.status().message, "misaligned")) << out.status().message;
}

}  // namespace
}  // namespace lulab::simt
