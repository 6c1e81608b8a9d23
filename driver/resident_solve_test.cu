// When solves along fronts give way to chunks.

#include "driver/resident_solve.h"

#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/matrix/generate.h"
#include "driver/analyze.h"
#include "sparse_syncfree/rungs.h"
#include "symbolic/fronts.h"
#include "testing/device.h"
#include "testing/device_rungs.h"

namespace lulab {
namespace {

const Rung on_device = testing::one_thread_rung();

/// x = A⁻¹ b, hardly refined, by the factors of one factorization.
class Solves {
 public:
  explicit Solves(
      CscMatrix<double> a = generate("power_grid", {.n = simt::race_detection ? 40 : 120, .seed = 5}).value(),
      const Rung& rung = on_device)
      : a_(std::move(a)), factorizer_(rung.make<double>({})) {
    analysis_ = analyze(a_).value();
    analysis_.fronts = std::make_shared<const Fronts>(find_fronts(analysis_, {}));
  }
  Status start(std::optional<SolveMethod> method, double expected_steps, bool puts_off_chunks) {
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
  std::vector<double> x_of_step() {
    std::vector<double> x(b_.size(), std::numeric_limits<double>::quiet_NaN());
    EXPECT_TRUE(solve_->enqueue_step(*factorizer_, a_.values, b_, x, rough).ok());
    EXPECT_TRUE(factorizer_->wait().ok() && solve_->measured().ok() && solve_->finish_step(x).ok());
    return x;
  }
  ResidentSolve<double>& solve() { return *solve_; }

 private:
  static constexpr RefinementGoal rough = {1e-8, 0};
  const CscMatrix<double> a_;
  const std::vector<double> b_ = random_vector(a_.n_cols, 9);
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

constexpr int put_off_for = 100;  // solves

TEST(ResidentSolve, PutsChunksOffUntilSolvesHaveCostAsMuch) {
  LULAB_NEED_DEVICE();
  const auto by_fronts = first_x(SolveMethod::fronts), by_chunks = first_x(SolveMethod::chunks);
  ASSERT_NE(by_fronts, by_chunks);
  for (const bool steps : {false, true}) {
    SCOPED_TRACE(steps);
    Solves solves;
    LULAB_ASSERT_OK(solves.start({}, 1, true));
    const auto next = [&] { return steps && solves.solve().steps() ? solves.x_of_step() : solves.x(); };
    for (int k = 0; k < put_off_for; ++k) ASSERT_EQ(next(), by_fronts) << k;
    EXPECT_EQ(next(), by_chunks);
    EXPECT_EQ(next(), by_chunks);
  }
}

TEST(ResidentSolve, PreparesChunksAtOnceForStepsOnTheDevice) {
  LULAB_NEED_GPU();  // large factors alone go along fronts when steps are prepared
  const auto a = generate("grid3d", {.n = 17'576, .seed = 5}).value();
  Solves by_chunks(a, sparse_syncfree::multifrontal);
  LULAB_ASSERT_OK(by_chunks.start(SolveMethod::chunks, default_expected_steps, true));
  const auto expected = by_chunks.x();
  Solves solves(a, sparse_syncfree::multifrontal);
  LULAB_ASSERT_OK(solves.start({}, default_expected_steps, true));
  ASSERT_NE(solves.x(), expected);
  LULAB_ASSERT_OK(solves.update());
  ASSERT_TRUE(solves.solve().steps());
  ASSERT_NE(solves.x(), expected) << "chunks were not put off";
  LULAB_ASSERT_OK(solves.solve().prepare_steps());
  LULAB_ASSERT_OK(solves.update());
  EXPECT_EQ(solves.x(), expected);
}

TEST(ResidentSolve, TakesNoChunksAfterFrontsForFewExpectedSteps) {
  LULAB_NEED_DEVICE();
  Solves solves;
  LULAB_ASSERT_OK(solves.start({}, 1, false));
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(solves.x(), first_x(SolveMethod::fronts)) << k;
    LULAB_ASSERT_OK(solves.update());
  }
}

}  // namespace
}  // namespace lulab
