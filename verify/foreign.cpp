#include "verify/foreign.h"

#include <cmath>
#include <limits>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/matrix/number_text.h"
#include "verify/checks.h"
#include "verify/convention.h"
#include "verify/extended.h"
#include "verify/find_fault.h"
#include "verify/judge.h"
#include "verify/rebuild.h"

namespace lulab {

namespace {

constexpr double no_limit = std::numeric_limits<double>::quiet_NaN();

template <class... Args>
Status refused(fmt::format_string<Args...> text, Args&&... args) {
  return Status::error(StatusCode::invalid_argument, fmt::format(text, std::forward<Args>(args)...));
}

Status check_matrix(const char* name, const CscView<double>& m, std::int32_t n) {
  if (m.n_rows != n || m.n_cols != n)
    return refused("{0} is {1} x {2}, but A is {3} x {3}", name, m.n_rows, m.n_cols, n);
  if (m.col_ptr.size() != static_cast<std::size_t>(n) + 1 || m.values.size() != m.row_idx.size() || m.col_ptr[0] != 0 ||
      m.col_ptr[n] != m.nnz())
    return refused("{}: col_ptr, row_idx and values do not fit each other", name);
  for (std::int32_t j = 0; j < n; ++j) {
    if (m.col_ptr[j] > m.col_ptr[j + 1]) return refused("{}: col_ptr decreases at column {}", name, j + 1);
    for (std::int64_t k = m.col_ptr[j]; k < m.col_ptr[j + 1]; ++k) {
      if (m.row_idx[k] < 0 || m.row_idx[k] >= n)
        return refused("{}: row {} in column {} is not in 1..{}", name, std::int64_t(m.row_idx[k]) + 1, j + 1, n);
      if (k > m.col_ptr[j] && m.row_idx[k - 1] >= m.row_idx[k])
        return refused("{}: column {} is not sorted, or holds row {} twice", name, j + 1, m.row_idx[k] + 1);
    }
  }
  return {};
}

Status check_input(const CscView<double>& a, const ForeignFactors& given, const JudgeOptions& options) {
  const std::int32_t n = a.n_cols;
  const auto un = static_cast<std::size_t>(n);
  LULAB_RETURN_IF_ERROR(check_matrix("A", a, n));
  LULAB_RETURN_IF_ERROR(check_matrix("L", given.l.view(), n));
  LULAB_RETURN_IF_ERROR(check_matrix("U", given.u.view(), n));
  if (given.f.n_cols != 0 || given.f.n_rows != 0) LULAB_RETURN_IF_ERROR(check_matrix("F", given.f.view(), n));
  const auto fits = [&](const char* name, std::size_t size) {
    return size == 0 || size == un ? Status{} : refused("{} has size {}, but A has n = {}", name, size, n);
  };
  LULAB_RETURN_IF_ERROR(fits("p", given.p.size()));
  LULAB_RETURN_IF_ERROR(fits("q", given.q.size()));
  LULAB_RETURN_IF_ERROR(fits("r", given.r.size()));
  LULAB_RETURN_IF_ERROR(fits("c", given.c.size()));
  LULAB_RETURN_IF_ERROR(fits("x", options.x.size()));
  LULAB_RETURN_IF_ERROR(fits("b", options.b.size()));
  if (options.x.empty() != options.b.empty()) return refused("a solution is judged by x and b: one of them is missing");
  if (!(options.tolerance > 0)) return refused("the tolerance is {}, but must be positive", options.tolerance);
  if (options.index_base < -1 || options.index_base > 1)
    return refused("the index base is {}; 0 and 1 are known, and -1 for that of the convention", options.index_base);
  return {};
}

class Judge {
 public:
  Judge(const CscView<double>& a, const ForeignFactors& given, const JudgeOptions& options)
      : a_(a), given_(given), options_(options) {}

  Judgement run() {
    const ConvertedFactors read =
        options_.convention == Convention::automatic ? nearest() : read_as(options_.convention);
    out_.notes.insert(out_.notes.end(), read.notes.begin(), read.notes.end());
    if (read.wrong.fault != Fault::none) {
      refuse(read.wrong);
    } else {
      judge_factors(read.factors);
    }
    if (!options_.x.empty() && given_.l.n_cols > 0) judge_solution(read);
    out_.accepted = out_.failures.empty();
    return std::move(out_);
  }

