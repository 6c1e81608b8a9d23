#pragma once
// L and U spread over the ranks of this run. Who computes them: app/mpi/superlu_dist.h.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/matrix/csc.h"
#include "core/ranks.h"
#include "core/rung.h"

namespace lulab::app {

/// What ranks need memory for.   Unit bytes, one number a rank
struct DistributedMemory {
  std::vector<std::int64_t> factors;  // L and U with their indices
  std::vector<std::int64_t> all;      // the same, and what is sent, received and updated with during a factorization
};

/// Rank 0 calls the functions; every other rank calls serve() and does its part, until rank 0's object ends. Where a
/// rank runs out of memory the whole job ends with a message.
class DistributedLu {
 public:
  virtual ~DistributedLu() = default;

  struct Times {
    double symbolic_ms = 0;  // pattern of L and U; new values to where they belong
    double numeric_ms = 0;
  };
  /// L·U = B with the diagonal of B as pivots.
  ///
  /// Shapes    B: n x n, sorted rows, finite values.
  /// Errors    numerically_singular: a pivot is zero; where.columns: its column in B. invalid_argument: too many
  ///           entries.
  virtual Result<Times> factor(const CscMatrix<double>& b) = 0;
  /// The same for new values.   Requires the last factor() got as far as the pivots; B has its pattern.
  virtual Result<Times> refactor(const CscMatrix<double>& b) = 0;
  /// x <- B⁻¹ x.   Requires that the last factor() or refactor() was ok.
  virtual void solve(std::span<double> x) = 0;
  virtual DistributedMemory memory() = 0;

  /// Ranks but 0: does what rank 0 asks for, until that has no more.
  virtual void serve() = 0;
};

/// Makes the DistributedLu of a run. Collective; once only. threads: of each rank; 0: OMP_NUM_THREADS, else one.
using MakeDistributedLu = std::function<std::unique_ptr<DistributedLu>(Ranks& ranks, int threads)>;

/// The facts of sparse_hybrid/90_superlu_dist. Its factors are never in one place: no Factorizer makes it, and it is
/// not in every_rung(). lulab solve and lulab refactor run it.
const Rung& distributed_rung();

}  // namespace lulab::app
