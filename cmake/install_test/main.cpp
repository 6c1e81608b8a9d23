// A program of another project: factors a small unsymmetric matrix with the installed lulab and checks the solution.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

#include <lulab/lulab.h>

int main() {
  //  A = | 4 1 0 |      x = (1, -2, 3)
  //      | 0 3 2 |      b = A x
  //      | 5 0 6 |
  const std::vector<std::int32_t> rows = {0, 0, 1, 1, 2, 2}, cols = {0, 1, 1, 2, 0, 2};
  const std::vector<double> values = {4, 1, 3, 2, 5, 6};
  const auto a = lulab::from_triplets<double>(3, 3, rows, cols, values);
  const std::vector<double> expected = {1, -2, 3};
  std::vector<double> b(3), x(3, std::numeric_limits<double>::quiet_NaN());
  lulab::multiply<double>(a, expected, b);

  const auto rung = lulab::find_rung(lulab::all_rungs(), "sparse_leftlooking/00_reference");
  if (!rung.ok()) return std::fprintf(stderr, "%s\n", rung.status().to_string().c_str()), 1;
  lulab::Solver<double> solver(**rung);
  for (const lulab::Status& status : {solver.analyze(a), solver.factor(a), solver.solve(b, x).status()})
    if (!status.ok()) return std::fprintf(stderr, "%s\n", status.to_string().c_str()), 1;
  for (int i = 0; i < 3; ++i) {
    const double error = std::abs(x[i] - expected[i]);
    if (!(error <= 1e-14)) return std::fprintf(stderr, "x[%d] = %g\n", i, x[i]), 1;  // 16 eps · cond(A) · max|x|
  }
  std::puts("factored");
}
