// Largest magnitudes of warps and blocks against std::max.

#include "core/magnitude.h"

#include <bit>
#include <limits>
#include <random>

#include "testing/launch.h"

namespace lulab {
namespace {

constexpr int values_a_thread = 4;

/// largest: (4), blocks_done: (1) 0 on entry   values: (4, threads of the grid)
/// out: (5) <- what the last block saw of the four, then the largest own[0] of the first block
__global__ void largest_kernel(const double* values, unsigned long long* largest, unsigned* blocks_done,
                               unsigned long long* out) {
  LULAB_SHARED(unsigned long long, of_warp, 32);
  const double* const own = values + values_a_thread * simt::thread_of_grid();
  raise_by_block({&largest[0], &largest[1], &largest[2], &largest[3]},
                 {bits_of(own[0]), bits_of(own[1]), bits_of(own[2]), bits_of(own[3])});
  if (threadIdx.x < 32 && simt::warp_is_last(blocks_done) && threadIdx.x < values_a_thread)
    out[threadIdx.x] = largest[threadIdx.x];
  const unsigned long long of_block = block_max(bits_of(own[0]), of_warp);
  if (blockIdx.x == 0 && threadIdx.x == blockDim.x - 1) out[values_a_thread] = of_block;
}

// Values that differ in their lower halves alone, signs, zeros and NaN, the largest in any thread.
TEST(Magnitude, TheLargestOfABlockAndOfAGridIsThatOfAllThreads) {
  LULAB_NEED_DEVICE();
  std::mt19937_64 random(1);
  for (const unsigned warps : {1u, 2u, 7u, 16u, 32u}) {
    for (const std::uint64_t seed : simt::all_schedule_seeds()) {
      if (warps > 2 && seed % 16 != 1) continue;
      const unsigned blocks = warps > 7 ? 2 : 4;
      std::vector<double> values(std::size_t(values_a_thread) * 32 * warps * blocks);
      std::uniform_real_distribution<double> any(-1, 1);
      for (std::size_t k = 0; k < values.size(); ++k) {
        const double close = std::bit_cast<double>(0x3ff0000000000000 | (random() & 0xffffffff));
        values[k] = k % 4 == 0 ? close : k % 4 == 1 ? any(random) : k % 4 == 2 ? 0 : -1e300 * any(random);
      }
      if (seed % 2 == 0) values[2 + 4 * (random() % (values.size() / 4))] = std::numeric_limits<double>::quiet_NaN();
      std::vector<unsigned long long> expected(values_a_thread + 1, 0);
      for (std::size_t k = 0; k < values.size(); ++k) {
        const auto bits = std::bit_cast<unsigned long long>(std::abs(values[k]));
        expected[k % 4] = std::max(expected[k % 4], bits);
        if (k % 4 == 0 && k < std::size_t(values_a_thread) * 32 * warps)
          expected[values_a_thread] = std::max(expected[values_a_thread], bits);
      }
      auto stream = simt::Stream::create();
      LULAB_ASSERT_OK(stream);
      simt::DeviceBuffer<double> d_values;
      simt::DeviceBuffer<unsigned long long> d_largest;
      simt::DeviceBuffer<unsigned> d_done;
      LULAB_ASSERT_OK(simt::make(d_values, values, *stream));
      LULAB_ASSERT_OK(simt::make(d_largest, std::vector<unsigned long long>(values_a_thread, 0), *stream));
      LULAB_ASSERT_OK(simt::make(d_done, std::vector<unsigned>(1, 0), *stream));
      LULAB_ASSERT_OK(stream->wait());
      const auto out =
          simt::output_of<unsigned long long>(largest_kernel, {.grid = blocks, .block = 32 * warps}, expected.size(),
                                              {.seed = seed}, d_values.data(), d_largest.data(), d_done.data());
      LULAB_ASSERT_OK(out);
      EXPECT_EQ(*out, expected) << warps << " warps, seed " << seed;
    }
  }
}

}  // namespace
}  // namespace lulab
