// Checks of a lab whose lines belong to a rung of the ladder: its L and U, entry by entry, against a dense elimination.

#include <algorithm>
#include <cmath>
#include <optional>

#include "labs/verdict_test.h"
#include "testing/fixed_pivots.h"
#include "verify/conformance.h"

namespace lulab::labs {
namespace {

using testing::analysis_with;
using testing::from_rows;
using testing::random_unsymmetric;

struct Case {
  std::string name;
  CscMatrix<double> a;
  Plan plan;
};

const Rung& rung() {
  const auto found = find_rung(every_rung(), check_options().rung);
  EXPECT_TRUE(found.ok()) << found.status().to_string();
  return **found;
}

/// Rungs that choose pivots get the rows from below, so that the diagonal is a bad choice.
Case natural(std::string name, CscMatrix<double> a) {
  Plan plan = Plan::identity(a.n_cols);
  if (rung().facts.pivoting != Pivoting::fixed) std::ranges::reverse(plan.p);
  return {std::move(name), std::move(a), std::move(plan)};
}

Case random_case(std::int32_t n, double density, std::uint64_t seed) {
  return {fmt::format("random unsymmetric, n = {}, density {}, seed {}", n, density, seed),
          random_unsymmetric<double>(n, density, 2.0 * n, seed),
          testing::random_plan(n, rung().facts.pivoting == Pivoting::fixed, seed)};
}

/// Column 0 of L has n - 1 entries, two columns of U need it; next to no fill.
Case long_column(std::int32_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector a(n, std::vector<double>(n, 0));
  for (std::int32_t i = 0; i < n; ++i) {
    a[i][0] = double(1 + random() % 7) / 8;
    a[i][i] = 2 + double(random() % 7) / 8;
  }
  a[0][3] = 1;
  a[0][n - 1] = -1;
  return natural(fmt::format("a column of {} entries, n = {}, seed {}", n, n, seed), from_rows<double>(a));
}

/// L · U with small integers, powers of two on the diagonal of U: every step of the elimination is exact.
Case integer_case(std::int32_t n, double density, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  const auto entry = [&] { return unit(random) < density ? double(1 + random() % 3) * (random() % 2 ? 1 : -1) : 0.0; };
  std::vector l(n, std::vector<double>(n, 0)), u = l, a = l;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j < i; ++j) l[i][j] = entry();
    for (std::int32_t j = i + 1; j < n; ++j) u[i][j] = entry();
    l[i][i] = 1;
    u[i][i] = double(1 << random() % 3);
  }
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int32_t k = 0; k <= std::min(i, j); ++k) a[i][j] += l[i][k] * u[k][j];
  return natural(fmt::format("integers, n = {}, seed {}", n, seed), from_rows<double>(a));
}

std::string rows_of(const CscMatrix<double>& a) {
  const auto dense = testing::to_dense(a);
  std::string text;
  for (std::int32_t i = 0; i < a.n_rows; ++i) {
    text += i == 0 ? "" : "\n";
    for (std::int32_t j = 0; j < a.n_cols; ++j) text += fmt::format("{:>8.4g}", dense(i, j));
  }
  return text;
}

/// What the device holds in place of L and U, whatever the rung says of it; nullopt where it keeps other arrays.
std::optional<std::vector<double>> values_on_device(Factorizer<double>& f, std::int64_t nnz) {
  const double* lu = f.device_arrays().lu;
  if (lu == nullptr || f.stream() == nullptr) return std::nullopt;
  std::vector<double> values(nnz);
  if (!simt::copy_to_host(values.data(), lu, 8 * std::size_t(nnz), *f.stream()).ok()) return std::nullopt;
  (void)f.stream()->wait();
  return values;
}

enum class Exactly { no, yes };

/// False, and the first wrong entry told, unless `values` are what they must be. Columns in the order of the steps.
bool expect_values(const Case& c, const FilledPattern& f, const std::vector<double>& values,
                   const std::vector<double>& expected, const simt::SimulatorOptions& options, Exactly exactly,
                   const char* of) {
  const auto wrong = testing::unlike<double>(values, expected, f.n);
  for (std::int32_t k = 0; k < f.n; ++k)
    for (std::int64_t p = f.col_ptr[k]; p < f.col_ptr[k + 1]; ++p) {
      const bool far = std::ranges::binary_search(wrong, static_cast<std::size_t>(p));
      if (!far && (exactly == Exactly::no || values[p] == expected[p])) continue;
      Facts facts = {{"matrix", c.name + of},
                     {"step", fmt::format("column {}", k)},
                     {"entry", fmt::format("{}({},{})", p <= f.diag[k] ? "U" : "L", f.row_idx[p], k)},
                     {"expected", fmt::format("{:.17g}", expected[p])},
                     {"actual", std::isnan(values[p]) ? "nan (the value of memory that nothing was written to)"
                                                      : fmt::format("{:.17g}", values[p])},
                     {"schedule", to_text(options)}};
      if (f.n <= 8) facts.emplace_back("P R A C Q, by rows", rows_of(apply(c.plan, c.a.view())));
      fail_with(facts);
      return false;
    }
  return true;
}

