#include "verify/rebuild.h"

#include <algorithm>
#include <cmath>

namespace lulab::rebuild {

using Twice = extended::Twice<double>;

std::vector<std::int32_t> inverse(std::span<const std::int32_t> p) {
  std::vector<std::int32_t> inverse_of(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) inverse_of[p[i]] = static_cast<std::int32_t>(i);
  return inverse_of;
}

namespace {

// Calls place(i, j, k) for each entry k of A in the order of columns q[0], q[1], ... of P·A·Q: sorted by row when
// the entries are visited row by row, so this fills row buckets first.
template <class Place>
void visit_sorted(std::span<const std::int32_t> p, std::span<const std::int32_t> q, CscPatternView a, Place&& place) {
  const std::vector<std::int32_t> new_row = inverse(p), new_column = inverse(q);
  struct Entry {
    std::int32_t column;
    std::int64_t position;
  };
  std::vector<std::int64_t> row_end(p.size() + 1, 0);
  for (const std::int32_t i : a.row_idx) ++row_end[new_row[i] + 1];
  for (std::size_t i = 0; i < p.size(); ++i) row_end[i + 1] += row_end[i];
  std::vector<std::int64_t> next(row_end.begin(), row_end.end() - 1);
  std::vector<Entry> by_row(a.row_idx.size());
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      by_row[next[new_row[a.row_idx[k]]]++] = {new_column[j], k};
  for (std::size_t i = 0; i < p.size(); ++i)
    for (std::int64_t e = row_end[i]; e < row_end[i + 1]; ++e)
      place(static_cast<std::int32_t>(i), by_row[e].column, by_row[e].position);
}

std::vector<std::int64_t> column_starts(std::span<const std::int32_t> q, CscPatternView a) {
  std::vector<std::int64_t> col_ptr(q.size() + 1, 0);
  for (std::size_t j = 0; j < q.size(); ++j) col_ptr[j + 1] = col_ptr[j] + a.col_ptr[q[j] + 1] - a.col_ptr[q[j]];
  return col_ptr;
}

std::vector<std::int32_t> one_to_one(std::int32_t n) {
  std::vector<std::int32_t> p(n);
  for (std::int32_t i = 0; i < n; ++i) p[i] = i;
  return p;
}

}  // namespace

CscMatrix<double> transpose(const CscView<double>& a) {
  CscMatrix<double> t;
  t.n_rows = a.n_cols;
  t.n_cols = a.n_rows;
  t.col_ptr.assign(a.n_rows + 1, 0);
  for (const std::int32_t i : a.row_idx) ++t.col_ptr[i + 1];
  for (std::int32_t i = 0; i < a.n_rows; ++i) t.col_ptr[i + 1] += t.col_ptr[i];
  t.row_idx.resize(a.row_idx.size());
  t.values.resize(a.row_idx.size());
  std::vector<std::int64_t> next(t.col_ptr.begin(), t.col_ptr.end() - 1);
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      const std::int64_t to = next[a.row_idx[k]]++;
      t.row_idx[to] = j;
      t.values[to] = a.values[k];
    }
  return t;
}

CscMatrix<double> pracq(const Plan& plan, const CscView<double>& a) {
  CscMatrix<double> b;
  b.n_rows = a.n_rows;
  b.n_cols = a.n_cols;
  b.col_ptr = column_starts(plan.q, a);
  b.row_idx.resize(a.row_idx.size());
  b.values.resize(a.row_idx.size());
  std::vector<std::int64_t> next(b.col_ptr.begin(), b.col_ptr.end() - 1);
  visit_sorted(plan.p, plan.q, a, [&](std::int32_t i, std::int32_t j, std::int64_t k) {
    const std::int64_t to = next[j]++;
    b.row_idx[to] = i;
    b.values[to] = plan.r[plan.p[i]] * a.values[k] * plan.c[plan.q[j]];
  });
  return b;
}

