// ThreadSanitizer sees the races between simulated threads: each mutant below lacks one thing that its twin has.
//
// A mutant runs in a process of its own, because a report changes the exit code; the report must name the racy line.
// Without ThreadSanitizer (presets sim, cuda, sim-asan) only the correct twins run, for their results.

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/simt/transfer.h"
#include "testing/launch.h"
#include "testing/program.h"

namespace lulab::simt {
namespace {

enum class Mutant { none, missing };

template <class T>
using DeviceAtomic = cuda::atomic_ref<T, cuda::thread_scope_device>;

/// "race_test.cu:LINE" of the line that ends in the comment `// racy: name`.
std::string racy_line(const std::string& name) {
  std::ifstream source(__FILE__);
  const std::string mark = std::string("// racy") + ": " + name;
  std::string line;
  for (int number = 1; std::getline(source, line); ++number)
    if (line.size() >= mark.size() && line.compare(line.size() - mark.size(), mark.size(), mark) == 0)
      return "race_test.cu:" + std::to_string(number);
  return "no line is marked " + name;
}

/// A DISABLED_ test of this program in a process of its own, with these settings in its environment; ThreadSanitizer
/// exits with 66 when it saw a race.
testing::Answer run_alone(const std::string& test, const std::string& settings = "") {
  return testing::run_command("TSAN_OPTIONS=\"$TSAN_OPTIONS exitcode=66\" " + settings + " '" +
                              testing::this_program().string() + "' --gtest_also_run_disabled_tests --gtest_filter='" +
                              test + "'");
}

/// In the words of a kernel, after ThreadSanitizer's own.
std::array<std::string, 5> lines_of_race(const std::string& text) {
  std::array<std::string, 5> lines;
  const auto begin = text.find("race in kernel ");
  if (begin == text.npos) return lines;
  std::istringstream told(text.substr(begin));
  for (std::string& one : lines) std::getline(told, one);
  return lines;
}

void expect_told_in_five_lines(const std::string& text, const std::string& line) {
  const auto lines = lines_of_race(text);
  ASSERT_NE(lines[0], "") << text;
  const auto names_a_thread = [](const std::string& one) {
    return (one.find("block ") < 20 && contains(one, " warp ") && contains(one, " lane ")) ||
           contains(one, "the start of a block");
  };
  EXPECT_TRUE(names_a_thread(lines[1]) && names_a_thread(lines[2])) << text;
  EXPECT_TRUE(contains(lines[1] + lines[2], line + ": ")) << line << " is missing in:\n" << text;
  EXPECT_TRUE(contains(lines[3], "nothing orders them")) << text;
  EXPECT_TRUE(contains(lines[4], "LULAB_SIM_SEED=")) << text;
}

void expect_reported(const std::string& name, const std::string& test) {
  const testing::Answer answer = run_alone(test);
  EXPECT_EQ(answer.code, 66) << answer.out << answer.err;
  EXPECT_TRUE(contains(answer.err, "data race")) << answer.err;
  EXPECT_TRUE(contains(answer.err, racy_line(name))) << racy_line(name) << " is missing in:\n" << answer.err;
  EXPECT_TRUE(contains(answer.out, "replay: LULAB_SIM_SEED=")) << answer.out;
  expect_told_in_five_lines(answer.err, racy_line(name));
}

void run_all_seeds(void (*kernel)(int*, int*), const LaunchShape& shape, int expected) {
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  for (const std::uint64_t seed : all_schedule_seeds()) {
    const SimulatorScope scope({.seed = seed});
    auto d_data = DeviceBuffer<int>::create(64);
    auto d_flag = DeviceBuffer<int>::create(std::vector<int>{0, 0}, *stream);
    LULAB_ASSERT_OK(d_data);
    LULAB_ASSERT_OK(d_flag);
    name_elements(d_data->data(), d_data->size(), "data");
    LULAB_ASSERT_OK(launch(kernel, shape, *stream, d_data->data(), d_flag->data()));
    std::vector<int> out(64);
    LULAB_ASSERT_OK(d_data->download(out, *stream));
    LULAB_ASSERT_OK(stream->wait());
    if (expected != 0) {
      EXPECT_EQ(out[1], expected);
    }
  }
}

#define LULAB_RACE_PAIR(name, correct, mutant, shape, expected)                \
  TEST(Race, name##IsCleanWhenPresent) {                                       \
    LULAB_NEED_DEVICE();                                                       \
    if ((shape).cluster > 1) LULAB_NEED_CLUSTERS();                            \
    run_all_seeds(correct, shape, expected);                                   \
    if (!race_detection) return;                                               \
    const testing::Answer answer = run_alone("RaceTwin.DISABLED_" #name);      \
    EXPECT_EQ(answer.code, 0) << answer.out << answer.err;                     \
  }                                                                            \
  TEST(RaceTwin, DISABLED_##name) { run_all_seeds(correct, shape, expected); } \
  TEST(RaceMutant, DISABLED_##name) { run_all_seeds(mutant, shape, 0); }       \
  TEST(Race, name##IsReportedWhenMissing) {                                    \
    if (!race_detection) GTEST_SKIP() << "needs the preset sim-tsan";          \
    expect_reported(#name, "RaceMutant.DISABLED_" #name);                      \
  }

// Message passing between two blocks: data, then flag.

template <cuda::memory_order order>
__global__ void acquire_kernel(int* data, int* flag) {
  DeviceAtomic<int> ready(*flag);
  if (blockIdx.x == 0) {
    data[0] = 41;
    ready.store(1, cuda::memory_order_release);  // RACE: publishes data[0]
  } else {
    while (ready.load(order) == 0) {  // RACE: acquire pairs with the release above; the mutant loads relaxed
    }
    data[1] = data[0] + 1;  // racy: Acquire
  }
}
LULAB_RACE_PAIR(Acquire, acquire_kernel<cuda::memory_order_acquire>, acquire_kernel<cuda::memory_order_relaxed>,
                (LaunchShape{.grid = 2, .block = 1, .cooperative = true}), 42)

// What a program says of it that has called tell_races_briefly().

TEST(RaceMutant, DISABLED_Brief) {
  tell_races_briefly();
  run_all_seeds(acquire_kernel<cuda::memory_order_relaxed>, {.grid = 2, .block = 1, .cooperative = true}, 0);
}

constexpr const char* own_words = "WARNING: ThreadSanitizer: data race";

TEST(Race, BriefProgramsTellItInFiveLinesAndNameTheFile) {
  if (!race_detection) GTEST_SKIP() << "needs the preset sim-tsan";
  const testing::TemporaryFolder folder;
  const testing::Answer answer = run_alone("RaceMutant.DISABLED_Brief", "TMPDIR='" + folder.path("") + "'");
  EXPECT_EQ(answer.code, 1) << "Google Test's code, not ThreadSanitizer's" << answer.err;
  expect_told_in_five_lines(answer.err, racy_line("Acquire"));
  EXPECT_EQ(std::ranges::count(answer.err, '\n'), 5) << answer.err;
  const auto file = answer.err.rfind(folder.path("lulab-race."));
  ASSERT_NE(file, std::string::npos) << answer.err;
  const std::string report = testing::read_text(answer.err.substr(file, answer.err.find('\n', file) - file));
  EXPECT_TRUE(contains(report, own_words)) << report;
}

TEST(Race, BriefProgramsKeepTheUsersFile) {
  if (!race_detection) GTEST_SKIP() << "needs the preset sim-tsan";
  const testing::TemporaryFolder folder;
  const testing::Answer answer =
      run_alone("RaceMutant.DISABLED_Brief", "TSAN_OPTIONS='log_path=" + folder.path("mine") + "'");
  EXPECT_TRUE(contains(answer.err, folder.path("mine."))) << answer.err;
  EXPECT_FALSE(contains(answer.err, "lulab-race") || contains(answer.err, own_words)) << answer.err;
}

void expect_report_on_stderr(const std::string& folder) {
  const testing::Answer answer = run_alone("RaceMutant.DISABLED_Brief", "TMPDIR=" + folder);
  EXPECT_EQ(answer.code, 1) << answer.err;
  EXPECT_TRUE(contains(answer.err, own_words)) << answer.err;
  EXPECT_FALSE(contains(answer.err, "lulab-race")) << answer.err;
  expect_told_in_five_lines(answer.err, racy_line("Acquire"));
}

TEST(Race, BriefProgramsReportOnStderrWhereNoFileCanBeMade) {
  if (!race_detection) GTEST_SKIP() << "needs the preset sim-tsan";
  expect_report_on_stderr("/nonexistent");
  expect_report_on_stderr("/proc");
}

TEST(RaceTwin, DISABLED_Brief) {
  tell_races_briefly();
  run_all_seeds(acquire_kernel<cuda::memory_order_acquire>, {.grid = 2, .block = 1, .cooperative = true}, 42);
}

TEST(Race, BriefProgramsWithoutARaceLeaveNoFile) {
  LULAB_NEED_SIMULATOR();
  const testing::TemporaryFolder folder;
  const testing::Answer answer = run_alone("RaceTwin.DISABLED_Brief", "TMPDIR='" + folder.path("") + "'");
  EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path(""))) << answer.err;
}

// Every launch fails by its first race, also where an earlier launch had the same.

__global__ void many_races_kernel(int* data, int* flag) {
  DeviceAtomic<int> ready(*flag);
  if (blockIdx.x == 0) {
    for (int i = 0; i < 32; ++i) data[i] = i;
    ready.store(1, cuda::memory_order_relaxed);  // RACE: a release is missing
  } else {
    while (ready.load(cuda::memory_order_relaxed) == 0) {  // RACE: an acquire is missing
    }
    for (int i = 0; i < 32; ++i) data[i + 32] = data[i];
  }
}

TEST(RaceMutant, DISABLED_ThreeLaunches) {
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  auto d_data = DeviceBuffer<int>::create(64);
  auto d_flag = DeviceBuffer<int>::create(1);
  LULAB_ASSERT_OK(d_data);
  LULAB_ASSERT_OK(d_flag);
  for (int k = 0; k < 3; ++k) {
    LULAB_ASSERT_OK(d_flag->fill_bytes(0, *stream));
    LULAB_ASSERT_OK(launch(many_races_kernel, {.grid = 2, .block = 1, .cooperative = true}, *stream, d_data->data(),
                           d_flag->data()));
    const Status status = stream->wait();
    EXPECT_EQ(status.code, StatusCode::data_race) << status.to_string();
    EXPECT_TRUE(contains(status.message, "many_races_kernel: element 0 of an array of 64")) << status.message;
  }
}

TEST(Race, FailsEveryLaunchOnce) {
  if (!race_detection) GTEST_SKIP() << "needs the preset sim-tsan";
  const testing::Answer answer = run_alone("RaceMutant.DISABLED_ThreeLaunches");
  EXPECT_TRUE(contains(answer.out, "[  PASSED  ] 1 test")) << answer.out;
  const auto count = [&](const std::string& words) {
    int found = 0;
    for (auto at = answer.err.find(words); at != std::string::npos; at = answer.err.find(words, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count(own_words), 3) << answer.err;
  EXPECT_EQ(count("race in kernel"), 3) << answer.err;
}

// What the lines say.

TEST(Race, IsToldWithTheNameOfThePlace) {
  if (!race_detection) GTEST_SKIP() << "needs the preset sim-tsan";
  const testing::Answer global = run_alone("RaceMutant.DISABLED_Acquire");
  EXPECT_TRUE(lines_of_race(global.err)[0].ends_with(": data[0]")) << global.err;
  const testing::Answer shared = run_alone("RaceMutant.DISABLED_Syncwarp");
  EXPECT_TRUE(contains(lines_of_race(shared.err)[0], ": element ")) << shared.err;
  EXPECT_TRUE(lines_of_race(shared.err)[0].ends_with(" of tile, 4 bytes each, in the shared memory of block 0"))
      << shared.err;
  const testing::Answer ended = run_alone("RaceMutant.DISABLED_ClusterEnd");
  const auto lines = lines_of_race(ended.err);
  EXPECT_TRUE(contains(lines[1] + lines[2], "write at the start or end of its block, which fills shared memory"))
      << ended.err;
}

/// Block 0 works on column 7 and perhaps then on column 8, block 1 on column 9, which needs what column 7 wrote.
template <Mutant publishes, bool goes_on>
__global__ void columns_kernel(int* data, int* flag) {
  // RACE: release publishes data[0]; the mutant stores relaxed
  constexpr auto order = publishes == Mutant::none ? cuda::memory_order_release : cuda::memory_order_relaxed;
  DeviceAtomic<int> ready(*flag);
  if (blockIdx.x == 0) {
    note_column(7);
    data[0] = 41;
    if (goes_on) note_column(8);
    ready.store(1, order);  // RACE: see order
  } else {
    note_column(9);
    while (ready.load(cuda::memory_order_acquire) == 0) {  // RACE: pairs with the release above
    }
    data[1] = data[0] + 1;  // racy: Columns
  }
}
LULAB_RACE_PAIR(Columns, (columns_kernel<Mutant::none, false>), (columns_kernel<Mutant::missing, false>),
                (LaunchShape{.grid = 2, .block = 1, .cooperative = true}), 42)
TEST(RaceMutant, DISABLED_LaterColumn) {
  run_all_seeds(columns_kernel<Mutant::missing, true>, {.grid = 2, .block = 1, .cooperative = true}, 0);
}

TEST(Race, IsToldWithTheColumnsOfBothAccesses) {
  if (!race_detection) GTEST_SKIP() << "needs the preset sim-tsan";
  const auto one = lines_of_race(run_alone("RaceMutant.DISABLED_Columns").err);
  EXPECT_TRUE(contains(one[1], "  block 1, warp 0, lane 0, column 9: read at ")) << one[1];
  EXPECT_TRUE(contains(one[2], "  earlier, block 0, warp 0, lane 0, column 7: write at ")) << one[2];
  const auto two = lines_of_race(run_alone("RaceMutant.DISABLED_LaterColumn").err);
  EXPECT_TRUE(contains(two[2], "block 0, warp 0, lane 0, column 8 or one before: write at ")) << two[2];
}

// The same with relaxed atomics and fences on both sides, the idiom of CUDA code before atomic_ref.

template <Mutant release_fence, Mutant acquire_fence>
__global__ void fence_kernel(int* data, int* flag) {
  if (blockIdx.x == 0) {
    data[0] = 40;
    __threadfence();  // RACE: covers data[0] only
    atomicExch(&flag[1], 1);
    data[0] = 41;
    if (release_fence == Mutant::none) __threadfence();  // RACE: data[0] before the flag
    atomicExch(&flag[0], 1);
  } else {
    while (atomicAdd(&flag[0], 0) == 0) {
    }
    if (acquire_fence == Mutant::none) __threadfence();  // RACE: the flag before data[0]
    data[1] = data[0] + 1;                               // racy: ReleaseFence
  }
}
LULAB_RACE_PAIR(ReleaseFence, (fence_kernel<Mutant::none, Mutant::none>), (fence_kernel<Mutant::missing, Mutant::none>),
                (LaunchShape{.grid = 2, .block = 1, .cooperative = true}), 42)

template <Mutant acquire_fence>
__global__ void acquire_fence_kernel(int* data, int* flag) {
  if (blockIdx.x == 0) {
    data[0] = 41;
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);  // RACE: data[0] before the flag
    DeviceAtomic<int>(*flag).store(1, cuda::memory_order_relaxed);
  } else {
    while (DeviceAtomic<int>(*flag).load(cuda::memory_order_relaxed) == 0) {
    }
    if (acquire_fence == Mutant::none)
      cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);  // RACE: flag before data[0]
    data[1] = data[0] + 1;                                                               // racy: AcquireFence
  }
}
LULAB_RACE_PAIR(AcquireFence, acquire_fence_kernel<Mutant::none>, acquire_fence_kernel<Mutant::missing>,
                (LaunchShape{.grid = 2, .block = 1, .cooperative = true}), 42)

/// A fence of the block's scope does not reach the other block.
template <Mutant wide>
__global__ void fence_scope_kernel(int* data, int* flag) {
  if (blockIdx.x == 0) {
    data[0] = 41;
    if (wide == Mutant::none)
      __threadfence();  // RACE: data[0] before the flag, for all blocks
    else
      __threadfence_block();
    atomicExch(flag, 1);
  } else {
    while (atomicAdd(flag, 0) == 0) {
    }
    __threadfence();        // RACE: the flag before data[0]
    data[1] = data[0] + 1;  // racy: FenceScope
  }
}
LULAB_RACE_PAIR(FenceScope, fence_scope_kernel<Mutant::none>, fence_scope_kernel<Mutant::missing>,
                (LaunchShape{.grid = 2, .block = 1, .cooperative = true}), 42)

/// A release store read with relaxed order and an acquire fence behind it; and a fence read with an acquire load.
template <Mutant mixed>
__global__ void mixed_kernel(int* data, int* flag) {
  if (blockIdx.x == 0) {
    data[0] = 41;
    DeviceAtomic<int>(flag[0]).store(1, cuda::memory_order_release);  // RACE: data[0] before flag[0]
    data[2] = 1;
    if (mixed == Mutant::none) __threadfence();  // RACE: data[2] before flag[1]
    DeviceAtomic<int>(flag[1]).store(1, cuda::memory_order_relaxed);
  } else {
    while (DeviceAtomic<int>(flag[0]).load(cuda::memory_order_relaxed) == 0) {
    }
    __threadfence();  // RACE: flag[0] before data[0]
    const int x = data[0];
    while (DeviceAtomic<int>(flag[1]).load(cuda::memory_order_acquire) == 0) {  // RACE: flag[1] before data[2]
    }
    data[1] = x + data[2];  // racy: MixedFence
  }
}
LULAB_RACE_PAIR(MixedFence, mixed_kernel<Mutant::none>, mixed_kernel<Mutant::missing>,
                (LaunchShape{.grid = 2, .block = 1, .cooperative = true}), 42)

// Lanes of one warp.

template <Mutant barrier>
__global__ void syncwarp_kernel(int* data, int*) {
  LULAB_SHARED(int, tile, 32);
  const int lane = threadIdx.x;
  tile[lane] = lane + 41;
  if (barrier == Mutant::none) __syncwarp();  // RACE: lane reads what its neighbour wrote
  data[lane] = tile[(lane + 31) % 32] + 1;    // racy: Syncwarp
}
LULAB_RACE_PAIR(Syncwarp, syncwarp_kernel<Mutant::none>, syncwarp_kernel<Mutant::missing>,
                (LaunchShape{.grid = 1, .block = 32}), 42)

/// A second phase that overwrites before all have read: the barrier between phases is the one that is forgotten.
template <Mutant barrier>
__global__ void second_phase_kernel(int* data, int*) {
  LULAB_SHARED(int, tile, 64);
  const int t = threadIdx.x;
  tile[t] = t + 41;
  __syncthreads();  // RACE: t reads what its neighbour wrote
  const int x = tile[(t + 63) % 64];
  if (barrier == Mutant::none) __syncthreads();  // RACE: all have read before anyone overwrites
  tile[t] = -x;                                  // racy: SecondSyncthreads
  __syncthreads();                               // RACE: tile[t] is final
  data[t] = 1 - tile[t];
}
LULAB_RACE_PAIR(SecondSyncthreads, second_phase_kernel<Mutant::none>, second_phase_kernel<Mutant::missing>,
                (LaunchShape{.grid = 1, .block = 64}), 42)

/// A shuffle orders nothing in memory.
template <Mutant barrier>
__global__ void shuffle_kernel(int* data, int*) {
  LULAB_SHARED(int, tile, 32);
  const int lane = threadIdx.x;
  tile[lane] = lane;
  const int from = __shfl_sync(0xffffffffu, lane, 3);
  if (barrier == Mutant::none) __syncwarp();  // RACE: every lane reads what lane 3 wrote
  data[lane] = tile[from] + 39;               // racy: ShuffleIsNoBarrier
}
LULAB_RACE_PAIR(ShuffleIsNoBarrier, shuffle_kernel<Mutant::none>, shuffle_kernel<Mutant::missing>,
                (LaunchShape{.grid = 1, .block = 32}), 42)

/// Blocks that write one place, with nothing between them but the grid's barrier.
template <Mutant barrier>
__global__ void grid_kernel(int* data, int*) {
  if (blockIdx.x == 0) data[0] = 41;
  if (barrier == Mutant::none) cooperative_groups::this_grid().sync();  // RACE: block 1 reads what block 0 wrote
  if (blockIdx.x == 1) data[1] = data[0] + 1;                           // racy: GridSync
}
LULAB_RACE_PAIR(GridSync, grid_kernel<Mutant::none>, grid_kernel<Mutant::missing>,
                (LaunchShape{.grid = 2, .block = 1, .cooperative = true}), 42)

// Blocks of one cluster, in each other's shared memory.

/// Block 0 writes into block 1.
template <Mutant barrier>
__global__ void cluster_kernel(int* data, int*) {
  LULAB_SHARED(int, tile, 1);
  const auto cluster = cooperative_groups::this_cluster();
  cluster.sync();                                                             // RACE: both blocks have started
  if (cluster.block_rank() == 0) *cluster.map_shared_rank(&tile[0], 1) = 41;  // racy: ClusterSync
  if (barrier == Mutant::none) cluster.sync();                                // RACE: block 1 reads what block 0 wrote
  if (cluster.block_rank() == 1) data[1] = tile[0] + 1;
}
LULAB_RACE_PAIR(ClusterSync, cluster_kernel<Mutant::none>, cluster_kernel<Mutant::missing>,
                (LaunchShape{.grid = 2, .block = 1, .cluster = 2}), 42)

/// Only between arrive and wait of both sides lies an order.
template <Mutant wait>
__global__ void cluster_wait_kernel(int* data, int*) {
  LULAB_DYNAMIC_SHARED(int, work);
  const auto cluster = cooperative_groups::this_cluster();
  work[0] = 41;
  cluster.barrier_arrive();                          // RACE: publishes work[0]
  if (wait == Mutant::none) cluster.barrier_wait();  // RACE: block 1 reads what block 0 wrote
  if (cluster.block_rank() == 1) data[1] = *cluster.map_shared_rank(work, 0) + 1;  // racy: ClusterWait
  if (wait == Mutant::missing) cluster.barrier_wait();                             // RACE: too late
  cluster.sync();  // RACE: block 0 returns after block 1 has read
}
LULAB_RACE_PAIR(ClusterWait, cluster_wait_kernel<Mutant::none>, cluster_wait_kernel<Mutant::missing>,
                (LaunchShape{.grid = 2, .block = 1, .shared_bytes = 4, .cluster = 2}), 42)

/// A block that has not started has no shared memory yet.
template <Mutant barrier>
__global__ void cluster_start_kernel(int* data, int*) {
  LULAB_SHARED(int, tile, 1);
  const auto cluster = cooperative_groups::this_cluster();
  if (barrier == Mutant::none) cluster.sync();                                // RACE: block 1 has started
  if (cluster.block_rank() == 0) *cluster.map_shared_rank(&tile[0], 1) = 41;  // racy: ClusterStart
  cluster.sync();                                                             // RACE: block 1 reads what block 0 wrote
  if (cluster.block_rank() == 1) data[1] = tile[0] + 1;
}
LULAB_RACE_PAIR(ClusterStart, cluster_start_kernel<Mutant::none>, cluster_start_kernel<Mutant::missing>,
                (LaunchShape{.grid = 2, .block = 1, .cluster = 2}), 42)

/// A block that has returned has none any more.
template <Mutant barrier>
__global__ void cluster_end_kernel(int* data, int*) {
  LULAB_SHARED(int, tile, 1);
  const auto cluster = cooperative_groups::this_cluster();
  tile[0] = 41;
  cluster.sync();  // RACE: block 1 reads what block 0 wrote
  if (cluster.block_rank() == 1) data[1] = *cluster.map_shared_rank(&tile[0], 0) + 1;  // racy: ClusterEnd
  if (barrier == Mutant::none) cluster.sync();  // RACE: block 0 returns after block 1 has read
}
LULAB_RACE_PAIR(ClusterEnd, cluster_end_kernel<Mutant::none>, cluster_end_kernel<Mutant::missing>,
                (LaunchShape{.grid = 2, .block = 1, .cluster = 2}), 42)

// Words sent with a barrier that counts their bytes.

/// Only the wait says that the word has come.
template <Mutant wait>
__global__ void transfer_wait_kernel(int* data, int*) {
  LULAB_SHARED(std::uint32_t, word, 1);
  LULAB_SHARED(TransferBarrier, arrived, 1);
  const auto cluster = cooperative_groups::this_cluster();
  transfer_init(&arrived[0]);
  cluster.sync();  // RACE: block 1 wrote its barrier, block 0 sends to it
  if (cluster.block_rank() == 0) {
    send(remote_shared(&word[0], 1), 41u, remote_shared(&arrived[0], 1));
  } else {
    transfer_expect(&arrived[0], sizeof(std::uint32_t));
    if (wait == Mutant::none) transfer_wait(&arrived[0], 0);
    data[1] = static_cast<int>(word[0]) + 1;  // racy: TransferWait
  }
  cluster.sync();  // RACE: block 1 returns after block 0 has sent
}
LULAB_RACE_PAIR(TransferWait, transfer_wait_kernel<Mutant::none>, transfer_wait_kernel<Mutant::missing>,
                (LaunchShape{.grid = 2, .block = 1, .cluster = 2}), 42)

/// Many phases, each block a sender and a receiver. With one place for the words of all phases, a block that is one
/// phase ahead overwrites what the other still reads.
template <Mutant second_place>
__global__ void transfer_place_kernel(int* data, int*) {
  LULAB_SHARED(std::uint32_t, word, 2);
  LULAB_SHARED(TransferBarrier, arrived, 2);
  const auto cluster = cooperative_groups::this_cluster();
  const int other = 1 - static_cast<int>(cluster.block_rank());
  for (int odd = 0; odd < 2; ++odd) transfer_init(&arrived[odd]);
  cluster.sync();  // RACE: each block wrote its barriers, the other sends to them
  std::uint32_t value = 30;
  for (int phase = 0; phase < 12; ++phase) {
    const int odd = phase % 2, place = second_place == Mutant::none ? odd : 0;
    transfer_expect(&arrived[odd], sizeof(std::uint32_t));
    send(remote_shared(&word[place], other), value, remote_shared(&arrived[odd], other));
    transfer_wait(&arrived[odd], static_cast<unsigned>(phase / 2 % 2));
    value = word[place] + 1;  // racy: TransferPlace
  }
  if (other == 0) data[1] = static_cast<int>(value);
  cluster.sync();  // RACE: no block returns while the other sends to it
}
LULAB_RACE_PAIR(TransferPlace, transfer_place_kernel<Mutant::none>, transfer_place_kernel<Mutant::missing>,
                (LaunchShape{.grid = 2, .block = 1, .cluster = 2}), 42)

/// The barrier must be there before the first word is sent to it.
template <Mutant barrier>
__global__ void transfer_init_kernel(int* data, int*) {
  LULAB_SHARED(std::uint32_t, word, 1);
  LULAB_SHARED(TransferBarrier, arrived, 1);
  const auto cluster = cooperative_groups::this_cluster();
  cluster.sync();  // RACE: both blocks have started
  if (cluster.block_rank() == 1) {
    transfer_init(&arrived[0]);  // racy: TransferInit
    transfer_expect(&arrived[0], sizeof(std::uint32_t));
  }
  if (barrier == Mutant::none) cluster.sync();  // RACE: block 1 wrote its barrier, block 0 sends to it
  if (cluster.block_rank() == 0) send(remote_shared(&word[0], 1), 41u, remote_shared(&arrived[0], 1));
  if (cluster.block_rank() == 1 && barrier == Mutant::none) {
    transfer_wait(&arrived[0], 0);
    data[1] = static_cast<int>(word[0]) + 1;
  }
  cluster.sync();  // RACE: block 1 returns after block 0 has sent
}
LULAB_RACE_PAIR(TransferInit, transfer_init_kernel<Mutant::none>, transfer_init_kernel<Mutant::missing>,
                (LaunchShape{.grid = 2, .block = 1, .cluster = 2}), 42)

/// Blocks that do not synchronise at all, and run one after the other on the host.
template <Mutant apart>
__global__ void one_place_kernel(int* data, int*) {
  if (apart == Mutant::none) {
    if (blockIdx.x == 1) data[1] = 42;
  } else {
    data[0] = static_cast<int>(blockIdx.x);  // racy: SeparatePlaces
  }
}
LULAB_RACE_PAIR(SeparatePlaces, one_place_kernel<Mutant::none>, one_place_kernel<Mutant::missing>,
                (LaunchShape{.grid = 4, .block = 1}), 42)

}  // namespace
}  // namespace lulab::simt
