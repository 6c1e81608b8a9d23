// When solves along fronts give way to chunks.

#include "driver/resident_solve.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/matrix/generate.h"
#include "core/simt/device.h"
#include "driver/analyze.h"
#include "solve/refine.h"
#include "symbolic/fronts.h"
#include "testing/device.h"
#include "testing/device_rungs.h"

namespace lulab {
namespace {

const Rung on_device = testing::one_thread_rung();

/// x = A⁻¹ b, hardly refined, by the factors of one factorization.
class Solves {
 public:
  Solves() {
    analysis_ = analyze(a_).value();
    analysis_.fronts = std::make_shared<const Fronts>(find_fronts(analysis_, {}));
    factorizer_ = on_device.make<double>({});
  }
  Status start(std::optional<SolveMethod> method, double expected_steps, bool puts_off_chunks) {
    for (auto [locked, from] : {std::pair(&values_, &a_.values), {&locked_b_, &b_}, {&x_, &b_}}) {
      LULAB_ASSIGN_OR_RETURN(*locked, simt::HostBuffer<double>::create(std::ssize(*from)));
      std::ranges::copy(*from, locked->span().begin());
    }
    LULAB_RETURN_IF_ERROR(factorizer_->analyze(analysis_));
    LULAB_RETURN_IF_ERROR(factor());
    LULAB_ASSIGN_OR_RETURN(
        solve_, ResidentSolve<double>::create(analysis_, *factorizer_, b_, method, expected_steps, puts_off_chunks));
    return update();
  }
  Status factor() {
    LULAB_RETURN_IF_ERROR(factorizer_->upload(a_.values));
    LULAB_RETURN_IF_ERROR(factorizer_->factor());
    return factorizer_->wait();
  }
  Status update() {
    LULAB_RETURN_IF_ERROR(solve_->upload(a_.values));
    return solve_->update(factorizer_->device_arrays());
  }
  std::vector<double> x() {
    std::vector<double> x(b_.size(), std::numeric_limits<double>::quiet_NaN());
    EXPECT_TRUE(solve_->solve(b_, x, 1, false, rough).ok());
    return x;
  }
  /// Recorded from the second one on.
  std::vector<double> x_of_step() {
    std::ranges::fill(x_.span(), std::numeric_limits<double>::quiet_NaN());
    EXPECT_TRUE(solve_->prepare_if_due().ok());
    EXPECT_TRUE(solve_->enqueue_step(*factorizer_, values_.span(), locked_b_.span(), x_.span(), rough).ok());
    EXPECT_TRUE(factorizer_->wait().ok() && solve_->measured().ok() && solve_->finish_step(x_.span()).ok());
    return {x_.span().begin(), x_.span().end()};
  }
  void expect_solves(std::int32_t columns, bool transposed) {
    std::vector<double> b, x(columns * b_.size(), std::numeric_limits<double>::quiet_NaN());
    for (std::int32_t c = 0; c < columns; ++c) b.insert(b.end(), b_.begin(), b_.end());
    EXPECT_TRUE(solve_->solve(b, x, columns, transposed, {}).ok());
    const CscMatrix<double> m = transposed ? transpose(a_.view()) : a_;
    for (std::int32_t c = 0; c < columns; ++c)
      EXPECT_TRUE(componentwise_backward_error(m, std::span(x).subspan(c * b_.size(), b_.size()), b_) <= 1e-14);
  }
  ResidentSolve<double>& solve() { return *solve_; }
  Factorizer<double>& factorizer() { return *factorizer_; }

 private:
  static constexpr RefinementGoal rough = {1e-8, 0};
  const CscMatrix<double> a_ = generate("power_grid", {.n = simt::race_detection ? 40 : 120, .seed = 5}).value();
  const std::vector<double> b_ = random_vector(a_.n_cols, 9);
  simt::HostBuffer<double> values_, locked_b_, x_;
  Analysis analysis_;
  std::unique_ptr<Factorizer<double>> factorizer_;
  std::unique_ptr<ResidentSolve<double>> solve_;
};

/// Sums are taken in another order along fronts, which shows in the last bits.
std::vector<double> first_x(std::optional<SolveMethod> method) {
  Solves solves;
  EXPECT_TRUE(solves.start(method, default_expected_steps, false).ok());
  return solves.x();
}

constexpr int put_off_for = 36;  // solves

TEST(ResidentSolve, PutsChunksOffUntilSolvesHaveCostAsMuch) {
  LULAB_NEED_DEVICE();
  const auto by_fronts = first_x(SolveMethod::fronts), by_chunks = first_x(SolveMethod::chunks);
  ASSERT_NE(by_fronts, by_chunks);
  for (const bool steps : {false, true}) {
    SCOPED_TRACE(steps);
    Solves solves;
    LULAB_ASSERT_OK(solves.start({}, default_expected_steps, true));
    const auto next = [&] { return steps && solves.solve().steps() ? solves.x_of_step() : solves.x(); };
    for (int k = 0; k < put_off_for; ++k) ASSERT_EQ(next(), by_fronts) << k;
    EXPECT_EQ(next(), by_chunks);
    EXPECT_EQ(next(), by_chunks);
  }
}

TEST(ResidentSolve, PreparesChunksAtOnceForStepsOnTheDevice) {
  LULAB_NEED_DEVICE();
  const auto by_fronts = first_x(SolveMethod::fronts), by_chunks = first_x(SolveMethod::chunks);
  Solves solves;
  LULAB_ASSERT_OK(solves.start({}, default_expected_steps, true));
  EXPECT_EQ(solves.x(), by_fronts);
  LULAB_ASSERT_OK(solves.update());
  EXPECT_TRUE(solves.solve().steps());
  EXPECT_EQ(solves.x(), by_fronts) << "chunks were not put off";
  LULAB_ASSERT_OK(solves.solve().prepare_steps_on_device(solves.factorizer()));
  LULAB_ASSERT_OK(solves.update());
  EXPECT_EQ(solves.x(), by_chunks);
}

TEST(ResidentSolve, SolvesForSeveralRightHandSidesBeforeAndAfterChunksBegin) {
  LULAB_NEED_DEVICE();
  for (const int first_wide : {10, put_off_for + 2}) {               // the second one is made with chunks
    if (simt::race_detection && first_wide < put_off_for) continue;  // the same kernels
    SCOPED_TRACE(first_wide);
    Solves solves;
    LULAB_ASSERT_OK(solves.start({}, default_expected_steps, true));
    for (int k = 0; k < put_off_for + 10; ++k) {
      const bool is_wide = k >= first_wide && k % 5 >= 3;
      solves.expect_solves(is_wide ? 3 : 1, is_wide && k % 5 == 4);
    }
  }
}

TEST(ResidentSolve, TakesNoChunksUntilAllStepsArePreparedFor) {
  LULAB_NEED_DEVICE();
  const auto by_fronts = first_x(SolveMethod::fronts);
  for (const bool puts_off_chunks : {false, true}) {
    Solves solves;
    LULAB_ASSERT_OK(solves.start({}, 1, puts_off_chunks));
    for (int k = 0; k < put_off_for + 2; ++k) ASSERT_EQ(solves.x(), by_fronts) << k;
    LULAB_ASSERT_OK(solves.update());
    EXPECT_EQ(solves.x(), by_fronts);
  }
}

}  // namespace
}  // namespace lulab