 private:
  ConvertedFactors read_as(Convention convention) {
    out_.convention = convention;
    return convert(given_, convention, options_.index_base < 0 ? index_base_of(convention) : options_.index_base);
  }

  // The convention under which L·U comes closest to P·R·A·C·Q for random vectors.
  ConvertedFactors nearest() {
    std::optional<ConvertedFactors> best;
    double least = std::numeric_limits<double>::infinity();
    const int base = options_.index_base < 0 ? either_base : options_.index_base;
    for (const Convention tried : {Convention::lulab, Convention::klu, Convention::superlu, Convention::umfpack,
                                   Convention::matlab, Convention::lapack_ipiv}) {
      if (tried == Convention::lapack_ipiv && given_.p.empty()) continue;  // as lulab
      ConvertedFactors read = convert(given_, tried, base);
      double error = std::numeric_limits<double>::infinity();
      if (read.wrong.fault == Fault::none) {
        error = without_overflow(rebuild::pracq(read.factors.plan, a_), read.factors,
                                 [&](const CscMatrix<double>& b, const Factors<double>& f) { return probe(b, f); });
      }
      const bool first = !best || (best->wrong.fault != Fault::none && read.wrong.fault == Fault::none);
      if (!first && !(error < 0.1 * least)) continue;
      best = std::move(read);
      least = error;
      out_.convention = tried;
      if (error < 1e-12) break;
    }
    out_.notes.push_back(fmt::format("read in the convention {}", to_string(out_.convention)));
    return *std::move(best);
  }

  // The error of L·U beside its size, 1e300 if it is no number.
  double probe(const CscMatrix<double>& b, const Factors<double>& f) const {
    std::mt19937_64 random(options_.seed);
    std::vector<double> v(a_.n_cols), size;
    for (double& x : v) x = random() % 2 ? 1 : -1;
    const std::vector<double> e = rebuild::probe(b, f, v, size);
    double sum = 0, of = 0;
    for (std::size_t i = 0; i < e.size(); ++i) sum += std::abs(e[i]), of += size[i];
    return std::isfinite(sum) ? sum / std::max(of, std::numeric_limits<double>::min()) : 1e300;
  }

  void add(std::string_view name, std::string_view formula, double value, double limit, bool question = false) {
    JudgedCheck check{name, formula, value, limit, question, JudgedCheck::Result::reported};
    if (!std::isnan(limit)) {
      const bool passed = question ? value == 1 : value <= limit;
      check.result = passed ? JudgedCheck::Result::passed : JudgedCheck::Result::failed;
      if (!passed && !question)
        out_.failures.push_back(fmt::format("{} = {}, limit {:.3g}", name, short_number(value), limit));
    }
    out_.checks.push_back(check);
  }
  void ask(std::string_view name, std::string_view formula, const std::optional<bool>& yes) {
    if (yes) add(name, formula, *yes ? 1 : 0, 1, true);
  }
  void refuse(const Finding& finding) {
    const bool not_finite = finding.fault == Fault::not_finite;
    const bool numbers = finding.fault == Fault::index_base || finding.fault == Fault::not_a_permutation;
    ask("finite", finite_formula, !not_finite);
    if (!not_finite) ask("structure", structure_formula, numbers);
    if (numbers) ask("permutations", permutations_formula, false);
    fail(finding);
  }
  void fail(const Finding& finding) {
    if (!out_.finding) out_.finding = finding;
    if (out_.failures.empty()) out_.failures.push_back(finding.what);
  }

