#include "core/matrix/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <random>
#include <set>
#include <string>

#include "testing/to_dense.h"

namespace lulab {

void PrintTo(const GeneratorFamily& family, std::ostream* out) { *out << family.name; }

namespace {

class Family : public ::testing::TestWithParam<GeneratorFamily> {
 protected:
  CscMatrix<double> make(std::int32_t n, std::uint64_t seed = 1) {
    auto a = generate(GetParam().name, {.n = n, .seed = seed});
    EXPECT_TRUE(a.ok()) << a.status().to_string();
    return a.ok() ? std::move(*a) : CscMatrix<double>{};
  }
};

INSTANTIATE_TEST_SUITE_P(Generators, Family, ::testing::ValuesIn(generator_families()),
                         [](const auto& info) { return std::string(info.param.name); });

double norm_1(const DenseMatrix<double>& a) {
  double norm = 0;
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    double sum = 0;
    for (std::int32_t i = 0; i < a.n_rows; ++i) sum += std::abs(a(i, j));
    norm = std::max(norm, sum);
  }
  return norm;
}

struct Elimination {
  std::int32_t rank = 0;
  double rcond = 0;  // 1 / (|A|_1 |A^-1|_1); 0 when the rank is short
};

/// Gauss-Jordan inversion in place with complete pivoting. Its swaps leave the 1-norm of the inverse as it is.
Elimination eliminate(DenseMatrix<double> a) {
  const std::int32_t n = a.n_rows;
  const double norm = norm_1(a);
  for (std::int32_t k = 0; k < n; ++k) {
    std::int32_t row = k, column = k;
    for (std::int32_t j = k; j < n; ++j)
      for (std::int32_t i = k; i < n; ++i)
        if (std::abs(a(i, j)) > std::abs(a(row, column))) row = i, column = j;
    if (!(std::abs(a(row, column)) > n * std::numeric_limits<double>::epsilon() * norm)) return {k, 0.0};
    for (std::int32_t j = 0; j < n; ++j) std::swap(a(k, j), a(row, j));
    for (std::int32_t i = 0; i < n; ++i) std::swap(a(i, k), a(i, column));
    const double pivot = a(k, k);
    for (std::int32_t i = 0; i < n; ++i)
      if (i != k) a(i, k) /= -pivot;
    for (std::int32_t j = 0; j < n; ++j) {
      if (j == k) continue;
      const double u = a(k, j);
      for (std::int32_t i = 0; i < n; ++i)
        if (i != k) a(i, j) += a(i, k) * u;
      a(k, j) = u / pivot;
    }
    a(k, k) = 1 / pivot;
  }
  return {n, 1 / (norm * norm_1(a))};
}

double at(const CscMatrix<double>& a, std::int32_t i, std::int32_t j) {
  for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
    if (a.row_idx[k] == i) return a.values[k];
  return 0.0;
}

TEST_P(Family, SameSeedSameMatrixOtherSeedOtherValues) {
  const auto a = make(200, 5);
  EXPECT_TRUE(a == make(200, 5));
  EXPECT_FALSE(a.values == make(200, 6).values);
}

TEST_P(Family, EverySizeGivesAWellFormedSquareOfThatSizeOrLess) {
  for (std::int32_t n : {1, 2, 3, 4, 5, 6, 7, 10, 33, 100, 257, 1000}) {
    const auto a = make(n);
    EXPECT_TRUE(check_sorted(a)) << check_sorted(a).to_string();
    EXPECT_EQ(a.n_rows, a.n_cols);
    EXPECT_EQ(a.values.size(), a.row_idx.size());
    for (double v : a.values) ASSERT_TRUE(std::isfinite(v));
    if (GetParam().size.starts_with("exact")) {
      EXPECT_EQ(a.n_rows, n);
    } else if (n >= 8) {
      EXPECT_LE(a.n_rows, n);
      EXPECT_GE(a.n_rows, n / 2);
    }
  }
}

TEST_P(Family, ValuesAreUnsymmetric) {
  const auto a = make(100);
  EXPECT_FALSE(a == transpose(a.view()));
}

TEST_P(Family, RankIsAsPromised) {
  for (std::int32_t n : {1, 2, 3, 5, 17, 60, 200}) {
    for (std::uint64_t seed : {1, 2}) {
      DenseMatrix<double> d = testing::to_dense(make(n, seed));
      if (GetParam().name == "badly_scaled") {
        for (std::int32_t i = 0; i < d.n_rows; ++i) {
          double largest = 0;
          for (std::int32_t j = 0; j < d.n_cols; ++j) largest = std::max(largest, std::abs(d(i, j)));
          for (std::int32_t j = 0; j < d.n_cols; ++j) d(i, j) /= largest;
        }
        for (std::int32_t j = 0; j < d.n_cols; ++j) {
          double largest = 0;
          for (std::int32_t i = 0; i < d.n_rows; ++i) largest = std::max(largest, std::abs(d(i, j)));
          for (std::int32_t i = 0; i < d.n_rows; ++i) d(i, j) /= largest;
        }
      }
      const Elimination e = eliminate(d);
      EXPECT_EQ(e.rank, d.n_rows - (GetParam().singular ? 1 : 0)) << "n " << n;
      // Families without a bound on the condition must still be far from singular in double precision.
      const double least = GetParam().name == "badly_scaled" || GetParam().name == "random" ? 1e-12 : 1e-6;
      if (!GetParam().singular) {
        EXPECT_TRUE(e.rcond >= least) << "n " << n << " rcond " << e.rcond;
      }
    }
  }
}

double dominance(const CscMatrix<double>& by_row_transposed) {
  double worst = std::numeric_limits<double>::infinity();
  const auto& a = by_row_transposed;
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    double margin = 0;
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
      margin += a.row_idx[k] == j ? std::abs(a.values[k]) : -std::abs(a.values[k]);
    worst = std::min(worst, margin);
  }
  return worst;
}

