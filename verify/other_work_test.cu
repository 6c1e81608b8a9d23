// Every GPU rung beside other work on the device: which of its blocks are there at once, and when, changes from run to
// run. A kernel that needs an order of events that it does not ask for differs or hangs. LULAB_STRESS_RUNS=1000 asks
// for so many runs of each rung.

#include <string>
#include <vector>

#include "core/factorizer.h"
#include "core/matrix/generate.h"
#include "testing/analysis.h"
#include "testing/device.h"
#include "testing/other_work.h"
#include "testing/rungs.h"
#include "verify/checks.h"
#include "verify/report.h"

namespace lulab::testing {
namespace {

/// What is wrong with factors of a refactorization; empty: nothing. `expected`, if any: their values.
std::string fault(const CscMatrix<double>& a, const Result<Factors<double>>& factors,
                  const std::vector<double>& expected) {
  if (!factors.ok()) return factors.status().to_string();
  if (!expected.empty() && factors->values != expected) return "values differ from those without other work";
  const double residual = expected.empty() ? lu_residual(a.view(), *factors, 1).value : 0;
  return residual <= Tolerances::lu_residual ? "" : "LU residual " + std::to_string(residual);
}

/// The first fault of so many refactorizations, each of other values than the one before; empty: none.
Result<std::string> first_fault(const Rung& rung, const CscMatrix<double>& a, int runs, HangWatch& watch) {
  LULAB_ASSIGN_OR_RETURN(const auto analysis, analyze_ordered(a, {.order = Order::metis}));
  const auto f = rung.make<double>({});
  LULAB_RETURN_IF_ERROR(f->analyze(analysis));
  LULAB_RETURN_IF_ERROR(f->upload(a.values));
  LULAB_RETURN_IF_ERROR(f->factor());
  LULAB_RETURN_IF_ERROR(f->wait());
  LULAB_ASSIGN_OR_RETURN(auto others, OtherWork::create(7));
  CscMatrix<double> matrices[] = {a, a};
  matrices[1].values = nearby_values(a, 5);
  std::vector<double> alone[2];
  for (int run = -2; run < runs; ++run) {  // the first are without others
    const auto k = static_cast<std::size_t>(run & 1);
    watch.beat(std::string(rung.facts.id) + ", run " + std::to_string(run));
    LULAB_RETURN_IF_ERROR(f->upload(matrices[k].values));
    if (run >= 0) LULAB_RETURN_IF_ERROR(others.start());
    Status enqueued = f->refactor();
    if (run >= 0) LULAB_RETURN_IF_ERROR(others.start());
    const Result<Factors<double>> factors = enqueued.ok() ? f->download() : Result<Factors<double>>(enqueued);
    LULAB_RETURN_IF_ERROR(others.wait());
    const std::string wrong = fault(matrices[k], factors, alone[k]);
    if (!wrong.empty()) return "run " + std::to_string(run) + ": " + wrong;
    if (run < 0 && rung.facts.deterministic) alone[k] = factors->values;
  }
  return std::string();
}

class BesideOtherWork : public ::testing::TestWithParam<const Rung*> {};

TEST_P(BesideOtherWork, FactorsStayTheSame) {
  LULAB_NEED_GPU();
  LULAB_NEED_DEVICE();
  HangWatch watch;
  const bool dense = GetParam()->facts.max_dense_bytes > 0;
  for (const char* family : {"power_grid", "convection2d"}) {
    SCOPED_TRACE(family);
    const auto a = generate(family, {.n = dense ? 120 : 3000, .seed = 5});
    LULAB_ASSERT_OK(a);
    const auto wrong = first_fault(*GetParam(), *a, stress_runs(), watch);
    LULAB_ASSERT_OK(wrong);
    EXPECT_EQ(*wrong, "");
  }
}

// The test must be able to find a race.
TEST(OtherWork, TheRaceOfGlu1IsFound) {
  LULAB_NEED_GPU();
  LULAB_NEED_DEVICE();
  HangWatch watch;
  int racy = 0;
  for (const Rung* rung : every_rung()) {
    if (rung->facts.fault.empty()) continue;
    ++racy;
    const auto a = generate("random_dominant", {.n = 1000, .seed = 5});
    LULAB_ASSERT_OK(a);
    const auto wrong = first_fault(*rung, *a, 1000, watch);
    LULAB_ASSERT_OK(wrong);
    EXPECT_NE(*wrong, "") << rung->facts.id;
  }
  EXPECT_GT(racy, 0);
}

INSTANTIATE_TEST_SUITE_P(Rungs, BesideOtherWork, ::testing::ValuesIn(gpu_rungs(all_rungs())), name_of_rung);

}  // namespace
}  // namespace lulab::testing
