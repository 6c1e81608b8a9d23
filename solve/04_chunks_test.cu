// A solve by chunks under every schedule, and what it rests on.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <vector>

#include "solve/device_chunks.h"
#include "solve/triangular.h"
#include "testing/launch.h"
#include "testing/made_up_factors.h"

namespace lulab {
namespace {

using chunk_solve::ChunkBarriers;
using testing::make_up_factors;

/// U⁻¹ L⁻¹ b, by launches of a kernel of our own choice.
class ChunkSolve {
 public:
  Status start(Factors<double> factors, std::int32_t max_entries) {
    f_ = std::move(factors);
    n_ = f_.filled.n;
    LULAB_ASSIGN_OR_RETURN(stream_, simt::Stream::create());
    LULAB_ASSIGN_OR_RETURN(const auto device, simt::device_properties());
    LULAB_RETURN_IF_ERROR(
        chunks_.create(f_.filled, find_chunks(f_.filled, max_chunk_columns), false, max_entries, device, *stream_));
    b_.resize(n_);
    for (std::int32_t i = 0; i < n_; ++i) b_[i] = std::sin(i + 1.0);
    std::vector<std::int32_t> to(n_);
    for (std::int32_t i = 0; i < n_; ++i) to[i] = i;
    LULAB_RETURN_IF_ERROR(simt::make(d_values_, f_.values, *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_b_, b_, *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_scale_, std::vector<double>(n_, 1.0), *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_to_, to, *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_largest_, std::vector<unsigned long long>{0, 0}, *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_progress_, 1));
    LULAB_RETURN_IF_ERROR(simt::make(d_x_, n_));
    LULAB_RETURN_IF_ERROR(simt::make(d_words_, chunks_.n_words));
    LULAB_RETURN_IF_ERROR(chunks_.update(d_values_.data(), nullptr, n_, d_largest_.data() + 1, nullptr, *stream_));
    return stream_->wait();
  }

  template <class Barriers>
  Result<std::vector<double>> solve() {
    LULAB_RETURN_IF_ERROR(d_words_.fill_bytes(0xFF, *stream_));
    LULAB_RETURN_IF_ERROR(d_x_.fill_bytes(0xFF, *stream_));
    LULAB_RETURN_IF_ERROR(d_progress_.fill_bytes(0, *stream_));
    SolveView<double, double> v = {};
    v.n = n_;
    v.columns = v.ld = v.rhs_lanes = 1;
    v.b = d_b_.data();
    v.largest = d_largest_.data();
    v.x = d_x_.data();
    v.to = d_to_.data();
    v.scale = d_scale_.data();
    v.progress = d_progress_.data();
    LULAB_RETURN_IF_ERROR(simt::launch(chunk_solve::chunk_solve_kernel<double, double, Barriers>, chunks_.shape(),
                                       *stream_, v, chunks_.view(d_words_.data(), d_largest_.data() + 1, {})));
    std::vector<double> x(n_, std::numeric_limits<double>::quiet_NaN());
    LULAB_RETURN_IF_ERROR(d_x_.download(x, *stream_));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    return x;
  }

  std::vector<double> expected() const {
    std::vector<double> x = b_;
    solve_lower(f_.filled, std::span<const double>(f_.values), std::span(x));
    solve_upper(f_.filled, std::span<const double>(f_.values), std::span(x));
    return x;
  }

 private:
  Factors<double> f_;
  std::int32_t n_ = 0;
  std::optional<simt::Stream> stream_;
  DeviceChunks<double> chunks_;
  std::vector<double> b_;
  simt::DeviceBuffer<double> d_values_, d_b_, d_scale_, d_x_;
  simt::DeviceBuffer<std::int32_t> d_to_;
  simt::DeviceBuffer<unsigned long long> d_largest_, d_words_;
  simt::DeviceBuffer<SolveProgress> d_progress_;
};

bool is_near(const std::vector<double>& x, const std::vector<double>& expected) {
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    if (!(std::abs(x[i] - expected[i]) <= difference)) difference = std::abs(x[i] - expected[i]);
  }
  return difference <= 1e-13 * largest;
}

Factors<double> banded(std::int32_t n) {
  return make_up_factors<double>(
      n, 5, [n](auto i, auto j) { return (i - j <= 3 && j - i <= 3) || (i + 2 * j) % 31 == 0 || i == n - 2; });
}

TEST(ChunkSolve, GivesTheSameBitsUnderEverySchedule) {
  LULAB_NEED_DEVICE();
  for (const std::int32_t max_entries : {64, 4096}) {
    ChunkSolve chunks;
    LULAB_ASSERT_OK(chunks.start(banded(simt::race_detection ? 80 : 300), max_entries));
    std::optional<std::vector<double>> first;
    for (const std::uint64_t seed : simt::schedule_seeds()) {
      const simt::SimulatorScope scope({.seed = seed});
      const auto x = chunks.solve<ChunkBarriers>();
      LULAB_ASSERT_OK(x);
      if (!first) first = *x;
      EXPECT_EQ(*x, *first) << "seed " << seed;
    }
    EXPECT_TRUE(is_near(*first, chunks.expected()));
  }
}

// The mutants: each leaves out one barrier.

struct ReadsTasksEarly : ChunkBarriers {
  __device__ static void task_is_there() {}
};
struct ReadsInputsEarly : ChunkBarriers {
  __device__ static void inputs_are_there() {}
};
struct MultipliesEarly : ChunkBarriers {
  __device__ static void s_is_there() {}
};
struct ReplacesTasksEarly : ChunkBarriers {
  __device__ static void task_is_done() {}
};

/// Some schedule gives a wrong solution, or an error.
template <class Barriers>
bool is_found() {
  ChunkSolve chunks;
  EXPECT_TRUE(chunks.start(banded(300), 1000).ok());
  const auto expected = chunks.expected();
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const simt::SimulatorScope scope({.seed = seed});
    const auto x = chunks.solve<Barriers>();
    if (!x.ok() || !is_near(*x, expected)) return true;
  }
  return false;
}

/// In a process of its own: a task that is read too early may hold any offset.
template <class Barriers>
void expect_found() {
  const auto fails = [](int status) { return status != 0; };
  EXPECT_EXIT(std::exit(is_found<Barriers>() ? 3 : 0), fails, "");
}

TEST(ChunkSolveMutantsDeathTest, EachMissingBarrierIsFound) {
  LULAB_NEED_SIMULATOR();
  if (simt::race_detection) GTEST_SKIP() << "wrong values tell of them; the preset sim looks for those";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(is_found<ChunkBarriers>() ? 3 : 0), ::testing::ExitedWithCode(0), "");
  expect_found<ReadsTasksEarly>();
  expect_found<ReadsInputsEarly>();
  expect_found<MultipliesEarly>();
  expect_found<ReplacesTasksEarly>();
}

}  // namespace
}  // namespace lulab