TEST(Generate, DominantFamiliesDominate) {
  for (const char* family : {"sram_array", "logic_rent", "ladder", "grid2d", "grid3d", "convection2d", "convection3d",
                             "arrow_first", "arrow_last", "banded", "dense_column", "random_dominant"}) {
    const auto a = generate(family, {.n = 500, .seed = 3}).value();
    EXPECT_GT(dominance(transpose(a.view())), 0.0) << family;
  }
  EXPECT_GT(dominance(generate("dense_row", {.n = 500, .seed = 3}).value()), 0.0);
  EXPECT_LT(dominance(transpose(generate("random", {.n = 500, .seed = 3})->view())), 0.0);
}

TEST(Generate, PatternsAreAsTheirNamesSay) {
  const std::int32_t n = 50;
  const auto first = generate("arrow_first", {.n = n}).value();
  const auto last = generate("arrow_last", {.n = n}).value();
  for (const auto* a : {&first, &last}) {
    EXPECT_EQ(a->nnz(), 3 * n - 2);
    const std::int32_t tip = a == &first ? 0 : n - 1;
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int64_t k = a->col_ptr[j]; k < a->col_ptr[j + 1]; ++k)
        EXPECT_TRUE(a->row_idx[k] == j || a->row_idx[k] == tip || j == tip);
  }
  const auto band = generate("banded", {.n = n, .degree = 3}).value();
  EXPECT_EQ(band.nnz(), n + 2 * (n - 1 + n - 2 + n - 3));
  EXPECT_EQ(generate("banded", {.n = n, .degree = 0})->nnz(), n);
  EXPECT_EQ(generate("ladder", {.n = n})->nnz(), 3 * n - 2);
  EXPECT_EQ(generate("grid2d", {.n = 101})->nnz(), 5 * 100 - 4 * 10);
  EXPECT_EQ(generate("convection3d", {.n = 1000})->nnz(), 7 * 1000 - 6 * 100);

  const auto column = generate("dense_column", {.n = n}).value();
  const auto row = transpose(generate("dense_row", {.n = n})->view());
  EXPECT_TRUE(column == row);
  std::int64_t longest = 0;
  for (std::int32_t j = 0; j < n; ++j) longest = std::max(longest, column.col_ptr[j + 1] - column.col_ptr[j]);
  EXPECT_EQ(longest, n);
}

TEST(Generate, SramHasHighFanOutAndOneWayGates) {
  const auto a = generate("sram_array", {.n = 3000}).value();  // 37 x 37 cells: n = 2·37² + 3·37
  ASSERT_EQ(a.n_rows, 2 * 37 * 37 + 3 * 37);
  const auto t = transpose(a.view());
  const std::int32_t word = 2 * 37 * 37, bit = word + 37;
  EXPECT_GE(a.col_ptr[word + 1] - a.col_ptr[word], 4 * 37);  // the word line acts on cells and bit lines
  EXPECT_NE(at(a, bit, word), 0.0);
  EXPECT_EQ(at(a, word, bit), 0.0);  // a transistor does not act on its gate
  EXPECT_FALSE(t.pattern() == a.pattern());
}