CscPattern paq(std::span<const std::int32_t> p, std::span<const std::int32_t> q, CscPatternView a) {
  CscPattern b;
  b.n_rows = a.n_rows;
  b.n_cols = a.n_cols;
  b.col_ptr = column_starts(q, a);
  b.row_idx.resize(a.row_idx.size());
  std::vector<std::int64_t> next(b.col_ptr.begin(), b.col_ptr.end() - 1);
  visit_sorted(p, q, a, [&](std::int32_t i, std::int32_t j, std::int64_t) { b.row_idx[next[j]++] = i; });
  return b;
}

CscMatrix<double> scaled(const CscView<double>& a, std::span<const double> r, std::span<const double> c) {
  Plan plan;
  plan.p = one_to_one(a.n_rows);
  plan.q = one_to_one(a.n_cols);
  plan.r.assign(r.begin(), r.end());
  plan.c.assign(c.begin(), c.end());
  return pracq(plan, a);
}

template <class T>
Product<T>::Product(const CscMatrix<double>& b, const Factors<T>& f) : b_(b), f_(f), sums_(f.filled.n) {}

template <class T>
typename Product<T>::Sum& Product<T>::at(std::int32_t i) {
  Sum& sum = sums_[i];
  if (sum.seen != visit_) {
    sum = Sum{};
    sum.seen = visit_;
    touched_.push_back(i);
  }
  return sum;
}

template <class T>
std::span<const Deviation> Product<T>::column(std::int32_t j) {
  const FilledPattern& s = f_.filled;
  touched_.clear();
  ++visit_;
  for (std::int64_t k = s.col_ptr[j]; k < s.col_ptr[j + 1]; ++k) at(s.row_idx[k]).stored = true;
  const auto add = [&](std::int32_t i, double l, double u) {
    Sum& sum = at(i);
    sum.product.add_product(l, u);
    sum.size += std::abs(l * u);
    ++sum.products;
  };
  for (std::int64_t k = s.col_ptr[j]; k <= s.diag[j]; ++k) {
    const std::int32_t i = s.row_idx[k];
    const double u = f_.values[k];
    add(i, 1, u);
    for (std::int64_t m = s.diag[i] + 1; m < s.col_ptr[i + 1]; ++m) add(s.row_idx[m], f_.values[m], u);
  }
  for (std::int64_t k = b_.col_ptr[j]; k < b_.col_ptr[j + 1]; ++k) at(b_.row_idx[k]);
  column_.clear();
  for (const std::int32_t i : touched_) {
    const Sum& sum = sums_[i];
    Twice error = sum.product.negated();
    const auto first = b_.row_idx.begin() + b_.col_ptr[j], last = b_.row_idx.begin() + b_.col_ptr[j + 1];
    const auto in_b = std::lower_bound(first, last, i);
    const bool has = in_b != last && *in_b == i;
    const double value = has ? b_.values[in_b - b_.row_idx.begin()] : 0;
    error.add(value);
    column_.push_back(
        {i, sum.products, sum.stored, has, sum.product.value(), error.value(), sum.size + std::abs(value)});
  }
  return column_;
}

template <class T>
double Product<T>::cost(std::int32_t j) const {
  const FilledPattern& s = f_.filled;
  double cost = 0;
  for (std::int64_t k = s.col_ptr[j]; k <= s.diag[j]; ++k)
    cost += static_cast<double>(s.col_ptr[s.row_idx[k] + 1] - s.diag[s.row_idx[k]]);
  return cost;
}

template <class T>
double Product<T>::cost() const {
  double sum = 0;
  for (std::int32_t j = 0; j < f_.filled.n; ++j) sum += cost(j);
  return sum;
}

