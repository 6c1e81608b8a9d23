#include "core/plan_gather.h"

#include <algorithm>
#include <cmath>
#include <numeric>
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

Result<PlanGather> PlanGather::create(CscPatternView a, const Plan& plan, GatheredRows rows) {
  LULAB_RETURN_IF_ERROR(check_sorted(a));
  if (a.n_rows != a.n_cols) return bad_plan(fmt::format("A is {} x {}; LU needs a square matrix", a.n_rows, a.n_cols));
  LULAB_RETURN_IF_ERROR(check_plan(plan, a.n_cols));

  PlanGather g;
  g.p_ = plan.p;
  g.q_ = plan.q;
  g.sorted_ = rows == GatheredRows::sorted;
  g.sorted_ ? g.take_sorted(a) : g.take_columns(a);
  g.r_.resize(plan.r.size());
  g.c_.resize(plan.c.size());
  g.take_scales(plan);
  return g;
}

void PlanGather::take_scales(const Plan& plan) {
  for (std::size_t i = 0; i < r_.size(); ++i) r_[i] = plan.r[p_[i]];
  for (std::size_t j = 0; j < c_.size(); ++j) c_[j] = plan.c[q_[j]];
}

void PlanGather::take_sorted(CscPatternView a) {
  std::vector<std::int64_t> position(a.row_idx.size());
  std::iota(position.begin(), position.end(), std::int64_t(0));
  CscMatrix<std::int64_t> permuted = permute(CscView<std::int64_t>{a, position}, p_, q_);
  from_ = std::move(permuted.values);
  pattern_ = std::move(static_cast<CscPattern&>(permuted));
}

void PlanGather::take_columns(CscPatternView a) {
  const Permutation new_row = inverse(p_);
  pattern_.n_rows = pattern_.n_cols = a.n_cols;
  pattern_.col_ptr.reserve(q_.size() + 1);
  pattern_.row_idx.resize(a.row_idx.size());
  from_.reserve(q_.size());
  std::int32_t* to = pattern_.row_idx.data();
  for (const std::int32_t j : q_) {
    from_.push_back(a.col_ptr[j]);
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) *to++ = new_row[a.row_idx[k]];
    pattern_.col_ptr.push_back(to - pattern_.row_idx.data());
  }
}

template <class T>
Result<double> PlanGather::gather(std::span<const T> a_values, std::span<T> values) const {
  const std::size_t nnz = pattern_.row_idx.size();
  if (a_values.size() != nnz || values.size() != nnz)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("{} values given, room for {}; the analyzed pattern has {} entries",
                                     a_values.size(), values.size(), nnz));
  const std::int32_t* row = pattern_.row_idx.data();
  const std::int64_t* from = from_.data();
  const double* r = r_.data();
  const T* a = a_values.data();
  T* v = values.data();
  std::int64_t k = 0;
  for (std::int32_t j = 0; j < pattern_.n_cols; ++j) {
    const double c = c_[j];
    const std::int64_t end = pattern_.col_ptr[j + 1];
    if (sorted_)
      for (; k < end; ++k) v[k] = static_cast<T>(r[row[k]] * static_cast<double>(a[from[k]]) * c);
    else
      for (const T* next = a + from[j]; k < end; ++k)
        v[k] = static_cast<T>(r[row[k]] * static_cast<double>(*next++) * c);
  }
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
  const std::int32_t row = pattern_.row_idx[k], i = p_[row];
  const std::int64_t column = std::ranges::upper_bound(col_ptr, k) - col_ptr.begin() - 1;
  const std::int32_t j = q_[column];
  const T a = a_values[sorted_ ? from_[k] : from_[column] + k - col_ptr[column]];
  return Status::error(
      StatusCode::invalid_argument,
      fmt::format("entry ({}, {}) of A is {}{}; LU needs finite values", i + 1, j + 1, spelled(a),
                  std::isfinite(a) ? fmt::format(" and overflows when scaled by {} and {}", r_[row], c_[column]) : ""),
      {{}, 0, {i}, {j}});
}

}  // namespace lulab
