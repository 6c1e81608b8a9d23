// The checks that answer yes or no: sizes, permutations, scalings, triangles, finiteness, pattern.

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/matrix/number_text.h"
#include "verify/checks.h"
#include "verify/rebuild.h"
#include "verify/report.h"

namespace lulab {

namespace {

// Messages count rows and columns from 1, as files do.
template <class... Args>
Status wrong(fmt::format_string<Args...> text, Args&&... args) {
  return Status::error(StatusCode::invalid_argument, fmt::format(text, std::forward<Args>(args)...));
}

Status check_permutation(const char* name, std::span<const std::int32_t> p) {
  std::vector<std::int32_t> first_at(p.size(), -1);
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] < 0 || static_cast<std::size_t>(p[i]) >= p.size())
      return wrong("{}({}) = {} is not in 1..{}", name, i + 1, std::int64_t(p[i]) + 1, p.size());
    if (first_at[p[i]] >= 0)
      return wrong("{0}({1}) = {0}({2}) = {3}: not a permutation", name, first_at[p[i]] + 1, i + 1, p[i] + 1);
    first_at[p[i]] = static_cast<std::int32_t>(i);
  }
  return {};
}

Status check_positive(const char* name, std::span<const double> s) {
  for (std::size_t i = 0; i < s.size(); ++i)
    if (!(s[i] > 0 && std::isfinite(s[i])))
      return wrong("{}({}) = {} is not a positive finite scaling", name, i + 1, spelled(s[i]));
  return {};
}

}  // namespace

template <class T>
Status check_sizes(const CscView<double>& a, const Factors<T>& f) {
  const std::int32_t n = a.n_cols;
  if (a.n_rows != n) return wrong("A is {} x {}, not square", a.n_rows, n);
  const FilledPattern& s = f.filled;
  if (s.n != n) return wrong("A is {0} x {0}, but the factors are {1} x {1}", n, s.n);
  const auto un = static_cast<std::size_t>(n);
  if (f.plan.p.size() != un || f.plan.q.size() != un || f.plan.r.size() != un || f.plan.c.size() != un)
    return wrong("p, q, r, c have {}, {}, {}, {} entries instead of {}", f.plan.p.size(), f.plan.q.size(),
                 f.plan.r.size(), f.plan.c.size(), n);
  if (s.col_ptr.size() != un + 1 || s.diag.size() != un)
    return wrong("col_ptr and diag have {} and {} entries instead of {} and {}", s.col_ptr.size(), s.diag.size(),
                 un + 1, un);
  if (f.values.size() != s.row_idx.size())
    return wrong("{} values for {} entries of L + U", f.values.size(), s.row_idx.size());
  if (s.col_ptr.front() != 0 || s.col_ptr.back() != s.nnz())
    return wrong("col_ptr runs from {} to {} instead of 0 to {}", s.col_ptr.front(), s.col_ptr.back(), s.nnz());
  for (std::int32_t j = 0; j < n; ++j) {
    if (s.col_ptr[j] > s.col_ptr[j + 1]) return wrong("col_ptr decreases at column {}", j + 1);
    if (s.diag[j] < s.col_ptr[j] || s.diag[j] >= s.col_ptr[j + 1])
      return wrong("diag[{}] = {} is outside col_ptr[{}] = {} and its end {}", j, s.diag[j], j, s.col_ptr[j],
                   s.col_ptr[j + 1]);
    for (std::int64_t k = s.col_ptr[j]; k < s.col_ptr[j + 1]; ++k)
      if (s.row_idx[k] < 0 || s.row_idx[k] >= n)
        return wrong("row {} in column {} of L + U is not in 1..{}", std::int64_t(s.row_idx[k]) + 1, j + 1, n);
  }
  return {};
}

Status check_permutations(const Plan& plan) {
  LULAB_RETURN_IF_ERROR(check_permutation("p", plan.p));
  return check_permutation("q", plan.q);
}

Status check_scalings(const Plan& plan) {
  LULAB_RETURN_IF_ERROR(check_positive("r", plan.r));
  return check_positive("c", plan.c);
}

Status check_structure(const FilledPattern& filled) {
  for (std::int32_t j = 0; j < filled.n; ++j) {
    for (std::int64_t k = filled.col_ptr[j] + 1; k < filled.col_ptr[j + 1]; ++k)
      if (filled.row_idx[k - 1] >= filled.row_idx[k])
        return wrong("column {} of L + U is not sorted: row {} before row {}", j + 1, filled.row_idx[k - 1] + 1,
                     filled.row_idx[k] + 1);
    if (filled.row_idx[filled.diag[j]] != j)
      return wrong("the diagonal position of column {} is that of row {}", j + 1, filled.row_idx[filled.diag[j]] + 1);
  }
  return {};
}

template <class T>
Status check_finite(const Factors<T>& f) {
  for (std::int32_t j = 0; j < f.filled.n; ++j)
    for (std::int64_t k = f.filled.col_ptr[j]; k < f.filled.col_ptr[j + 1]; ++k)
      if (!std::isfinite(f.values[k]))
        return wrong("{}({},{}) is {}", k > f.filled.diag[j] ? 'L' : 'U', f.filled.row_idx[k] + 1, j + 1,
                     spelled(f.values[k]));
  return {};
}

