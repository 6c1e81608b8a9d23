// Hybrid right-looking LU with fixed allocation.                    Peng & Tan 2020, Algorithms 2 and 3, section II-C
//
//   for each level of the double-U rule, in order         one launch; its end orders the levels
//     for each column j of the level, in parallel         one block of the largest size
//       for i > j with As(i,j) != 0, in parallel          As(i,j) /= As(j,j)
//       01_column_by_block.h
//       for k > j with As(j,k) != 0, in parallel          a warp for each
//         for i > j with As(i,j) != 0, in parallel        As(i,k) -= As(i,j) · As(j,k)
//
// Exact levels: column t comes after column i also where i writes an entry As(t,k) that t reads.

#include "sparse_hybrid/01_fixed_allocation.h"
#include "sparse_hybrid/rungs.h"

namespace lulab::sparse_hybrid {
namespace {

template <class T>
using Glu2 = FixedAllocationBackend<T, DependencyRule::double_u>;

}  // namespace

const Rung glu2 = rung_of<Glu2>(
    {.id = "sparse_hybrid/02_glu2",
     .stage = "sparse_hybrid",
     .paper = "Peng & Tan 2020, Algorithms 2 and 3, section II-C: GLU2.0",
     .idea =
         "levels of the exact dependencies; one launch per level, one large block per column, one warp per subcolumn",
     .pivoting = Pivoting::fixed,
     .device = Device::gpu,
     .dependencies = Dependencies::levels,
     .deterministic = false,
     .refactors = true,
     .options = fixed_allocation_options});

}  // namespace lulab::sparse_hybrid
