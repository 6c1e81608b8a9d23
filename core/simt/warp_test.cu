// Warp primitives against their definitions: every lane's result recomputed by a loop over the lanes.

#include <array>
#include <random>

#include "testing/launch.h"

namespace lulab::simt {
namespace {

enum { shfl, shfl_up, shfl_down, shfl_xor, ballot, any, all, match, add, low, high, conj, disj, exclusive, kinds };

/// One warp; lanes outside the mask leave their results poisoned.   value, out: (32), (kinds, 32)
__global__ void warp_kernel(unsigned mask, int argument, int width, const int* value, int* out) {
  const int lane = threadIdx.x;
  if (!(mask >> lane & 1)) return;
  const int v = value[lane];
  out[shfl * 32 + lane] = __shfl_sync(mask, v, argument, width);
  out[shfl_up * 32 + lane] = __shfl_up_sync(mask, v, argument, width);
  out[shfl_down * 32 + lane] = __shfl_down_sync(mask, v, argument, width);
  out[shfl_xor * 32 + lane] = __shfl_xor_sync(mask, v, argument, width);
  out[ballot * 32 + lane] = static_cast<int>(__ballot_sync(mask, v % 3 == 0));
  out[any * 32 + lane] = __any_sync(mask, v % 5 == 0) != 0;
  out[all * 32 + lane] = __all_sync(mask, v > -100) != 0;
  out[match * 32 + lane] = static_cast<int>(__match_any_sync(mask, v / 4));
  out[add * 32 + lane] = __reduce_add_sync(mask, v);
  out[low * 32 + lane] = __reduce_min_sync(mask, v);
  out[high * 32 + lane] = __reduce_max_sync(mask, v);
  out[conj * 32 + lane] = static_cast<int>(__reduce_and_sync(mask, static_cast<unsigned>(v)));
  out[disj * 32 + lane] = static_cast<int>(__reduce_or_sync(mask, static_cast<unsigned>(v)));
  out[exclusive * 32 + lane] = static_cast<int>(__reduce_xor_sync(mask, static_cast<unsigned>(v)));
}

using Lanes = std::array<int, 32>;

TEST(Warp, PrimitivesMatchTheirDefinitionsUnderPartialMasks) {
  LULAB_NEED_DEVICE();
  std::mt19937 random(7);
  auto stream = Stream::create();
  LULAB_ASSERT_OK(stream);
  for (const std::uint64_t seed : all_schedule_seeds())
    for (const unsigned mask :
         {0xffffffffu, 0x0000ffffu, 0x80000001u, 0x55555555u, 0x00000400u, unsigned(random()) | 1u})
      for (const int width : {32, 8}) {
        const int argument = static_cast<int>(random() % 8);
        Lanes value;
        for (int& v : value) v = static_cast<int>(random() % 64) - 24;
        auto d_value = DeviceBuffer<int>::create(value, *stream);
        LULAB_ASSERT_OK(d_value);
        LULAB_ASSERT_OK(stream->wait());
        const auto out = output_of<int>(warp_kernel, {.grid = 1, .block = 32}, kinds * 32, {.seed = seed}, mask,
                                        argument, width, d_value->data());
        LULAB_ASSERT_OK(out);
        unsigned votes = 0;
        int sum = 0, least = 1 << 20, most = -(1 << 20), some5 = 0;
        unsigned both = ~0u, either = 0, odd = 0;
        for (int i = 0; i < 32; ++i) {
          if (!(mask >> i & 1)) continue;
          votes |= unsigned(value[i] % 3 == 0) << i;
          sum += value[i];
          least = std::min(least, value[i]);
          most = std::max(most, value[i]);
          some5 |= value[i] % 5 == 0;
          both &= unsigned(value[i]);
          either |= unsigned(value[i]);
          odd ^= unsigned(value[i]);
        }
        for (int lane = 0; lane < 32; ++lane) {
          const auto got = [&](int kind) { return (*out)[static_cast<std::size_t>(kind * 32 + lane)]; };
          if (!(mask >> lane & 1)) {
            EXPECT_EQ(got(shfl), -1) << "a lane outside the mask wrote";
            continue;
          }
          const int first = lane / width * width, last = first + width - 1;
          const auto sent_by = [&](int kind, int source) {  // undefined when the source is not in the mask
            if (mask >> source & 1) {
              EXPECT_EQ(got(kind), value[source]) << "kind " << kind << " lane " << lane;
            }
          };
          sent_by(shfl, first + argument % width);
          sent_by(shfl_up, lane - argument < first ? lane : lane - argument);
          sent_by(shfl_down, lane + argument > last ? lane : lane + argument);
          sent_by(shfl_xor, (lane ^ argument) > last ? lane : lane ^ argument);
          unsigned equal = 0;
          for (int i = 0; i < 32; ++i) equal |= unsigned((mask >> i & 1) && value[i] / 4 == value[lane] / 4) << i;
          EXPECT_EQ(unsigned(got(match)), equal);
          EXPECT_EQ(unsigned(got(ballot)), votes);
          EXPECT_EQ(got(any), some5);
          EXPECT_EQ(got(all), 1);
          EXPECT_EQ(got(add), sum);
          EXPECT_EQ(got(low), least);
          EXPECT_EQ(got(high), most);
          EXPECT_EQ(unsigned(got(conj)), both);
          EXPECT_EQ(unsigned(got(disj)), either);
          EXPECT_EQ(unsigned(got(exclusive)), odd);
        }
      }
}

/// Two halves of a warp meet apart, then together.   out: (32)
__global__ void halves_kernel(double* out) {
  const int lane = threadIdx.x;
  const unsigned half = lane < 16 ? 0x0000ffffu : 0xffff0000u;
  double v = lane;
  for (int d = 8; d > 0; d /= 2) v += __shfl_xor_sync(half, v, d);
  out[lane] = __shfl_sync(0xffffffffu, v, 0) - __shfl_sync(0xffffffffu, v, 31);
}

TEST(Warp, HalvesReduceApart) {
  LULAB_NEED_DEVICE();
  for (const std::uint64_t seed : all_schedule_seeds()) {
    const auto out = output_of<double>(halves_kernel, {.grid = 1, .block = 32}, 32, {.seed = seed});
    LULAB_ASSERT_OK(out);
    for (const double v : *out) EXPECT_EQ(v, 120.0 - 376.0);  // 0+...+15, 16+...+31
  }
}

/// The classic tree in shared memory: each step needs what other lanes wrote in the step before.   out: (1)
__global__ void tree_kernel(int* out) {
  LULAB_SHARED(int, partial, 32);
  const int lane = threadIdx.x;
  partial[lane] = lane + 1;
  __syncwarp();  // RACE: lane i reads what lane i + d wrote; likewise in the loop
  for (int d = 16; d > 0; d /= 2) {
    const int other = lane < d ? partial[lane + d] : 0;
    __syncwarp();
    partial[lane] += other;
    __syncwarp();
  }
  if (lane == 0) *out = partial[0];
}

TEST(Warp, SyncwarpOrdersSharedMemory) {
  LULAB_NEED_DEVICE();
  for (const std::uint64_t seed : all_schedule_seeds()) {
    const auto out = output_of<int>(tree_kernel, {.grid = 1, .block = 32}, 1, {.seed = seed});
    LULAB_ASSERT_OK(out);
    EXPECT_EQ(out->front(), 32 * 33 / 2);
  }
}

__global__ void integer_kernel(int* out) {
  out[0] = __popc(0xf0f0u);
  out[1] = __ffs(0x50);
  out[2] = __ffs(0);
  out[3] = __clz(1);
  out[4] = __popcll(0xff00000000000001ull);
  out[5] = __clzll(1);
  out[6] = static_cast<int>(__brev(1u) >> 31);
  out[7] = __ffsll(1ll << 40);
}

TEST(Warp, IntegerIntrinsicsMatchTheirDefinitions) {
  LULAB_NEED_DEVICE();
  const auto out = output_of<int>(integer_kernel, {.grid = 1, .block = 1}, 8, {});
  LULAB_ASSERT_OK(out);
  EXPECT_EQ(*out, (std::vector<int>{8, 5, 0, 31, 9, 63, 1, 41}));
}

}  // namespace
}  // namespace lulab::simt
