#pragma once
// The functions behind generate() and the builders that they share.   Requires options checked by generate().

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/matrix/generate.h"
#include "core/matrix/random.h"

namespace lulab::families {

/// Collects entries of an n x n matrix.
class Builder {
 public:
  explicit Builder(std::int64_t n) : n_(static_cast<std::int32_t>(n)) {}

  void add(std::int64_t i, std::int64_t j, double value) {
    rows_.push_back(static_cast<std::int32_t>(i));
    cols_.push_back(static_cast<std::int32_t>(j));
    values_.push_back(value);
  }
  std::int32_t n() const { return n_; }
  CscMatrix<double> matrix() const { return from_triplets<double>(n_, n_, rows_, cols_, values_); }

  /// Adds a diagonal of random sign that exceeds the sum of |off-diagonals| of its row by 0.1 to 1.
  /// Requires no diagonal entry so far.
  void dominate_rows(Random& random) { dominate(rows_, random); }
  void dominate_columns(Random& random) { dominate(cols_, random); }

 protected:
  void dominate(const std::vector<std::int32_t>& line_of, Random& random) {
    std::vector<double> sum(static_cast<std::size_t>(n_), 0.0);
    for (std::size_t k = 0; k < values_.size(); ++k) sum[line_of[k]] += std::abs(values_[k]);
    for (std::int32_t i = 0; i < n_; ++i) {
      const double excess = random.value();
      add(i, i, excess < 0 ? excess - sum[i] : excess + sum[i]);
    }
  }

  std::int32_t n_;
  std::vector<std::int32_t> rows_, cols_;
  std::vector<double> values_;
};

/// Stamps of modified nodal analysis. Node -1 is ground and has no equation.   Source: Ho, Ruehli & Brennan 1975.
class Circuit : public Builder {
 public:
  using Builder::Builder;

  /// A conductance, or a capacitance over the time step, between two nodes.
  void conductance(std::int64_t a, std::int64_t b, double g) {
    stamp(a, a, g);
    stamp(b, b, g);
    stamp(a, b, -g);
    stamp(b, a, -g);
  }
  /// Current gm · (v_gate - v_source) from drain to source.
  void transistor(std::int64_t drain, std::int64_t gate, std::int64_t source, double gm) {
    stamp(drain, gate, gm);
    stamp(drain, source, -gm);
    stamp(source, gate, -gm);
    stamp(source, source, gm);
  }
  /// Gives each of the nodes 0..nodes-1 a capacitance over the time step to ground of at least low·(1..10), and as much
  /// more as its row needs to be diagonally dominant: the step is short enough for every gain stage.
  void load_capacitances(std::int64_t nodes, double low, Random& random) {
    std::vector<double> excess(static_cast<std::size_t>(n_), 0.0);
    for (std::size_t k = 0; k < values_.size(); ++k)
      excess[rows_[k]] += rows_[k] == cols_[k] ? -values_[k] : std::abs(values_[k]);
    for (std::int64_t i = 0; i < nodes; ++i) stamp(i, i, low * random.uniform(1.0, 10.0) + std::max(0.0, excess[i]));
  }

 private:
  void stamp(std::int64_t i, std::int64_t j, double value) {
    if (i >= 0 && j >= 0) add(i, j, value);
  }
};

/// The largest m >= 1 with size(m) <= n; 1 if there is none.   Requires size increasing.
template <class Size>
std::int64_t largest(std::int64_t n, Size&& size) {
  std::int64_t low = 1, high = std::max<std::int64_t>(n, 1);
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (size(middle) <= n)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

CscMatrix<double> power_grid(const GenerateOptions&);
CscMatrix<double> sram_array(const GenerateOptions&);
CscMatrix<double> logic_rent(const GenerateOptions&);
CscMatrix<double> ladder(const GenerateOptions&);

CscMatrix<double> grid2d(const GenerateOptions&);
CscMatrix<double> grid3d(const GenerateOptions&);
CscMatrix<double> convection2d(const GenerateOptions&);
CscMatrix<double> convection3d(const GenerateOptions&);

CscMatrix<double> arrow_first(const GenerateOptions&);
CscMatrix<double> arrow_last(const GenerateOptions&);
CscMatrix<double> banded(const GenerateOptions&);
CscMatrix<double> dense_row(const GenerateOptions&);
CscMatrix<double> dense_column(const GenerateOptions&);
CscMatrix<double> random_dominant(const GenerateOptions&);
CscMatrix<double> random_unsymmetric(const GenerateOptions&);

CscMatrix<double> badly_scaled(const GenerateOptions&);
CscMatrix<double> zero_diagonal(const GenerateOptions&);
CscMatrix<double> wilkinson_growth(const GenerateOptions&);
CscMatrix<double> structurally_singular(const GenerateOptions&);
CscMatrix<double> numerically_singular(const GenerateOptions&);

}  // namespace lulab::families
