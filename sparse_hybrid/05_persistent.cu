// Hybrid right-looking LU in one kernel.                                     Peng & Tan 2020, Algorithms 2 and 4
//
//   for each level of the relaxed rule, in order                       a barrier orders the levels
//     for each As(j,k), j a column of the level, k > j, in parallel    a group of threads
//       for i > j with As(i,j) != 0, in parallel                       As(i,k) -= As(i,j) / As(j,j) · As(j,k)
//   for j, in parallel:  As(j+1:n,j) /= As(j,j)                                          05_persistent_kernel.h
//
// No launch lies between levels, and no dense column is needed: a map says where each row of L(:,j) lies in column k.
// Levels small enough for one block are left to block 0, with only its own barrier between them.

#include <memory>

#include "sparse_hybrid/05_persistent_kernel.h"
#include "sparse_hybrid/rungs.h"

namespace lulab::sparse_hybrid {
namespace {}  // namespace

const Rung persistent = rung_of<PersistentBackend>(
    {.id = "sparse_hybrid/05_persistent",
     .stage = "sparse_hybrid",
     .paper = "Peng & Tan 2020, Algorithms 2 and 4, in one cooperative kernel",
     .idea = "one kernel for all levels with grid barriers between them; updates find their rows through a map; "
             "narrow levels by one block",
     .pivoting = Pivoting::fixed,
     .device = Device::gpu,
     .dependencies = Dependencies::values,  // no barrier of the grid between the levels of one block
     .deterministic = false,
     .refactors = true});

}  // namespace lulab::sparse_hybrid