  void judge_factors(const Factors<double>& f) {
    Checks c = judge<double>(a_, f, options_.seed, Zeros::left_out);
    ask("finite", finite_formula, c.finite);
    ask("permutations", permutations_formula, c.permutations);
    ask("scalings", "r and c are positive and finite", c.scalings);
    ask("structure", structure_formula, c.structure);
    const bool sound = c.lu_residual.has_value();
    bool left_out_zeros = c.pattern_contains_a == false;
    for (const std::string& failure : c.failures) {
      if (failure.starts_with("pattern_contains_a: ")) left_out_zeros = false;
      if (failure.find(", limit ") == std::string::npos) out_.failures.push_back(failure);  // else judged below
    }
    ask("pattern", pattern_formula, c.pattern_contains_a && (*c.pattern_contains_a || left_out_zeros));
    if (!c.note.empty()) out_.notes.push_back(c.note);
    if (!sound) {
      Finding finding;
      finding.fault = c.scalings == false ? Fault::scaling : Fault::not_triangular;
      finding.what = c.failures.empty() ? "the factors are not well formed" : c.failures.front();
      finding.advice = "correct what the sentence names";
      return fail(finding);
    }
    const double limit = options_.tolerance, eps = c.eps;
    const CscMatrix<double> b = rebuild::pracq(f.plan, a_);
    const ColumnErrors columns = column_errors(b, f, options_);
    add("lu_residual", "||PRACQ - LU||_1 / (n ||RAC||_1 eps)", *c.lu_residual, limit);
    add("column_residual",
        columns.probed ? "max_i |(PRACQ - LU) v|_i / (n eps ((|L||U| + |PRACQ|)|v|)_i), 30 random v"
                       : "max_j ||(PRACQ - LU)(:,j)||_1 / (n eps ||(|L||U| + |PRACQ|)(:,j)||_1)",
        columns.worst, limit);
    if (columns.probed)
      out_.notes.push_back(
          "the product L·U is large: 30 vectors of random signs stand for it, and miss an error with "
          "probability at most 2^-30");
    add("scaled_residual", "||R(b - Ax)||_1 / (|| |L||U| ||_1 ||C^-1 x||_1 eps), x not refined", *c.scaled_residual,
        limit);
    const bool refinable = c.rcond_scaled >= 100 * eps;
    const auto refined = [&](double most) { return refinable ? most : no_limit; };
    add("solve_residual", "||b - Ax||_1 / (||A||_1 ||x||_1 eps)", *c.solve_residual, refined(limit));
    add("hpl_residual", "||b - Ax||_inf / (eps (||A||_inf ||x||_inf + ||b||_inf) n)", *c.hpl_residual,
        refined(limit * Tolerances::hpl_residual / Tolerances::solve_residual));
    add("omega", "omega1 + omega2 of Arioli, Demmel & Duff", *c.omega, refined(limit * eps));
    add("omega1", "max |b - Ax|_i / (|A||x| + |b|)_i", *c.omega1, no_limit);
    add("omega2", "max |b - Ax|_i / ((|A||x|)_i + ||A(i,:)||_inf ||x||_inf), where |A||x| + |b| vanishes", *c.omega2,
        no_limit);
    add("forward_error", "||x - x*||_1 rcond / (||x*||_1 eps), b = A x*", *c.forward_error, refined(limit));
    add("first_backward_error", "max |b - Ax|_i / (|A||x| + |b|)_i, x not refined", *c.first_backward_error, no_limit);
    add("growth", "max|U| / max|PRACQ|", *c.growth, no_limit);
    const ReciprocalGrowth growth = reciprocal_growth(b, inside_blocks(f), given_.f.pattern());
    add("growth_lapack", "max|RAC| / max|U|", growth.lapack, no_limit);
    add("growth_superlu", "min_j max|PRACQ(:,j)| / max|U(:,j)|", growth.superlu, no_limit);
    add("growth_klu", "min_j max|PRACQ(:,j)| / max|U(:,j)| in diagonal blocks, at most 1", growth.klu, no_limit);
    add("rcond", "1 / (||A||_1 est ||A^-1||_1)", *c.rcond, no_limit);
    add("rcond_scaled", "1 / (||RAC||_1 est ||(RAC)^-1||_1)", *c.rcond_scaled, no_limit);
    if (out_.failures.empty()) return;
    if (Finding zero = zero_pivot(b, f); zero.fault != Fault::none) return fail(zero);
    fail(find_fault(a_, given_, f, out_.convention, columns, options_));
  }

