#pragma once
// What klu_factor() makes: a Solver for the pattern of klu_analyze(), and its factors as KLU describes them.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/timing.h"
#include "driver/solver.h"
#include "dropin/klu/pattern.h"

namespace lulab::klu_shape {

/// L and U of the diagonal blocks, block after block: what of it the pattern alone decides.
struct BlockForm {
  std::vector<std::int32_t> p, q;                                       // pivot k is A(p[k], q[k])
  std::vector<std::int32_t> to;                                         // where the analysis has its k-th pivot
  std::vector<std::int32_t> lnz_of, unz_of;                             // (n) entries of column k, without the diagonal
  std::int64_t lnz = 0, unz = 0, max_block_lnz = 1, max_block_unz = 1;  // with it
  std::int32_t outside_diagonal = 0;  // pivots that klu_analyze() had not on its diagonal
  double flops = 0;
  bool fits_blocks = true;  // every pivot is in a diagonal block; otherwise L and U are those of A as a whole
};

struct BlockFactors {
  CscMatrix<double> l, u;  // with the diagonal: first in L, last in U
};

/// R of R⁻¹ A as KLU has it.   how: 1: the sum of a row's |values|, 2: the largest, 0: ones; of an empty row 1.
template <class Index>
void scale_rows(int how, std::span<const Index> rows, std::span<const double> values, std::span<double> scale) {
  std::ranges::fill(scale, how > 0 ? 0.0 : 1.0);
  if (how <= 0) return;
  for (std::size_t s = 0; s < rows.size(); ++s) {
    double& row = scale[rows[s]];
    row = how == 1 ? row + std::abs(values[s]) : std::max(row, std::abs(values[s]));
  }
  std::ranges::replace(scale, 0.0, 1.0);
}

/// Which pivots klu_factor() takes.
struct PivotRule {
  double tol = 0.001;  // how much smaller than the largest of its column a pivot on klu_analyze()'s diagonal may be
  int scale = 2;       // as of scale_rows()
};

class Factorization {
 public:
  enum class State {
    factored,
    singular,
    not_finite,  // A has NaN or infinity: KLU calls it factored, and every x is NaN
  };

  explicit Factorization(std::shared_ptr<Pattern> pattern) : pattern_(std::move(pattern)) {}
  ~Factorization();

  /// Shapes    values: (nnz) in the caller's order.
  /// Ensures   state(); after singular() singular_column().
  /// Errors    those of Solver that the values do not explain.
  Status factor(const double* values, const PivotRule& rule);
  Status refactor(const double* values);
  /// A X = B or Aᵀ X = B, in place.   Shapes    B: (n, columns) by columns, each `leading` after the last one.
  /// Ensures   after an error, and where state() is no State::factored, X is NaN.
  Status solve(double* B, std::int64_t leading, std::int64_t columns, bool transposed);

  const Pattern& pattern() const { return *pattern_; }
  State state() const { return state_; }
  std::int32_t singular_column() const { return singular_column_; }  // of A
  std::span<const double> values() const { return values_; }         // in the order of pattern().a
  /// Has the last call made form() out of date? Then it is brought up to date.
  bool take_new_form();
  const BlockForm& form() const { return form_; }
  /// Does the rung keep its pivots where they cost little to read?
  bool pivots_at_hand() const;
  /// Without scaling, by columns of A; of a matrix without factors NaN, and 0 where it is singular.
  /// Errors    as Solver::pivots().
  Status pivots(std::span<double> pivots) const;
  /// Judges pivots that were given, if that is not done, and takes others where they fail. The matrix may turn out
  /// singular. Pivots chosen for these values by KLU's rule are taken as they are; solve() judges their x.
  Status judge();
  /// L U of R⁻¹ A, row_scale = diag(R) by rows of A; of a matrix without factors its pivots alone.
  /// Requires  form().fits_blocks, judge().
  Result<BlockFactors> factors(std::span<const double> row_scale) const;
  Result<ConditionEstimate> condition() const { return solver_->condition(); }

 private:
  void take(const double* values);
  template <class Work>
  Status with(const double* values, const Work& work);
  Status start();
  bool has_klu_order() const;
  bool is_for_our_order() const;
  Status start_in_our_order();
  bool pivots_change() const;
  Status start_in_klu_order();
  Status keep_pivots();
  Status start_with_pivots(Plan plan, FilledPattern filled);
  Result<bool> has_suitable_pivots() const;
  Status start_with(std::unique_ptr<Solver<double>> analyzed);
  Status factor_with(std::unique_ptr<Solver<double>> analyzed);
  void take(std::unique_ptr<Solver<double>> solver);
  std::unique_ptr<Solver<double>> new_solver() const;
  SolverOptions options() const;
  SolverOptions gpu_options() const;
  Status refactor_known();
  Status refactor_or_start();
  Status start_anew();
  Status scale_anew();
  bool is_badly_scaled() const;
  bool moves_to_gpu();
  bool is_time_for_gpu();
  bool refuse_gpu();
  void count_time(Clock::time_point start);
  Status settle(Status s);
  Result<bool> solve_some(std::span<double> x, std::int32_t columns, bool transposed);
  Status solve_all(double* B, std::int64_t leading, std::int64_t columns, bool transposed);

  std::shared_ptr<Pattern> pattern_;
  std::unique_ptr<Solver<double>> solver_;
  PivotRule rule_ = {};
  std::vector<double> values_;
  std::vector<double> b_, x_;
  State state_ = State::singular;
  std::int32_t singular_column_ = 0;
  BlockForm form_;
  Permutation form_p_, form_q_;  // of the analysis that form_ is of
  double pivoting_ms_ = -1;      // that went into it since the last values
};

}  // namespace lulab::klu_shape
