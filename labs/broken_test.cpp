// The two sides of the lab "break it yourself". WeakLab is a test suite as many programs have one: read it for what it
// does not look at. StrongLab multiplies L · U out, for other matrices and under other schedules; the lab is done when
// WeakLab passes and StrongLab does not.

#include <algorithm>
#include <cmath>

#include "labs/verdict_test.h"
#include "solve/triangular.h"
#include "testing/rungs.h"
#include "verify/verify.h"

namespace lulab::labs {
namespace {

const Rung& rung() {
  const auto found = find_rung(every_rung(), check_options().rung);
  EXPECT_TRUE(found.ok()) << found.status().to_string();
  return **found;
}

/// 4 on the diagonal, -1 beside it, as of a rod that is heated.
CscMatrix<double> rod(std::int32_t n) {
  std::vector rows(n, std::vector<double>(n, 0));
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t j = std::max(0, i - 1); j <= std::min(n - 1, i + 1); ++j) rows[i][j] = i == j ? 4 : -1;
  return testing::from_rows<double>(rows);
}

/// Each entry d^|i-j|, and more on the diagonal: full and symmetric.
CscMatrix<double> full(std::int32_t n) {
  std::vector rows(n, std::vector<double>(n, 0));
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t j = 0; j < n; ++j) rows[i][j] = i == j ? 2.0 : std::ldexp(1, -std::abs(i - j));
  return testing::from_rows<double>(rows);
}

/// Solves A x = A · (1, ..., 1) and looks at x.
bool expect_ones(const std::string& name, const CscMatrix<double>& a) {
  const auto n = static_cast<std::size_t>(a.n_cols);
  const auto f = testing::factor_with<double>(rung(), a, Plan::identity(a.n_cols));
  if (!f.ok()) {
    fail_with_status(name, schedule(1), f.status());
    return false;
  }
  std::vector<double> b(n, 0), x(n, 0);
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t p = a.col_ptr[j]; p < a.col_ptr[j + 1]; ++p) b[a.row_idx[p]] += a.values[p];
  (void)solve<double>(*f, b, x);
  for (std::size_t i = 0; i < n; ++i) {
    const double error = std::abs(x[i] - 1);
    if (error > 1e-6) {
      fail_with({{"matrix", name},
                 {"step", "solve A x = A · (1, ..., 1)"},
                 {"expected", fmt::format("x({}) = 1 but for 1e-6", i)},
                 {"actual", fmt::format("x({}) = {:.17g}", i, x[i])}});
      return false;
    }
  }
  return true;
}

TEST(WeakLab, Rod) {
  const simt::SimulatorScope scope(schedule(1));
  for (const std::int32_t n : {1, 2, 5, 12})
    if (!expect_ones(fmt::format("rod, n = {}", n), rod(n))) return;
}

TEST(WeakLab, Full) {
  const simt::SimulatorScope scope(schedule(1));
  for (const std::int32_t n : {2, 4, 8, 16})
    if (!expect_ones(fmt::format("full, n = {}", n), full(n))) return;
}

TEST(StrongLab, Verifier) {
  const std::uint64_t seed = check_options().seed;
  for (const std::int32_t n : {1, 2, 7, 16, 31, 33, 40})
    for (const std::uint64_t k : {seed, seed + 1}) {
      const auto options = schedule(k);
      const simt::SimulatorScope scope(options);
      const auto a = testing::random_unsymmetric<double>(n, k == seed ? 1.0 : 0.4, 2.0 * n, k);
      const auto f = testing::factor_with<double>(rung(), a, testing::random_plan(n, true, k));
      const std::string name = fmt::format("random unsymmetric, n = {}, seed {}", n, k);
      if (!f.ok()) {
        fail_with_status(name, options, f.status());
        return;
      }
      const Checks checks = judge<double>(a, *f);
      if (checks.failures.empty()) continue;
      fail_with({{"matrix", name}, {"verifier", checks.failures[0]}, {"schedule", to_text(options)}});
      return;
    }
}

}  // namespace
}  // namespace lulab::labs
