#include "solve/sliced_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/factors.h"

#define LULAB_INLINE [[gnu::always_inline]] inline

namespace lulab {

namespace {

constexpr std::int32_t width = SlicedRows::width;
typedef double Lanes __attribute__((vector_size(width * sizeof(double))));

/// for_each_entry(take) calls take(row, column, position in A) for every entry, those of a row in its order.
template <class ForEachEntry>
SlicedRows make_sliced(std::int32_t n_rows, std::int32_t n_cols, std::int64_t nnz, ForEachEntry&& for_each_entry) {
  SlicedRows s;
  s.n_rows = n_rows;
  s.n_cols = n_cols;
  std::vector<std::int32_t> length(n_rows, 0);
  for_each_entry([&](std::int32_t i, std::int32_t, std::int64_t) { ++length[i]; });
  std::vector<std::int32_t> shorter_than(n_cols + std::size_t(2), 0);  // rows, by length: a bucket sort
  for (const std::int32_t entries : length) ++shorter_than[entries + 1];
  std::partial_sum(shorter_than.begin(), shorter_than.end(), shorter_than.begin());
  s.row.resize(n_rows);
  s.length.resize(n_rows);
  for (std::int32_t i = n_rows - 1; i >= 0; --i) {
    const std::int32_t place = n_rows - 1 - shorter_than[length[i]]++;
    s.row[place] = i;
    s.length[place] = length[i];
  }

  struct Place {
    std::int64_t next;      // of the row's next entry
    std::int64_t rest;      // of the entry after those that lie among the other rows' ones
    std::int32_t together;  // so many of these are to come
  };
  std::vector<Place> places(n_rows);
  std::int64_t begin = 0;
  for (std::int32_t first = 0; first < n_rows; first += width) {
    const std::int32_t end = std::min(first + width, n_rows);
    const std::int32_t together = end - first == width ? s.length[end - 1] : 0;
    std::int64_t rest = begin + std::int64_t(together) * width;
    for (std::int32_t place = first; place < end; ++place) {
      places[s.row[place]] = {together > 0 ? begin + (place - first) : rest, rest, together};
      rest += s.length[place] - together;
    }
    begin = rest;
  }
  s.column.resize(nnz);
  s.from.resize(nnz);
  for_each_entry([&](std::int32_t i, std::int32_t j, std::int64_t k) {
    Place& place = places[i];
    s.column[place.next] = j;
    s.from[place.next] = k;
    place.next = place.together > 1 ? place.next + width : place.together == 1 ? place.rest : place.next + 1;
    --place.together;
  });
  return s;
}

LULAB_INLINE void absolute(const double& v, double& result) { result = std::abs(v); }
LULAB_INLINE void absolute(const Lanes& v, Lanes& result) {
  for (int lane = 0; lane < width; ++lane) result[lane] = std::abs(v[lane]);
}
template <class Index>
LULAB_INLINE void gather(const double* v, const Index* from, Lanes& result) {
  static_assert(width == 4);
  result = Lanes{v[from[0]], v[from[1]], v[from[2]], v[from[3]]};
}
LULAB_INLINE void product_error(const double& a, const double& x, const double& product, double& result) {
  result = std::fma(a, x, -product);
}
LULAB_INLINE void product_error(const Lanes& a, const Lanes& x, const Lanes& product, Lanes& result) {
  for (int lane = 0; lane < width; ++lane) result[lane] = std::fma(a[lane], x[lane], -product[lane]);
}

/// Sums of one row, or of one in each lane.
template <class Value>
struct RowSums {
  Value sum;      // b - A x as far as it is known: sum + lost, which is not added up
  Value lost;     //
  Value ax;       // |A||x|
  Value largest;  // max |A(i,:)|

  LULAB_INLINE void subtract_product(const Value& a, const Value& x) {
    Value error, size;
    const Value product = -a * x;
    product_error(-a, x, product, error);
    const Value s = sum + product, z = s - sum;
    lost += (sum - (s - z)) + (product - z) + error;  // two_sum
    sum = s;
    absolute(product, size);
    ax += size;
    absolute(a, size);
    largest = size > largest ? size : largest;
  }
};

LULAB_INLINE void raise(double& largest, double value) { largest = larger_or_nan(largest, value); }

/// The matrix, x and what has been seen of the errors.
struct Pass {
  const double* values;
  const double* x;
  double x_max;
  const double* b;
  double good;
  std::int32_t n;
  const std::int32_t* column;  // of the next entry
  const std::int64_t* from;
  BackwardErrors errors = {};

