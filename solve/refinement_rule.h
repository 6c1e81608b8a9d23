#pragma once
// Iterative refinement: the backward error of a row, when another step is worth it, and when x is good enough. One rule
// for the host and for kernels: the functions are constexpr, which nvcc compiles for the device too.
//
//     RefinementRule rule(omega of the first x, max_iterations);   // enough = eps
//     while (rule.wants_step()) {
//       x' = x + correction          solved with row_error(...).to_correct(r), not with all of r
//       if (rule.accepts(omega of x')) x = x'
//     }
//     return rule.result(componentwise backward error of x);

#include <cstdint>
#include <limits>

namespace lulab {

struct Refinement {
  int iterations = 0;         // steps whose correction was kept
  double backward_error = 0;  // componentwise_backward_error() of the x returned
  double omega = 0;           // omega1 + omega2 of the x returned; at most twice this where HostRefiner saw at once, in
                              // plain double arithmetic, that it is small enough: there it is that backward error
  bool converged = false;     // omega <= max(enough, limit): x is good
};

/// Refines until omega = omega1 + omega2 <= enough (eps to limit) or max_iterations. Once x is good (omega <= limit), a
/// step that gains less than a tenth is the last, and one that makes x worse is undone. (A tenth and not a half: float
/// factors of badly scaled matrices gain slowly at first, and still arrive.) Before, two such steps are forgiven: a
/// first x of float factors may be so large that its errors look small, and the step that mends it shows them. So an x
/// that never becomes good may be worse than the first. A first omega that is NaN, or a step to one that is NaN or
/// infinite, is the end.
///
/// Source    Arioli, Demmel & Duff 1989, section 3; Skeel 1980; Demmel et al. 2006 for the tenth.
class RefinementRule {
 public:
  static constexpr double eps = std::numeric_limits<double>::epsilon() / 2;  // unit roundoff
  static constexpr double limit = 30 * eps;  // of a good omega; x is double, whatever the type of the factors
  static constexpr int forgiven = 2;

  constexpr RefinementRule(double omega, int max_iterations, double enough = eps)
      : omega_(omega), enough_(enough), max_iterations_(max_iterations) {}

  constexpr bool wants_step() const { return !stopped_ && iterations_ < max_iterations_ && omega_ > enough_; }
  /// Is the x of the last step to be kept? Then it replaces the old one.
  constexpr bool accepts(double next_omega) {
    const bool gains = next_omega <= 0.9 * omega_;
    const bool mendable = iterations_ + 1 < max_iterations_ && next_omega < std::numeric_limits<double>::infinity();
    const bool forgiving = omega_ > limit && setbacks_ < forgiven && mendable;
    if (!gains && forgiving) ++setbacks_;
    if (!(next_omega < omega_) && !forgiving) {
      stopped_ = true;
      return false;
    }
    stopped_ = !gains && !forgiving;
    omega_ = next_omega;
    ++iterations_;
    return true;
  }
  constexpr Refinement result(double componentwise) const {
    return {iterations_, componentwise, omega_, omega_ <= (enough_ > limit ? enough_ : limit)};
  }

 private:
  double omega_;  // of x
  double enough_;
  int iterations_ = 0, setbacks_ = 0;
  int max_iterations_;
  bool stopped_ = false;
};

/// When refinement ends.
struct RefinementGoal {
  double enough;
  int max_iterations;

  constexpr RefinementGoal(double is_enough = RefinementRule::eps, int most_iterations = 10)
      : enough(is_enough), max_iterations(most_iterations) {}
};

/// The backward error split by the size of the denominator: omega1 over the rows where |A||x| + |b| is safely nonzero,
/// omega2 over the others with ||A(i,:)||_inf ||x||_inf in place of |b|_i. Their sum says how near A and a nearby b are
/// solved, also for sparse b. A row where that product overflows counts in omega1: nothing shows that the row is small.
struct BackwardErrors {
  double omega1 = 0;
  double omega2 = 0;
  double componentwise = 0;  // max_i |b - A x|_i / (|A||x| + |b|)_i

  double sum() const { return omega1 + omega2; }
};

/// size / (p + q) with 0/0 = 0; NaN where p or q is infinite.   size, p, q: >= 0 or NaN
constexpr double relative_error(double size, double p, double q) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (p + q < infinity) return size == 0 && p + q == 0 ? 0 : size / (p + q);
  const double half = 0.5 * p + 0.5 * q;  // of a sum that overflows
  return half < infinity ? 0.5 * size / half : std::numeric_limits<double>::quiet_NaN();
}

/// The backward error of one row.
struct RowError {
  double componentwise;  // |b - A x|_i / (|A||x| + |b|)_i
  double omega;          // the row's part in omega2 where its denominator is nearly zero, else in omega1
  bool nearly_zero;      // |A||x| + |b| is no larger than its own rounding errors may be

  /// What the next step corrects: r = (b - A x)_i, or 0 where the row is good already. What is left of a large row is
  /// rounding; float factors would carry 1e-7 of it into rows a million times smaller, and those never become good.
  constexpr double to_correct(double r) const { return componentwise <= RefinementRule::eps ? 0 : r; }
};

/// r, ax, b: |b - A x|_i, (|A||x|)_i and |b|_i   row_size: max |A(i,:)| · max |x|. Where that overflows, nothing shows
/// that the row is small beside it, and it counts in omega1.
///
/// Source    Arioli, Demmel & Duff 1989, section 2.2 (threshold 1000 n eps).
constexpr RowError row_error(double r, double ax, double b, double row_size, std::int32_t n) {
  const double componentwise = relative_error(r, ax, b);
  const double tau = 1000.0 * n * RefinementRule::eps * (row_size + b);
  const bool nearly_zero = !(ax + b > tau || tau == std::numeric_limits<double>::infinity());
  return {componentwise, nearly_zero ? relative_error(r, ax, row_size) : componentwise, nearly_zero};
}

}  // namespace lulab
