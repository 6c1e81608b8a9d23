#include "verify/metamorphic.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "core/factorizer.h"
#include "core/simt/device.h"
#include "symbolic/analyze_with_plan.h"
#include "verify/checks.h"
#include "verify/judge.h"
#include "verify/stable_pivots.h"

namespace lulab {

namespace {

enum class Equal { bits, nearly };

/// L below the diagonal, U on and above it, zero where nothing is stored.
struct Triangles {
  std::int32_t n = 0;
  std::vector<double> values;  // (n, n)

  explicit Triangles(std::int32_t size) : n(size), values(std::size_t(size) * size, 0.0) {}
  template <class T>
  explicit Triangles(const Factors<T>& f) : Triangles(f.filled.n) {
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int64_t k = f.filled.col_ptr[j]; k < f.filled.col_ptr[j + 1]; ++k)
        (*this)(f.filled.row_idx[k], j) = static_cast<double>(f.values[k]);
  }
  double& operator()(std::int32_t i, std::int32_t j) { return values[i + std::size_t(j) * n]; }
  double operator()(std::int32_t i, std::int32_t j) const { return values[i + std::size_t(j) * n]; }
};

/// diag(A, D), entry by entry.
CscMatrix<double> beside(const CscMatrix<double>& a, const CscMatrix<double>& d) {
  CscMatrix<double> both = a;
  both.n_rows = both.n_cols = a.n_cols + d.n_cols;
  for (std::int32_t j = 0; j < d.n_cols; ++j) both.col_ptr.push_back(a.nnz() + d.col_ptr[j + 1]);
  for (const std::int32_t i : d.row_idx) both.row_idx.push_back(a.n_rows + i);
  both.values.insert(both.values.end(), d.values.begin(), d.values.end());
  return both;
}
Plan beside(Plan a, const Plan& d) {
  const std::int32_t n = a.n();
  for (const std::int32_t i : d.p) a.p.push_back(n + i);
  for (const std::int32_t j : d.q) a.q.push_back(n + j);
  a.r.insert(a.r.end(), d.r.begin(), d.r.end());
  a.c.insert(a.c.end(), d.c.begin(), d.c.end());
  return a;
}
Triangles beside(const Triangles& a, const Triangles& d) {
  Triangles both(a.n + d.n);
  for (std::int32_t j = 0; j < a.n; ++j)
    for (std::int32_t i = 0; i < a.n; ++i) both(i, j) = a(i, j);
  for (std::int32_t j = 0; j < d.n; ++j)
    for (std::int32_t i = 0; i < d.n; ++i) both(a.n + i, a.n + j) = d(i, j);
  return both;
}

template <class T>
class Relations {
 public:
  Relations(const Rung& rung, const CscView<double>& a, const MetamorphicOptions& options)
      : rung_(rung),
        a_(convert<double>(convert<T>(a).view())),
        options_(options),
        random_(options.seed),
        fixed_(rung.facts.pivoting == Pivoting::fixed),
        exact_(rung.facts.deterministic ? Equal::bits : Equal::nearly) {}

  std::vector<std::string> run() {
    if (!factor_a()) return failures_;
    expect_powers_of_two();
    expect_blocks();
    expect_other_order();
    expect_sequence();
    if (fixed_) expect_transpose();
    expect_pattern();
    expect_repeats();
    return std::move(failures_);
  }

