// Small systems through Solver with a rung on the CPU, beside elimination with complete pivoting in long double: what
// converged solves A x = b, a matrix far from singular is not refused, and one without an inverse has no solution that
// converged. The first characters: rung, scalar, n, order and matching, which solve; then A, other values, and b.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "dense/rungs.h"
#include "driver/solver.h"
#include "fuzz/characters.h"
#include "fuzz/reproduces.h"
#include "sparse_leftlooking/rungs.h"

using namespace lulab;
using fuzz::Dense;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

struct Problem {
  CscMatrix<double> a;
  std::vector<double> b;
  bool transposed = false;
  bool refusable = false;  // a refusal is no finding
};

/// max |entry| of rows and columns becomes about 1, by powers of two; what was done to columns is in `columns`.
void equilibrate(Dense& a, Dense& b, std::vector<int>& columns) {
  const std::size_t n = columns.size();
  for (int sweep = 0; sweep < 8; ++sweep)
    for (const bool by_rows : {true, false})
      for (std::size_t i = 0; i < n; ++i) {
        long double largest = 0;
        for (std::size_t j = 0; j < n; ++j)
          largest = std::max(largest, std::abs(by_rows ? a[i * n + j] : a[j * n + i]));
        if (largest == 0) continue;
        const int shift = -std::ilogb(largest);
        for (std::size_t j = 0; j < n; ++j) {
          long double& v = by_rows ? a[i * n + j] : a[j * n + i];
          v = std::ldexp(v, shift);
        }
        if (by_rows) b[i] = std::ldexp(b[i], shift);
        if (!by_rows) columns[i] += shift;
      }
}

struct Truth {
  bool invertible = false;
  long double condition = inf;  // of the equilibrated matrix, in the infinity norm
  bool in_range = false;        // neither x nor what leads to it is near the ends of double
};

/// Gauss-Jordan elimination with complete pivoting.
Truth truth_of(const Problem& problem) {
  const std::size_t n = problem.a.n_cols;
  Dense a = fuzz::to_dense(problem.a), b(problem.b.begin(), problem.b.end());
  if (problem.transposed)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < i; ++j) std::swap(a[i * n + j], a[j * n + i]);
  std::vector<int> columns(n, 0);
  equilibrate(a, b, columns);
  long double norm = 0;
  for (std::size_t i = 0; i < n; ++i) {
    long double sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += std::abs(a[i * n + j]);
    norm = std::max(norm, sum);
  }
  const std::size_t width = 2 * n + 1;  // A, b, I
  Dense t(n * width, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) t[i * width + j] = a[i * n + j];
    t[i * width + n] = b[i];
    t[i * width + n + 1 + i] = 1;
  }
  std::vector<std::size_t> column(n);
  std::iota(column.begin(), column.end(), 0);
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t row = k, best = k;
    for (std::size_t i = k; i < n; ++i)
      for (std::size_t j = k; j < n; ++j)
        if (std::abs(t[i * width + j]) > std::abs(t[row * width + best])) row = i, best = j;
    if (std::abs(t[row * width + best]) < 1e-17L) return {};
    for (std::size_t j = 0; j < width; ++j) std::swap(t[k * width + j], t[row * width + j]);
    for (std::size_t i = 0; i < n; ++i) std::swap(t[i * width + k], t[i * width + best]);
    std::swap(column[k], column[best]);
    const long double pivot = t[k * width + k];
    for (std::size_t j = 0; j < width; ++j) t[k * width + j] /= pivot;
    for (std::size_t i = 0; i < n; ++i) {
      const long double factor = t[i * width + k];
      if (i == k || factor == 0) continue;
      for (std::size_t j = 0; j < width; ++j) t[i * width + j] -= factor * t[k * width + j];
    }
  }
  Truth truth{true, 0, true};
  for (std::size_t k = 0; k < n; ++k) {
    long double sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += std::abs(t[k * width + n + 1 + j]);
    truth.condition = std::max(truth.condition, sum * norm);
    const long double x = std::ldexp(t[k * width + n], columns[column[k]]);
    if (x != 0 && !(std::abs(x) < 1e150 && std::abs(x) > 1e-150)) truth.in_range = false;
  }
  for (const double v : problem.a.values)
    if (v != 0 && !(std::abs(v) < 1e150 && std::abs(v) > 1e-150)) truth.in_range = false;
  return truth;
}

