#include "core/plan_gather.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/factors.h"
#include "core/matrix/number_text.h"

namespace lulab {

namespace {

Status bad_plan(std::string message) { return Status::error(StatusCode::invalid_argument, std::move(message)); }

Status check_plan(const Plan& plan, std::int32_t n) {
  const auto length = static_cast<std::size_t>(n);
  if (plan.p.size() != length || plan.q.size() != length || plan.r.size() != length || plan.c.size() != length)
    return bad_plan(fmt::format("the plan has p, q, r, c of lengths {}, {}, {}, {}; A has n = {}: analyze this matrix",
                                plan.p.size(), plan.q.size(), plan.r.size(), plan.c.size(), n));
  if (!is_permutation(plan.p)) return bad_plan("p of the plan is no permutation");
  if (!is_permutation(plan.q)) return bad_plan("q of the plan is no permutation");
  const auto usable = [](double s) { return std::isfinite(s) && s != 0; };
  for (std::size_t i = 0; i < length; ++i) {
    if (!usable(plan.r[i]))
      return bad_plan(fmt::format("row scaling r({}) is {}, not a finite nonzero number", i + 1, spelled(plan.r[i])));
    if (!usable(plan.c[i]))
      return bad_plan(
          fmt::format("column scaling c({}) is {}, not a finite nonzero number", i + 1, spelled(plan.c[i])));
  }
  return {};
}

}  // namespace

Result<PlanGather> PlanGather::create(CscPatternView a, const Plan& plan) {
  LULAB_RETURN_IF_ERROR(check_sorted(a));
  if (a.n_rows != a.n_cols) return bad_plan(fmt::format("A is {} x {}; LU needs a square matrix", a.n_rows, a.n_cols));
  LULAB_RETURN_IF_ERROR(check_plan(plan, a.n_cols));

  PlanGather g;
  const std::int32_t n = a.n_cols;
  g.p_ = plan.p;
  g.q_ = plan.q;
  g.pattern_.n_rows = g.pattern_.n_cols = n;
  g.pattern_.row_idx.reserve(a.row_idx.size());
  for (auto* of_entries : {&g.r_, &g.c_}) of_entries->reserve(a.row_idx.size());
  g.from_.reserve(a.row_idx.size());
  const Permutation pinv = inverse(plan.p);
  std::vector<std::pair<std::int32_t, std::int64_t>> column;  // (row in P·R·A·C·Q, position in A)
  for (std::int32_t j = 0; j < n; ++j) {
    column.clear();
    for (std::int64_t k = a.col_ptr[plan.q[j]]; k < a.col_ptr[plan.q[j] + 1]; ++k)
      column.emplace_back(pinv[a.row_idx[k]], k);
    std::sort(column.begin(), column.end());
    for (const auto& [row, from] : column) {
      g.pattern_.row_idx.push_back(row);
      g.from_.push_back(from);
      g.r_.push_back(plan.r[plan.p[row]]);
      g.c_.push_back(plan.c[plan.q[j]]);
    }
    g.pattern_.col_ptr.push_back(g.pattern_.nnz());
  }
  return g;
}

template <class T>
Result<double> PlanGather::gather(std::span<const T> a_values, std::span<T> values) const {
  const std::size_t nnz = from_.size();
  if (a_values.size() != nnz || values.size() != nnz)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("{} values given, room for {}; the analyzed pattern has {} entries",
                                     a_values.size(), values.size(), nnz));
  for (std::size_t k = 0; k < nnz; ++k)
    values[k] = static_cast<T>(r_[k] * static_cast<double>(a_values[from_[k]]) * c_[k]);
  const double largest = max_abs(std::span<const T>(values));
  if (!std::isfinite(largest)) return name_not_finite<T>(a_values, values);
  return largest;
}
template Result<double> PlanGather::gather(std::span<const float>, std::span<float>) const;
template Result<double> PlanGather::gather(std::span<const double>, std::span<double>) const;

/// The first entry that is not finite.
template <class T>
Status PlanGather::name_not_finite(std::span<const T> a_values, std::span<const T> values) const {
  const auto bad = std::ranges::find_if(values, [](T v) { return !std::isfinite(v); });
  const std::int64_t k = bad - values.begin();
  const auto& col_ptr = pattern_.col_ptr;
  const std::int32_t i = p_[pattern_.row_idx[k]];
  const std::int32_t j = q_[std::ranges::upper_bound(col_ptr, k) - col_ptr.begin() - 1];
  const T a = a_values[from_[k]];
  return Status::error(
      StatusCode::invalid_argument,
      fmt::format("entry ({}, {}) of A is {}{}; LU needs finite values", i + 1, j + 1, spelled(a),
                  std::isfinite(a) ? fmt::format(" and overflows when scaled by {} and {}", r_[k], c_[k]) : ""),
      {{}, 0, {i}, {j}});
}

}  // namespace lulab
