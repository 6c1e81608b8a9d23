// SolverOptions::solve: every rung of solve/ stands in for the Solver's own choice.

#include <limits>
#include <utility>

#include "core/matrix/generate.h"
#include "driver/batch_solver.h"
#include "driver/solver.h"
#include "sparse_leftlooking/rungs.h"
#include "sparse_syncfree/rungs.h"
#include "testing/bad_pivots.h"
#include "testing/device.h"
#include "testing/device_rungs.h"

namespace lulab {
namespace {

using testing::expect_solves, testing::other_values;

constexpr std::int32_t size = simt::race_detection ? 20 : 60;
const Rung on_device = testing::one_thread_rung(), reticent = testing::one_thread_rung(true);

SolverOptions solving_by(const SolveRung* rung, double backward_error = 0) {
  return {.backward_error = backward_error, .solve = rung};
}

template <class T>
class SolveMethodOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SolveMethodOf, Scalars);

TYPED_TEST(SolveMethodOf, SolvesAndStepsByEveryRung) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const auto a = *generate("power_grid", {.n = 2 * size, .seed = 5});
  const auto b = random_vector(a.n_cols, 9);
  for (const SolveRung* rung : every_solve_rung())
    for (const Rung* factoring : {&on_device, &sparse_syncfree::supernode_panels}) {
      if (simt::race_detection && factoring == &on_device) continue;  // the same solves
      SCOPED_TRACE(::testing::Message() << rung->id << " after " << factoring->facts.id);
      Solver<T> solver(*factoring, solving_by(rung));
      LULAB_ASSERT_OK(solver.analyze(a));
      LULAB_ASSERT_OK(solver.factor(a));
      expect_solves(solver, a);
      expect_solves(solver, a, 3);
      expect_solves(solver, a, 1, true);
      for (int k = 0; k < 3; ++k) {
        const auto next = other_values(a, k);
        std::vector<double> x(a.n_cols, std::numeric_limits<double>::quiet_NaN());
        LULAB_ASSERT_OK(solver.step(next.values, b, x));
        EXPECT_TRUE(componentwise_backward_error(next, x, b) <= 4 * 0x1p-53) << k;
      }
      simt::Stream stream = std::move(*simt::Stream::create());
      simt::DeviceBuffer<double> d_values, d_b, d_x;
      LULAB_ASSERT_OK(simt::make(d_values, a.values, stream));
      LULAB_ASSERT_OK(simt::make(d_b, b, stream));
      LULAB_ASSERT_OK(simt::make(d_x, a.n_cols));
      for (int k = 0; k < 3; ++k) {
        LULAB_ASSERT_OK(d_x.fill_bytes(0xFF, stream));
        LULAB_ASSERT_OK(solver.step_device(d_values.data(), d_b.data(), d_x.data(), stream));
        LULAB_ASSERT_OK(solver.wait_for_step());
        std::vector<double> x(a.n_cols, std::numeric_limits<double>::quiet_NaN());
        LULAB_ASSERT_OK(d_x.download(x, stream));
        LULAB_ASSERT_OK(stream.wait());
        EXPECT_TRUE(componentwise_backward_error(a, x, b) <= 1e-12) << k;
      }
    }
}

/// x of the first solve after so many factorizations, hardly refined.
std::vector<double> rough_solution(const CscMatrix<double>& a, const SolveRung* rung, int factorizations,
                                   double expected_steps = default_expected_steps) {
  SolverOptions options = solving_by(rung, max_backward_error);
  options.expected_steps = expected_steps;
  options.preprocess.order = Order::amd;  // else it depends on the steps
  Solver<double> solver(on_device, std::move(options));
  EXPECT_TRUE(solver.analyze(a).ok());
  const auto b = random_vector(a.n_cols, 9);
  std::vector<double> x(b.size(), std::numeric_limits<double>::quiet_NaN());
  for (int k = 0; k < factorizations; ++k) {
    EXPECT_TRUE(solver.factor(a).ok());
    EXPECT_TRUE(solver.solve(b, x).ok());
  }
  return x;
}

// By rows and by chunks sums are taken in different orders, which shows in the last bits.
TEST(SolveMethod, IsTheOneFromTheFirstSolveToTheLast) {
  LULAB_NEED_DEVICE();
  const auto a = *generate("power_grid", {.n = 4 * size, .seed = 5});
  const auto rows = rough_solution(a, nullptr, 1), chunks = rough_solution(a, nullptr, 2);
  ASSERT_NE(rows, chunks);
  for (const int factorizations : {1, 2, 3}) {
    EXPECT_EQ(rough_solution(a, find_solve_rung("04_chunks").value(), factorizations), chunks);
    for (const char* by_rows : {"01_level_set", "02_sync_free", "03_narrow_middle"})
      EXPECT_EQ(rough_solution(a, find_solve_rung(by_rows).value(), factorizations), rows) << by_rows;
  }
}

TEST(SolveMethod, ChunksAreNotPreparedForFewSteps) {
  LULAB_NEED_DEVICE();
  const auto a = *generate("power_grid", {.n = 4 * size, .seed = 5});
  const SolveRung* const by_chunks = find_solve_rung("04_chunks").value();
  const auto rows = rough_solution(a, nullptr, 1), chunks = rough_solution(a, by_chunks, 2);
  ASSERT_NE(rows, chunks);
  EXPECT_EQ(rough_solution(a, nullptr, 3, 9), rows);
  EXPECT_EQ(rough_solution(a, nullptr, 3, 10), chunks);
  EXPECT_EQ(rough_solution(a, by_chunks, 3, 1), chunks) << "asked for";
}

TEST(SolveMethod, OfTheDeviceNeedsFactorsThere) {
  LULAB_NEED_DEVICE();
  const auto a = testing::random_dominant(size, 0.1, 2);
  for (const Rung* rung : {&reticent, &sparse_leftlooking::threads, &sparse_leftlooking::reference}) {
    Solver<double> by_chunks(*rung, solving_by(find_solve_rung("chunks").value()));
    LULAB_ASSERT_OK(by_chunks.analyze(a));
    const Status refused = by_chunks.factor(a);
    EXPECT_EQ(refused.code, StatusCode::invalid_argument);
    EXPECT_NE(refused.message.find("solve/04_chunks"), std::string::npos) << refused.message;
    EXPECT_NE(refused.message.find(rung->facts.id), std::string::npos) << refused.message;

    Solver<double> by_host(*rung, solving_by(&solve_rungs::reference));
    LULAB_ASSERT_OK(by_host.analyze(a));
    LULAB_ASSERT_OK(by_host.factor(a));
    expect_solves(by_host, a);
    const auto next = other_values(a, 1);
    LULAB_ASSERT_OK(by_host.refactor(next));
    expect_solves(by_host, next);
  }
}

TEST(SolveMethod, IsNotForABatch) {
  const auto a = testing::random_dominant(size, 0.1, 2);
  BatchSolver<double> batch(solving_by(&solve_rungs::reference));
  EXPECT_EQ(batch.analyze(a, 3).code, StatusCode::invalid_argument);
}

}  // namespace
}  // namespace lulab
