#pragma once
// Refine::first: from when on a solution is taken for good without a look at it.

#include <cstddef>
#include <cstdint>
#include <span>

#include "solve/refinement_rule.h"

namespace lulab {

/// What the solutions by one set of factors have shown of them. One that is good at once makes a check of the factors
/// due: no entry of L is large and, where that x has zeros, a known solution without zeros comes out as well. What the
/// check says holds until there are other factors.
class SolutionTrust {
 public:
  static constexpr double max_multiplier = 2e3;  // of entries of L: 2 / KLU's tol

  /// There are other factors.
  void drop() { state_ = State::none; }
  /// Need the next solutions not be looked at?
  bool is_full() const { return state_ == State::full; }
  /// The check has failed.
  bool is_refused() const { return state_ == State::refused; }
  bool check_is_due() const { return state_ == State::after_solution || state_ == State::after_zeros; }
  /// Does the check ask for a solution without zeros?
  bool wants_known_solution() const { return state_ == State::after_zeros; }
  /// Requires check_is_due().
  void settle(bool passed) { state_ = passed ? State::full : State::refused; }
  /// Takes note of solutions that were looked at.   Shapes x: (n, refined.size()) by columns.
  void take(std::span<const Refinement> refined, std::span<const double> x);

  /// Without a correction, and better than most.
  static bool is_good_at_once(const Refinement& r) {
    constexpr double trusted_error = 1e-14;
    return r.iterations == 0 && r.omega <= trusted_error;
  }

 private:
  enum class State : std::uint8_t {
    none,
    after_solution,  // one was good at once
    after_zeros,     // likewise, but it has zeros
    refused,
    full,
  } state_ = State::none;
};

}  // namespace lulab
