// A solve by fronts under every schedule, and what it rests on.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <vector>

#include "solve/device_fronts.h"
#include "solve/triangular.h"
#include "testing/launch.h"
#include "testing/made_up_factors.h"

namespace lulab {
namespace {

using front_solve::FrontBarriers;
using testing::make_up_factors;

/// U⁻¹ L⁻¹ b for some right-hand sides, by launches of a kernel of our own choice.
class FrontSolveOf {
 public:
  /// b: the same for each right-hand side; empty: any
  Status start(Factors<double> factors, std::int32_t columns, const std::vector<double>& b = {}) {
    f_ = std::move(factors);
    n_ = f_.filled.n;
    columns_ = columns;
    ld_ = columns == 1 ? 1 : (columns + 7) / 8 * 8;
    LULAB_ASSIGN_OR_RETURN(stream_, simt::Stream::create());
    LULAB_RETURN_IF_ERROR(
        fronts_.create(f_.filled, find_fronts(f_.filled, find_relaxed_supernodes(f_.filled, {})), *stream_));
    b_.assign(std::size_t(n_) * ld_, std::numeric_limits<double>::quiet_NaN());
    for (std::int32_t i = 0; i < n_; ++i)
      for (std::int32_t c = 0; c < columns; ++c) b_[i * ld_ + c] = b.empty() ? std::sin(i + 1.0 + 7 * c) : b[i];
    std::vector<std::int32_t> to(n_);
    for (std::int32_t i = 0; i < n_; ++i) to[i] = i;
    LULAB_RETURN_IF_ERROR(simt::make(d_values_, f_.values, *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_b_, b_, *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_scale_, std::vector<double>(n_, 1.0), *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_to_, to, *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_largest_, std::vector<unsigned long long>(ld_, 0), *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_progress_, 1));
    LULAB_RETURN_IF_ERROR(simt::make(d_x_, std::int64_t(n_) * columns));
    LULAB_RETURN_IF_ERROR(simt::make(d_words_, fronts_.n_words * ld_));
    return stream_->wait();
  }

