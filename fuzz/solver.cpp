// Small systems through Solver with a rung on the CPU, or two of which one comes first, beside elimination with complete
// pivoting in long double: what converged solves A x = b, a matrix far from singular is not refused, and one without an
// inverse has no solution that converged. The first characters: rung, scalar, n, order and matching, which solve; then
// A, other values, and b.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "dense/rungs.h"
#include "driver/solver.h"
#include "fuzz/characters.h"
#include "fuzz/solves.h"
#include "sparse_leftlooking/rungs.h"

using namespace lulab;

namespace {

struct Problem : fuzz::System {
  bool refusable = false;  // a refusal is no finding
};

void judge(const Problem& problem, const Status& status, const Refinement& refinement, const std::vector<double>& x,
           bool is_float) {
  const auto require = [&]<class... Args>(bool holds, fmt::format_string<Args...> wrong, Args&&... args) {
    if (!holds) fmt::print(stderr, "{}", fuzz::text_of(problem));
    fuzz::require(holds, wrong, std::forward<Args>(args)...);
  };
  const bool finite = fuzz::all_finite(problem.a.values) && fuzz::all_finite(problem.b);
  if (status.ok() && refinement.converged) {
    require(finite, "a system that is not finite has a solution that converged");
    require(fuzz::all_finite(x), "a solution that is not finite converged");
    const double error = fuzz::error_of(problem, x);
    const double enough = is_float ? 1e-13 : 2 * SolverOptions().backward_error;  // float is refined to the end
    require(error <= enough, "converged, but the backward error is {}", error);
  }
  if (!finite || problem.refusable) return;
  const fuzz::Truth truth = fuzz::truth_of(problem);
  // Float factors: of a matrix whose values fit, and well within the condition with which refinement converges.
  for (const double v : problem.a.values)
    if (is_float && v != 0 && !(std::abs(v) < 1e18 && std::abs(v) > 1e-18)) return;
  if (truth.in_range && truth.condition <= (is_float ? 1e3 : 1e8)) {
    require(status.ok(), "condition {}, but {}", static_cast<double>(truth.condition), status.to_string());
    require(refinement.converged, "condition {}, but x did not converge: omega {}",
            static_cast<double>(truth.condition), refinement.omega);
  }
}

/// The first answer by the one, all later ones by the other, which takes as long to prepare as a step by the first.
const RungChooser first_and_later(sparse_leftlooking::threads, sparse_leftlooking::pruned,
                                  [](const FilledPattern&, int, const Workload&, const KnownCosts&) {
                                    return Prospects{.cpu_us = 1e6, .gpu_us = 1e3, .gpu_setup_us = 0.999e6};
                                  });

/// rung: null: first_and_later
template <class T>
void run(const Rung* rung, const SolverOptions& options, const CscMatrix<double>& a, const std::vector<double>& values,
         const std::vector<double>& b, int which) {
  const std::int32_t n = a.n_cols;
  std::vector<double> x(n, std::numeric_limits<double>::quiet_NaN());
  auto solver = rung != nullptr ? Solver<T>(*rung, options) : Solver<T>(first_and_later, options);
  Status status = solver.analyze(a);
  if (status.code == StatusCode::not_implemented) return;  // KLU has no float
  if (status.ok()) status = solver.factor(a);
  Problem problem{{a, b, which == 1}};
  // Without scaling, pivots are small or large by the rows that they stand in.
  const bool scaled = options.preprocess.matching && options.preprocess.scaling;
  const auto note_sizes = [&] {
    for (const double v : problem.a.values)
      problem.refusable |= !scaled && v != 0 && !(std::abs(v) > 0.01 && std::abs(v) < 100);
  };
  note_sizes();
  const auto solve = [&](Status before) {
    Refinement refinement;
    if (before.ok()) {
      auto solved = problem.transposed ? solver.solve_transposed(b, x) : solver.solve(b, x);
      if (solved.ok()) refinement = *solved;
      before = solved.status();
    }
    judge(problem, before, refinement, x, sizeof(T) == 4);
  };
  solve(status);
  if (!status.ok() || which < 2) return;
  // New values are scaled as the old ones were, and may overflow then.
  for (const double v : a.values) problem.refusable |= !(std::abs(v) > 1e-20 && std::abs(v) < 1e20);
  problem.a.values = values;
  note_sizes();
  if (which == 2) {
    status = solver.refactor(problem.a);
    if (rung == nullptr && status.ok()) fuzz::require(solver.times().prepare > 0, "the second step prepares for all");
    return solve(status);
  }
  const auto solved = solver.step(values, b, x);
  judge(problem, solved.status(), solved.ok() ? *solved : Refinement{}, x, sizeof(T) == 4);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) { return setenv("LULAB_CALIBRATION", "off", 1); }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Rung* const rungs[] = {&sparse_leftlooking::pruned,
                                      &sparse_leftlooking::reference,
                                      &sparse_leftlooking::threads,
                                      &sparse_leftlooking::klu,
                                      &sparse_leftlooking::eigen_sparselu,
                                      &dense::reference,
                                      &dense::eigen,
                                      nullptr};
  static constexpr Order orders[] = {Order::amd, Order::natural, Order::colamd, Order::metis, Order::automatic};
  fuzz::Characters in(data, size);
  const Rung* const rung = rungs[in.choice(std::size(rungs))];
  const bool is_float = in.choice(2) == 1;
  const int n = 1 + in.choice(10);
  SolverOptions options;
  options.factor.threads = 1;
  options.preprocess.order = orders[in.choice(std::size(orders))];
  const int matching = in.choice(8);
  options.preprocess.matching = !(matching & 1);
  options.preprocess.scaling = !(matching & 2);
  options.preprocess.blocks = matching & 4;
  const int which = in.choice(4);  // solve, solve_transposed, refactor and solve, step
  CscMatrix<double> a = in.matrix(n);
  std::vector<double> values = a.values;
  if (which >= 2)
    for (double& v : values) v = in.entry().value_or(v);
  std::vector<double> b = in.vector(n);
  if (is_float)
    run<float>(rung, options, a, values, b, which);
  else
    run<double>(rung, options, a, values, b, which);
  return 0;
}
