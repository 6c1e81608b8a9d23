#include "solve/refine.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "core/factors.h"

namespace lulab {

namespace {

constexpr double keep_all = -1;     // no backward error is as small
constexpr int most_by_columns = 5;  // a look takes twice as long by columns; that often it is less than to make rows

}  // namespace

template <class T>
HostRefiner<T>::HostRefiner(CscPatternView a, bool transposed) : a_(a), transposed_(transposed) {}

template <class T>
const SlicedRows& HostRefiner<T>::rows() {
  if (!rows_) {
    SlicedRows rows = transposed_ ? sliced_rows_of_transposed(a_) : sliced_rows(a_);
    r_.resize(rows.n_rows);
    better_.resize(rows.n_cols);
    rows_ = std::move(rows);
  }
  return *rows_;
}

/// The quick error is that near to componentwise. Both parts of omega are at most componentwise: a row that counts in
/// omega2 has |b| <= max |A(i,:)| max |x|, which stands there in place of |b|.
template <class T>
std::optional<double> HostRefiner<T>::good_enough(std::span<const double> values, std::span<const double> x,
                                                  std::span<const double> b, double enough) {
  const auto with_rounding = [](double error, std::int32_t longest_row) {
    return 2 * (error + (longest_row + 2) * RefinementRule::eps);
  };
  QuickError quick;
  if (!rows_ && !transposed_ && by_columns_ < most_by_columns) {
    ++by_columns_;
    if (with_rounding(0, 1) < enough) quick = quick_error_by_columns({a_, values}, x, b);
  } else if (!rows().length.empty()) {
    quick.longest_row = rows().length[0];
    if (with_rounding(0, quick.longest_row) < enough)
      quick.error = quick_error_passes().back()(rows(), values.data(), x.data(), b.data());
  }
  if (with_rounding(quick.error, quick.longest_row) <= enough) return quick.error;
  return std::nullopt;
}

template <class T>
void HostRefiner<T>::residual(std::span<const double> values, std::span<const double> x, std::span<const double> b,
                              std::span<double> r) {
  (void)residual_passes().back()(rows(), values.data(), x.data(), 0, b.data(), keep_all, r.data());
}

template <class T>
BackwardErrors HostRefiner<T>::backward_errors(std::span<const double> values, std::span<const double> x,
                                               std::span<const double> b) {
  const SlicedRows& a = rows();
  return residual_passes().back()(a, values.data(), x.data(), max_abs(x), b.data(), RefinementRule::eps, r_.data());
}

template <class T>
void HostRefiner<T>::solve_unrefined(const FactorsView<T>& f, std::span<const double> b, std::span<double> x,
                                     std::int32_t columns) {
  solve_checked(f, b, x, columns, transposed_, work_);
}

template <class T>
Refinement HostRefiner<T>::solve(std::span<const double> values, const FactorsView<T>& f, std::span<const double> b,
                                 std::span<double> x, RefinementGoal goal) {
  return solve_by([this, &f](auto from, auto to) { solve_unrefined(f, from, to); }, values, b, x, goal);
}

template <class T>
Refinement HostRefiner<T>::refine(std::span<const double> values, const FactorsView<T>& f, std::span<const double> b,
                                  std::span<double> x, RefinementGoal goal) {
  return refine_by([this, &f](auto from, auto to) { solve_unrefined(f, from, to); }, values, b, x, goal);
}

template <class T>
Refinement HostRefiner<T>::solve_by(const Unrefined& solve, std::span<const double> values, std::span<const double> b,
                                    std::span<double> x, RefinementGoal goal) {
  solve(b, x);
  return refine_by(solve, values, b, x, goal);
}

template <class T>
Refinement HostRefiner<T>::refine_by(const Unrefined& solve, std::span<const double> values, std::span<const double> b,
                                     std::span<double> x, RefinementGoal goal) {
  if (const auto error = good_enough(values, x, b, goal.enough)) return {0, *error, *error, true};
  return correct(solve, values, b, x, goal, backward_errors(values, x, b));
}

template <class T>
void HostRefiner<T>::refine_by(const Unrefined& solve, std::span<const double> values, std::span<const double> b,
                               std::span<double> x, RefinementGoal goal, std::span<Refinement> refined) {
  const std::size_t n = a_.n_cols;
  const auto column = [n](auto of, std::size_t c) { return of.subspan(n * c, n); };
  std::vector<std::pair<std::size_t, BackwardErrors>> bad;
  std::vector<double> residuals;
  for (std::size_t c = 0; c < refined.size(); ++c) {
    if (const auto error = good_enough(values, column(x, c), column(b, c), goal.enough)) {
      refined[c] = {0, *error, *error, true};
      continue;
    }
    const BackwardErrors now = backward_errors(values, column(x, c), column(b, c));
    const RefinementRule rule(now.sum(), goal.max_iterations, goal.enough);
    refined[c] = rule.result(now.componentwise);
    if (!rule.wants_step()) continue;
    bad.emplace_back(c, now);
    residuals.insert(residuals.end(), r_.begin(), r_.end());
  }
  if (bad.empty()) return;
  std::vector<double> corrections(residuals.size());
  solve(residuals, corrections);
  for (std::size_t k = 0; k < bad.size(); ++k) {
    const auto [c, now] = bad[k];
    bool is_first = true;
    const auto solve_next = [&](std::span<const double> from, std::span<double> to) {
      if (std::exchange(is_first, false))
        std::ranges::copy(column(std::span(corrections), k), to.begin());
      else
        solve(from, to);
    };
    std::ranges::copy(column(std::span(residuals), k), r_.begin());
    refined[c] = correct(solve_next, values, column(b, c), column(x, c), goal, now);
  }
}

template <class T>
Refinement HostRefiner<T>::correct(const Unrefined& solve, std::span<const double> values, std::span<const double> b,
                                   std::span<double> x, RefinementGoal goal, BackwardErrors now) {
  RefinementRule rule(now.sum(), goal.max_iterations, goal.enough);
  // lab: refinement begin
  while (rule.wants_step()) {
    solve(r_, r_);
    for (std::size_t i = 0; i < x.size(); ++i) better_[i] = x[i] + r_[i];
    const BackwardErrors next = backward_errors(values, better_, b);
    if (!rule.accepts(next.sum())) break;
    std::ranges::copy(better_, x.begin());
    now = next;
  }
  // lab: refinement end
  return rule.result(now.componentwise);
}

void residual(const CscView<double>& a, std::span<const double> x, std::span<const double> b, std::span<double> r) {
  HostRefiner<double>(a).residual(a.values, x, b, r);
}

BackwardErrors backward_errors(const CscView<double>& a, std::span<const double> x, std::span<const double> b) {
  return HostRefiner<double>(a).backward_errors(a.values, x, b);
}

double componentwise_backward_error(const CscView<double>& a, std::span<const double> x, std::span<const double> b) {
  return backward_errors(a, x, b).componentwise;
}

bool overlap(std::span<const double> a, std::span<const double> b) {
  const std::less<const double*> before;
  return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
}

template <class T>
Result<Refinement> refine(const CscView<double>& a, const Factors<T>& f, std::span<const double> b, std::span<double> x,
                          RefinementGoal goal) {
  const auto n = static_cast<std::size_t>(f.filled.n);
  if (a.n_rows != f.filled.n || a.n_cols != f.filled.n || b.size() != n || x.size() != n)
    return Status::error(
        StatusCode::invalid_argument,
        fmt::format("refine: the factors are {0} x {0}, but A is {1} x {2}, b has {3} and x has {4} entries", n,
                    a.n_rows, a.n_cols, b.size(), x.size()));
  if (overlap(b, x)) return Status::error(StatusCode::invalid_argument, "refine: b and x overlap");
  LULAB_RETURN_IF_ERROR(check_solvable<T>(f));
  return HostRefiner<T>(a).refine(a.values, f, b, x, goal);
}

#define LULAB_INSTANTIATE(T)                                                                                \
  template class HostRefiner<T>;                                                                            \
  template Result<Refinement> refine<T>(const CscView<double>&, const Factors<T>&, std::span<const double>, \
                                        std::span<double>, RefinementGoal);
LULAB_INSTANTIATE(float)
LULAB_INSTANTIATE(double)
#undef LULAB_INSTANTIATE

}  // namespace lulab
