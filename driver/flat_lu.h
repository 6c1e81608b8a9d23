#pragma once
// Factors and solves by flat lists (flat_lists.h), on one core.

#include <optional>
#include <span>
#include <vector>

#include "driver/flat_lists.h"

namespace lulab {

/// The numeric half of a step, as often as new values come. No call but create(), and the first solve() of eight
/// right-hand sides, allocates memory.
class FlatLu {
 public:
  /// None where the matrix is too large for it to pay: make_flat_lists().   Errors throws std::bad_alloc.
  static std::optional<FlatLu> create(const Analysis& analysis);

  /// Takes new values of A.   Shapes values: (nnz(A)).
  void upload(std::span<const double> values);
  /// Factors them.
  void eliminate();
  /// Are all values finite, no pivot zero, and no entry of U in a block larger than max_growth times the largest of
  /// P·R·A·C·Q?
  bool is_stable(double max_growth) const;
  /// max |L(i,j)|, i > j.
  double largest_multiplier() const;
  /// A x = b of one or more right-hand sides; eight share a pass over L and U, and each has the bits that it has alone.
  /// Shapes    b, x: (n, any number) by columns; they may be the same span.   Requires is_stable().
  void solve(std::span<const double> b, std::span<double> x);

  /// The pivot of each column of A, without r and c.   Shapes pivots: (n) by columns of A.
  void pivots(std::span<double> pivots) const;

  /// What runs the lists, with the instructions of one processor. All give the same numbers.
  struct Kernels {
    double (*upload)(const FlatLists&, const double* a, double* values);  // returns max |value|, without NaNs
    void (*eliminate)(const FlatLists&, double* values);
    void (*solve)(const FlatLists&, const double* values, const double* b, double* y, double* x);
    void (*solve_eight)(const FlatLists&, const double* values, const double* b, double* y, double* x);
  };
  /// Those that this processor can run, the fastest last.
  static std::span<const Kernels> kernels();
  FlatLu(FlatLists lists, const Kernels& kernels);

 private:
  struct alignas(64) Line {
    double of[8];
  };

  FlatLists lists_;
  Kernels kernels_;
  std::vector<double> values_;  // (lists_.n_values())
  std::vector<Line> y_;         // n doubles one after another, or n of eight right-hand sides
  double uploaded_max_ = 0;     // max |P·R·A·C·Q|
};

}  // namespace lulab