 private:
  template <class... Args>
  void fail(fmt::format_string<Args...> text, Args&&... args) {
    failures_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  // Under pivots that are good for A.
  bool factor_a() {
    auto analyses = SharedAnalyses::create(a_);
    if (!analyses.ok()) return fail("analysis: {}", analyses.status().to_string()), false;
    analyses_ = std::move(*analyses);
    const StableFactors<T> stable = factor_with_stable_pivots<T>(rung_, *analyses_);
    if (!stable.status.ok()) return fail("factor(): {}", stable.status.to_string()), false;
    analysis_ = stable.analysis;
    factorizer_ = rung_.make<T>();
    if (const Status s = factorizer_->analyze(*analysis_); !s.ok()) return fail("analyze(): {}", s.to_string()), false;
    auto f = numeric(*factorizer_, a_, false);
    if (!f.ok()) return fail("factor(): {}", f.status().to_string()), false;
    for (const std::string& failure : judge<T>(a_, *f, options_.seed).failures) fail("factor(): {}", failure);
    first_ = std::move(*f);
    return failures_.empty();
  }

  Result<Factors<T>> numeric(Factorizer<T>& on, const CscMatrix<double>& a, bool again) {
    const std::vector<T> values = convert<T>(a.view()).values;
    LULAB_RETURN_IF_ERROR(on.upload(values));
    LULAB_RETURN_IF_ERROR(again ? on.refactor() : on.factor());
    LULAB_RETURN_IF_ERROR(on.wait());
    return on.download();
  }
  // Of another pattern than A's.
  Result<Factors<T>> factor_under(const Plan& plan, const CscMatrix<double>& a) {
    LULAB_ASSIGN_OR_RETURN(const Analysis analysis, analyze_with_plan(a, plan));
    const auto on = rung_.make<T>();
    LULAB_RETURN_IF_ERROR(on->analyze(analysis));
    return numeric(*on, a, false);
  }

  void expect(const std::string& what, const Result<Factors<T>>& f, const Plan& plan, const Triangles& wanted,
              Equal equal) {
    if (!f.ok()) return fail("{}: {}", what, f.status().to_string());
    if (f->plan.p != plan.p || f->plan.q != plan.q) return fail("{}: other pivots", what);
    const Triangles found(*f);
    if (found.n != wanted.n) return fail("{}: {} columns in place of {}", what, found.n, wanted.n);
    double largest = 0;
    for (const double v : wanted.values) largest = std::max(largest, std::abs(v));
    const double tol = equal == Equal::bits ? 0 : std::sqrt(unit_roundoff<T>()) * largest;
    for (std::size_t k = 0; k < wanted.values.size(); ++k)
      if (const double difference = std::abs(found.values[k] - wanted.values[k]); !(difference <= tol))
        return fail("{}: ({}, {}) is {:.17g} in place of {:.17g}", what, k % found.n, k / found.n, found.values[k],
                    wanted.values[k]);
  }

  std::vector<int> exponents(bool any) {
    std::vector<int> e(a_.n_cols, 0);
    for (int& v : e) v = any ? std::uniform_int_distribution<int>(-4, 4)(random_) : 0;
    return e;
  }

  // a(i,j) · 2^(row[i] + column[j]), factored by the same factorizer, and the factors with the scalings taken out.
  void expect_scaled(const char* what, const std::vector<int>& row, const std::vector<int>& column) {
    CscMatrix<double> b = a_;
    for (std::int32_t j = 0; j < b.n_cols; ++j)
      for (std::int64_t k = b.col_ptr[j]; k < b.col_ptr[j + 1]; ++k)
        b.values[k] = std::ldexp(b.values[k], row[b.row_idx[k]] + column[j]);
    auto f = numeric(*factorizer_, b, false);
    const Plan& plan = first_->plan;
    if (f.ok() && f->plan.p == plan.p && f->plan.q == plan.q)
      for (std::int32_t j = 0; j < f->filled.n; ++j)
        for (std::int64_t k = f->filled.col_ptr[j]; k < f->filled.col_ptr[j + 1]; ++k) {
          const std::int32_t i = f->filled.row_idx[k];
          const int right = i <= j ? column[plan.q[j]] : -row[plan.p[j]];  // of U(i,j), of L(i,j)
          f->values[k] = static_cast<T>(std::ldexp(static_cast<double>(f->values[k]), -row[plan.p[i]] - right));
        }
    expect(what, f, plan, Triangles(*first_), exact_);
  }
  void expect_powers_of_two() {
    for (const int k : {-7, 5}) expect_scaled("2^k A", std::vector(a_.n_cols, k), exponents(false));
    expect_scaled("columns scaled by powers of two", exponents(false), exponents(true));
    if (fixed_) expect_scaled("rows and columns scaled by powers of two", exponents(true), exponents(true));
  }

  void expect_blocks() {
    const Plan& plan = analysis_->plan;
    const Triangles first(*first_);
    expect("diag(A, A)", factor_under(beside(plan, plan), beside(a_, a_)), beside(first_->plan, first_->plan),
           beside(first, first), Equal::nearly);
    CscMatrix<double> one;
    one.n_rows = one.n_cols = 1;
    one.col_ptr = {0, 1};
    one.row_idx = {0};
    one.values = {-1.25};
    const Plan identity = Plan::identity(1);
    Triangles pivot(1);
    pivot(0, 0) = one.values[0];
    expect("diag(A, d)", factor_under(beside(plan, identity), beside(a_, one)), beside(first_->plan, identity),
           beside(first, pivot), Equal::nearly);
    expect("diag(d, A)", factor_under(beside(identity, plan), beside(one, a_)), beside(identity, first_->plan),
           beside(pivot, first), Equal::nearly);
  }

  void expect_other_order() {
    Permutation rows = identity_permutation(a_.n_rows), columns = rows;
    std::shuffle(rows.begin(), rows.end(), random_);
    std::shuffle(columns.begin(), columns.end(), random_);
    const auto reordered = [&](Plan plan) {  // the plan under which it is the same P·R·A·C·Q
      const Plan before = plan;
      const Permutation row_of = inverse(rows), column_of = inverse(columns);
      for (std::int32_t i = 0; i < plan.n(); ++i) {
        plan.p[i] = row_of[before.p[i]];
        plan.q[i] = column_of[before.q[i]];
        plan.r[i] = before.r[rows[i]];
        plan.c[i] = before.c[columns[i]];
      }
      return plan;
    };
    const CscMatrix<double> b = permute(a_.view(), rows, columns);
    expect("rows and columns in another order", factor_under(reordered(analysis_->plan), b), reordered(first_->plan),
           Triangles(*first_), exact_);
  }

  void expect_sequence() {
    const Triangles first(*first_);
    expect("factor() of A after other matrices", numeric(*factorizer_, a_, false), first_->plan, first, exact_);
    const auto again = numeric(*factorizer_, a_, true);
    expect("refactor() of A after factor() of A", again, first_->plan, first, exact_);
    CscMatrix<double> b = a_;
    for (double& v : b.values) v *= std::uniform_real_distribution<double>(0.98, 1.02)(random_);
    const auto of_b = numeric(*factorizer_, b, true);
    if (!of_b.ok()) return fail("refactor() of B: {}", of_b.status().to_string());
    if (a_.nnz() > 0 && of_b->values == first_->values) fail("refactor() of B gave the factors of A");
    if (!again.ok()) return;
    expect("refactor() of A, B, A", numeric(*factorizer_, a_, true), first_->plan, Triangles(*again), exact_);
  }

  // P·R·A·C·Q = L·U = (L·D)·(D⁻¹·U) with D = diag(U), so that its transpose is (D⁻¹·U)ᵀ·(L·D)ᵀ.
  void expect_transpose() {
    const Triangles first(*first_);
    Triangles wanted(first.n);
    for (std::int32_t j = 0; j < first.n; ++j)
      for (std::int32_t i = 0; i < first.n; ++i)
        wanted(i, j) = i > j ? first(j, i) / first(j, j) : i == j ? first(j, j) : first(j, i) * first(i, i);
    expect("the transpose", factor_under(analysis_->plan.transposed(), transpose(a_.view())), first_->plan.transposed(),
           wanted, Equal::nearly);
  }

  void expect_pattern() {
    // The plan's diagonal dominates, so that A with zeros elsewhere is not singular.
    CscMatrix<double> with_zeros = a_;
    std::vector<std::int32_t> pivot_row(a_.n_cols);
    for (std::int32_t k = 0; k < a_.n_cols; ++k) pivot_row[analysis_->plan.q[k]] = analysis_->plan.p[k];
    for (std::int32_t j = 0; j < a_.n_cols; ++j)
      for (std::int64_t k = a_.col_ptr[j]; k < a_.col_ptr[j + 1]; ++k)
        if (a_.row_idx[k] != pivot_row[j] && random_() % 3 == 0) with_zeros.values[k] = 0;
    const auto f = numeric(*factorizer_, with_zeros, true);
    if (!f.ok()) return fail("A with zeros among its values: {}", f.status().to_string());
    for (const std::string& failure : judge<T>(with_zeros, *f, options_.seed).failures)
      fail("A with zeros among its values: {}", failure);
    if (f->filled != first_->filled) fail("zeros among the values change the pattern of L and U");
    if (fixed_ && rung_.facts.exact_pattern && f->filled != analysis_->filled)
      fail("the pattern of L and U is not that of the analysis");
    for (const Factors<T>* of : {&std::as_const(*first_), &*f}) {
      const auto fill = fill_under(a_, of->plan);
      if (!fill.ok()) return fail("fill: {}", fill.status().to_string());
      Triangles inside(fill->n);
      for (std::int32_t j = 0; j < fill->n; ++j)
        for (std::int64_t k = fill->col_ptr[j]; k < fill->col_ptr[j + 1]; ++k) inside(fill->row_idx[k], j) = 1;
      const Triangles values(*of);
      for (std::size_t k = 0; k < values.values.size(); ++k)
        if (values.values[k] != 0 && inside.values[k] == 0)
          return fail("({}, {}) is not zero, but not in the fill of P·A·Q", k % fill->n, k / fill->n);
    }
  }

  void expect_repeats() {
    if (!rung_.facts.deterministic) return;
    for (int k = 0; k < options_.repeats; ++k) {
      const simt::SimulatorScope scope({.seed = options_.seed + 1 + k});
      const auto f = numeric(*factorizer_, a_, false);
      if (!f.ok()) return fail("repetition {}: {}", k, f.status().to_string());
      if (f->plan.p != first_->plan.p || f->filled != first_->filled || f->values != first_->values)
        return fail("says deterministic, but repetition {} gives other factors", k);
    }
  }

  const Rung& rung_;
  const CscMatrix<double> a_;  // rounded to T
  const MetamorphicOptions options_;
  std::mt19937_64 random_;
  const bool fixed_;
  const Equal exact_;
  std::optional<SharedAnalyses> analyses_;
  const Analysis* analysis_ = nullptr;  // one of them
  std::unique_ptr<Factorizer<T>> factorizer_;
  std::optional<Factors<T>> first_;
  std::vector<std::string> failures_;
};

}  // namespace

template <class T>
std::vector<std::string> metamorphic_failures(const Rung& rung, const CscView<double>& a,
                                              const MetamorphicOptions& options) {
  return Relations<T>(rung, a, options).run();
}
template std::vector<std::string> metamorphic_failures<float>(const Rung&, const CscView<double>&,
                                                              const MetamorphicOptions&);
template std::vector<std::string> metamorphic_failures<double>(const Rung&, const CscView<double>&,
                                                               const MetamorphicOptions&);

}  // namespace lulab
