#include <numeric>

#include "core/matrix/generate_families.h"
#include "core/matrix/permutation.h"

namespace lulab::families {

// random_dominant between two diagonal matrices of powers of two. 10/3 slightly exceeds log2(10).
CscMatrix<double> badly_scaled(const GenerateOptions& options) {
  CscMatrix<double> a = random_dominant(options);
  Random random(~options.seed);
  const std::int64_t reach = options.decades * std::int64_t(332) / 100;
  const auto factors = [&] {
    std::vector<double> f(static_cast<std::size_t>(a.n_rows));
    for (double& v : f) v = std::ldexp(1.0, static_cast<int>(random.below(2 * reach + 1) - reach));
    return f;
  };
  const std::vector<double> r = factors();
  const std::vector<double> c = factors();
  return scale(a.view(), r, c);
}

// The rows of a dominant matrix, permuted so that no diagonal entry stays in place. Other entries that fall on the new
// diagonal are dropped or, every other time, kept as explicit zeros.
CscMatrix<double> zero_diagonal(const GenerateOptions& options) {
  CscMatrix<double> a = random_dominant(options);
  Random random(~options.seed);
  Permutation p = identity_permutation(a.n_rows);
  for (std::int64_t i = a.n_rows - 1; i > 0; --i) std::swap(p[i], p[random.below(i)]);  // Sattolo: one single cycle
  if (a.n_rows == 1) return a;
  a = permute(a.view(), p, identity_permutation(a.n_rows));
  Builder builder(a.n_rows);
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      if (a.row_idx[k] != j)
        builder.add(a.row_idx[k], j, a.values[k]);
      else if (random.chance(0.5))
        builder.add(j, j, 0.0);
    }
  }
  return builder.matrix();
}

// Ones on the diagonal and in the last column, -1 below: the last pivot is 2^(n-1). Random signs of whole rows and
// columns change neither the pivots nor their growth.
CscMatrix<double> wilkinson_growth(const GenerateOptions& options) {
  Random random(options.seed);
  const auto signs = [&] {
    std::vector<double> s(static_cast<std::size_t>(options.n));
    for (double& v : s) v = random.chance(0.5) ? 1.0 : -1.0;
    return s;
  };
  const std::vector<double> r = signs();
  const std::vector<double> c = signs();
  Builder builder(options.n);
  for (std::int32_t j = 0; j < options.n; ++j)
    for (std::int32_t i = 0; i < options.n; ++i)
      if (i >= j || j == options.n - 1) builder.add(i, j, (i > j ? -1.0 : 1.0) * r[i] * c[j]);
  return builder.matrix();
}

namespace {

/// Two different random columns.   Requires n >= 2.
std::pair<std::int32_t, std::int32_t> draw_pair(std::int32_t n, Random& random) {
  const auto first = static_cast<std::int32_t>(random.below(n));
  const auto second = static_cast<std::int32_t>((first + 1 + random.below(n - 1)) % n);
  return {first, second};
}

/// A copy of a without the entries for which drop(i, j) holds.
template <class Drop>
Builder without(const CscMatrix<double>& a, Drop&& drop) {
  Builder builder(a.n_rows);
  for (std::int32_t j = 0; j < a.n_cols; ++j)
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      if (!drop(a.row_idx[k], j)) builder.add(a.row_idx[k], j, a.values[k]);
  return builder;
}

}  // namespace

// Two columns whose only entries are in the same row: structural rank n - 1.
CscMatrix<double> structurally_singular(const GenerateOptions& options) {
  const CscMatrix<double> a = random_dominant(options);
  if (a.n_rows == 1) return Builder(1).matrix();
  Random random(~options.seed);
  const auto [first, second] = draw_pair(a.n_rows, random);
  Builder builder = without(a, [first = first, second = second](std::int32_t i, std::int32_t j) {
    return i != first && (j == first || j == second);
  });
  builder.add(first, second, random.value());
  return builder.matrix();
}

// Two columns whose only entries are a 2 x 2 block of rank 1: [a b; a b]. Equal entries cancel exactly, so a zero pivot
// appears under every ordering and every pivot choice, without rounding errors.
CscMatrix<double> numerically_singular(const GenerateOptions& options) {
  const CscMatrix<double> a = random_dominant(options);
  if (a.n_rows == 1) {
    Builder zero(1);
    zero.add(0, 0, 0.0);
    return zero.matrix();
  }
  Random random(~options.seed);
  const auto [first, second] = draw_pair(a.n_rows, random);
  Builder builder =
      without(a, [first = first, second = second](std::int32_t, std::int32_t j) { return j == first || j == second; });
  for (std::int32_t j : {first, second}) {
    const double value = random.value();
    builder.add(first, j, value);
    builder.add(second, j, value);
  }
  return builder.matrix();
}

}  // namespace lulab::families
