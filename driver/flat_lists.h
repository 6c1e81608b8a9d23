#pragma once
// What a step on one core does, written out as flat lists: no loop over a column, whose few entries would cost a
// mispredicted branch.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/plan.h"

namespace lulab {

/// LU of the diagonal blocks of P·R·A·C·Q, and a solve with them and with the entries outside of the blocks, which
/// stay as they are.
///
/// Unknown t, t = 0 .. n-1, is the t-th that back substitution divides by its pivot. Values lie one after another: the
/// pivot of each unknown; then the blocks' U and what of P·R·A·C·Q is outside of the blocks; then the blocks' L; all in
/// the order in which a solve reads them.
struct FlatLists {
  struct Update {
    std::int32_t target, l, u;  // value[target] -= value[l] · value[u]
  };
  struct Division {
    std::int32_t l, pivot;  // value[l] /= value[pivot]
  };
  struct Term {
    std::int32_t row, column;  // y[row] -= value · y[column]
  };
  /// Each list up to here: columns of one level of the elimination.
  struct Level {
    std::int32_t updates, divisions;
  };
  /// Likewise: unknowns that are divided at once, then terms of U and of the entries outside, then of L.
  struct SolveStage {
    std::int32_t unknowns, upper, lower;
  };

  std::int32_t n = 0;
  std::vector<std::int32_t> to;  // (nnz(A)) place among the values of each entry of A
  std::vector<double> scale;     // (nnz(A)) its r · c
  std::vector<Update> updates;
  std::vector<Division> divisions;
  std::vector<Level> levels;
  std::vector<Term> upper, lower;
  std::vector<SolveStage> solve_stages;
  std::vector<std::int32_t> row, column;        // (n) of A: where unknown t has its b and its x
  std::vector<double> row_scale, column_scale;  // (n) r and c there

  std::int32_t first_lower() const { return n + static_cast<std::int32_t>(upper.size()); }
  std::int32_t n_values() const { return first_lower() + static_cast<std::int32_t>(lower.size()); }
};

/// About so many steps by the lists save what making them takes.
constexpr int steps_before_lists = 12;

/// The lists of an analyzed matrix; none where it is too large for them to pay: with many multiply-adds for each entry
/// loops over columns are faster, and the lists would not stay in cache.
///
/// Requires  a valid Analysis.
/// Ensures   no r · c is zero, subnormal or infinite.
/// Errors    throws std::bad_alloc.
/// Cost      O(nnz(L+U)), and the multiply-adds of a factorization where there are lists.
/// Source    Gustavson, Liniger & Willoughby 1970, where the list is a program; blocks: Davis & Palamadai Natarajan
///           2010, section 2.
std::optional<FlatLists> make_flat_lists(const Analysis& analysis);

/// Predicted time of a step by them, new values and b to x, in microseconds; none where there are no lists. Fill
/// outside of the blocks counts, too: with much of it the prediction is too long.
///
/// Cost      O(nnz(L+U)), for at most some 100,000 entries.
std::optional<double> flat_step_us(const FilledPattern& filled);

}  // namespace lulab