  LULAB_INLINE void take_entries(std::int32_t count, RowSums<double>& row) {
    for (; count > 0; --count) row.subtract_product(values[*from++], x[*column++]);
  }
  /// Returns what is left of the row's residual.
  LULAB_INLINE double judge(const RowSums<double>& row, double b_size) {
    const double r = row.lost - row.lost == 0 ? row.sum + row.lost : row.sum;
    const RowError error = row_error(std::abs(r), row.ax, b_size, row.largest * x_max, n);
    raise(errors.componentwise, error.componentwise);
    raise(error.nearly_zero ? errors.omega2 : errors.omega1, error.omega);
    return error.componentwise <= good ? 0 : r;
  }
};

LULAB_INLINE BackwardErrors residual_pass(const SlicedRows& a, const double* values, const double* x, double x_max,
                                          const double* b, double good, double* r) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double of_tau = 1000.0 * a.n_rows * RefinementRule::eps;
  Pass pass = {values, x, x_max, b, good, a.n_rows, a.column.data(), a.from.data()};
  const std::int32_t* row = a.row.data();
  const std::int32_t* length = a.length.data();
  const std::int32_t* const last_full = row + a.n_rows / width * width;
  Lanes worst = {};
  for (; row != last_full; row += width, length += width) {
    Lanes start;
    gather(b, row, start);
    RowSums<Lanes> s = {start, {}, {}, {}};
    Lanes b_size, size;
    absolute(s.sum, b_size);
    const std::int32_t together = length[width - 1];
    for (std::int32_t t = 0; t < together; ++t, pass.column += width, pass.from += width) {
      Lanes v, xs;
      gather(values, pass.from, v);
      gather(x, pass.column, xs);
      s.subtract_product(v, xs);
    }
    if (length[0] > together) {
#pragma GCC unroll 4
      for (int lane = 0; lane < width; ++lane) {
        RowSums<double> rest = {s.sum[lane], s.lost[lane], s.ax[lane], s.largest[lane]};
        pass.take_entries(length[lane] - together, rest);
        s.sum[lane] = rest.sum, s.lost[lane] = rest.lost, s.ax[lane] = rest.ax, s.largest[lane] = rest.largest;
      }
    }
    // row_error() of a row that is neither nearly zero nor out of range is this quotient.
    Lanes result = s.lost - s.lost == 0 ? s.sum + s.lost : s.sum;
    absolute(result, size);
    const Lanes scale = s.ax + b_size, tau = of_tau * (s.largest * x_max + b_size);
    const auto plain = (scale > tau) & (scale < infinity);
    if (plain[0] & plain[1] & plain[2] & plain[3]) [[likely]] {
      const Lanes error = size / scale;
      worst = error > worst ? error : worst;
      result = error <= good ? Lanes{} : result;
    } else {
#pragma GCC unroll 4
      for (int lane = 0; lane < width; ++lane)
        result[lane] = pass.judge({s.sum[lane], s.lost[lane], s.ax[lane], s.largest[lane]}, b_size[lane]);
    }
    for (int lane = 0; lane < width; ++lane) r[row[lane]] = result[lane];
  }
  for (; row != a.row.data() + a.n_rows; ++row, ++length) {
    RowSums<double> s = {b[*row], 0, 0, 0};
    const double b_size = std::abs(s.sum);
    pass.take_entries(*length, s);
    r[*row] = pass.judge(s, b_size);
  }
  for (int lane = 0; lane < width; ++lane) {
    raise(pass.errors.componentwise, worst[lane]);
    raise(pass.errors.omega1, worst[lane]);
  }
  return pass.errors;
}

/// Sums of one row, or of one in each lane, without what rounding loses.
template <class Value>
struct QuickSums {
  Value r, ax;  // b - A x, |A||x| + |b|

