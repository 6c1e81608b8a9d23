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

/// U⁻¹ L⁻¹ b for some right-hand sides, by launches of a kernel of our own choice.
class ChunkSolve {
 public:
  Status start(Factors<double> factors, std::int32_t max_entries, std::int32_t columns) {
    f_ = std::move(factors);
    n_ = f_.filled.n;
    columns_ = columns;
    ld_ = columns == 1 ? 1 : (columns + 7) / 8 * 8;
    LULAB_ASSIGN_OR_RETURN(stream_, simt::Stream::create());
    LULAB_ASSIGN_OR_RETURN(const auto device, simt::device_properties());
    LULAB_ASSIGN_OR_RETURN(const auto as, PatternOnDevice::create(f_.filled.view(), *stream_));
    simt::DeviceBuffer<std::int64_t> d_diag;
    LULAB_RETURN_IF_ERROR(simt::make(d_diag, f_.filled.diag, *stream_));
    LULAB_RETURN_IF_ERROR(
        chunks_.create(f_.filled, as.view(), d_diag.data(), false, true, max_entries, device, *stream_));
    EXPECT_TRUE(chunks_.takes(columns));
    b_.assign(std::size_t(n_) * ld_, std::numeric_limits<double>::quiet_NaN());
    for (std::int32_t i = 0; i < n_; ++i)
      for (std::int32_t c = 0; c < columns; ++c) b_[i * ld_ + c] = std::sin(i + 1.0 + 7 * c);
    std::vector<std::int32_t> to(n_);
    for (std::int32_t i = 0; i < n_; ++i) to[i] = i;
    LULAB_RETURN_IF_ERROR(simt::make(d_values_, f_.values, *stream_));
    for (auto* b : {&d_b_, &d_given_}) LULAB_RETURN_IF_ERROR(simt::make(*b, b_, *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_scale_, std::vector<double>(n_, 1.0), *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_to_, to, *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_largest_, std::vector<unsigned long long>(ld_ + 1, 0), *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_progress_, 1));
    LULAB_RETURN_IF_ERROR(simt::make(d_x_, n_ * columns));
    LULAB_RETURN_IF_ERROR(simt::make(d_words_, chunks_.plan.n_words * ld_));
    LULAB_RETURN_IF_ERROR(chunks_.update(d_values_.data(), nullptr, n_, max_inverse(), nullptr, *stream_));
    return stream_->wait();
  }

  /// takes_b: the kernel scales and permutes b itself; words and state are those of another solve then.
  template <class Barriers>
  Result<std::vector<double>> solve(bool takes_b = false) {
    LULAB_RETURN_IF_ERROR(d_words_.fill_bytes(takes_b ? 0x11 : 0xFF, *stream_));
    LULAB_RETURN_IF_ERROR(d_x_.fill_bytes(0xFF, *stream_));
    LULAB_RETURN_IF_ERROR(d_progress_.fill_bytes(takes_b ? 0xFF : 0, *stream_));
    chunk_solve::OwnRightSide<double> own = {};
    if (takes_b) {
      LULAB_RETURN_IF_ERROR(d_b_.fill_bytes(0xFF, *stream_));
      own = {{d_given_.data(), d_to_.data(), d_scale_.data(), d_b_.data()},
             chunks_.d_largest_of_block.data(),
             d_largest_.data(),
             reinterpret_cast<unsigned long long*>(d_progress_.data()),
             sizeof(SolveProgress) / sizeof(unsigned long long)};
    }
    SolveView<double, double> v = {};
    v.n = n_;
    v.columns = columns_;
    v.ld = ld_;
    v.rhs_lanes = std::min(ld_, 8);
    v.b = d_b_.data();
    v.largest = d_largest_.data();
    v.x = d_x_.data();
    v.to = d_to_.data();
    v.scale = d_scale_.data();
    v.progress = d_progress_.data();
    const auto& shared = columns_ == 1 ? chunks_.for_one : chunks_.for_several;
    const auto kernel = columns_ == 1
                            ? chunk_solve::chunk_solve_kernel<double, double, 1, Barriers>
                            : chunk_solve::chunk_solve_kernel<double, double, chunk_solve::rhs_of_warp, Barriers>;
    LULAB_RETURN_IF_ERROR(simt::launch(kernel, chunks_.shape(shared), *stream_, v,
                                       chunks_.view(d_words_.data(), max_inverse(), {}, nullptr, shared), own));
    std::vector<double> x(d_x_.size(), std::numeric_limits<double>::quiet_NaN());
    LULAB_RETURN_IF_ERROR(d_x_.download(x, *stream_));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    return x;
  }

