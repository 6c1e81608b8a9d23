#pragma once
// P·R·A·C·Q and L·U rebuilt entry by entry: the verifier's own loops, in twice double precision. Of core it uses the
// plain types only, never the functions that rungs use.

#include <cstdint>
#include <span>
#include <vector>

#include "core/matrix/csc.h"
#include "core/plan.h"
#include "verify/twice.h"

namespace lulab::rebuild {

/// inverse(p)[p[i]] = i.   Requires p is a permutation.
std::vector<std::int32_t> inverse(std::span<const std::int32_t> p);

/// Aᵀ with sorted rows.
CscMatrix<double> transpose(const CscView<double>& a);

/// P·R·A·C·Q with sorted rows: entry (i,j) = r[p[i]] · A(p[i], q[j]) · c[q[j]], multiplied from the left.
CscMatrix<double> pracq(const Plan& plan, const CscView<double>& a);
/// Its positions alone, P·A·Q.
CscPattern paq(std::span<const std::int32_t> p, std::span<const std::int32_t> q, CscPatternView a);
/// R·A·C.
CscMatrix<double> scaled(const CscView<double>& a, std::span<const double> r, std::span<const double> c);

/// One entry of B − L·U, and what its rounding errors are proportional to.
struct Deviation {
  std::int32_t row = 0;
  std::int32_t products = 0;  // how many L(i,k) U(k,j) meet here
  bool stored = false;        // L + U has a place for it
  bool in_b = false;          // B has an entry here
  double found = 0;           // (L·U)(i,j)
  double error = 0;           // B(i,j) − (L·U)(i,j)
  double size = 0;            // (|L||U|)(i,j) + |B(i,j)|
};

/// Columns of B − L·U, one at a time.
template <class T>
class Product {
 public:
  /// Keeps references to both.   Requires the checks of sizes and structure (verify/checks.h); rows of b sorted.
  Product(const CscMatrix<double>& b, const Factors<T>& f);

  /// The rows of column j in which B or L·U has an entry or L + U a place, in no order; valid until the next call.
  std::span<const Deviation> column(std::int32_t j);

  /// Multiply-adds of column j, and of all columns.
  double cost(std::int32_t j) const;
  double cost() const;

 private:
  struct Sum {
    extended::Twice<double> product;
    double size = 0;
    std::int32_t products = 0;
    std::int64_t seen = 0;
    bool stored = false;
  };
  Sum& at(std::int32_t i);

  const CscMatrix<double>& b_;
  const Factors<T>& f_;
  std::int64_t visit_ = 0;  // counts the calls of column()
  std::vector<Sum> sums_;
  std::vector<std::int32_t> touched_;
  std::vector<Deviation> column_;
};

/// (B − L·U)·v, and in `size` |L|(|U||v|) + |B||v|.   Shapes v: (n).
template <class T>
std::vector<double> probe(const CscMatrix<double>& b, const Factors<T>& f, std::span<const double> v,
                          std::vector<double>& size);

/// B·v.
std::vector<double> times(const CscView<double>& b, std::span<const double> v);
/// L·(U·v), or (L·U)ᵀ·v; in `size` the same of magnitudes.
template <class T>
std::vector<double> lu_times(const Factors<T>& f, std::span<const double> v, std::vector<double>& size);
template <class T>
std::vector<double> lu_transposed_times(const Factors<T>& f, std::span<const double> v, std::vector<double>& size);

/// How many vectors of random signs a probe takes. One of them misses an error with probability at most 1/2: of two
/// vectors that differ in the sign of v_j alone, one has ||E v||_1 >= ||E e_j||_1. All of them: at most 2^-30.
inline constexpr int probes = 30;

}  // namespace lulab::rebuild