/// The largest |b - A x|_i / (|A| |x| + |b| + ||A(i,:)|| ||x||)_i.
double error_of(const Problem& problem, const std::vector<double>& x) {
  const std::size_t n = x.size();
  Dense a = fuzz::to_dense(problem.a);
  long double size_of_x = 0, worst = 0;
  for (const double v : x) size_of_x = std::max(size_of_x, std::abs(static_cast<long double>(v)));
  for (std::size_t i = 0; i < n; ++i) {
    long double r = problem.b[i], size = std::abs(r), largest = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const long double v = problem.transposed ? a[j * n + i] : a[i * n + j];
      r -= v * x[j];
      size += std::abs(v * x[j]);
      largest = std::max(largest, std::abs(v));
    }
    size += largest * size_of_x;
    // The digits that x and the products have lost by underflow do not count.
    const long double lost = (1 + largest) * (2 * n + 2) * std::numeric_limits<double>::denorm_min();
    if (std::abs(r) > lost) worst = std::max(worst, (std::abs(r) - lost) / size);
  }
  return static_cast<double>(worst);
}

/// As a text of Matrix Market, with b behind it.
std::string text_of(const Problem& problem) {
  const CscMatrix<double>& a = problem.a;
  std::string text = fmt::format("%%MatrixMarket matrix coordinate real general\n{0} {0} {1}\n", a.n_cols, a.nnz());
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      text += fmt::format("{} {} {}\n", a.row_idx[k] + 1, j + 1, a.values[k]);
  return text +
         fmt::format("% {}, b = {}\n", problem.transposed ? "transposed" : "as it is", fmt::join(problem.b, " "));
}

bool all_finite(const std::vector<double>& values) {
  for (const double v : values)
    if (!std::isfinite(v)) return false;
  return true;
}

void judge(const Problem& problem, const Status& status, const Refinement& refinement, const std::vector<double>& x,
           bool is_float) {
  const auto require = [&]<class... Args>(bool holds, fmt::format_string<Args...> wrong, Args&&... args) {
    if (!holds) fmt::print(stderr, "{}", text_of(problem));
    fuzz::require(holds, wrong, std::forward<Args>(args)...);
  };
  const bool finite = all_finite(problem.a.values) && all_finite(problem.b);
  if (status.ok() && refinement.converged) {
    require(finite, "a system that is not finite has a solution that converged");
    require(all_finite(x), "a solution that is not finite converged");
    const double error = error_of(problem, x);
    require(error <= 1e-13, "converged, but the backward error is {}", error);
  }
  if (!finite || problem.refusable) return;
  const Truth truth = truth_of(problem);
  // Float factors: of a matrix whose values fit, and well within the condition with which refinement converges.
  for (const double v : problem.a.values)
    if (is_float && v != 0 && !(std::abs(v) < 1e18 && std::abs(v) > 1e-18)) return;
  if (truth.in_range && truth.condition <= (is_float ? 1e3 : 1e8)) {
    require(status.ok(), "condition {}, but {}", static_cast<double>(truth.condition), status.to_string());
    require(refinement.converged, "condition {}, but x did not converge: omega {}",
            static_cast<double>(truth.condition), refinement.omega);
  }
}

template <class T>
void run(const Rung& rung, const SolverOptions& options, const CscMatrix<double>& a, const std::vector<double>& values,
         const std::vector<double>& b, int which) {
  const std::int32_t n = a.n_cols;
  std::vector<double> x(n, std::numeric_limits<double>::quiet_NaN());
  Solver<T> solver(rung, options);
  Status status = solver.analyze(a);
  if (status.code == StatusCode::not_implemented) return;  // KLU has no float
  if (status.ok()) status = solver.factor(a);
  Problem problem{a, b, which == 1};
  // Without scaling, pivots are small or large by the rows that they stand in.
  if (!options.preprocess.matching || !options.preprocess.scaling)
    for (const double v : a.values) problem.refusable |= v != 0 && !(std::abs(v) > 0.01 && std::abs(v) < 100);
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
  if (which == 2) return solve(solver.refactor(problem.a));
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
                                      &dense::eigen};
  static constexpr Order orders[] = {Order::amd, Order::natural, Order::colamd, Order::metis, Order::automatic};
  fuzz::Characters in(data, size);
  const Rung& rung = *rungs[in.choice(std::size(rungs))];
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