  static Finding zero_pivot(const CscMatrix<double>& b, const Factors<double>& f) {
    Finding finding;
    for (std::int32_t j = 0; j < f.filled.n; ++j) {
      if (f.values[f.filled.diag[j]] != 0) continue;
      finding.fault = Fault::zero_pivot;
      finding.what = fmt::format("U({0},{0}) is 0", j + 1);
      finding.advice = "A is singular, or singular under these pivots; getrf reports it as info > 0";
      finding.row = finding.column = j;
      finding.window = window_at(b, f, j, j);
      return finding;
    }
    return finding;
  }

  // U without what stands above KLU's blocks.
  CscMatrix<double> inside_blocks(const Factors<double>& f) const {
    if (given_.f.nnz() > 0) return given_.u;
    CscMatrix<double> u;
    u.n_rows = u.n_cols = f.filled.n;
    for (std::int32_t j = 0; j < f.filled.n; ++j) {
      for (std::int64_t k = f.filled.col_ptr[j]; k <= f.filled.diag[j]; ++k) {
        u.row_idx.push_back(f.filled.row_idx[k]);
        u.values.push_back(f.values[k]);
      }
      u.col_ptr.push_back(u.nnz());
    }
    return u;
  }

  void judge_solution(const ConvertedFactors& read) {
    using namespace extended;
    const Vector x(options_.x.begin(), options_.x.end()), b(options_.b.begin(), options_.b.end());
    const double eps = unit_roundoff<double>();
    const Vector r = extended::residual(a_, x, b);
    const BackwardError error = backward_error(a_, x, b);
    const auto quotient = [](Real above, Real below) { return above == 0 ? 0.0 : static_cast<double>(above / below); };
    const std::size_t failed_before = out_.failures.size();
    add("x_residual", "||b - Ax||_1 / (||A||_1 ||x||_1 eps), of the given x",
        quotient(norm1(r), norm1(a_) * norm1(x) * eps), options_.tolerance);
    add("x_hpl_residual", "||b - Ax||_inf / (eps (||A||_inf ||x||_inf + ||b||_inf) n), of the given x",
        quotient(norm_inf(r), eps * (norm_inf(a_) * norm_inf(x) + norm_inf(b)) * a_.n_cols),
        options_.tolerance * Tolerances::hpl_residual / Tolerances::solve_residual);
    add("x_omega1", "max |b - Ax|_i / (|A||x| + |b|)_i, of the given x", static_cast<double>(error.omega1), no_limit);
    add("x_omega2", "the same for rows where |A||x| + |b| vanishes, with ||A(i,:)||_inf ||x||_inf for |b|_i",
        static_cast<double>(error.omega2), no_limit);
    if (out_.failures.size() == failed_before || out_.finding) return;
    Finding finding;
    finding.fault = Fault::solution;
    finding.what = "x does not solve A x = b";
    finding.advice = "the factors are right: look at the solve and at the order in which P, Q, R, C are applied";
    const auto solves = [&](const CscView<double>& a, const Vector& y) {
      return norm1(extended::residual(a, y, b)) <= 1e-8L * (norm1(a) * norm1(y) + norm1(b));
    };
    if (solves(rebuild::transpose(a_), x)) {
      finding.what += ": it solves A^T x = b";
      finding.advice = "the solve used the transposed factors, or read A by rows";
    } else if (read.wrong.fault == Fault::none) {
      const Plan& plan = read.factors.plan;
      Vector to_q = x, from_q = x, times_c = x, over_c = x;
      for (std::size_t j = 0; j < x.size(); ++j) {
        to_q[plan.q[j]] = x[j];
        from_q[j] = x[plan.q[j]];
        times_c[j] = x[j] * plan.c[j];
        over_c[j] = x[j] / plan.c[j];
      }
      if (solves(a_, to_q) || solves(a_, from_q)) {
        finding.what += ": its entries are in another order";
        finding.advice = "apply Q once after the solve: x(q(j)) = y(j)";
      } else if (solves(a_, times_c) || solves(a_, over_c)) {
        finding.what += ": its entries are scaled by c";
        finding.advice = "multiply by C once after the solve";
      }
    }
    fail(finding);
  }

