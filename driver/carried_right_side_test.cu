// Steps in device memory whose factorization carries b along.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/factors.h"
#include "core/matrix/generate.h"
#include "core/simt/device.h"
#include "driver/analyze.h"
#include "driver/resident_solve.h"
#include "solve/refine.h"
#include "sparse_syncfree/rungs.h"
#include "testing/device.h"

namespace lulab {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

template <class T>
class Steps {
 public:
  explicit Steps(const Rung& rung, bool carries_b) : factorizer_(rung.make<T>({})), carries_b_(carries_b) {
    analysis_ = analyze(a_).value();
  }

  Status start() {
    LULAB_ASSIGN_OR_RETURN(stream_, simt::Stream::create());
    LULAB_RETURN_IF_ERROR(simt::make(d_values_, a_.nnz()));
    for (auto* buffer : {&d_b_, &d_x_}) LULAB_RETURN_IF_ERROR(simt::make(*buffer, a_.n_cols));
    LULAB_RETURN_IF_ERROR(factorizer_->analyze(analysis_));
    LULAB_RETURN_IF_ERROR(factorizer_->upload(a_.values));
    LULAB_RETURN_IF_ERROR(factorizer_->factor());
    LULAB_RETURN_IF_ERROR(factorizer_->wait());
    const std::vector<double> probe(a_.n_cols, 1.0);
    LULAB_ASSIGN_OR_RETURN(solve_,
                           ResidentSolve<T>::create(analysis_, *factorizer_, probe, {}, default_expected_steps, false));
    LULAB_RETURN_IF_ERROR(solve_->upload(a_.values));
    LULAB_RETURN_IF_ERROR(solve_->update(factorizer_->device_arrays()));
    constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
    LULAB_RETURN_IF_ERROR(solve_->prepare_steps_on_device(*factorizer_, carries_b_ ? 0 : never));
    if (carries_b_ != (factorizer_->device_arrays().y != nullptr))
      return Status::error(StatusCode::not_implemented, "b is carried along, or is not, against what was asked for");
    return {};
  }

  /// Of the values of round k, recorded from the second one on. Rows are scaled, so that L is another one each time.
  Result<Refinement> step(int k, const std::vector<double>& b, RefinementGoal goal) {
    values_ = a_.values;
    for (std::size_t q = 0; q < values_.size(); ++q)
      values_[q] *= std::ldexp(1 + 0.01 * std::sin(double(q) + k), (a_.row_idx[q] * (k + 1)) % 7);
    LULAB_RETURN_IF_ERROR(d_values_.upload(values_, *stream_));
    LULAB_RETURN_IF_ERROR(d_b_.upload(b, *stream_));
    x.assign(b.size(), not_a_number);
    LULAB_RETURN_IF_ERROR(d_x_.upload(x, *stream_));
    LULAB_RETURN_IF_ERROR(
        solve_->enqueue_step_on_device(*factorizer_, d_values_.data(), d_b_.data(), d_x_.data(), goal, *stream_));
    LULAB_RETURN_IF_ERROR(d_x_.download(x, *stream_));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    LULAB_RETURN_IF_ERROR(factorizer_->wait());
    LULAB_ASSIGN_OR_RETURN(measured, solve_->measured());
    return solve_->finish_step_on_device();
  }
  Status solve(const std::vector<double>& b) {
    x.assign(b.size(), not_a_number);
    return solve_->solve(b, x, 1, false, {1e-8, 0}).status();
  }
  double error(const std::vector<double>& b) const { return error(x, b, false); }
  /// The largest error of solves of b, `columns` times at once, unrefined.
  Result<double> error_of_several(const std::vector<double>& b, std::int32_t columns, bool transposed) {
    std::vector<double> many, found(columns * b.size(), not_a_number);
    for (std::int32_t c = 0; c < columns; ++c) many.insert(many.end(), b.begin(), b.end());
    LULAB_RETURN_IF_ERROR(solve_->solve(many, found, columns, transposed, {1e-8, 0}).status());
    double most = 0;
    for (std::int32_t c = 0; c < columns; ++c) {
      const double e = error(std::span(found).subspan(c * b.size(), b.size()), b, transposed);
      if (!(e <= most)) most = e;
    }
    return most;
  }
  std::vector<double> right_side(std::uint64_t seed) const { return random_vector(a_.n_cols, seed); }
  std::vector<double> x;
  typename ResidentSolve<T>::Measured measured;

 private:
  double error(std::span<const double> of_x, const std::vector<double>& b, bool transposed) const {
    CscView<double> a = a_.view();
    a.values = values_;
    return transposed ? componentwise_backward_error(transpose(a), of_x, b) : componentwise_backward_error(a, of_x, b);
  }

