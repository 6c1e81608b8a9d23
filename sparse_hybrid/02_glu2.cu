// Hybrid right-looking LU with fixed allocation.                    Peng & Tan 2020, Algorithms 2 and 3, section II-C
//
//   for each level of the double-U rule, in order         one launch; its end orders the levels
//     for each column j of the level, in parallel         one block of the largest size
//       for i > j with As(i,j) != 0, in parallel          As(i,j) /= As(j,j)                        column_by_block.h
//       for k > j with As(j,k) != 0, in parallel          a warp a subcolumn
//         for i > j with As(i,j) != 0, in parallel        As(i,k) -= As(i,j) · As(j,k)
//
// Exact levels: column t comes after column i, too, where i writes an As(t,k) that t reads.

#include "sparse_hybrid/fixed_allocation.h"
#include "sparse_hybrid/rungs.h"

namespace lulab::sparse_hybrid {
namespace {

template <class T>
std::unique_ptr<Factorizer<T>> make(const FactorOptions& options) {
  return std::make_unique<FixedAllocationFactorizer<T, DependencyRule::double_u>>(options);
}

}  // namespace

const Rung glu2 = {
    .facts = {.id = "sparse_hybrid/02_glu2",
              .stage = "sparse_hybrid",
              .paper = "Peng & Tan 2020, Algorithms 2 and 3, section II-C: GLU2.0",
              .idea = "one launch a level of the exact dependencies, one large block a column, one warp a subcolumn",
              .pivoting = Pivoting::fixed,
              .device = Device::gpu,
              .dependencies = Dependencies::levels,
              .deterministic = false,
              .refactors = true},
    .make_float = make<float>,
    .make_double = make<double>};

}  // namespace lulab::sparse_hybrid