namespace {

std::vector<double> rounded(const std::vector<Twice>& v) {
  std::vector<double> r(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) r[i] = v[i].value();
  return r;
}

// L·(U·v) in twice double precision, and |L|(|U||v|).
template <class T>
std::vector<Twice> lu_product(const Factors<T>& f, std::span<const double> v, std::vector<double>& size) {
  const FilledPattern& s = f.filled;
  std::vector<Twice> u(s.n);
  std::vector<double> u_size(s.n, 0.0);
  for (std::int32_t j = 0; j < s.n; ++j)
    for (std::int64_t k = s.col_ptr[j]; k <= s.diag[j]; ++k) {
      u[s.row_idx[k]].add_product(f.values[k], v[j]);
      u_size[s.row_idx[k]] += std::abs(f.values[k] * v[j]);
    }
  std::vector<Twice> lu = u;
  size = u_size;
  for (std::int32_t j = 0; j < s.n; ++j)
    for (std::int64_t k = s.diag[j] + 1; k < s.col_ptr[j + 1]; ++k) {
      lu[s.row_idx[k]].add_product(f.values[k], u[j].hi);
      lu[s.row_idx[k]].add_product(f.values[k], u[j].lo);
      size[s.row_idx[k]] += std::abs(f.values[k]) * u_size[j];
    }
  return lu;
}

}  // namespace

template <class T>
std::vector<double> probe(const CscMatrix<double>& b, const Factors<T>& f, std::span<const double> v,
                          std::vector<double>& size) {
  std::vector<Twice> e = lu_product(f, v, size);
  for (Twice& x : e) x = x.negated();
  for (std::int32_t j = 0; j < b.n_cols; ++j)
    for (std::int64_t k = b.col_ptr[j]; k < b.col_ptr[j + 1]; ++k) {
      e[b.row_idx[k]].add_product(b.values[k], v[j]);
      size[b.row_idx[k]] += std::abs(b.values[k] * v[j]);
    }
  return rounded(e);
}

std::vector<double> times(const CscView<double>& b, std::span<const double> v) {
  std::vector<Twice> bv(b.n_rows);
  for (std::int32_t j = 0; j < b.n_cols; ++j)
    for (std::int64_t k = b.col_ptr[j]; k < b.col_ptr[j + 1]; ++k) bv[b.row_idx[k]].add_product(b.values[k], v[j]);
  return rounded(bv);
}

template <class T>
std::vector<double> lu_times(const Factors<T>& f, std::span<const double> v, std::vector<double>& size) {
  return rounded(lu_product(f, v, size));
}

template <class T>
std::vector<double> lu_transposed_times(const Factors<T>& f, std::span<const double> v, std::vector<double>& size) {
  const FilledPattern& s = f.filled;
  std::vector<Twice> lv(s.n), ulv(s.n);
  std::vector<double> l_size(s.n, 0.0);
  size.assign(s.n, 0.0);
  for (std::int32_t j = 0; j < s.n; ++j) {
    lv[j].add(v[j]);
    l_size[j] = std::abs(v[j]);
    for (std::int64_t k = s.diag[j] + 1; k < s.col_ptr[j + 1]; ++k) {
      lv[j].add_product(f.values[k], v[s.row_idx[k]]);
      l_size[j] += std::abs(f.values[k] * v[s.row_idx[k]]);
    }
  }
  for (std::int32_t j = 0; j < s.n; ++j)
    for (std::int64_t k = s.col_ptr[j]; k <= s.diag[j]; ++k) {
      ulv[j].add_product(f.values[k], lv[s.row_idx[k]].hi);
      ulv[j].add_product(f.values[k], lv[s.row_idx[k]].lo);
      size[j] += std::abs(f.values[k]) * l_size[s.row_idx[k]];
    }
  return rounded(ulv);
}

#define LULAB_INSTANTIATE(T)                                                                               \
  template class Product<T>;                                                                               \
  template std::vector<double> probe(const CscMatrix<double>&, const Factors<T>&, std::span<const double>, \
                                     std::vector<double>&);                                                \
  template std::vector<double> lu_times(const Factors<T>&, std::span<const double>, std::vector<double>&); \
  template std::vector<double> lu_transposed_times(const Factors<T>&, std::span<const double>, std::vector<double>&);
LULAB_INSTANTIATE(float)
LULAB_INSTANTIATE(double)
#undef LULAB_INSTANTIATE

}  // namespace lulab::rebuild
