#include "core/matrix/generate_families.h"

namespace lulab::families {

namespace {

/// `degree` random off-diagonal positions per row, duplicates summed; row `skipped` stays empty.
void add_random_rows(Builder& builder, std::int32_t degree, Random& random, std::int64_t skipped = -1) {
  const std::int64_t n = builder.n();
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int32_t k = 0; k < degree && i != skipped; ++k) {
      const std::int64_t j = random.below(n);
      const double value = random.value();
      if (j != i) builder.add(i, j, value);
    }
  }
}

CscMatrix<double> arrow(const GenerateOptions& options, std::int64_t tip) {
  Random random(options.seed);
  Builder builder(options.n);
  for (std::int64_t k = 0; k < options.n; ++k) {
    if (k == tip) continue;
    builder.add(tip, k, random.value());
    builder.add(k, tip, random.value());
  }
  builder.dominate_rows(random);
  return builder.matrix();
}

}  // namespace

CscMatrix<double> arrow_first(const GenerateOptions& options) { return arrow(options, 0); }
CscMatrix<double> arrow_last(const GenerateOptions& options) { return arrow(options, options.n - 1); }

CscMatrix<double> banded(const GenerateOptions& options) {
  Random random(options.seed);
  Builder builder(options.n);
  for (std::int64_t i = 0; i < options.n; ++i) {
    const std::int64_t last = std::min<std::int64_t>(options.n - 1, i + options.degree);
    for (std::int64_t j = std::max<std::int64_t>(0, i - options.degree); j <= last; ++j)
      if (i != j) builder.add(i, j, random.value());
  }
  builder.dominate_rows(random);
  return builder.matrix();
}

CscMatrix<double> dense_row(const GenerateOptions& options) {
  Random random(options.seed);
  Builder builder(options.n);
  const std::int64_t row = random.below(options.n);
  add_random_rows(builder, options.degree, random, row);
  for (std::int64_t j = 0; j < options.n; ++j)
    if (j != row) builder.add(row, j, random.value());
  builder.dominate_columns(random);
  return builder.matrix();
}

CscMatrix<double> dense_column(const GenerateOptions& options) { return transpose(dense_row(options).view()); }

CscMatrix<double> random_dominant(const GenerateOptions& options) {
  Random random(options.seed);
  Builder builder(options.n);
  add_random_rows(builder, options.degree, random);
  builder.dominate_rows(random);
  return builder.matrix();
}

CscMatrix<double> random_unsymmetric(const GenerateOptions& options) {
  Random random(options.seed);
  Builder builder(options.n);
  add_random_rows(builder, options.degree, random);
  for (std::int64_t i = 0; i < options.n; ++i) builder.add(i, i, random.value());
  return builder.matrix();
}

}  // namespace lulab::families