TEST(Generate, PowerGridHasInductorBranches) {
  const auto a = generate("power_grid", {.n = 2000}).value();
  const std::int32_t branch = a.n_rows - 1;
  EXPECT_EQ(a.col_ptr[branch + 1] - a.col_ptr[branch], 3);
  EXPECT_LT(at(a, branch, branch), 0.0);
  EXPECT_FALSE(transpose(a.view()).pattern() == a.pattern());
}

TEST(Generate, ZeroDiagonalHasNoneButExplicitZeros) {
  const auto a = generate("zero_diagonal", {.n = 2000, .degree = 40}).value();
  std::int64_t explicit_zeros = 0;
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      if (a.row_idx[k] != j) continue;
      EXPECT_EQ(a.values[k], 0.0);
      ++explicit_zeros;
    }
  }
  EXPECT_GT(explicit_zeros, 0);
}

TEST(Generate, WilkinsonPivotsDouble) {
  for (std::int32_t n : {2, 10, 50}) {
    DenseMatrix<double> u = testing::to_dense(generate("wilkinson_growth", {.n = n, .seed = 8}).value());
    for (std::int32_t k = 0; k < n; ++k) {
      for (std::int32_t i = k + 1; i < n; ++i) {
        EXPECT_EQ(std::abs(u(i, k)), std::abs(u(k, k)));  // no larger pivot: partial pivoting stays on the diagonal
        const double l = u(i, k) / u(k, k);
        for (std::int32_t j = k; j < n; ++j) u(i, j) -= l * u(k, j);
      }
    }
    EXPECT_EQ(std::abs(u(n - 1, n - 1)), std::ldexp(1.0, n - 1));
  }
}

TEST(Generate, BadlyScaledSpansItsDecades) {
  const auto a = generate("badly_scaled", {.n = 2000, .decades = 8}).value();
  double low = 1, high = 1;
  for (double v : a.values) {
    low = std::min(low, std::abs(v));
    high = std::max(high, std::abs(v));
  }
  EXPECT_LT(low, 1e-13);
  EXPECT_GT(high, 1e13);
  EXPECT_LT(high, 1e18);
}

TEST(Generate, StructuralRankIsOneShort) {
  const auto a = generate("structurally_singular", {.n = 100, .seed = 4}).value();
  std::multiset<std::int32_t> single_rows;  // rows of the columns that have one entry
  for (std::int32_t j = 0; j < 100; ++j)
    if (a.col_ptr[j + 1] - a.col_ptr[j] == 1) single_rows.insert(a.row_idx[a.col_ptr[j]]);
  bool shared = false;
  for (std::int32_t row : single_rows) shared = shared || single_rows.count(row) == 2;
  EXPECT_TRUE(shared);
}

TEST(Generate, RefusesWhatItCannotMake) {
  const auto refused = [](std::string_view family, const GenerateOptions& options) {
    const auto a = generate(family, options);
    EXPECT_FALSE(a.ok()) << family;
    EXPECT_EQ(a.status().code, StatusCode::invalid_argument);
    return a.status().message;
  };
  const std::string unknown = refused("spiral", {});
  for (const GeneratorFamily& f : generator_families()) EXPECT_NE(unknown.find(f.name), std::string::npos);
  refused("ladder", {.n = 0});
  refused("ladder", {.n = -5});
  refused("random", {.degree = -1});
  refused("badly_scaled", {.decades = 101});
  refused("wilkinson_growth", {.n = 1025});
}

TEST(Generate, FixedSeedGivesFixedNumbers) {
  // Values must not depend on compiler or library.
  EXPECT_EQ(random_vector(3, 1), random_vector(3, 1));
  std::mt19937_64 engine(1);
  const double first = 0.1 + 0.9 * (static_cast<double>(engine() >> 11) * 0x1p-53);
  EXPECT_EQ(std::abs(random_vector(1, 1)[0]), first);
  EXPECT_EQ(random_vector(0, 1).size(), 0u);
}

}  // namespace
}  // namespace lulab
