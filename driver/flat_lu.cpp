#include "driver/flat_lu.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/factors.h"

#define LULAB_INLINE [[gnu::always_inline]] inline

namespace lulab {
namespace {

/// Vectors as the processor has them: wider ones would be taken apart entry by entry.
template <int width>
struct Vector {
  typedef double Lanes __attribute__((vector_size(width * sizeof(double))));
};

constexpr std::size_t side_by_side = 8;
/// y of one right-hand side, or of eight with the arithmetic of each.
struct One {
  static constexpr std::int64_t columns = 1;
  using Type = double;
};
struct Eight {
  static constexpr std::int64_t columns = side_by_side;
  using Type [[gnu::vector_size(side_by_side * sizeof(double)), gnu::may_alias]] = double;
};

/// Returns max |value|, without NaNs: is_stable() finds these, as infinities, in the factors.
template <int width>
LULAB_INLINE double upload_values(const FlatLists& f, const double* a, double* values) {
  std::fill_n(values, f.n_values(), 0.0);
  const std::int32_t* to = f.to.data();
  const double* scale = f.scale.data();
  const std::size_t nnz = f.to.size();
  typename Vector<width>::Lanes largest = {};
  std::size_t k = 0;
  for (; k + width <= nnz; k += width) {
    typename Vector<width>::Lanes of_a, product;
    std::memcpy(&of_a, a + k, sizeof of_a);
    std::memcpy(&product, scale + k, sizeof product);
    product *= of_a;
    for (int lane = 0; lane < width; ++lane) values[to[k + lane]] = product[lane];
    product = product < 0 ? -product : product;
    largest = product > largest ? product : largest;
  }
  double result = 0;
  for (int lane = 0; lane < width; ++lane) result = std::max(result, largest[lane]);
  for (; k < nnz; ++k) result = std::max(result, std::abs(values[to[k]] = scale[k] * a[k]));
  return result;
}

template <int width>
LULAB_INLINE void divide(const FlatLists::Division* d, const FlatLists::Division* end, double* v) {
  for (; end - d >= width; d += width) {
    typename Vector<width>::Lanes l, pivot;
#pragma GCC unroll 4
    for (int lane = 0; lane < width; ++lane) l[lane] = v[d[lane].l], pivot[lane] = v[d[lane].pivot];
    l /= pivot;
#pragma GCC unroll 4
    for (int lane = 0; lane < width; ++lane) v[d[lane].l] = l[lane];
  }
  for (; d < end; ++d) v[d->l] /= v[d->pivot];
}

template <int width>
LULAB_INLINE void eliminate_values(const FlatLists& f, double* v) {
  const FlatLists::Update* update = f.updates.data();
  const FlatLists::Division* division = f.divisions.data();
  for (const FlatLists::Level& stage : f.levels) {
    const FlatLists::Update* const last = f.updates.data() + stage.updates;
#pragma GCC unroll 4
    for (; update < last; ++update) v[update->target] -= v[update->l] * v[update->u];
    const FlatLists::Division* const end = f.divisions.data() + stage.divisions;
    divide<width>(division, end, v);
    division = end;
  }
}

/// One after another up to `last`; value: of the first.
template <class Y>
LULAB_INLINE void subtract(const FlatLists::Term*& term, const FlatLists::Term* last, const double*& value,
                           typename Y::Type* y) {
#pragma GCC unroll 4
  for (; term < last; ++term, ++value) y[term->row] -= *value * y[term->column];
}

/// Shapes    b, x: (n, 1 or 8) by columns.
template <class Y>
LULAB_INLINE void solve_values(const FlatLists& f, const double* v, const double* b, double* to, double* x) {
  constexpr std::int64_t columns = Y::columns;
  const std::int32_t *row = f.row.data(), *column = f.column.data();
  const double *row_scale = f.row_scale.data(), *column_scale = f.column_scale.data();
  for (std::int32_t t = 0; t < f.n; ++t)
    for (std::int64_t c = 0; c < columns; ++c) to[columns * t + c] = row_scale[t] * b[f.n * c + row[t]];
  typename Y::Type* const y = reinterpret_cast<typename Y::Type*>(to);
  const FlatLists::Term *upper = f.upper.data(), *lower = f.lower.data();
  const double *u = v + f.n, *l = v + f.first_lower();
  std::int32_t t = 0;
  for (const FlatLists::SolveStage& stage : f.solve_stages) {
    for (; t < stage.unknowns; ++t) y[t] /= v[t];
    subtract<Y>(upper, f.upper.data() + stage.upper, u, y);
    subtract<Y>(lower, f.lower.data() + stage.lower, l, y);
  }
  for (t = 0; t < f.n; ++t)
    for (std::int64_t c = 0; c < columns; ++c) x[f.n * c + column[t]] = column_scale[t] * to[columns * t + c];
}

// A function that is not inlined is compiled for the baseline; after AVX instructions its first SSE one waits.
#define LULAB_KERNELS(Name, width, target)                                                                       \
  struct Name {                                                                                                  \
    target static double upload(const FlatLists& f, const double* a, double* v) {                                \
      return upload_values<width>(f, a, v);                                                                      \
    }                                                                                                            \
    target static void eliminate(const FlatLists& f, double* v) { eliminate_values<width>(f, v); }               \
    target static void solve(const FlatLists& f, const double* v, const double* b, double* y, double* x) {       \
      solve_values<One>(f, v, b, y, x);                                                                          \
    }                                                                                                            \
    target static void solve_eight(const FlatLists& f, const double* v, const double* b, double* y, double* x) { \
      solve_values<Eight>(f, v, b, y, x);                                                                        \
    }                                                                                                            \
    static FlatLu::Kernels all() { return {upload, eliminate, solve, solve_eight}; }                             \
  };
LULAB_KERNELS(BaselineLists, 2, )
#ifdef __x86_64__
LULAB_KERNELS(Avx2Lists, 4, [[gnu::target("avx2")]])
#endif
#undef LULAB_KERNELS

std::vector<FlatLu::Kernels> kernels_of_this_processor() {
  std::vector<FlatLu::Kernels> kernels = {BaselineLists::all()};
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) kernels.push_back(Avx2Lists::all());
#endif
  return kernels;
}

}  // namespace