  template <class Barriers>
  Result<std::vector<double>> solve(unsigned blocks) {
    LULAB_RETURN_IF_ERROR(d_words_.fill_bytes(0xFF, *stream_));
    LULAB_RETURN_IF_ERROR(d_x_.fill_bytes(0xFF, *stream_));
    LULAB_RETURN_IF_ERROR(d_progress_.fill_bytes(0, *stream_));
    SolveView<double, double> v = {};
    v.n = n_;
    v.columns = columns_;
    v.ld = ld_;
    v.b = d_b_.data();
    v.largest = d_largest_.data();
    v.x = d_x_.data();
    v.to = d_to_.data();
    v.scale = d_scale_.data();
    v.progress = d_progress_.data();
    const int rhs = columns_ == 1 ? 1 : front_solve::several;
    const auto kernel = columns_ == 1 ? front_solve::front_solve_kernel<double, double, 1, Barriers>
                                      : front_solve::front_solve_kernel<double, double, front_solve::several, Barriers>;
    LULAB_RETURN_IF_ERROR(
        simt::launch(kernel,
                     {.grid = blocks,
                      .block = front_solve::solve_threads,
                      .shared_bytes = static_cast<std::size_t>(front_solve::shared_bytes<double>(rhs))},
                     *stream_, v, fronts_.view(d_values_.data(), d_words_.data())));
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
  Factors<double> f_;
  std::int32_t n_ = 0, columns_ = 1, ld_ = 1;
  std::optional<simt::Stream> stream_;
  DeviceFronts<double> fronts_;
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

/// Blocks of 8 columns that hang together with the last 2/3 of all: small fronts, and one with parts of pivots.
Factors<double> small_and_large_fronts(std::int32_t n) {
  return make_up_factors<double>(n, 5, [n](std::int32_t i, std::int32_t j) {
    const std::int32_t large = n / 3;
    if (i >= large && j >= large) return true;
    if (i < large && j < large) return i / 8 == j / 8;
    return (i + j) % 7 == 0;
  });
}

TEST(FrontSolve, GivesTheSameBitsUnderEveryScheduleWithHoweverFewBlocks) {
  LULAB_NEED_DEVICE();
  for (const std::int32_t columns : {1, 6}) {
    FrontSolveOf fronts;
    LULAB_ASSERT_OK(fronts.start(small_and_large_fronts(simt::race_detection || columns > 1 ? 105 : 240), columns));
    std::optional<std::vector<double>> first;
    for (const std::uint64_t seed : simt::schedule_seeds()) {
      const simt::SimulatorScope scope({.seed = seed, .resident_blocks = static_cast<int>(seed % 4)});
      const auto x = fronts.solve<FrontBarriers>(1 + seed % 7);
      LULAB_ASSERT_OK(x);
      if (!first) first = *x;
      EXPECT_EQ(*x, *first) << columns << " columns, seed " << seed;
    }
    EXPECT_TRUE(is_near(*first, fronts.expected()));
  }
}

// L has a chain of entries 1e4 inside a panel, whose inverse has one of 1e32; U is the identity. With integers the
// solution is exact where pivots are solved one after another.
TEST(FrontSolve, TakesPivotsOneAfterAnotherWhereAnInverseIsLarge) {
  LULAB_NEED_DEVICE();
  constexpr std::int32_t n = 150, first = 100;
  for (const std::int32_t columns : {1, 6}) {
    Factors<double> f = small_and_large_fronts(n);
    std::vector<double> b(n, 1);
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int64_t p = f.filled.col_ptr[j]; p < f.filled.col_ptr[j + 1]; ++p) {
        const std::int32_t i = f.filled.row_idx[p];
        f.values[p] = i == j ? 1 : i == j + 1 && j >= first && j < first + 8 ? 1e4 : i > j ? (i + j) % 3 : 0;
        if (i > j) b[i] += f.values[p];
      }
    FrontSolveOf fronts;
    LULAB_ASSERT_OK(fronts.start(std::move(f), columns, b));
    const auto x = fronts.solve<FrontBarriers>(3);
    LULAB_ASSERT_OK(x);
    EXPECT_EQ(*x, std::vector<double>(std::size_t(n) * columns, 1));
  }
}

// The mutants: each leaves out one barrier.

struct TakesTicketEarly : FrontBarriers {
  __device__ static void ticket_is_there() {}
};
struct ReadsTriangleEarly : FrontBarriers {
  __device__ static void triangle_is_there() {}
};
struct ReplacesTriangleEarly : FrontBarriers {
  __device__ static void triangle_is_read() {}
};
struct AddsEarly : FrontBarriers {
  __device__ static void sums_are_there() {}
};

/// Some schedule gives a wrong solution, or an error.
template <class Barriers>
bool is_found(std::int32_t columns) {
  FrontSolveOf fronts;
  EXPECT_TRUE(fronts.start(small_and_large_fronts(240), columns).ok());
  const auto expected = fronts.expected();
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const simt::SimulatorScope scope({.seed = seed});
    const auto x = fronts.solve<Barriers>(3);
    if (!x.ok() || !is_near(*x, expected)) return true;
  }
  return false;
}

/// In a process of its own: with a wrong ticket a warp may read anything.
template <class Barriers>
void expect_found() {
  EXPECT_EXIT(
      std::exit(is_found<Barriers>(1) ? 3 : 0), [](int status) { return status != 0; }, "");
}

TEST(FrontSolveMutantsDeathTest, EachMissingBarrierIsFound) {
  LULAB_NEED_SIMULATOR();
  if (simt::race_detection) GTEST_SKIP() << "wrong values tell of them; the preset sim looks for those";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const std::int32_t columns : {1, 6})
    EXPECT_EXIT(std::exit(is_found<FrontBarriers>(columns) ? 3 : 0), ::testing::ExitedWithCode(0), "");
  expect_found<TakesTicketEarly>();
  expect_found<ReadsTriangleEarly>();
  expect_found<ReplacesTriangleEarly>();
  expect_found<AddsEarly>();
}

}  // namespace
}  // namespace lulab
