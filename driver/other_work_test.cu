// Steps beside other work on the device, by every rung of solve/ on the device: x stays the same, bit by bit.
// LULAB_STRESS_RUNS=1000 asks for so many steps of each.

#include <string>
#include <vector>

#include "core/matrix/generate.h"
#include "driver/solver.h"
#include "solve/rungs.h"
#include "sparse_syncfree/rungs.h"
#include "testing/device.h"
#include "testing/other_work.h"
#include "testing/rungs.h"

namespace lulab {
namespace {

TEST(StepBesideOtherWork, GivesTheSameX) {
  LULAB_NEED_GPU();
  LULAB_NEED_DEVICE();
  testing::HangWatch watch;
  auto others = testing::OtherWork::create(11);
  LULAB_ASSERT_OK(others);
  const auto a = *generate("power_grid", {.n = 3000, .seed = 5});
  const std::vector<double> values[] = {a.values, testing::nearby_values(a, 5)};
  const std::vector<double> b(a.n_cols, 1.0);
  for (const Rung* rung :
       {&sparse_syncfree::supernode_panels, &sparse_syncfree::fan_in, &sparse_syncfree::multifrontal})
    for (const SolveRung* solve : every_solve_rung()) {
      if (!solve->method) continue;
      SCOPED_TRACE(::testing::Message() << rung->facts.id << ", " << solve->id);
      SolverOptions options;
      options.solve = solve;
      Solver<double> solver(*rung, options);
      LULAB_ASSERT_OK(solver.analyze(a));
      LULAB_ASSERT_OK(solver.factor(a));
      std::vector<double> alone[2];
      for (int run = -4; run < testing::stress_runs(); ++run) {  // the first are without others
        SCOPED_TRACE(::testing::Message() << "run " << run);
        watch.beat(std::string(rung->facts.id) + ", " + std::string(solve->id) + ", run " + std::to_string(run));
        if (run >= 0) LULAB_ASSERT_OK(others->start());
        const auto k = static_cast<std::size_t>(run & 1);
        std::vector<double> x(a.n_cols, std::numeric_limits<double>::quiet_NaN());
        LULAB_ASSERT_OK(solver.step(values[k], b, x));
        LULAB_ASSERT_OK(others->wait());
        if (run < 0) alone[k] = x;
        ASSERT_EQ(x, alone[k]);
      }
    }
}

}  // namespace
}  // namespace lulab
