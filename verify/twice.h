#pragma once
// Numbers of twice the precision of R: unevaluated sums of two.

#include <cmath>
#include <limits>
#include <type_traits>

namespace lulab::extended {

/// hi + lo with |lo| <= ulp(hi) / 2: 106 bits for double, 128 for the long double of x86, which also keeps products of
/// the smallest and largest doubles apart from zero and infinity.
/// Source Dekker 1971; Ogita, Rump & Oishi 2005, algorithm Dot2.
template <class R>
struct Twice {
  R hi = 0, lo = 0;

  void add(R v) {
    const R sum = hi + v;
    const R kept = sum - hi;  // what of v went into the sum
    renormalize(sum, lo + ((hi - (sum - kept)) + (v - kept)));
  }
  /// Adds a · b, of which nothing is lost.
  void add_product(R a, R b) {
    const R product = a * b;
    const R sum = hi + product;
    const R kept = sum - hi;
    renormalize(sum, lo + (((hi - (sum - kept)) + (product - kept)) + rest_of_product(a, b, product)));
  }
  R value() const { return hi + lo; }
  Twice negated() const { return {-hi, -lo}; }

 private:
  static R rest_of_product(R a, R b, R product) {
    if constexpr (std::is_same_v<R, double>) {
      return std::fma(a, b, -product);
    } else {  // Dekker: halves whose products are exact; fma is slow for long double
      constexpr R splitter = R(1ULL << ((std::numeric_limits<R>::digits + 1) / 2)) + 1;
      const R a_scaled = splitter * a, b_scaled = splitter * b;
      const R a_hi = a_scaled - (a_scaled - a), b_hi = b_scaled - (b_scaled - b);
      const R a_lo = a - a_hi, b_lo = b - b_hi;
      return ((a_hi * b_hi - product) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo;
    }
  }
  void renormalize(R sum, R error) {
    hi = sum + error;
    lo = error - (hi - sum);
  }
};

}  // namespace lulab::extended
