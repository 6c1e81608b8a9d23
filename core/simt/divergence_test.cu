// A barrier that some threads never reach, and a mask that lacks the calling lane, are errors that name the threads.

#include "testing/launch.h"

namespace lulab::simt {
namespace {

void expect_error(const Status& status, StatusCode code, std::initializer_list<const char*> parts) {
  EXPECT_EQ(status.code, code) << status.to_string();
  for (const char* part : parts)
    EXPECT_TRUE(contains(status.message, part)) << part << " is missing in: " << status.message;
}

__global__ void barrier_after_return_kernel(int n) {
  if (static_cast<int>(threadIdx.x) >= n) return;
  __syncthreads();
}

TEST(Divergence, ReturningBeforeABlockBarrierIsNamed) {
  LULAB_NEED_SIMULATOR();
  for (const std::uint64_t seed : all_schedule_seeds())
    expect_error(status_of_launch(barrier_after_return_kernel, {.grid = 1, .block = 64}, {.seed = seed}, 40),
                 StatusCode::device_error,
                 {"barrier_after_return_kernel", "barrier divergence", "block 0 thread", "__syncthreads",
                  "divergence_test.cu:"});
  LULAB_ASSERT_OK(status_of_launch(barrier_after_return_kernel, {.grid = 1, .block = 64}, {}, 64));
  LULAB_ASSERT_OK(status_of_launch(barrier_after_return_kernel, {.grid = 1, .block = 64}, {}, 0));
}

__global__ void two_barriers_kernel() {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads();
}

TEST(Divergence, MeetingAtDifferentBarriersIsNamed) {
  LULAB_NEED_SIMULATOR();
  expect_error(status_of_launch(two_barriers_kernel, {.grid = 1, .block = 64}, {}), StatusCode::device_error,
               {"two_barriers_kernel", "barrier divergence", "block 0 thread"});
}

__global__ void warp_against_block_kernel() {
  if (threadIdx.x == 5)
    __syncwarp();
  else
    __syncthreads();
}

TEST(Divergence, ABlockBarrierAgainstAWarpBarrierIsADeadlock) {
  LULAB_NEED_SIMULATOR();
  expect_error(status_of_launch(warp_against_block_kernel, {.grid = 1, .block = 32}, {}), StatusCode::deadlock,
               {"block 0 thread 5", "__syncwarp", "mask 0xffffffff", "block 0 threads 0-4, 6-31", "__syncthreads"});
}

__global__ void not_in_mask_kernel() { __syncwarp(0x0000fffeu); }

TEST(Divergence, CallingWithAMaskThatLacksTheCallerNamesTheLane) {
  LULAB_NEED_SIMULATOR();
  expect_error(status_of_launch(not_in_mask_kernel, {.grid = 1, .block = 1}, {}), StatusCode::device_error,
               {"wrong mask", "lane 0", "0x0000fffe", "not_in_mask_kernel"});
}

__global__ void different_masks_kernel() {
  if (threadIdx.x < 16)
    __syncwarp(0xffffffffu);
  else
    __syncwarp(0xffff00ffu);
}
__global__ void different_primitives_kernel(int* out) {
  if (threadIdx.x < 16)
    out[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0);
  else
    out[threadIdx.x] = __any_sync(0xffffffffu, 1);
}

TEST(Divergence, DifferentMasksOrPrimitivesNameBothLanes) {
  LULAB_NEED_SIMULATOR();
  for (const std::uint64_t seed : all_schedule_seeds()) {
    expect_error(status_of_launch(different_masks_kernel, {.grid = 1, .block = 32}, {.seed = seed}),
                 StatusCode::device_error, {"wrong mask", "0xffffffff", "0xffff00ff", "lane "});
    const auto out = output_of<int>(different_primitives_kernel, {.grid = 1, .block = 32}, 32, {.seed = seed});
    expect_error(out.status(), StatusCode::device_error, {"wrong mask", "__shfl_sync", "__any_sync"});
  }
}

__global__ void grid_sync_kernel() { cooperative_groups::this_grid().sync(); }
__global__ void grid_sync_some_kernel() {
  if (blockIdx.x == 0) return;
  cooperative_groups::this_grid().sync();
}

TEST(Divergence, GridBarrierNeedsACooperativeLaunchAndEveryThread) {
  LULAB_NEED_SIMULATOR();
  expect_error(status_of_launch(grid_sync_kernel, {.grid = 2, .block = 32}, {}), StatusCode::device_error,
               {"not cooperative"});
  expect_error(status_of_launch(grid_sync_some_kernel, {.grid = 2, .block = 32, .cooperative = true}, {}),
               StatusCode::device_error, {"barrier divergence", "grid"});
}

/// new of a negative length throws on the host.
__global__ void throwing_kernel(int thread) {
  int* p = new int[static_cast<int>(threadIdx.x) == thread ? -1 : 1];
  p[0] = 1;
  delete[] p;
  __syncthreads();
}

TEST(Divergence, AnExceptionInAKernelBecomesAStatus) {
  LULAB_NEED_SIMULATOR();
  const Status status = status_of_launch(throwing_kernel, {.grid = 3, .block = 32}, {}, 7);
  EXPECT_EQ(status.code, StatusCode::device_error);
  for (const char* part : {"throwing_kernel", "thread 7", "threw an exception", "bad_array_new_length"})
    EXPECT_TRUE(contains(status.message, part)) << status.message;
  LULAB_ASSERT_OK(status_of_launch(throwing_kernel, {.grid = 3, .block = 32}, {}, -1));
}

}  // namespace
}  // namespace lulab::simt
