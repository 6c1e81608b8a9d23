// A launch that can never end is reported as a deadlock: which threads wait, at which line, for what. The next launch
// works.

#include <unistd.h>

#include "core/simt/note_writes.h"
#include "testing/launch.h"

namespace lulab::simt {
namespace {

template <class T>
using DeviceAtomic = cuda::atomic_ref<T, cuda::thread_scope_device>;

/// Every warp but the last spins until the last has set the flag.            Chen et al. 2015, appendix A.1
__global__ void wait_for_last_warp_kernel(int* flag) {
  const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, warps = gridDim.x * blockDim.x / 32;
  DeviceAtomic<int> done(*flag);
  if (warp == warps - 1) {
    done.store(1, cuda::memory_order_release);  // RACE: ends the spin of all other warps
  } else {
    while (done.load(cuda::memory_order_acquire) != 1) {  // RACE: waits for a warp that may not be resident
    }
  }
}

TEST(Deadlock, WaitingForAWarpThatIsNotResidentIsDetectedAndNamed) {
  LULAB_NEED_SIMULATOR();
  int deadlocks = 0;
  for (const std::uint64_t seed : all_schedule_seeds()) {
    const auto out =
        output_of<int>(wait_for_last_warp_kernel, {.grid = 8, .block = 64}, 1, {.seed = seed, .resident_blocks = 2});
    if (out.ok()) continue;  // by luck of this seed's order the last block was among the first
    ++deadlocks;
    EXPECT_EQ(out.status().code, StatusCode::deadlock);
    const std::string& text = out.status().message;
    for (const char* part : {"wait_for_last_warp_kernel", "poll the atomic at", "last saw",
                             "deadlock_test.cu:", "block ", "threads ", "have not started", "only 2 can be resident"})
      EXPECT_TRUE(contains(text, part)) << part << " is missing in: " << text;
  }
  EXPECT_GE(deadlocks, 4);
}

TEST(Deadlock, TheSameKernelEndsWhenAllItsBlocksAreResident) {
  LULAB_NEED_DEVICE();
  for (const std::uint64_t seed : all_schedule_seeds()) {
    const auto out =
        output_of<int>(wait_for_last_warp_kernel, {.grid = 8, .block = 64, .cooperative = true}, 1, {.seed = seed});
    LULAB_ASSERT_OK(out);
    EXPECT_EQ(out->front(), 1);
  }
}

/// Column j waits for column wanted[j]; one block for each.
__global__ void wait_for_column_kernel(const int* wanted, int* finished) {
  const auto j = static_cast<int>(blockIdx.x);
  note_column(j);
  if (wanted[j] != j) {
    note_wait(wanted[j]);
    while (DeviceAtomic<int>(finished[wanted[j]]).load(cuda::memory_order_acquire) != 1) {  // RACE: waits for a column
    }
  }
  DeviceAtomic<int>(finished[j]).store(1, cuda::memory_order_release);  // RACE: ends the waits for column j
}

std::string deadlock_of(const std::vector<int>& wanted, int resident_blocks) {
  auto stream = Stream::create();
  auto d_wanted = DeviceBuffer<int>::create(wanted, *stream);
  auto d_finished = DeviceBuffer<int>::create(std::vector<int>(wanted.size()), *stream);
  const SimulatorScope scope({.seed = 1, .resident_blocks = resident_blocks});
  (void)launch(wait_for_column_kernel, {.grid = static_cast<unsigned>(wanted.size()), .block = 1}, *stream,
               d_wanted->data(), d_finished->data());
  return stream->wait().message;
}

TEST(Deadlock, ThreadsThatWaitForEachOtherAreToldAsACircle) {
  LULAB_NEED_SIMULATOR();
  const std::string text = deadlock_of({0, 3, 1, 2, 1}, 0);
  EXPECT_TRUE(contains(text, "; in a circle: block ")) << text;
  for (const char* link :
       {"column 3 of block 3 thread 0", "column 2 of block 2 thread 0", "column 1 of block 1 thread 0"})
    EXPECT_TRUE(contains(text, link)) << link << " is missing in: " << text;
  EXPECT_EQ(deadlock_of({0, 0, 1}, 0), "");
}

TEST(Deadlock, ABlockThatHoldsThePlaceOfWhatItWaitsForIsACircle) {
  LULAB_NEED_SIMULATOR();
  const std::vector<int> wanted{1, 2, 3, 0};
  const std::string text = deadlock_of(wanted, 1);
  EXPECT_TRUE(contains(text, "in a circle: block ")) << text;
  EXPECT_TRUE(contains(text, ", which no block that has started works on; others wait for the place of block "))
      << text;
}

/// Of three blocks each writes every third element, once that of the next block is there.
__global__ void wait_for_next_block_kernel(int* out) {
  const int next = (static_cast<int>(blockIdx.x) + 1) % 3;
  if (blockIdx.x > 0) note_column(10 + blockIdx.x);
  note_writes(written(out + 90, 1), written(out + blockIdx.x, 1, 3, 2), written(out, 0));
  while (DeviceAtomic<int>(out[3 + next]).load() != 1) {
  }
  DeviceAtomic<int>(out[3 + blockIdx.x]).store(1);
}

TEST(Deadlock, TheWriterOfWhatIsPolledIsFoundByItsAddress) {
  LULAB_NEED_SIMULATOR();
  const auto out = output_of<int>(wait_for_next_block_kernel, {.grid = 3, .block = 1}, 91, {});
  const std::string& text = out.status().message;
  EXPECT_TRUE(contains(text, "; in a circle: block ")) << text;
  for (const char* link :
       {"a value of block 0 thread 0", "column 11 of block 1 thread 0", "column 12 of block 2 thread 0"})
    EXPECT_TRUE(contains(text, link)) << link << " is missing in: " << text;
}

/// The second block notes elements 2, 3 and 5 and polls the 8th, which the first block notes, which polls another one.
__global__ void poll_kernel(int* out, int polled) {
  if (blockIdx.x == 0) {
    note_writes(written(out + 8, 1));
    while (DeviceAtomic<int>(out[polled]).load() != 1) {
    }
  } else {
    note_writes(written(out + 2, 2), written(out + 5, 1, 2, 1));
    while (DeviceAtomic<int>(out[8]).load() != 1) {
    }
  }
}

TEST(Deadlock, AWriteThatWasNotNotedHasNoWriter) {
  LULAB_NEED_SIMULATOR();
  for (const int polled : {0, 1, 2, 3, 4, 5, 6, 7}) {
    auto stream = Stream::create();
    auto d_out = DeviceBuffer<int>::create(std::vector<int>(9), *stream);
    (void)launch(poll_kernel, {.grid = 2, .block = 1}, *stream, d_out->data(), polled);
    const bool noted = polled == 2 || polled == 3 || polled == 5;
    const std::string text = stream->wait().message;
    EXPECT_EQ(contains(text, "in a circle"), noted) << polled << text;
    EXPECT_EQ(contains(text, "that for a value that nobody changes"), !noted) << polled << text;
  }
}

__global__ void set_flag_after_barrier_kernel(int* flag) {
  if (threadIdx.x == 0)
    while (DeviceAtomic<int>(*flag).load() != 1) {
    }
  __syncthreads();
  if (threadIdx.x == 1) DeviceAtomic<int>(*flag).store(1);
}

TEST(Deadlock, WithoutACircleTheChainIsTold) {
  LULAB_NEED_SIMULATOR();
  const auto out = output_of<int>(set_flag_after_barrier_kernel, {.grid = 1, .block = 2}, 1, {});
  EXPECT_EQ(out.status().code, StatusCode::deadlock);
  EXPECT_TRUE(contains(out.status().message, "; block 0 thread 0 waits for a value that nobody changes"))
      << out.status().message;
}

/// Block 0 writes; block 1 looks once, and does not wait.
__global__ void look_once_kernel(int* flags) {
  if (blockIdx.x == 0)
    DeviceAtomic<int>(flags[0]).store(1, cuda::memory_order_release);
  else
    flags[1] = DeviceAtomic<int>(flags[0]).load(cuda::memory_order_acquire);
}
__global__ void poll_two_flags_once_kernel(int* flags) {
  if (blockIdx.x == 0) {
    DeviceAtomic<int>(flags[1]).store(1, cuda::memory_order_release);
  } else {
    while (DeviceAtomic<int>(flags[0]).load(cuda::memory_order_acquire) != 1 &&
           DeviceAtomic<int>(flags[1]).load(cuda::memory_order_acquire) != 1) {
    }
  }
}

TEST(Schedules, SomeSeedsHoldEveryAtomicWriteBackUntilNoOtherThreadCanRun) {
  LULAB_NEED_SIMULATOR();
  for (const std::uint64_t seed : {2, 6, 10, 14, 18, 22, 26, 30}) {
    const auto out = output_of<int>(look_once_kernel, {.grid = 2, .block = 1}, 2, {.seed = seed});
    LULAB_ASSERT_OK(out);
    EXPECT_EQ(*out, (std::vector<int>{1, -1})) << "seed " << seed;
    // The reader never has to wait, so that the writer goes on after some steps.
    const auto polled = output_of<int>(poll_two_flags_once_kernel, {.grid = 2, .block = 1}, 2, {.seed = seed});
    LULAB_ASSERT_OK(polled);
    EXPECT_EQ(*polled, (std::vector<int>{-1, 1})) << "seed " << seed;
  }
  int seen = 0;
  for (const std::uint64_t seed : {1, 3, 4, 5, 7, 8, 9, 11})
    seen += output_of<int>(look_once_kernel, {.grid = 2, .block = 1}, 2, {.seed = seed})->at(1) == 1;
  EXPECT_GT(seen, 0);
}

__global__ void poll_two_flags_kernel(int* flags) {
  for (;;) {
    if (DeviceAtomic<int>(flags[0]).load(cuda::memory_order_relaxed) == 1) return;
    if (DeviceAtomic<int>(flags[1]).load(cuda::memory_order_relaxed) == 1) return;
  }
}
__global__ void sleep_kernel(int* flag) {
  while (*static_cast<volatile int*>(flag) != 1) __nanosleep(100);
}

TEST(Deadlock, PollingSeveralPlacesIsDetected) {
  LULAB_NEED_SIMULATOR();
  const auto out = output_of<int>(poll_two_flags_kernel, {.grid = 1, .block = 2}, 2, {});
  EXPECT_EQ(out.status().code, StatusCode::deadlock) << out.status().to_string();
}

TEST(Deadlock, SleepingForeverIsDetected) {
  LULAB_NEED_SIMULATOR();
  const auto out = output_of<int>(sleep_kernel, {.grid = 1, .block = 2}, 1, {});
  EXPECT_EQ(out.status().code, StatusCode::deadlock) << out.status().to_string();
}

/// Holds something on the stack while it waits forever.
struct Guard {
  int* released;
  __device__ ~Guard() { atomicAdd(released, 1); }
};
__global__ void guarded_kernel(int* flag, int* released) {
  Guard guard{released};
  while (DeviceAtomic<int>(*flag).load() == 0) {
  }
}

TEST(Deadlock, StacksAreUnwoundAndTheNextLaunchWorks) {
  LULAB_NEED_SIMULATOR();
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  auto d = DeviceBuffer<int>::create(std::vector<int>{0, 0}, *stream);
  LULAB_ASSERT_OK(d);
  for (int round = 1; round <= 3; ++round) {
    LULAB_ASSERT_OK(launch(guarded_kernel, {.grid = 2, .block = 32}, *stream, d->data(), d->data() + 1));
    std::vector<int> skipped{-7, -7};
    LULAB_ASSERT_OK(d->download(skipped, *stream));
    EXPECT_EQ(stream->wait().code, StatusCode::deadlock);
    EXPECT_EQ(skipped[0], -7) << "work after a failed kernel ran";
    std::vector<int> out(2);
    LULAB_ASSERT_OK(d->download(out, *stream));
    LULAB_ASSERT_OK(stream->wait());
    EXPECT_EQ(out[1], round * 64);
  }
  const auto out = output_of<int>(wait_for_last_warp_kernel, {.grid = 4, .block = 64}, 1, {});
  LULAB_ASSERT_OK(out);
}

/// The predecessor's flag, one warp after another: long, but no deadlock.
__global__ void chain_kernel(int* flag) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (warp > 0)
    while (DeviceAtomic<int>(flag[warp - 1]).load(cuda::memory_order_acquire) != 7) {  // RACE: the hop
    }
  __syncwarp();  // RACE: all lanes have seen the predecessor before the flag tells so
  if (threadIdx.x % 32 == 0) DeviceAtomic<int>(flag[warp]).store(7, cuda::memory_order_release);  // RACE: the hop
}

TEST(Deadlock, ALongChainOfWaitsIsNone) {
  LULAB_NEED_DEVICE();
  for (const std::uint64_t seed : all_schedule_seeds()) {
    const auto out = output_of<int>(chain_kernel, {.grid = 8, .block = 128, .cooperative = true}, 32, {.seed = seed});
    LULAB_ASSERT_OK(out);
    EXPECT_EQ(*out, std::vector<int>(32, 7));
  }
}

__global__ void toggle_kernel(int* flag) {
  for (;;) atomicXor(flag, 1);
}

TEST(Deadlock, LivelockEndsAtTheStepLimit) {
  LULAB_NEED_SIMULATOR();
  const auto out = output_of<int>(toggle_kernel, {.grid = 1, .block = 32}, 1, {.max_switches = 10000});
  EXPECT_EQ(out.status().code, StatusCode::deadlock);
  EXPECT_TRUE(contains(out.status().message, "10000")) << out.status().message;
}

__global__ void plain_spin_kernel(int* flag) {
  if (threadIdx.x == 0)
    while (*static_cast<volatile int*>(flag) == -1) {
    }
}

TEST(DeadlockDeathTest, APlainSpinEndsTheProcessWithAMessage) {
  LULAB_NEED_SIMULATOR();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT((void)output_of<int>(plain_spin_kernel, {.grid = 1, .block = 2}, 1, {.watchdog_seconds = 0.5}),
              ::testing::ExitedWithCode(70), "plain_spin_kernel reached no scheduling point");
}

__global__ void store_kernel(int* out) { *out = 1; }

TEST(DeadlockDeathTest, APlainSpinInAForkedChildEndsTheChild) {
  LULAB_NEED_SIMULATOR();
  if (race_detection) GTEST_SKIP() << "TSan lets no thread start after a fork";
  ASSERT_TRUE(output_of<int>(store_kernel, {.grid = 1, .block = 1}, 1, {}).ok());  // the parent has its watchdog
  GTEST_FLAG_SET(death_test_style, "fast");
  EXPECT_EXIT(
      {
        alarm(20);
        (void)output_of<int>(plain_spin_kernel, {.grid = 1, .block = 2}, 1, {.watchdog_seconds = 0.5});
      },
      ::testing::ExitedWithCode(70), "plain_spin_kernel reached no scheduling point");
}

}  // namespace
}  // namespace lulab::simt