Status check_pattern_contains_a(CscPatternView a, const Plan& plan, const FilledPattern& filled) {
  const std::vector<std::int32_t> new_row = rebuild::inverse(plan.p);
  for (std::int32_t j = 0; j < filled.n; ++j) {
    const std::int32_t old_j = plan.q[j];
    const auto first = filled.row_idx.begin() + filled.col_ptr[j],
               last = filled.row_idx.begin() + filled.col_ptr[j + 1];
    for (std::int64_t k = a.col_ptr[old_j]; k < a.col_ptr[old_j + 1]; ++k)
      if (const std::int32_t i = new_row[a.row_idx[k]]; !std::binary_search(first, last, i))
        return wrong("A({},{}), which is ({},{}) of P·A·Q, is missing in L + U", a.row_idx[k] + 1, old_j + 1, i + 1,
                     j + 1);
  }
  return {};
}

template <class T>
Status check_missing_are_zero(const CscView<double>& a, const Factors<T>& f) {
  constexpr double eps = std::numeric_limits<T>::epsilon() / 2.0;
  const FilledPattern& s = f.filled;
  const CscMatrix<double> b = rebuild::pracq(f.plan, a);
  struct Entry {
    double product = 0, size = 0;  // of L·U and |L||U|
    std::int32_t products = 0;
  };
  std::vector<Entry> column(s.n);
  std::vector<std::int64_t> missing;
  for (std::int32_t j = 0; j < s.n; ++j) {
    missing.clear();
    std::int64_t in_s = s.col_ptr[j];
    for (std::int64_t k = b.col_ptr[j]; k < b.col_ptr[j + 1]; ++k) {
      while (in_s < s.col_ptr[j + 1] && s.row_idx[in_s] < b.row_idx[k]) ++in_s;
      if (in_s == s.col_ptr[j + 1] || s.row_idx[in_s] != b.row_idx[k]) missing.push_back(k);
    }
    if (missing.empty()) continue;
    std::ranges::fill(column, Entry{});
    for (std::int64_t k = s.col_ptr[j]; k <= s.diag[j]; ++k) {
      const std::int32_t i = s.row_idx[k];
      for (std::int64_t m = s.diag[i] + 1; m < s.col_ptr[i + 1]; ++m) {
        Entry& to = column[s.row_idx[m]];
        const double product = static_cast<double>(f.values[m]) * static_cast<double>(f.values[k]);  // L(.,i) U(i,j)
        to.product += product;
        to.size += std::abs(product);
        ++to.products;
      }
    }
    for (const std::int64_t k : missing) {
      const Entry& lu = column[b.row_idx[k]];
      const double tolerance = Tolerances::lu_residual * (lu.products + 1) * eps * lu.size;
      if (!(std::abs(b.values[k] - lu.product) <= tolerance))
        return wrong(
            "A({},{}), which is ({},{}) of P·A·Q, is missing in L + U, whose product is {} there instead of {}",
            f.plan.p[b.row_idx[k]] + 1, f.plan.q[j] + 1, b.row_idx[k] + 1, j + 1, lu.product, b.values[k]);
    }
  }
  return {};
}

template <class T>
Status check_unit_lower(const CscView<T>& l) {
  if (l.n_rows != l.n_cols) return wrong("L is {} x {}, not square", l.n_rows, l.n_cols);
  for (std::int32_t j = 0; j < l.n_cols; ++j) {
    int diagonals = 0;
    for (std::int64_t k = l.col_ptr[j]; k < l.col_ptr[j + 1]; ++k) {
      if (l.row_idx[k] < j) return wrong("L({},{}) = {} is above the diagonal", l.row_idx[k] + 1, j + 1, l.values[k]);
      if (l.row_idx[k] > j) continue;
      ++diagonals;
      if (!(l.values[k] == T(1))) return wrong("L({0},{0}) = {1} instead of 1", j + 1, spelled(l.values[k]));
    }
    if (diagonals != 1) return wrong("L({0},{0}) is stored {1} times instead of once", j + 1, diagonals);
  }
  return {};
}

template <class T>
Status check_upper(const CscView<T>& u) {
  if (u.n_rows != u.n_cols) return wrong("U is {} x {}, not square", u.n_rows, u.n_cols);
  for (std::int32_t j = 0; j < u.n_cols; ++j) {
    int diagonals = 0;
    for (std::int64_t k = u.col_ptr[j]; k < u.col_ptr[j + 1]; ++k) {
      if (u.row_idx[k] > j) return wrong("U({},{}) = {} is below the diagonal", u.row_idx[k] + 1, j + 1, u.values[k]);
      diagonals += u.row_idx[k] == j;
    }
    if (diagonals != 1) return wrong("U({0},{0}) is stored {1} times instead of once", j + 1, diagonals);
  }
  return {};
}

#define LULAB_INSTANTIATE(T)                                                         \
  template Status check_sizes(const CscView<double>&, const Factors<T>&);            \
  template Status check_finite(const Factors<T>&);                                   \
  template Status check_missing_are_zero(const CscView<double>&, const Factors<T>&); \
  template Status check_unit_lower(const CscView<T>&);                               \
  template Status check_upper(const CscView<T>&);
LULAB_INSTANTIATE(float)
LULAB_INSTANTIATE(double)
#undef LULAB_INSTANTIATE

}  // namespace lulab