  LULAB_INLINE void subtract_product(const Value& a, const Value& x) {
    Value size;
    const Value product = a * x;
    absolute(product, size);
    r -= product;
    ax += size;
  }
};

constexpr double least = 1e-280;  // what underflows in larger sums is far below their rounding errors

LULAB_INLINE double quick_pass(const SlicedRows& a, const double* values, const double* x, const double* b) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::int32_t* column = a.column.data();
  const std::int64_t* from = a.from.data();
  const std::int32_t* row = a.row.data();
  const std::int32_t* length = a.length.data();
  const auto take_entries = [&](std::int32_t count, QuickSums<double> & s) __attribute__((always_inline)) {
    for (; count > 0; --count) s.subtract_product(values[*from++], x[*column++]);
  };
  Lanes worst = {};
  auto known = worst == worst;
  const auto judge = [&](const QuickSums<Lanes>& s) __attribute__((always_inline)) {
    Lanes size;
    absolute(s.r, size);
    const auto is_zero = s.ax == 0;
    known &= (s.ax < infinity) & ((s.ax > least) | is_zero);
    const Lanes error = is_zero ? Lanes{} : size / s.ax;
    worst = error > worst ? error : worst;
  };
  const std::int32_t* const last_full = row + a.n_rows / width * width;
  for (; row != last_full; row += width, length += width) {
    Lanes of_b = {}, size = {};
    gather(b, row, of_b);
    absolute(of_b, size);
    QuickSums<Lanes> s = {of_b, size};
    const std::int32_t together = length[width - 1];
    for (std::int32_t t = 0; t < together; ++t, column += width, from += width) {
      Lanes v, xs;
      gather(values, from, v);
      gather(x, column, xs);
      s.subtract_product(v, xs);
    }
    if (length[0] > together) {
#pragma GCC unroll 4
      for (int lane = 0; lane < width; ++lane) {
        QuickSums<double> rest = {s.r[lane], s.ax[lane]};
        take_entries(length[lane] - together, rest);
        s.r[lane] = rest.r, s.ax[lane] = rest.ax;
      }
    }
    judge(s);
  }
  for (; row != a.row.data() + a.n_rows; ++row, ++length) {
    QuickSums<double> s = {b[*row], std::abs(b[*row])};
    take_entries(*length, s);
    judge({Lanes{s.r}, Lanes{s.ax}});
  }
  double largest = 0;
  for (int lane = 0; lane < width; ++lane) largest = known[lane] ? std::max(largest, worst[lane]) : infinity;
  return largest;
}

BackwardErrors baseline(const SlicedRows& a, const double* values, const double* x, double x_max, const double* b,
                        double good, double* r) {
  return residual_pass(a, values, x, x_max, b, good, r);
}
double quick_baseline(const SlicedRows& a, const double* values, const double* x, const double* b) {
  return quick_pass(a, values, x, b);
}
#ifdef __x86_64__
// Without the instruction, fma() is a call that takes as long as the rest.
[[gnu::target("avx2,fma")]] BackwardErrors avx2(const SlicedRows& a, const double* values, const double* x,
                                                double x_max, const double* b, double good, double* r) {
  return residual_pass(a, values, x, x_max, b, good, r);
}
[[gnu::target("avx2")]] double quick_avx2(const SlicedRows& a, const double* values, const double* x, const double* b) {
  return quick_pass(a, values, x, b);
}
#endif

std::vector<ResidualPass> passes_of_this_processor() {
  std::vector<ResidualPass> passes = {baseline};
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) passes.push_back(avx2);
#endif
  return passes;
}

std::vector<QuickErrorPass> quick_passes_of_this_processor() {
  std::vector<QuickErrorPass> passes = {quick_baseline};
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) passes.push_back(quick_avx2);
#endif
  return passes;
}

}  // namespace

SlicedRows sliced_rows(CscPatternView a) {
  return make_sliced(a.n_rows, a.n_cols, a.nnz(), [&](const auto& take) {
    for (std::int32_t j = 0; j < a.n_cols; ++j)
      for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) take(a.row_idx[k], j, k);
  });
}

SlicedRows sliced_rows_of_transposed(CscPatternView a) {
  return make_sliced(a.n_cols, a.n_rows, a.nnz(), [&](const auto& take) {
    for (std::int32_t j = 0; j < a.n_cols; ++j)
      for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) take(j, a.row_idx[k], k);
  });
}

std::span<const ResidualPass> residual_passes() {
  static const std::vector<ResidualPass> passes = passes_of_this_processor();
  return passes;
}

std::span<const QuickErrorPass> quick_error_passes() {
  static const std::vector<QuickErrorPass> passes = quick_passes_of_this_processor();
  return passes;
}

QuickError quick_error_by_columns(const CscView<double>& a, std::span<const double> x, std::span<const double> b) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  struct Row {
    QuickSums<double> sums;
    std::int32_t length;
  };
  std::vector<Row> rows(a.n_rows);
  for (std::int32_t i = 0; i < a.n_rows; ++i) rows[i] = {{b[i], std::abs(b[i])}, 0};
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      Row& row = rows[a.row_idx[k]];
      row.sums.subtract_product(a.values[k], x[j]);
      ++row.length;
    }
  QuickError quick = {0, 0};
  bool known = true;
  for (const auto& [sums, length] : rows) {
    quick.longest_row = std::max(quick.longest_row, length);
    if (sums.ax == 0) continue;
    known &= sums.ax < infinity && sums.ax > least;
    quick.error = std::max(quick.error, std::abs(sums.r) / sums.ax);
  }
  if (!known) quick.error = infinity;
  return quick;
}

}  // namespace lulab
