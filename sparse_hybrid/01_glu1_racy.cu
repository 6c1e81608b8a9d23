// Hybrid right-looking LU as GLU1.0 ran it: with a race.                                 Peng & Tan 2020, section II-C
//
//   for each level of the up-looking rule, in order       U(i,k) != 0: column k comes after column i, nothing else
//     for each column j of the level, in parallel         one block
//       divide L(:,j) by the pivot, update the columns k with As(j,k) != 0
//
// The rule is that of left-looking LU, which writes one column at a time. Here column 4 of the paper's Fig. 4 writes
// As(6,7) while column 6, of the same level, reads it. Which value column 6 reads is chance; the simulator shows both,
// and ThreadSanitizer reports the race (01_glu1_racy_test.cu). Kept as an example: 02_glu2.cu is the same with the
// right levels.

#include "sparse_hybrid/01_fixed_allocation.h"
#include "sparse_hybrid/rungs.h"

namespace lulab::sparse_hybrid {
namespace {

template <class T>
using Glu1 = FixedAllocationBackend<T, DependencyRule::up_looking>;

}  // namespace

const Rung glu1_racy =
    rung_of<Glu1>({.id = "sparse_hybrid/01_glu1_racy",
                   .stage = "sparse_hybrid",
                   .paper = "Peng & Tan 2020, section II-C: GLU1.0",
                   .idea = "levels from the pattern of U alone; one launch per level, one large block per column",
                   .pivoting = Pivoting::fixed,
                   .device = Device::gpu,
                   .dependencies = Dependencies::levels,
                   .deterministic = false,
                   .refactors = true,
                   .fault = "columns of one level write what others of it read (double-U dependency)",
                   .options = fixed_allocation_options});

}  // namespace lulab::sparse_hybrid
