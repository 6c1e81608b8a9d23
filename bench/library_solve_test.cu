#include "bench/library_solve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/factorizer.h"
#include "core/matrix/generate.h"
#include "core/rung.h"
#include "driver/analyze.h"
#include "solve/triangular.h"
#include "testing/device.h"

namespace lulab::bench {
namespace {

Factors<double> klu_factors(const CscMatrix<double>& a) {
  const auto analysis = analyze(a).value();
  const auto factorizer = (*find_rung(all_rungs(), "sparse_leftlooking/90_klu"))->make<double>();
  EXPECT_TRUE(factorizer->analyze(analysis).ok());
  EXPECT_TRUE(factorizer->upload(a.values).ok());
  EXPECT_TRUE(factorizer->factor().ok());
  return factorizer->download().value();
}

/// U⁻¹ L⁻¹ or L⁻ᵀ U⁻ᵀ of each column on the host.
std::vector<double> solve_on_host(const Factors<double>& f, const std::vector<double>& b, bool transposed) {
  std::vector<double> x = b;
  const std::size_t n = f.filled.n;
  for (std::size_t begin = 0; begin < x.size(); begin += n) {
    const auto column = std::span(x).subspan(begin, n);
    if (transposed) {
      solve_upper_transposed<double>(f.filled, f.values, column);
      solve_lower_transposed<double>(f.filled, f.values, column);
    } else {
      solve_lower<double>(f.filled, f.values, column);
      solve_upper<double>(f.filled, f.values, column);
    }
  }
  return x;
}

void expect_host_solutions(const Factors<double>& f, Result<std::unique_ptr<ParallelSolve>> solver, SolveTask task) {
  LULAB_ASSERT_OK(solver);
  for (std::uint64_t seed : {1, 2}) {  // a second analysis, other right sides
    LULAB_ASSERT_OK((*solver)->analyze());
    const std::vector<double> b = random_vector(f.filled.n * task.columns, seed);
    const std::vector<double> host = solve_on_host(f, b, task.transposed);
    std::vector<double> x(b.size(), std::numeric_limits<double>::quiet_NaN());
    const auto ms = (*solver)->solve(b, x);
    LULAB_ASSERT_OK(ms);
    EXPECT_GT(*ms, 0);
    // Both are backward stable; they differ by the condition of L and U, small for these families.
    double difference = 0, largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_TRUE(std::isfinite(x[i])) << i;
      difference = std::max(difference, std::abs(x[i] - host[i]));
      largest = std::max(largest, std::abs(host[i]));
    }
    EXPECT_TRUE(difference <= 1e-9 * largest) << difference << " of " << largest;
  }
  EXPECT_GE((*solver)->bytes(), 12 * f.filled.nnz());
}

constexpr SolveTask tasks[] = {{}, {.transposed = true}, {.columns = 32}, {.transposed = true, .columns = 3}};

TEST(LibrarySolve, SolvesAsTheHostDoes) {
  LULAB_NEED_DEVICE();
  if (simt::machine() == simt::Machine::simulator) GTEST_SKIP() << "a library for the GPU";
  for (const char* family : {"random_dominant", "power_grid", "ladder"})
    for (const SolveTask task : tasks) {
      SCOPED_TRACE(std::string(family) + (task.transposed ? ", transposed" : ""));
      const Factors<double> f = klu_factors(generate(family, {.n = 700, .seed = 3}).value());
      expect_host_solutions(f, library_solve(f, task), task);
    }
}

TEST(DeviceSolve, SolvesAsTheHostDoes) {
  LULAB_NEED_DEVICE();
  for (const char* family : {"random_dominant", "power_grid", "ladder"})
    for (const SolveTask task : tasks)
      for (const SolveMethod method : solve_methods) {
        SCOPED_TRACE(std::string(family) + ", " + std::string(to_string(method)));
        const Factors<double> f = klu_factors(generate(family, {.n = 200, .seed = 3}).value());
        auto solver = device_solve(f, method, task);
        LULAB_ASSERT_OK(solver);
        LULAB_ASSERT_OK((*solver)->analyze());
        EXPECT_GT((*solver)->levels(), 2);
        expect_host_solutions(f, std::move(solver), task);
      }
}

TEST(LibrarySolve, SaysThatTheSimulatorHasNone) {
  LULAB_NEED_SIMULATOR();
  const Factors<double> f = klu_factors(generate("ladder", {.n = 50, .seed = 3}).value());
  EXPECT_EQ(library_solve(f).status().code, StatusCode::not_implemented);
}

}  // namespace
}  // namespace lulab::bench