  std::vector<double> expected() const {
    std::vector<double> all;
    for (std::int32_t c = 0; c < columns_; ++c) {
      std::vector<double> x(n_);
      for (std::int32_t i = 0; i < n_; ++i) x[i] = b_[i * ld_ + c];
      solve_lower(f_.filled, std::span<const double>(f_.values), std::span(x));
      solve_upper(f_.filled, std::span<const double>(f_.values), std::span(x));
      all.insert(all.end(), x.begin(), x.end());
    }
    return all;
  }

 private:
  unsigned long long* max_inverse() { return d_largest_.data() + ld_; }

  Factors<double> f_;
  std::int32_t n_ = 0, columns_ = 1, ld_ = 1;
  std::optional<simt::Stream> stream_;
  DeviceChunks<double> chunks_;
  std::vector<double> b_;
  simt::DeviceBuffer<double> d_values_, d_given_, d_b_, d_scale_, d_x_;
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
  for (const std::int32_t columns : {1, 11})
    for (const std::int32_t max_entries : {64, 4096}) {
      ChunkSolve chunks;
      LULAB_ASSERT_OK(chunks.start(banded(simt::race_detection || columns > 1 ? 80 : 300), max_entries, columns));
      std::optional<std::vector<double>> first;
      for (const std::uint64_t seed : simt::schedule_seeds()) {
        const simt::SimulatorScope scope({.seed = seed});
        const auto x = chunks.solve<ChunkBarriers>();
        LULAB_ASSERT_OK(x);
        if (!first) first = *x;
        EXPECT_EQ(*x, *first) << columns << " columns, seed " << seed;
      }
      EXPECT_TRUE(is_near(*first, chunks.expected()));
    }
}

TEST(ChunkSolve, OfARightSideThatItTakesItselfGivesTheSameBits) {
  LULAB_NEED_DEVICE();
  ChunkSolve chunks;
  LULAB_ASSERT_OK(chunks.start(banded(simt::race_detection ? 80 : 300), 1000, 1));
  const auto taken_before = chunks.solve<ChunkBarriers>();
  LULAB_ASSERT_OK(taken_before);
  for (const std::uint64_t seed : simt::schedule_seeds()) {
    const simt::SimulatorScope scope({.seed = seed});
    const auto x = chunks.solve<ChunkBarriers>(true);
    LULAB_ASSERT_OK(x);
    // The kernel scales b by a power of two, which changes no bit.
    EXPECT_EQ(*x, *taken_before) << "seed " << seed;
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
struct ReplacesInputsEarly : ChunkBarriers {
  __device__ static void round_is_done() {}
};
struct TakesEarly : ChunkBarriers {
  __device__ static void right_side_is_taken() {}
};

/// Some schedule gives a wrong solution, or an error.
template <class Barriers>
bool is_found(std::int32_t columns, bool takes_b = false) {
  ChunkSolve chunks;
  EXPECT_TRUE(chunks.start(banded(300), 1000, columns).ok());
  const auto expected = chunks.expected();
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const simt::SimulatorScope scope({.seed = seed});
    const auto x = chunks.solve<Barriers>(takes_b);
    if (!x.ok() || !is_near(*x, expected)) return true;
  }
  return false;
}

/// In a process of its own: a task that is read too early may hold any offset.
template <class Barriers>
void expect_found() {
  const auto fails = [](int status) { return status != 0; };
  for (const std::int32_t columns : {1, 11}) EXPECT_EXIT(std::exit(is_found<Barriers>(columns) ? 3 : 0), fails, "");
}

TEST(ChunkSolveMutantsDeathTest, EachMissingBarrierIsFound) {
  LULAB_NEED_SIMULATOR();
  if (simt::instrumented) GTEST_SKIP() << "wrong values tell of them; the preset sim looks for those";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const std::int32_t columns : {1, 11})
    EXPECT_EXIT(std::exit(is_found<ChunkBarriers>(columns) ? 3 : 0), ::testing::ExitedWithCode(0), "");
  expect_found<ReadsTasksEarly>();
  expect_found<ReadsInputsEarly>();
  expect_found<MultipliesEarly>();
  expect_found<ReplacesInputsEarly>();
  EXPECT_EXIT(std::exit(is_found<ChunkBarriers>(1, true) ? 3 : 0), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(std::exit(is_found<TakesEarly>(1, true) ? 3 : 0), ::testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace lulab
