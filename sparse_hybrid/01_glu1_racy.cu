// Hybrid right-looking LU as GLU1.0 ran it: with a race.                                 Peng & Tan 2020, section II-C
//
//   for each level of the up-looking rule, in order       U(i,k) != 0: column k comes after column i, nothing else
//     for each column j of the level, in parallel         one block
//       divide L(:,j) by the pivot, update the columns k with As(j,k) != 0
//
// The rule is that of left-looking LU, which writes one column at a time. Here column 4 of the paper's Fig. 4 writes
// As(6,7) while column 6, of the same level, reads it. Which value it reads is chance; the simulator shows both, and
// ThreadSanitizer the race (glu1_racy_test.cu). Kept to be looked at: 02_glu2.cu is the same with the right levels.

#include "sparse_hybrid/fixed_allocation.h"
#include "sparse_hybrid/rungs.h"

namespace lulab::sparse_hybrid {
namespace {

template <class T>
std::unique_ptr<Factorizer<T>> make(const FactorOptions& options) {
  return std::make_unique<FixedAllocationFactorizer<T, DependencyRule::up_looking>>(options);
}

}  // namespace

const Rung glu1_racy = {
    .facts = {.id = "sparse_hybrid/01_glu1_racy",
              .stage = "sparse_hybrid",
              .paper = "Peng & Tan 2020, section II-C: GLU1.0",
              .idea = "levels by the pattern of U alone, one launch a level, one large block a column",
              .pivoting = Pivoting::fixed,
              .device = Device::gpu,
              .dependencies = Dependencies::levels,
              .deterministic = false,
              .refactors = true,
              .fault = "columns of one level write what others of it read (double-U dependency)"},
    .make_float = make<float>,
    .make_double = make<double>};

}  // namespace lulab::sparse_hybrid
