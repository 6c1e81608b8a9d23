// Checks of a lab whose lines belong to a triangular solve on the device: x, row by row, against the sequential solve.

#include <algorithm>
#include <cmath>
#include <limits>

#include "labs/verdict_test.h"
#include "solve/device_solver.h"
#include "solve/triangular.h"
#include "testing/made_up_factors.h"

namespace lulab::labs {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct System {
  std::string name;
  Factors<double> f;
  std::int32_t columns = 1;
  std::vector<double> b;  // (n, columns)
};

enum class Triangles { lower, upper, both };

/// Entries ±1, ±2 where has(i, j), powers of two on the diagonal, P = R = C = Q = I: every step of the solve is exact.
template <class Has>
System integer_system(std::string name, std::int32_t n, Triangles which, std::uint64_t seed, const Has& has) {
  std::mt19937_64 random(seed);
  const auto kept = [&](std::int32_t i, std::int32_t j) {
    return (i > j ? which != Triangles::upper : which != Triangles::lower) && has(i, j);
  };
  System system = {std::move(name), testing::make_up_factors<double>(n, seed, kept), 1, {}};
  Factors<double>& f = system.f;
  f.plan = Plan::identity(n);
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int64_t p = f.filled.col_ptr[j]; p < f.filled.col_ptr[j + 1]; ++p) {
      const double size = p == f.filled.diag[j] ? (which == Triangles::lower ? 1.0 : double(1 << random() % 3))
                                                : double(1 + random() % 2);
      f.values[p] = p != f.filled.diag[j] && random() % 2 ? -size : size;
    }
  for (std::int32_t i = 0; i < n; ++i) system.b.push_back(double(1 + random() % 8) * (random() % 2 ? 1 : -1));
  return system;
}

System system_of(const testing::PatternForTests& pattern, std::uint64_t seed, std::int32_t columns) {
  System system = {fmt::format("{}, n = {}, {} right-hand side(s), seed {}", pattern.name, pattern.n, columns, seed),
                   testing::make_up_factors<double>(pattern.n, seed, pattern.has),
                   columns,
                   {}};
  std::mt19937_64 random(seed);
  for (std::int32_t k = 0; k < pattern.n * columns; ++k)
    system.b.push_back(std::uniform_real_distribution<double>(-1, 1)(random));
  return system;
}

Result<std::vector<double>> on_device(const System& system) {
  LULAB_ASSIGN_OR_RETURN(const SolveRung* rung, find_solve_rung(check_options().rung));
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  simt::DeviceBuffer<double> d_values, d_b, d_x;
  LULAB_RETURN_IF_ERROR(simt::make(d_values, system.f.values, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_b, system.b, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_x, d_b.size()));
  LULAB_ASSIGN_OR_RETURN(
      auto solver, DeviceSolver<double>::create(system.f.filled, system.f.plan,
                                                {.method = *rung->method, .max_columns = system.columns}, stream));
  LULAB_RETURN_IF_ERROR(solver.update(d_values.data(), stream));
  LULAB_RETURN_IF_ERROR(solver.solve(d_b.data(), d_x.data(), system.columns, stream));
  std::vector<double> x(system.b.size(), nan);
  LULAB_RETURN_IF_ERROR(d_x.download(x, stream));
  const Status status = solver.wait(stream);
  // A row that is not finite is told by its entry of x; the device's own errors end here.
  if (is_of_machine(status.code)) return status;
  return x;
}

