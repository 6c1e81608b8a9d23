#include "core/factors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

namespace lulab {

template <class T>
Factors<T> join_factors(Plan plan, const CscView<T>& l, const CscView<T>& u) {
  const std::int32_t n = plan.n();
  CscMatrix<T> lu;
  lu.n_rows = lu.n_cols = n;
  lu.row_idx.reserve(l.row_idx.size() + u.row_idx.size());
  lu.values.reserve(l.row_idx.size() + u.row_idx.size());
  const auto append = [&](const CscView<T>& m, std::int64_t k) {
    lu.row_idx.push_back(m.row_idx[k]);
    lu.values.push_back(m.values[k]);
  };
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int64_t k = u.col_ptr[j]; k < u.col_ptr[j + 1]; ++k) append(u, k);
    for (std::int64_t k = l.col_ptr[j]; k < l.col_ptr[j + 1]; ++k)
      if (l.row_idx[k] > j) append(l, k);
    lu.col_ptr.push_back(lu.nnz());
  }
  lu = transpose(transpose(lu.view()).view());  // sorts rows in linear time

  Factors<T> f;
  f.plan = std::move(plan);
  f.filled.n = n;
  f.filled.diag.resize(n);
  for (std::int32_t j = 0; j < n; ++j) {
    const auto first = lu.row_idx.begin() + lu.col_ptr[j];
    const auto last = lu.row_idx.begin() + lu.col_ptr[j + 1];
    f.filled.diag[j] = std::lower_bound(first, last, j) - lu.row_idx.begin();
  }
  f.filled.col_ptr = std::move(lu.col_ptr);
  f.filled.row_idx.assign(lu.row_idx.begin(), lu.row_idx.end());
  f.values = std::move(lu.values);
  return f;
}

namespace {

/// bytes: of a vector register.
template <int bytes, class T>
[[gnu::always_inline]] inline double largest_magnitude(const T* values, std::size_t count) {
  typedef T Lanes __attribute__((vector_size(bytes)));
  constexpr std::size_t lanes = bytes / sizeof(T), chains = 4;  // that do not wait for each other
  Lanes largest[chains] = {}, not_finite[chains] = {};
  std::size_t i = 0;
  for (; i + chains * lanes <= count; i += chains * lanes) {
#pragma GCC unroll 4
    for (std::size_t c = 0; c < chains; ++c) {
      Lanes v;
      std::memcpy(&v, values + i + c * lanes, bytes);
      not_finite[c] += v - v;  // 0 unless v is NaN or infinite
      v = v < 0 ? -v : v;
      largest[c] = v > largest[c] ? v : largest[c];  // which passes over NaN
    }
  }
  double result = 0;
  T all_finite = T(0);
  for (std::size_t c = 0; c < chains; ++c)
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      result = std::max(result, static_cast<double>(largest[c][lane]));
      all_finite += not_finite[c][lane];
    }
  if (all_finite != T(0)) i = 0;
  for (; i < count; ++i) result = larger_or_nan(result, std::abs(static_cast<double>(values[i])));
  return result;
}

#ifdef __x86_64__
template <class T>
[[gnu::target("avx2")]] double largest_magnitude_avx2(const T* values, std::size_t count) {
  return largest_magnitude<32>(values, count);
}
#endif

}  // namespace

template <class T>
double max_abs(std::span<const T> values) {
#ifdef __x86_64__
  static const bool wide = __builtin_cpu_supports("avx2");
  if (wide) return largest_magnitude_avx2(values.data(), values.size());
#endif
  return largest_magnitude<16>(values.data(), values.size());
}

template <class T>
double max_abs_l(const Factors<T>& f) {
  const std::span<const T> values = f.values;
  double largest = 0;
  for (std::int32_t j = 0; j < f.filled.n; ++j) {
    const std::int64_t begin = f.filled.diag[j] + 1;
    largest = larger_or_nan(largest, max_abs(values.subspan(begin, f.filled.col_ptr[j + 1] - begin)));
  }
  return largest;
}

template <class T>
double max_abs_u(const Factors<T>& f) {
  const std::span<const T> values = f.values;
  double largest = 0;
  for (std::int32_t j = 0; j < f.filled.n; ++j) {
    const std::int64_t begin = f.filled.col_ptr[j];
    largest = larger_or_nan(largest, max_abs(values.subspan(begin, f.filled.diag[j] + 1 - begin)));
  }
  return largest;
}

double max_abs_pracq(const CscView<double>& a, const Plan& plan) {
  double largest = 0;
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      largest = larger_or_nan(largest, std::abs(plan.r[a.row_idx[k]] * a.values[k] * plan.c[j]));
  return largest;
}

template <class T>
Status check_factors(const Factors<T>& f, StatusCode code) {
  const FilledPattern& s = f.filled;
  for (std::int32_t j = 0; j < s.n; ++j) {
    const auto bad = [&](std::string_view what) {
      return Status::error(code,
                           fmt::format("{} in column {} of the factors (column {} of A)", what, j + 1, f.plan.q[j] + 1),
                           {{}, 0, {}, {f.plan.q[j]}});
    };
    for (std::int64_t k = s.col_ptr[j]; k < s.col_ptr[j + 1]; ++k)
      if (!std::isfinite(f.values[k])) return bad("overflow: a value is not finite");
    if (f.values[s.diag[j]] == T(0)) return bad("the pivot is zero");
  }
  return {};
}

template <class T>
void measure_factors(Factors<T>& f, const Plan& plan, double max_abs_pracq) {
  const FilledPattern& s = f.filled;
  double max_pivot = 0;
  double min_pivot = std::numeric_limits<double>::infinity();
  for (std::int32_t j = 0; j < s.n; ++j) {
    const double pivot = std::abs(static_cast<double>(f.values[s.diag[j]]));
    max_pivot = std::max(max_pivot, pivot);
    min_pivot = std::min(min_pivot, pivot);
  }
  f.statistics.structural_rank = f.statistics.numerical_rank = s.n;
  f.statistics.pivot_growth = pivot_growth(max_abs_u(f), max_abs_pracq);
  if (s.n > 0) f.statistics.rcond = min_pivot / max_pivot;
  f.statistics.off_diagonal_pivots = 0;
  for (std::int32_t i = 0; i < s.n; ++i) f.statistics.off_diagonal_pivots += f.plan.p[i] != plan.p[i];
}

#define LULAB_INSTANTIATE(T)                                                    \
  template Factors<T> join_factors(Plan, const CscView<T>&, const CscView<T>&); \
  template double max_abs(std::span<const T>);                                  \
  template double max_abs_l(const Factors<T>&);                                 \
  template double max_abs_u(const Factors<T>&);                                 \
  template Status check_factors(const Factors<T>&, StatusCode);                 \
  template void measure_factors(Factors<T>&, const Plan&, double);
LULAB_INSTANTIATE(float)
LULAB_INSTANTIATE(double)
#undef LULAB_INSTANTIATE

}  // namespace lulab
