// Checks of a lab whose lines choose pivots by threshold: the pivot of each column, against a dense elimination that
// follows the rule.

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

#include "labs/verdict_test.h"
#include "testing/rungs.h"

namespace lulab::labs {
namespace {

struct Case {
  std::string name;
  std::vector<std::vector<double>> rows;
  double tol;
};

struct Pivots {
  std::vector<std::int32_t> row;         // (n)
  std::vector<std::string> why;          // (n)
  std::optional<std::int32_t> singular;  // the column without a pivot
};

/// By definition: column k prefers row[k]; a column that takes another row gives its own in exchange.
Pivots pivots_of(const Case& c) {
  auto a = c.rows;
  const auto n = static_cast<std::int32_t>(a.size());
  Pivots p;
  for (std::int32_t k = 0; k < n; ++k) p.row.push_back(k);
  for (std::int32_t k = 0; k < n; ++k) {
    std::int32_t best = k;
    for (std::int32_t i = k; i < n; ++i)
      if (std::abs(a[p.row[i]][k]) > std::abs(a[p.row[best]][k])) best = i;
    const double preferred = std::abs(a[p.row[k]][k]), largest = std::abs(a[p.row[best]][k]);
    if (largest == 0) {
      p.singular = k;
      return p;
    }
    const bool keep = preferred > 0 && preferred >= c.tol * largest;
    p.why.push_back(fmt::format("|{:.4g}| in the preferred row {}, at most |{:.4g}|, in row {}; tol {}", a[p.row[k]][k],
                                p.row[k], a[p.row[best]][k], p.row[best], c.tol));
    if (!keep) std::swap(p.row[k], p.row[best]);
    for (std::int32_t i = k + 1; i < n; ++i) {
      const double l = a[p.row[i]][k] / a[p.row[k]][k];
      for (std::int32_t j = k + 1; j < n; ++j) a[p.row[i]][j] -= l * a[p.row[k]][j];
    }
  }
  return p;
}

CscMatrix<double> sparse(const std::vector<std::vector<double>>& rows) {
  CscMatrix<double> a;
  a.n_rows = a.n_cols = static_cast<std::int32_t>(rows.size());
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    for (std::int32_t i = 0; i < a.n_rows; ++i)
      if (rows[i][j] != 0) {
        a.row_idx.push_back(i);
        a.values.push_back(rows[i][j]);
      }
    a.col_ptr.push_back(a.nnz());
  }
  return a;
}

/// False, and the first wrong pivot told, unless every pivot is that of the rule.
bool expect_pivots(const Case& c) {
  const Pivots expected = pivots_of(c);
  const auto rung = find_rung(every_rung(), check_options().rung);
  const auto n = static_cast<std::int32_t>(c.rows.size());
  const auto f = testing::factor_with<double>(**rung, sparse(c.rows), Plan::identity(n), {.pivot_tol = c.tol});
  const auto fail = [&](std::int32_t k, const std::string& wants, const std::string& has) {
    std::string text;
    for (const auto& row : c.rows) {
      text += text.empty() ? "" : "\n";
      for (const double value : row) text += fmt::format("{:>8.4g}", value);
    }
    Facts facts = {
        {"matrix", c.name}, {"step", fmt::format("pivot of column {}", k)}, {"expected", wants}, {"actual", has}};
    if (n <= 6) facts.emplace_back("A, by rows", text);
    fail_with(facts);
    return false;
  };
  if (expected.singular) {
    if (!f.ok() && f.status().code == StatusCode::numerically_singular &&
        f.status().to_string().find("only zeros are left") != std::string::npos)
      return true;
    return fail(*expected.singular, "none: every entry that is left is 0",
                f.ok() ? fmt::format("row {}", f->plan.p[*expected.singular]) : f.status().to_string());
  }
  if (!f.ok()) return fail(0, fmt::format("row {}: {}", expected.row[0], expected.why[0]), f.status().to_string());
  for (std::int32_t k = 0; k < n; ++k)
    if (f->plan.p[k] != expected.row[k])
      return fail(k, fmt::format("row {}: {}", expected.row[k], expected.why[k]), fmt::format("row {}", f->plan.p[k]));
  return true;
}

TEST(PivotsLab, SmallExact) {
  const std::vector<std::vector<double>> half = {{1, 1}, {-2, 3}}, no_diagonal = {{0, 1}, {1, 0}},
                                         cycle = {{1, 2, 0}, {0, 1, 4}, {8, 0, 1}};
  for (const Case& c : {Case{"the diagonal is half of the largest", half, 0.5}, Case{"the same", half, 0.6},
                        Case{"no diagonal", no_diagonal, 0.1}, Case{"no diagonal", no_diagonal, 0},
                        Case{"no pivot in column 1", {{1, 2}, {2, 4}}, 0.1}, Case{"three columns", cycle, 1},
                        Case{"the same", cycle, 0.25}})
    if (!expect_pivots(c)) return;
}

TEST(PivotsLab, Properties) {
  const std::uint64_t first = check_options().seed;
  for (std::uint64_t seed = first; seed < first + 60; ++seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> unit(0, 1);
    const auto n = static_cast<std::int32_t>(2 + seed % 19);
    std::vector rows(n, std::vector<double>(n, 0));
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t j = 0; j < n; ++j)
        if (unit(random) < 3.0 / n || (i + 1) % n == j) rows[i][j] = 2 * unit(random) - 1;
    for (const double tol : {1.0, 0.5, 0.001})
      if (!expect_pivots({fmt::format("random, n = {}, seed {}", n, seed), rows, tol})) return;
  }
}

}  // namespace
}  // namespace lulab::labs
