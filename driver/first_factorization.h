#pragma once
// The first factorization of a sequence: pivots chosen by value on the host, which every refactorization keeps.

#include <string_view>

#include "core/plan.h"
#include "core/rung.h"
#include "core/status.h"

namespace lulab {

/// What chooses the pivots of the first factorization.
enum class FirstFactorization {
  rung,       // the rung itself; where its pivots are fixed, the plan's diagonal
  reference,  // sparse_leftlooking/00_reference, by value (threshold pivot_tol)
  klu,        // sparse_leftlooking/90_klu, likewise
};
std::string_view to_string(FirstFactorization first);
/// Errors    invalid_argument listing the ones there are.
Result<FirstFactorization> parse_first_factorization(std::string_view text);

/// The rung on the host that chooses pivots by value: the one that `first` names, else sparse_leftlooking/06_pruned.
const Rung& pivot_chooser(FirstFactorization first);

/// The analysis for the rows in the order in which the chooser picks them for the values of A; in T, or in double
/// where the chooser has no T.
///
/// Errors    those of the chooser's factorization.
template <class T>
Result<Analysis> choose_pivots(const Rung& chooser, const FactorOptions& options, const Analysis& analysis,
                               const CscView<double>& a);

/// The analysis for the columns in the order in which the chooser picks rows of Aᵀ: pivots by row. They are stable
/// where pivots by column grow, as in Wilkinson's matrix, 2^(n-1).   Errors as choose_pivots().
template <class T>
Result<Analysis> choose_pivots_by_row(const Rung& chooser, const FactorOptions& options, const Analysis& analysis,
                                      const CscView<double>& a);

}  // namespace lulab
