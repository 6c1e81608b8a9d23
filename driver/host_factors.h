#pragma once
// The factors of the last numeric phase on the host: where the rung has left them, or a copy of them.

#include <optional>
#include <span>

#include "core/factorizer.h"
#include "core/factors.h"
#include "core/plan.h"
#include "solve/triangular.h"

namespace lulab {

/// A rung on the host lets its array of L and U be read; of others a copy is downloaded. The copy is kept from one
/// numeric phase to the next, so that only values come anew.   analysis: always the one that the rung works with.
template <class T>
class HostFactors {
 public:
  /// There are no factors.
  void drop();
  /// The rung goes, or gets other scalings.
  void forget();
  /// Those that the rung has just computed.
  void take(const HostArrays<T>& arrays);
  /// The same factors are there now in the rung's array, too.
  void take_array(const HostArrays<T>& arrays) { arrays_ = arrays; }

  /// Can they be read in the rung? Then no copy is needed.
  bool are_in_rung() const { return !arrays_.lu.empty(); }
  bool are_copied() const { return is_copy_current_; }
  /// Makes the copy.   Errors as Factorizer::download().
  Status copy(Factorizer<T>& factorizer, const Plan& plan);
  /// Requires are_copied().
  Factors<T>& copied() { return *copy_; }

  /// Requires are_in_rung() or are_copied().
  FactorsView<T> view(const Analysis& analysis) const;

  /// Does the rung's array show that no entry of L and U is larger than this?
  bool are_at_most(double largest) const { return are_in_rung() && max_abs(arrays_.lu) <= largest; }
  /// Likewise, times the largest entry of P·R·A·C·Q?
  bool grow_at_most(double growth) const { return are_at_most(growth * arrays_.max_pracq); }

  bool are_measured() const { return are_measured_; }
  /// Growth and rcond.   Returns all that is known, with what `known` has of perturbed and of new pivots.
  /// Requires are_copied().
  Statistics measure(const CscView<double>& a, const Statistics& known);

 private:
  HostArrays<T> arrays_;
  std::optional<Factors<T>> copy_;
  bool is_copy_current_ = false;  // it has the values of the last numeric phase
  bool are_measured_ = false;
};

/// max |L(i,j)|, i > j.
template <class T>
double largest_multiplier(const FactorsView<T>& f);

/// u_kk / (r[p[k]] c[q[k]]) for column q[k] of A.   Shapes of_columns: (n).
template <class T>
void unscaled_pivots(const FactorsView<T>& f, std::span<double> of_columns);

}  // namespace lulab
