// The toolbox of kernels against the plain loops that its comments name, under every schedule.

#include "core/simt/device_tools.h"

#include <cmath>
#include <limits>
#include <random>

#include "testing/launch.h"

namespace lulab::simt {
namespace {

TEST(DeviceTools, BlocksForCoversEveryItemAndStaysInItsBounds) {
  EXPECT_EQ(ceil_div(0, 5), 0);
  EXPECT_EQ(ceil_div(10, 5), 2);
  EXPECT_EQ(ceil_div(11, 5), 3);
  EXPECT_EQ(ceil_div(std::int64_t{1} << 40, 3), ((std::int64_t{1} << 40) + 2) / 3);
  EXPECT_EQ(blocks_for(0, 256), 0u);
  EXPECT_EQ(blocks_for(257, 256), 2u);
  EXPECT_EQ(blocks_for(0, 256, 8), 1u);
  EXPECT_EQ(blocks_for(1 << 20, 256, 8), 8u);
}

/// out: (threads of the grid) its own number, then how many there are
__global__ void number_kernel(std::int64_t* out) {
  out[2 * thread_of_grid()] = thread_of_grid();
  out[2 * thread_of_grid() + 1] = threads_of_grid();
}

TEST(DeviceTools, ThreadsOfAGridAreNumberedWithoutGaps) {
  LULAB_NEED_DEVICE();
  const auto out = output_of<std::int64_t>(number_kernel, {.grid = 3, .block = 64}, 2 * 192, {});
  LULAB_ASSERT_OK(out);
  for (std::int64_t t = 0; t < 192; ++t) {
    EXPECT_EQ((*out)[2 * t], t);
    EXPECT_EQ((*out)[2 * t + 1], 192);
  }
}

/// out: (threads of the block) the number of its warp
__global__ void warp_kernel(int* out) {
  const int warp = warp_of_block();
  out[threadIdx.x] = warp;
}

TEST(DeviceTools, WarpsOfABlockAreNumberedInAllTheirLanes) {
  LULAB_NEED_DEVICE();
  for (const std::uint64_t seed : all_schedule_seeds()) {
    const auto out = output_of<int>(warp_kernel, {.grid = 1, .block = 160}, 160, {.seed = seed});
    LULAB_ASSERT_OK(out);
    for (int t = 0; t < 160; ++t) EXPECT_EQ((*out)[t], t / 32) << "thread " << t << ", seed " << seed;
  }
}

constexpr int items = 100;

/// next, taken: 0 on entry.   Every lane counts its warp's tickets.   taken: (items)
__global__ void warp_tickets_kernel(int count, int* next, int* taken) {
  for (;;) {
    const int first = warp_ticket(next, count);
    if (first >= items) return;
    for (int i = first; i < min(first + count, items); ++i) atomicAdd(&taken[i], 1);
  }
}

__global__ void block_tickets_kernel(int count, int* next, int* taken) {
  for (;;) {
    const int first = block_ticket(next, count);
    if (first >= items) return;
    for (int i = first; i < min(first + count, items); ++i) atomicAdd(&taken[i], 1);
    __syncthreads();  // all threads have read the ticket
  }
}

/// How often each item was taken by a thread: `times` everywhere.
void expect_each_taken(void (*kernel)(int, int*, int*), const LaunchShape& shape, int times) {
  for (const std::uint64_t seed : all_schedule_seeds())
    for (const int count : {1, 3}) {
      const SimulatorScope scope({.seed = seed});
      auto stream = Stream::create();
      LULAB_ASSERT_OK(stream);
      auto d_next = DeviceBuffer<int>::create(1 + items);
      LULAB_ASSERT_OK(d_next);
      LULAB_ASSERT_OK(d_next->fill_bytes(0, *stream));
      LULAB_ASSERT_OK(launch(kernel, shape, *stream, count, d_next->data(), d_next->data() + 1));
      std::vector<int> taken(1 + items, -1);
      LULAB_ASSERT_OK(d_next->download(taken, *stream));
      LULAB_ASSERT_OK(stream->wait());
      for (int i = 0; i < items; ++i) EXPECT_EQ(taken[1 + i], times) << "item " << i << ", seed " << seed;
    }
}

TEST(DeviceTools, EveryTicketGoesToOneWarpAndAllItsLanes) {
  LULAB_NEED_DEVICE();
  expect_each_taken(warp_tickets_kernel, {.grid = 3, .block = 96}, 32);
}

TEST(DeviceTools, EveryTicketGoesToOneBlockAndAllItsThreads) {
  LULAB_NEED_DEVICE();
  expect_each_taken(block_tickets_kernel, {.grid = 5, .block = 48}, 48);
}

/// A chain through all tickets: each block adds 1 to the value before it, which it waits for.
/// next: 0 on entry   flag, value: (items + 1) flag[0] = 1, value[0] = 0, other flags 0 on entry
template <bool by_block>
__global__ void chain_kernel(int* next, int* flag, int* value) {
  for (;;) {
    const int i = block_ticket(next);
    if (i >= items) return;
    const auto is_set = [](int seen) { return seen == 7; };
    if (by_block) {
      block_spin_wait(&flag[i], is_set);
      if (threadIdx.x == blockDim.x - 1) value[i + 1] = value[i] + 1;  // thread 0 waited, this one reads
      __syncthreads();                                                 // orders the value before the flag
    } else if (threadIdx.x == 0) {
      value[i + 1] = spin_wait(&flag[i], is_set) - 7 + value[i] + 1;  // the value that was seen is returned
    }
    if (threadIdx.x == 0)
      cuda::atomic_ref<int, cuda::thread_scope_device>(flag[i + 1]).store(7, cuda::memory_order_release);
    __syncthreads();  // all threads have read the ticket
  }
}

template <bool by_block>
void expect_chain() {
  for (const std::uint64_t seed : all_schedule_seeds()) {
    const SimulatorScope scope({.seed = seed});
    auto stream = Stream::create();
    LULAB_ASSERT_OK(stream);
    std::vector<int> start(1 + 2 * (items + 1), 0);
    start[1] = 7;
    auto d = DeviceBuffer<int>::create(start, *stream);
    LULAB_ASSERT_OK(d);
    LULAB_ASSERT_OK(launch(chain_kernel<by_block>, {.grid = 4, .block = 64}, *stream, d->data(), d->data() + 1,
                           d->data() + 1 + items + 1));
    std::vector<int> out(start.size(), -1);
    LULAB_ASSERT_OK(d->download(out, *stream));
    LULAB_ASSERT_OK(stream->wait());
    for (int i = 0; i <= items; ++i) EXPECT_EQ(out[1 + items + 1 + i], i) << "seed " << seed;
  }
}

TEST(DeviceTools, SpinWaitOrdersWhatWasWrittenBeforeTheWord) {
  LULAB_NEED_DEVICE();
  expect_chain<false>();
}

TEST(DeviceTools, BlockSpinWaitOrdersItForEveryThread) {
  LULAB_NEED_DEVICE();
  expect_chain<true>();
}

/// parts: (blocks)   out: (1) the sum of what all blocks wrote, by the last one
template <bool only_counts = false>
__global__ void sum_by_last_kernel(unsigned* blocks_done, int* parts, int* out) {
  if (threadIdx.x == blockDim.x - 1) parts[blockIdx.x] = 10 + static_cast<int>(blockIdx.x);
  __syncthreads();  // the first warp tells for all
  if (threadIdx.x >= 32) return;
  if (!(only_counts ? warp_is_last<cuda::memory_order_relaxed>(blocks_done) : warp_is_last(blocks_done))) return;
  int sum = 0;
  for (unsigned k = threadIdx.x; k < gridDim.x; k += 32) sum += parts[k];
  sum = warp_sum(sum);
  if (threadIdx.x == 0) atomicAdd(out, sum);
}

/// out: after two launches, which add up
Result<int> sum_by_last(void (*kernel)(unsigned*, int*, int*), std::uint64_t seed) {
  constexpr int blocks = 6;
  const SimulatorScope scope({.seed = seed});
  LULAB_ASSIGN_OR_RETURN(auto stream, Stream::create());
  LULAB_ASSIGN_OR_RETURN(auto d_parts, DeviceBuffer<int>::create(blocks + 1));
  LULAB_ASSIGN_OR_RETURN(auto d_done, DeviceBuffer<unsigned>::create(1));
  LULAB_RETURN_IF_ERROR(d_done.fill_bytes(0, stream));
  LULAB_RETURN_IF_ERROR(d_parts.fill_bytes(0, stream));
  for (int k = 0; k < 2; ++k)
    LULAB_RETURN_IF_ERROR(
        launch(kernel, {.grid = blocks, .block = 64}, stream, d_done.data(), d_parts.data(), d_parts.data() + blocks));
  std::vector<int> parts(blocks + 1, -1);
  LULAB_RETURN_IF_ERROR(d_parts.download(parts, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return parts[blocks];
}

TEST(DeviceTools, TheLastBlockReadsWhatAllBlocksWrote) {
  LULAB_NEED_DEVICE();
  for (const std::uint64_t seed : all_schedule_seeds()) {
    const auto sum = sum_by_last(sum_by_last_kernel<>, seed);
    LULAB_ASSERT_OK(sum);
    EXPECT_EQ(*sum, 2 * (10 + 11 + 12 + 13 + 14 + 15)) << "seed " << seed;
  }
}

TEST(DeviceToolsDeathTest, ALastBlockThatOnlyCountsIsARace) {
  if (!race_detection) GTEST_SKIP() << "needs the preset sim-tsan";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto all_seeds = [&](auto kernel) {
    for (const std::uint64_t seed : all_schedule_seeds()) (void)sum_by_last(kernel, seed);
    std::exit(0);  // ThreadSanitizer answers 66 instead when it has reported
  };
  EXPECT_EXIT(all_seeds(sum_by_last_kernel<>), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(all_seeds(sum_by_last_kernel<true>), ::testing::ExitedWithCode(66), "data race");
}

__global__ void wait_forever_kernel(int* never) {
  spin_wait(never, [](int seen) { return seen == 1; });
}

TEST(DeviceTools, ASpinWaitForWhatNeverComesIsADeadlock) {
  LULAB_NEED_SIMULATOR();
  const auto out = output_of<int>(wait_forever_kernel, {.grid = 1, .block = 32}, 1, {});
  EXPECT_EQ(out.status().code, StatusCode::deadlock);
}

constexpr int reductions = 7;

/// value: (32)   out: (reductions, 32)
template <class T, int lanes>
__global__ void reduce_kernel(const T* value, T* out) {
  const int lane = threadIdx.x;
  out[0 * 32 + lane] = warp_sum(value[lane]);
  out[1 * 32 + lane] = warp_max(value[lane]);
  out[2 * 32 + lane] = warp_min(value[lane]);
  out[3 * 32 + lane] = warp_sum<lanes>(value[lane]);
  out[4 * 32 + lane] = warp_max<lanes>(value[lane]);
  out[5 * 32 + lane] = warp_min<lanes>(value[lane]);
  out[6 * 32 + lane] = warp_sum_before(value[lane]);
}

template <class T, int lanes>
void expect_reductions(std::mt19937& random) {
  std::vector<T> value(32);
  for (T& v : value) v = std::is_unsigned_v<T> ? T(random()) : T(int(random() % 2001) - 1000) / T(8);
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  auto d_value = DeviceBuffer<T>::create(value, *stream);
  LULAB_ASSERT_OK(d_value);
  LULAB_ASSERT_OK(stream->wait());
  for (const std::uint64_t seed : all_schedule_seeds()) {
    const auto out = output_of<T>(reduce_kernel<T, lanes>, {.grid = 1, .block = 32}, reductions * 32, {.seed = seed},
                                  d_value->data());
    LULAB_ASSERT_OK(out);
    T before = 0;
    for (int lane = 0; lane < 32; before += value[lane++]) {
      EXPECT_EQ((*out)[6 * 32 + lane], before);
      for (const int width : {32, lanes}) {
        const auto first = value.begin() + lane / width * width, last = first + width;
        const int row = width == 32 ? 0 : 3;
        T sum = 0;  // multiples of 1/8: exact in every order
        for (auto v = first; v != last; ++v) sum += *v;
        EXPECT_EQ((*out)[row * 32 + lane], sum);
        EXPECT_EQ((*out)[(row + 1) * 32 + lane], *std::max_element(first, last));
        EXPECT_EQ((*out)[(row + 2) * 32 + lane], *std::min_element(first, last));
      }
    }
  }
}

TEST(DeviceTools, ReductionsGiveEveryLaneTheResultOfItsNeighbours) {
  LULAB_NEED_DEVICE();
  std::mt19937 random(11);
  expect_reductions<int, 8>(random);
  expect_reductions<unsigned, 16>(random);
  expect_reductions<unsigned long long, 4>(random);
  expect_reductions<float, 8>(random);
  expect_reductions<double, 16>(random);
}

/// out: (n) 1: finite
template <class T>
__global__ void finite_kernel(int n, const T* value, int* out) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = is_finite(value[i]);
}

template <class T>
void expect_finite() {
  using Limits = std::numeric_limits<T>;
  const std::vector<T> value = {0,
                                T(-0.0),
                                1,
                                Limits::min(),
                                Limits::denorm_min(),
                                Limits::max(),
                                Limits::lowest(),
                                Limits::infinity(),
                                -Limits::infinity(),
                                Limits::quiet_NaN(),
                                -Limits::quiet_NaN()};
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  auto d_value = DeviceBuffer<T>::create(value, *stream);
  LULAB_ASSERT_OK(d_value);
  LULAB_ASSERT_OK(stream->wait());
  const auto out = output_of<int>(finite_kernel<T>, {.grid = 1, .block = 32}, value.size(), {},
                                  static_cast<int>(value.size()), d_value->data());
  LULAB_ASSERT_OK(out);
  for (std::size_t i = 0; i < value.size(); ++i) EXPECT_EQ((*out)[i], std::isfinite(value[i])) << value[i];
}

TEST(DeviceTools, IsFiniteIsThatOfTheStandardLibrary) {
  LULAB_NEED_DEVICE();
  expect_finite<float>();
  expect_finite<double>();
}

/// out: (n + 1, n + 1, wanted rows) the position for every low <= high and row 0 .. n_rows - 1
template <class I>
__global__ void find_kernel(const std::int32_t* rows, int n, int n_rows, std::int64_t* out) {
  for (int t = threadIdx.x; t < (n + 1) * (n + 1) * n_rows; t += blockDim.x) {
    const int row = t % n_rows, high = t / n_rows % (n + 1), low = t / n_rows / (n + 1);
    if (low <= high) out[t] = find_row<I>(rows, low, high, row);
  }
}

template <class I>
void expect_found(std::mt19937& random) {
  for (const int n : {0, 1, 2, 7, 12}) {
    std::vector<std::int32_t> rows;
    for (std::int32_t row = static_cast<std::int32_t>(random() % 3); std::ssize(rows) < n;
         row += 1 + static_cast<std::int32_t>(random() % 3))
      rows.push_back(row);
    const int n_rows = n == 0 ? 2 : rows.back() + 3;
    auto stream = Stream::create();
    LULAB_ASSERT_OK(stream);
    auto d_rows = DeviceBuffer<std::int32_t>::create(rows, *stream);
    LULAB_ASSERT_OK(d_rows);
    LULAB_ASSERT_OK(stream->wait());
    const auto out =
        output_of<std::int64_t>(find_kernel<I>, {.grid = 1, .block = 64},
                                static_cast<std::size_t>((n + 1) * (n + 1) * n_rows), {}, d_rows->data(), n, n_rows);
    LULAB_ASSERT_OK(out);
    for (int low = 0; low <= n; ++low)
      for (int high = low; high <= n; ++high)
        for (int row = 0; row < n_rows; ++row) {
          int expected = low;
          while (expected < high && rows[expected] < row) ++expected;
          EXPECT_EQ((*out)[(low * (n + 1) + high) * n_rows + row], expected) << low << " " << high << " " << row;
        }
  }
}

TEST(DeviceTools, FindRowIsThePlainSearch) {
  LULAB_NEED_DEVICE();
  std::mt19937 random(3);
  expect_found<std::int32_t>(random);
  expect_found<std::int64_t>(random);
}

}  // namespace
}  // namespace lulab::simt