std::span<const FlatLu::Kernels> FlatLu::kernels() {
  static const std::vector<Kernels> kernels = kernels_of_this_processor();
  return kernels;
}

FlatLu::FlatLu(FlatLists lists, const Kernels& kernels)
    : lists_(std::move(lists)),
      kernels_(kernels),
      values_(lists_.n_values()),
      y_((lists_.n + side_by_side - 1) / side_by_side) {}

std::optional<FlatLu> FlatLu::create(const Analysis& analysis) {
  auto lists = make_flat_lists(analysis);
  if (!lists) return std::nullopt;
  return FlatLu(std::move(*lists), kernels().back());
}

void FlatLu::upload(std::span<const double> values) {
  uploaded_max_ = kernels_.upload(lists_, values.data(), values_.data());
}

void FlatLu::eliminate() { kernels_.eliminate(lists_, values_.data()); }

bool FlatLu::is_stable(double max_growth) const {
  const std::span<const double> values = values_;
  const auto pivots = values.first(lists_.n);
  const double largest_u = max_abs(values.first(lists_.first_lower()));
  const double largest_l = largest_multiplier();
  return std::ranges::find(pivots, 0.0) == pivots.end() && largest_u <= max_growth * uploaded_max_ &&
         std::isfinite(largest_u) && std::isfinite(largest_l);
}

double FlatLu::largest_multiplier() const {
  return max_abs(std::span<const double>(values_).subspan(lists_.first_lower()));
}

void FlatLu::pivots(std::span<double> pivots) const {
  for (std::int32_t t = 0; t < lists_.n; ++t)
    pivots[lists_.column[t]] = values_[t] / lists_.row_scale[t] / lists_.column_scale[t];
}

void FlatLu::solve(std::span<const double> b, std::span<double> x) {
  const std::size_t n = lists_.n, columns = n > 0 ? b.size() / n : 0;
  if (columns >= side_by_side) y_.resize(n);
  double* const y = y_.empty() ? nullptr : y_[0].of;
  std::size_t c = 0;
  for (; columns - c >= side_by_side; c += side_by_side)
    kernels_.solve_eight(lists_, values_.data(), b.data() + n * c, y, x.data() + n * c);
  for (; c < columns; ++c) kernels_.solve(lists_, values_.data(), b.data() + n * c, y, x.data() + n * c);
}

}  // namespace lulab