  static constexpr std::string_view finite_formula = "every value of L, U, r, c is finite";
  static constexpr std::string_view permutations_formula = "p and q hold each of 1..n once";
  static constexpr std::string_view structure_formula = "L unit lower, U upper triangular, every pivot there";
  static constexpr std::string_view pattern_formula = "an entry of PAQ has a place in L + U, or LU has its value";

  const CscView<double>& a_;
  const ForeignFactors& given_;
  const JudgeOptions& options_;
  Judgement out_;
};

nlohmann::json json_of(const Window& w, const std::array<double, 36>& values) {
  nlohmann::json rows = nlohmann::json::array();
  for (std::int32_t i = 0; i < w.rows; ++i) {
    nlohmann::json row = nlohmann::json::array();
    for (std::int32_t j = 0; j < w.columns; ++j) row.push_back(json_number(values[6 * i + j]));
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

std::string_view to_string(Fault fault) {
  switch (fault) {
    case Fault::none: return "none";
    case Fault::not_finite: return "not_finite";
    case Fault::index_base: return "index_base";
    case Fault::not_a_permutation: return "not_a_permutation";
    case Fault::not_triangular: return "not_triangular";
    case Fault::swapped_factors: return "swapped_factors";
    case Fault::transposed_factors: return "transposed_factors";
    case Fault::unit_diagonal: return "unit_diagonal";
    case Fault::zero_pivot: return "zero_pivot";
    case Fault::transposed_input: return "transposed_input";
    case Fault::swapped_p_q: return "swapped_p_q";
    case Fault::row_permutation: return "row_permutation";
    case Fault::column_permutation: return "column_permutation";
    case Fault::scaling: return "scaling";
    case Fault::pivot_choice: return "pivot_choice";
    case Fault::missing_fill: return "missing_fill";
    case Fault::extra_entry: return "extra_entry";
    case Fault::wrong_value: return "wrong_value";
    case Fault::rounding: return "rounding";
    case Fault::solution: return "solution";
  }
  return "unknown";
}

std::string_view to_string(JudgedCheck::Result result) {
  switch (result) {
    case JudgedCheck::Result::passed: return "passed";
    case JudgedCheck::Result::failed: return "failed";
    case JudgedCheck::Result::reported: return "reported";
  }
  return "unknown";
}

Result<Judgement> judge_foreign(const CscView<double>& a, const ForeignFactors& given, const JudgeOptions& options) {
  LULAB_RETURN_IF_ERROR(check_input(a, given, options));
  return Judge(a, given, options).run();
}

nlohmann::json to_json(const Judgement& judgement) {
  nlohmann::json checks = nlohmann::json::array(), finding = nullptr;
  for (const JudgedCheck& c : judgement.checks)
    checks.push_back({{"check", c.name},
                      {"formula", c.formula},
                      {"value", c.question ? nlohmann::json(c.value == 1) : json_number(c.value)},
                      {"limit", c.question            ? nlohmann::json(true)
                                : std::isnan(c.limit) ? nlohmann::json()
                                                      : json_number(c.limit)},
                      {"verdict", to_string(c.result)}});
  if (judgement.finding) {
    const Finding& f = *judgement.finding;
    finding = {{"fault", to_string(f.fault)}, {"what", f.what}, {"advice", f.advice}};
    if (f.row >= 0) finding["row"] = f.row + 1, finding["column"] = f.column + 1;
    if (f.found != f.wanted) finding["found"] = json_number(f.found), finding["wanted"] = json_number(f.wanted);
    if (f.window)
      finding["window"] = {{"row", f.window->row + 1},
                           {"column", f.window->column + 1},
                           {"pracq", json_of(*f.window, f.window->wanted)},
                           {"lu", json_of(*f.window, f.window->found)}};
  }
  return {{"status", judgement.accepted ? "ok" : "failed"},
          {"convention", to_string(judgement.convention)},
          {"checks", checks},
          {"finding", finding},
          {"failures", judgement.failures},
          {"notes", judgement.notes}};
}

}  // namespace lulab
