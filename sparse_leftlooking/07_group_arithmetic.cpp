#include "sparse_leftlooking/07_group_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <utility>

// A function that is not inlined is compiled for the baseline, and its first SSE instruction after AVX ones waits 50
// ns.
#define LULAB_INLINE [[gnu::always_inline]] inline

namespace lulab::sparse_leftlooking {

namespace {

constexpr std::int32_t width = ColumnGroups::max_width;
constexpr std::int32_t max_run = 4;  // columns of L that share one pass over the rows

template <class T>
using Lanes = typename GroupRow<T>::Lanes;

// One column: entries of a dense column by row of As, and where its U goes.
template <class T>
struct ColumnView {
  T* x;
  T* u;
  bool& finite;
  LULAB_INLINE T source(std::int64_t, std::int32_t j) const { return x[j]; }
  LULAB_INLINE void set_source(std::int64_t p, std::int32_t j, T value) const {
    u[p] = value;
    x[j] = 0;
    finite &= std::isfinite(value);
  }
  LULAB_INLINE T& row(std::int32_t i) const { return x[i]; }
};

// A group: rows of lanes, the p-th source in row p.
template <class T>
struct LanesView {
  GroupRow<T>* x;
  const std::int32_t* place;
  LULAB_INLINE const Lanes<T>& source(std::int64_t p, std::int32_t) const { return x[p].lanes; }
  LULAB_INLINE void set_source(std::int64_t p, std::int32_t, const Lanes<T>& value) const { x[p].lanes = value; }
  LULAB_INLINE Lanes<T>& row(std::int32_t i) const { return x[place[i]].lanes; }
};

/// x(i,:) -= L(i,j..) · U(j..,:) for sources p .. p + count - 1, the columns j .. j + count - 1 of L, which have one
/// pattern below their triangle: each x(i) is read and written once for all of them.
template <int count, class Value, class T, class View>
LULAB_INLINE void update_by_run(const GroupFactors<T>& f, std::int64_t p, std::int32_t j, View x) {
  const ColumnGroups::LColumn* column = f.groups.l.data() + j;
  const T* l[count];
  Value u[count];
  for (int t = 0; t < count; ++t) l[t] = f.values + column[t].begin;
  for (int t = 0; t < count; ++t) {
    u[t] = x.source(p + t, j + t);
    for (int s = 0; s < t; ++s) u[t] -= l[s][t - s - 1] * u[s];  // U(j+t,:) -= L(j+t,j+s) · U(j+s,:)
    x.set_source(p + t, j + t, u[t]);
  }
  for (int t = 0; t < count; ++t) l[t] += count - 1 - t;
  const std::int32_t* rows = f.filled.row_idx.data() + column[count - 1].begin;
  const std::int64_t n_rows = column[count - 1].length;
  for (std::int64_t i = 0; i < n_rows; ++i) {
    Value& xi = x.row(rows[i]);
    Value sum = xi;
    for (int t = 0; t < count; ++t) sum -= l[t][i] * u[t];  // x(i,:) -= L(i,j+t) · U(j+t,:)
    xi = sum;
  }
}

template <class Value, class T, class View>
LULAB_INLINE void update_by_runs(const GroupFactors<T>& f, const std::int32_t* sources, std::int64_t begin,
                                 std::int64_t end, View x) {
  for (std::int64_t p = begin; p < end;) {
    const std::int32_t j = sources[p];
    const std::int32_t run = f.groups.l[j].run;
    if (run == 1) [[likely]] {  // very sparse circuits gain 5 %
      update_by_run<1, Value>(f, p++, j, x);
      continue;
    }
    const auto count = std::min<std::int64_t>({run, end - p, max_run});
    if (count == 1)
      update_by_run<1, Value>(f, p, j, x);
    else if (count == 2)
      update_by_run<2, Value>(f, p, j, x);
    else if (count == 3)
      update_by_run<3, Value>(f, p, j, x);
    else
      update_by_run<4, Value>(f, p, j, x);
    p += count;
  }
}

template <class T>
LULAB_INLINE void start_column(const CscView<T>& b, std::int32_t k, T* x) {
  for (std::int64_t p = b.col_ptr[k]; p < b.col_ptr[k + 1]; ++p) x[b.row_idx[p]] = b.values[p];
}

template <class T>
LULAB_INLINE void start_lanes(const GroupFactors<T>& f, const CscView<T>& b, std::int32_t s, GroupWork<T>& work) {
  const std::int32_t d = f.groups.first[s];
  std::int32_t place = 0;
  for (const std::int32_t j : f.groups.sources_of(s)) work.place[j] = place++;
  for (const std::int32_t i : f.groups.rows_of(s)) work.place[i] = place++;
  for (std::int32_t k = d; k < f.groups.first[s + 1]; ++k)
    for (std::int64_t p = b.col_ptr[k]; p < b.col_ptr[k + 1]; ++p)
      work.compact[work.place[b.row_idx[p]]].lanes[k - d] = b.values[p];
}

/// Updates column k by the entries begin .. end - 1 of U(:,k).   Returns whether these are finite.
template <class T>
LULAB_INLINE bool update_column(const GroupFactors<T>& f, std::int32_t k, std::int64_t begin, std::int64_t end, T* x) {
  const std::int64_t u = f.filled.col_ptr[k];
  bool finite = true;
  update_by_runs<T>(f, f.filled.row_idx.data() + u, begin, end, ColumnView<T>{x, f.values + u, finite});
  return finite;
}

template <class T>
LULAB_INLINE void update_lanes(const GroupFactors<T>& f, std::int32_t s, std::int64_t begin, std::int64_t end,
                               GroupWork<T>& work) {
  const std::int32_t* sources = f.groups.source_cols.data() + f.groups.source_ptr[s];
  update_by_runs<Lanes<T>>(f, sources, begin, end, LanesView<T>{work.compact.data(), work.place.data()});
}

template <class T>
LULAB_INLINE T perturbed(T pivot, T least, std::int64_t& count) {
  if (!(std::abs(pivot) < least)) return pivot;
  count += 1;
  return pivot < T(0) ? -least : least;
}

/// Stores the diagonal and L; update_column() has stored U.   usable: U is finite.   Returns k or no_column, see
/// finish.
template <class T>
LULAB_INLINE std::int32_t finish_column(const GroupFactors<T>& f, std::int32_t k, T* x, bool usable,
                                        std::int64_t& perturbed_pivots) {
  const std::int32_t* rows = f.filled.row_idx.data();
  const std::int64_t diag = f.filled.diag[k], end = f.filled.col_ptr[k + 1];
  const T pivot = perturbed(x[k], f.least_pivot, perturbed_pivots);
  usable &= pivot != T(0) && std::isfinite(pivot);
  f.values[diag] = pivot;
  x[k] = 0;
  for (std::int64_t p = diag + 1; p < end; ++p) {
    const T l = x[rows[p]] / pivot;
    x[rows[p]] = 0;
    f.values[p] = l;
    usable &= std::isfinite(l);
  }
  return usable ? GroupKernel<T>::no_column : k;
}

/// row -= l · u in the lanes after c. In those before, u is zero, and an infinite l times zero would make them NaN.
template <class T>
LULAB_INLINE void subtract_after(int c, T l, const Lanes<T>& u, Lanes<T>& row) {
  decltype(row < row) after = {};
  for (int lane = c + 1; lane < width; ++lane) after[lane] = -1;
  row = after ? row - l * u : row;
}

/// LU of the group's own rows x[0 .. n_rows), of which the first `used` hold its triangle. A lane without a column has
/// pivot 1.
template <class T>
LULAB_INLINE void eliminate_lanes(std::int32_t used, std::int64_t n_rows, T least_pivot, GroupRow<T>* x,
                                  std::int64_t& perturbed_pivots) {
  T pivot[width];
  Lanes<T> u[width];  // u[c]: row of U, zero up to its diagonal
  std::fill_n(pivot, width, T(1));
  std::fill_n(u, width, Lanes<T>{});
  for (std::int32_t c = 0; c < used; ++c) {
    Lanes<T> row = x[c].lanes;
    for (std::int32_t s = 0; s < c; ++s) {
      row[s] /= pivot[s];
      subtract_after<T>(s, row[s], u[s], row);
    }
    row[c] = perturbed<T>(row[c], least_pivot, perturbed_pivots);
    x[c].lanes = row;
    pivot[c] = row[c];
    for (std::int32_t s = c + 1; s < used; ++s) u[c][s] = row[s];
  }
  for (std::int64_t i = used; i < n_rows; ++i) {
    Lanes<T> row = x[i].lanes;
#pragma GCC unroll 8
    for (int c = 0; c < width; ++c) {
      const T l = row[c] / pivot[c];  // L(i,d+c)
      row[c] = l;
      subtract_after<T>(c, l, u[c], row);
    }
    x[i].lanes = row;
  }
}

template <class T>
LULAB_INLINE std::int32_t finish_lanes(const GroupFactors<T>& f, std::int32_t s, GroupWork<T>& work) {
  const std::int64_t n_sources = std::ssize(f.groups.sources_of(s));
  const std::int64_t n_rows = std::ssize(f.groups.rows_of(s));
  const std::int32_t d = f.groups.first[s];
  const std::int32_t used = f.groups.width(s);
  GroupRow<T>* x = work.compact.data();
  eliminate_lanes(used, n_rows, f.least_pivot, x + n_sources, work.perturbed_pivots);
  std::int32_t failed = GroupKernel<T>::no_column;
  for (std::int32_t c = used - 1; c >= 0; --c) {
    const std::int32_t k = d + c;
    bool usable = x[n_sources + c].lanes[c] != T(0);
    for (std::int64_t p = f.filled.col_ptr[k]; p < f.filled.col_ptr[k + 1]; ++p) {
      const T value = x[work.place[f.filled.row_idx[p]]].lanes[c];
      f.values[p] = value;
      usable = usable && std::isfinite(value);
    }
    if (!usable) failed = k;
  }
  std::fill_n(x, n_sources + n_rows, GroupRow<T>{});
  return failed;
}

// The same source compiled for each instruction set with wider vectors than the compiler may assume.
#define LULAB_KERNEL(name, target)                                                                                \
  template <class T>                                                                                              \
  struct name {                                                                                                   \
    target static void start(const GroupFactors<T>& f, const CscView<T>& b, std::int32_t s, GroupWork<T>& work) { \
      if (f.groups.width(s) == 1)                                                                                 \
        start_column(b, f.groups.first[s], work.column.data());                                                   \
      else                                                                                                        \
        start_lanes(f, b, s, work);                                                                               \
    }                                                                                                             \
    target static void update(const GroupFactors<T>& f, std::int32_t s, std::int64_t begin, std::int64_t end,     \
                              GroupWork<T>& work) {                                                               \
      if (f.groups.width(s) == 1)                                                                                 \
        work.u_is_finite &= update_column(f, f.groups.first[s], begin, end, work.column.data());                  \
      else                                                                                                        \
        update_lanes(f, s, begin, end, work);                                                                     \
    }                                                                                                             \
    target static std::int32_t finish(const GroupFactors<T>& f, std::int32_t s, GroupWork<T>& work) {             \
      return f.groups.width(s) == 1 ? finish_column(f, f.groups.first[s], work.column.data(),                     \
                                                    std::exchange(work.u_is_finite, true), work.perturbed_pivots) \
                                    : finish_lanes(f, s, work);                                                   \
    }                                                                                                             \
    target static std::int32_t eliminate(const GroupFactors<T>& f, const CscView<T>& b, std::int32_t begin,       \
                                         std::int32_t end, GroupWork<T>& work) {                                  \
      std::int32_t failed = GroupKernel<T>::no_column;                                                            \
      for (std::int32_t s = begin; s < end && failed == GroupKernel<T>::no_column;) {                             \
        std::int32_t e = s;                                                                                       \
        while (e < end && f.groups.width(e) == 1) ++e;                                                            \
        if (s == e)                                                                                               \
          failed = eliminate_group(f, b, s++, work);                                                              \
        else                                                                                                      \
          failed = eliminate_columns(f, b, f.groups.first[s], f.groups.first[e], work), s = e;                    \
      }                                                                                                           \
      return failed;                                                                                              \
    }                                                                                                             \
    [[gnu::noinline]] target static std::int32_t eliminate_columns(const GroupFactors<T>& f, const CscView<T>& b, \
                                                                   std::int32_t begin, std::int32_t end,          \
                                                                   GroupWork<T>& work) {                          \
      T* x = work.column.data();                                                                                  \
      std::int32_t failed = GroupKernel<T>::no_column;                                                            \
      for (std::int32_t k = begin; k < end && failed == GroupKernel<T>::no_column; ++k) {                         \
        start_column(b, k, x);                                                                                    \
        const bool finite = update_column(f, k, 0, f.filled.diag[k] - f.filled.col_ptr[k], x);                    \
        failed = finish_column(f, k, x, finite, work.perturbed_pivots);                                           \
      }                                                                                                           \
      return failed;                                                                                              \
    }                                                                                                             \
    [[gnu::noinline]] target static std::int32_t eliminate_group(const GroupFactors<T>& f, const CscView<T>& b,   \
                                                                 std::int32_t s, GroupWork<T>& work) {            \
      start_lanes(f, b, s, work);                                                                                 \
      update_lanes(f, s, 0, f.groups.source_ptr[s + 1] - f.groups.source_ptr[s], work);                           \
      return finish_lanes(f, s, work);                                                                            \
    }                                                                                                             \
    static GroupKernel<T> kernel() { return {start, update, finish, eliminate}; }                                 \
  };
LULAB_KERNEL(Baseline, )
#ifdef __x86_64__
LULAB_KERNEL(Avx2, [[gnu::target("avx2")]])
LULAB_KERNEL(Avx512, [[gnu::target("avx512f")]])
#endif
#undef LULAB_KERNEL

}  // namespace

template <class T>
GroupWork<T>::GroupWork(std::int32_t n, const ColumnGroups& groups) : column(n, T(0)), place(n) {
  std::int64_t longest = 0;
  for (std::int32_t s = 0; s < groups.size(); ++s)
    if (groups.width(s) > 1)
      longest = std::max(longest, std::ssize(groups.sources_of(s)) + std::ssize(groups.rows_of(s)));
  compact.assign(longest, GroupRow<T>{});
}

template <class T>
std::vector<GroupKernel<T>> group_kernels() {
  std::vector<GroupKernel<T>> kernels = {Baseline<T>::kernel()};
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) kernels.push_back(Avx2<T>::kernel());
  if (__builtin_cpu_supports("avx512f")) kernels.push_back(Avx512<T>::kernel());
#endif
  return kernels;
}

template struct GroupWork<float>;
template struct GroupWork<double>;
template std::vector<GroupKernel<float>> group_kernels();
template std::vector<GroupKernel<double>> group_kernels();

}  // namespace lulab::sparse_leftlooking