/// False, and the first wrong row told, unless x is right. tol: rounding alone in units of the largest |x(i)|.
/// last_first: rows in the order in which U is solved.
bool expect_solution(const System& system, const simt::SimulatorOptions& options, double tol, bool last_first = false) {
  const simt::SimulatorScope scope(options);
  const auto n = static_cast<std::size_t>(system.f.filled.n);
  const auto x = on_device(system);
  if (!x.ok()) {
    fail_with_status(system.name, options, x.status());
    return false;
  }
  for (std::int32_t c = 0; c < system.columns; ++c) {
    std::vector<double> expected(n, nan);
    EXPECT_TRUE(solve<double>(system.f, std::span(system.b).subspan(n * c, n), expected).ok());
    double largest = 0;
    for (const double v : expected) largest = std::max(largest, std::abs(v));
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t i = last_first ? n - 1 - k : k;
      const double actual = (*x)[n * c + i];
      if (std::abs(actual - expected[i]) <= tol * largest) continue;
      std::int64_t in_row = 0;
      for (const std::int32_t row : system.f.filled.row_idx) in_row += row == std::int32_t(i);
      fail_with({{"matrix", system.name},
                 {"step", fmt::format("row {}, {} entries of L + U, right-hand side {}", i, in_row, c)},
                 {"expected", fmt::format("x({}) = {:.17g}", i, expected[i])},
                 {"actual", fmt::format("x({}) = {:.17g}", i, actual)},
                 {"schedule", to_text(options)}});
      return false;
    }
  }
  return true;
}

constexpr double rounding = 64 * std::numeric_limits<double>::epsilon();

TEST(SolveLab, Finite) {
  expect_solution(integer_system("diagonal, n = 3", 3, Triangles::both, 1, [](auto, auto) { return false; }),
                  schedule(1), 1e9);
}

TEST(SolveLab, SmallExact) {
  const auto next = [](auto i, auto j) { return i - j == 1 || j - i == 1; };
  const auto all = [](auto, auto) { return true; };
  const System lower[] = {integer_system("L alone, a chain, n = 3", 3, Triangles::lower, 1, next),
                          integer_system("L alone, full, n = 5", 5, Triangles::lower, 2, all),
                          integer_system("L alone, full, n = 12", 12, Triangles::lower, 3, all)};
  const System upper[] = {
      integer_system("U alone, diagonal, n = 4", 4, Triangles::upper, 4, [](auto, auto) { return false; }),
      integer_system("U alone, a chain, n = 4", 4, Triangles::upper, 5, next),
      integer_system("U alone, full, n = 12", 12, Triangles::upper, 6, all)};
  for (const System& system : lower)
    if (!expect_solution(system, schedule(1), 0)) return;
  for (const System& system : upper)
    if (!expect_solution(system, schedule(1), 0, true)) return;
  expect_solution(integer_system("L and U, full, n = 6", 6, Triangles::both, 7, all), schedule(1), 0);
}

TEST(SolveLab, Properties) {
  std::uint64_t seed = check_options().seed;
  for (const std::int32_t columns : {1, 3, 33})
    for (const auto& pattern : testing::patterns_for_tests(simt::race_detection ? 16 : 70))
      if (++seed; !expect_solution(system_of(pattern, seed, columns), schedule(seed), rounding)) return;
}

TEST(SolveLab, Schedules) {
  const std::int32_t n = simt::race_detection ? 12 : 40;
  for (const auto& pattern : testing::patterns_for_tests(n)) {
    if (pattern.name != "tridiagonal" && pattern.name != "half full" && pattern.name != "sparse") continue;
    for (const std::uint64_t seed : simt::schedule_seeds())
      for (const int resident : simt::resident_limits({0, 1 + int(seed % 2)}))
        for (const std::int32_t columns : {1, 4})
          if (!expect_solution(system_of(pattern, seed, columns), schedule(seed, resident), rounding)) return;
  }
}

TEST(SolveLab, Accuracy) {
  const std::uint64_t seed = check_options().seed;
  for (const auto& pattern : testing::patterns_for_tests(200))
    if (pattern.name.starts_with("sparse") || pattern.name.starts_with("wide"))
      if (!expect_solution(system_of(pattern, seed, 2), schedule(seed), rounding)) return;
}

}  // namespace
}  // namespace lulab::labs