/// Pivots by value: the reference of the stage says which.
bool expect_pivots(const Case& c, const simt::SimulatorOptions& options) {
  const auto expected = testing::factor_with<double>(**find_rung(every_rung(), "dense/00_reference"), c.a, c.plan);
  const auto f = testing::factor_with<double>(rung(), c.a, c.plan);
  if (!expected.ok() || !f.ok()) {
    fail_with_status(c.name, options, f.ok() ? expected.status() : f.status());
    return false;
  }
  for (std::int32_t k = 0; k < c.a.n_cols; ++k)
    if (f->plan.p[k] != expected->plan.p[k]) {
      fail_with({{"matrix", c.name},
                 {"step", fmt::format("pivot of column {}", k)},
                 {"expected", fmt::format("row {} of A", expected->plan.p[k])},
                 {"actual", fmt::format("row {} of A", f->plan.p[k])},
                 {"schedule", to_text(options)}});
      return false;
    }
  return expect_values({c.name, c.a, expected->plan}, expected->filled, f->values, expected->values, options,
                       Exactly::no, "");
}

/// Factors, then refactors with other values: false, and the first failure told, unless both are right.
bool expect_right(const Case& c, const simt::SimulatorOptions& options, Exactly exactly = Exactly::no) {
  const simt::SimulatorScope scope(options);
  if (rung().facts.pivoting != Pivoting::fixed) return expect_pivots(c, options);
  const Analysis analysis = analysis_with(c.a, c.plan);
  const auto f = rung().make<double>();
  CscMatrix<double> now = c.a;
  for (const bool again : {false, true}) {
    if (again) now.values = testing::nearby_values(c.a, 8);
    Status status = again ? Status{} : f->analyze(analysis);
    if (status.ok()) status = f->upload(now.values);
    if (status.ok()) status = again ? f->refactor() : f->factor();
    if (status.ok()) status = f->wait();
    std::vector<double> values(analysis.filled.nnz());
    if (status.ok()) status = f->download_values(values);
    const auto expected = testing::dense_factors(now, analysis);
    const char* const of = again ? ", refactored with other values" : "";
    if (!status.ok()) {
      const auto seen = status.code == StatusCode::needs_repivot ? values_on_device(*f, analysis.filled.nnz())
                                                                 : std::optional<std::vector<double>>();
      if (!seen || expect_values(c, analysis.filled, *seen, expected, options, Exactly::no, of))
        fail_with_status(c.name + of, options, status);
      return false;
    }
    if (!expect_values(c, analysis.filled, values, expected, options, again ? Exactly::no : exactly, of)) return false;
  }
  return true;
}

/// Column j needs column j - 1 and nothing else.
Case chain(std::int32_t n) {
  std::vector rows(n, std::vector<double>(n, 0));
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t j = std::max(0, i - 1); j <= std::min(n - 1, i + 1); ++j)
      rows[i][j] = i == j ? 4 + i % 3 : 1 + j % 2;
  return natural(fmt::format("tridiagonal, n = {}", n), from_rows<double>(rows));
}

TEST(FactorsLab, Finite) {
  const auto options = schedule(1);
  const Case c = natural("full, n = 4", from_rows<double>({{8, 1, 2, 1}, {1, 9, 1, 3}, {2, 1, 7, 1}, {1, 2, 1, 8}}));
  expect_right(c, options);
}

TEST(FactorsLab, SmallExact) {
  std::vector<Case> cases = {natural("one entry", from_rows<double>({{4}})),
                             natural("two columns", from_rows<double>({{2, 1}, {1, 4}})),
                             natural("three columns", from_rows<double>({{2, 1, 0}, {4, 4, 1}, {2, 5, 8}}))};
  for (const std::int32_t n : {4, 6, 8}) cases.push_back(integer_case(n, 0.6, n));
  for (const Case& c : cases)
    if (!expect_right(c, schedule(1), Exactly::yes)) return;
}

TEST(FactorsLab, Properties) {
  const std::uint64_t seed = check_options().seed;
  const bool dense = rung().facts.max_dense_bytes > 0;
  std::vector<Case> cases;
  for (std::uint64_t k = 0; k < 4; ++k) {
    cases.push_back(random_case(static_cast<std::int32_t>(5 + (seed + 7 * k) % 9), 0.4, seed + k));
    cases.push_back(random_case(dense ? 40 : 60, 0.08, seed + k));
  }
  if (!dense) cases.push_back(long_column(400, seed));
  cases.push_back(random_case(dense ? 80 : 100, 1.0, seed));  // columns of more entries than a warp has lanes
  for (std::size_t k = 0; k < cases.size(); ++k)
    if (!expect_right(cases[k], schedule(seed + k))) return;
}

TEST(FactorsLab, Schedules) {
  const bool dense = rung().facts.max_dense_bytes > 0;
  const bool few = simt::race_detection;
  std::vector<Case> cases = {chain(few ? 12 : 24), random_case(few ? 24 : 40, 0.2, check_options().seed)};
  if (!dense && !few) cases.push_back(random_case(70, 1.0, check_options().seed + 1));
  for (const Case& c : cases)
    for (const std::uint64_t seed : simt::schedule_seeds())
      for (const int resident : simt::resident_limits({0, 1 + int(seed % 3)}))
        if (!expect_right(c, schedule(seed, resident))) return;
}

TEST(FactorsLab, Conformance) {
  const std::uint64_t seed = check_options().seed;
  const bool dense = rung().facts.max_dense_bytes > 0;
  for (const char* family : {"logic_rent", "dense_row", "zero_diagonal", "power_grid"}) {
    const auto options = schedule(seed);
    const simt::SimulatorScope scope(options);
    const auto a = generate(family, {.n = dense ? 12 : 60, .seed = seed});
    ASSERT_TRUE(a.ok()) << a.status().to_string();
    for (const std::string& failure : conformance_failures<double>(rung(), *a, seed)) {
      fail_with({{"matrix", fmt::format("{}, n = {}, seed {}", family, a->n_cols, seed)},
                 {"contract", failure},
                 {"schedule", to_text(options)}});
      return;
    }
  }
}

}  // namespace
}  // namespace lulab::labs