  const CscMatrix<double> a_ = generate("power_grid", {.n = simt::race_detection ? 40 : 150, .seed = 5}).value();
  std::vector<double> values_;
  Analysis analysis_;
  std::unique_ptr<Factorizer<T>> factorizer_;
  const bool carries_b_;
  std::optional<simt::Stream> stream_;
  simt::DeviceBuffer<double> d_values_, d_b_, d_x_;
  std::unique_ptr<ResidentSolve<T>> solve_;
};

constexpr RefinementGoal unrefined = {1e-8, 0}, refined = {};

TEST(CarriedRightSide, StepsSolveTheirOwnValuesAndMeasureThem) {
  LULAB_NEED_DEVICE();
  Steps<double> carried(sparse_syncfree::fan_in, true), plain(sparse_syncfree::fan_in, false);
  LULAB_ASSERT_OK(carried.start());
  LULAB_ASSERT_OK(plain.start());
  for (int k = 0; k < 4; ++k) {
    const auto b = carried.right_side(k + 1);
    const auto of_carried = carried.step(k, b, unrefined);
    LULAB_ASSERT_OK(of_carried);
    LULAB_ASSERT_OK(plain.step(k, b, unrefined));
    EXPECT_TRUE(carried.error(b) <= 1e-11) << k << ": " << carried.error(b);
    EXPECT_TRUE(of_carried->omega <= 1e-11);
    const FactorMagnitudes &sizes = carried.measured.factors, &expected = plain.measured.factors;
    for (const auto& [size, by_plain] : {std::pair{sizes.max_l, expected.max_l},
                                         {sizes.max_u, expected.max_u},
                                         {sizes.max_pivot, expected.max_pivot},
                                         {sizes.min_pivot, expected.min_pivot}}) {
      EXPECT_GT(by_plain, 0);
      EXPECT_TRUE(std::abs(size - by_plain) <= 1e-12 * by_plain) << size << ", " << by_plain;
    }
    EXPECT_EQ(carried.measured.probe.max_a, plain.measured.probe.max_a);
  }
}

// L's part of the chunks is made for a solve, and is that of old factors after the next step.
TEST(CarriedRightSide, SolvesBetweenStepsTakeAllOfTheFactors) {
  LULAB_NEED_DEVICE();
  Steps<double> steps(sparse_syncfree::fan_in, true);
  LULAB_ASSERT_OK(steps.start());
  for (int k = 0; k < 5; ++k) {
    const auto b = steps.right_side(k + 1), other = steps.right_side(k + 100);
    LULAB_ASSERT_OK(steps.step(k, b, unrefined));
    EXPECT_TRUE(steps.error(b) <= 1e-11) << k << ": " << steps.error(b);
    if (k == 3) continue;  // two steps in a row
    for (int again = 0; again < 2; ++again) {
      LULAB_ASSERT_OK(steps.solve(other));
      EXPECT_TRUE(steps.error(other) <= 1e-11) << k << ": " << steps.error(other);
    }
  }
}

template <class T>
void expect_corrections() {
  Steps<T> steps(sparse_syncfree::fan_in, true);
  LULAB_ASSERT_OK(steps.start());
  int corrections = 0;
  for (int k = 0; k < 6; ++k) {
    const auto b = steps.right_side(k + 1);
    const auto refinement = steps.step(k, b, refined);
    LULAB_ASSERT_OK(refinement);
    EXPECT_LE(refinement->iterations, 3);
    EXPECT_TRUE(refinement->converged);
    EXPECT_TRUE(steps.error(b) <= 1e-14) << k << ": " << steps.error(b);
    corrections += refinement->iterations;
  }
  EXPECT_GT(corrections, 0);
}

TEST(CarriedRightSide, CorrectionsTakeTheRestOfTheFactors) {
  LULAB_NEED_DEVICE();
  expect_corrections<double>();
  expect_corrections<float>();
}

TEST(CarriedRightSide, MayBeOfAnySize) {
  LULAB_NEED_DEVICE();
  Steps<double> steps(sparse_syncfree::fan_in, true);
  LULAB_ASSERT_OK(steps.start());
  auto b = steps.right_side(3);
  LULAB_ASSERT_OK(steps.step(1, b, unrefined));
  const std::vector<double> x = steps.x;
  for (const int exponent : {-900, 900}) {
    auto scaled = b;
    for (double& v : scaled) v = std::ldexp(v, exponent);
    LULAB_ASSERT_OK(steps.step(1, scaled, unrefined));
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(steps.x[i], std::ldexp(x[i], exponent)) << i;
  }
  LULAB_ASSERT_OK(steps.step(1, std::vector<double>(b.size(), 0.0), unrefined));
  EXPECT_TRUE(std::ranges::all_of(steps.x, [](double v) { return v == 0; }));
  b[b.size() / 2] = not_a_number;
  const auto bad = steps.step(1, b, refined);
  EXPECT_TRUE(!bad.ok() || !bad->converged);
  const auto good = steps.right_side(8);
  LULAB_ASSERT_OK(steps.step(1, good, unrefined));
  EXPECT_TRUE(steps.error(good) <= 1e-11);
}

// A solver for several right-hand sides, or for transposed ones, takes the place of the one that steps were prepared
// with.
TEST(CarriedRightSide, GoesOnAfterOtherSolves) {
  LULAB_NEED_DEVICE();
  Steps<double> steps(sparse_syncfree::fan_in, true);
  LULAB_ASSERT_OK(steps.start());
  const auto b = steps.right_side(3);
  for (int k = 0; k < 8; ++k) {
    LULAB_ASSERT_OK(steps.step(k, b, unrefined));
    EXPECT_TRUE(steps.error(b) <= 1e-11) << k;
    if (k < 2) continue;
    const auto error = steps.error_of_several(b, k % 2 == 0 ? 3 : 1, k >= 4);
    LULAB_ASSERT_OK(error);
    EXPECT_TRUE(*error <= 1e-11) << k << ": " << *error;
  }
}

}  // namespace
}  // namespace lulab
